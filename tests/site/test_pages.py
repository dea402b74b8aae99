"""Properties of every page: the strict policy, escaped text, weight, landmarks, errors."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx
import pytest
from PIL import Image

from saleroom.accounts.domain.rights import Role
from saleroom.http import forgery
from tests.fixtures_house import NO_TLS, House
from tests.page_routes import methods, page_routes
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

FRAMED = [
    one.path for one in page_routes() if one.path.startswith("/mine") and "{" not in one.path and "GET" in methods(one)
]
"""The pages of "My saleroom" that need nothing but a user."""
HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 1234*1234 }}&amp;"""
VISITORS = ("/", "/?q=clock", "/?status=over&sort=newest", "/login", "/register", "/docs", "/lots/none", "/lots/{gid}")
MEMBERS = (
    "/sell/drafts/a-draft",
    "/sell/{own}",
    "/mine",
    "/mine/selling",
    "/mine/watching",
    "/mine/sessions",
    "/lots/{own}",
    "/lots/{sold}",
)
SCREENS = ("/lots/{gid}/screen", "/lots/{sold}/screen")
PAGES = (*VISITORS, "/lots/{gid}/bids", *MEMBERS, *SCREENS)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
"""What browsers accept when they open an address."""
LINKING = ("script", "img", "link")
BYTES_MAX = 150_000
"""The most bytes of a page as sent, with all that it needs, without photos."""

Open = Callable[[str], httpx.Response]


def picture() -> bytes:
    """Return a photo as a camera sends it."""
    made = io.BytesIO()
    Image.new("RGB", (640, 480), (90, 120, 60)).save(made, "JPEG")
    return made.getvalue()


@pytest.fixture(scope="module")
def furnished(house: House) -> dict[str, str]:
    """Lots with everything on them and hostile texts: an open one, one of grace's, and a sold one."""
    ada, grace = house.user("ada"), house.user("grace")
    gids = {
        "gid": ada.auction(name=HOSTILE, description=HOSTILE, reservePrice="900", buyNowPrice="950"),
        "own": grace.auction(name=HOSTILE, description=HOSTILE),
        "sold": ada.auction(name=HOSTILE, description=HOSTILE),
    }
    photo = grace.json("POST", "/photos", content=picture(), headers={"Content-Type": "image/jpeg"})["id"]
    grace.json("PUT", f"/auctions/{gids['own']}/photos", json={"photos": [photo]})
    for gid in (gids["gid"], gids["sold"]):
        house.user("hedy").bid(gid, maximum="30")
        grace.bid(gid, amount="20")
        grace.json("PUT", f"/auctions/{gid}/watch")
    grace.bid(gids["sold"], amount="60")
    ada.json("POST", f"/auctions/{gids['sold']}/close", json={})
    return gids


@pytest.fixture
def open_page(house: House, furnished: dict[str, str]) -> Iterator[Open]:
    """Return a function that opens a page as grace, but the forms to log in and to register as a stranger."""
    with httpx.Client(base_url=house.base, verify=NO_TLS) as http:

        def opened(path: str) -> httpx.Response:
            known = not path.startswith(("/login", "/register"))
            cookie = {"Cookie": f"saleroom_session={house.user('grace').token}"} if known else {}
            return http.get(path.format(**furnished), headers=cookie)

        yield opened


def page(house: House, path: str, **headers: str) -> Page:
    """Return a page as a visitor without a session sees it."""
    return Page(house.stranger.get(path, headers=headers))


@pytest.mark.parametrize("gid", ["none", "%00", "..%2fsecret", "a" * 300, "%F0%9F%92%A9", "%0a", "a%0a", "';--", "%ff"])
def test_an_unknown_lot_is_a_page_of_its_own(house: House, gid: str) -> None:
    """An unknown lot is 404, as a page that links home."""
    missing = Page(httpx.get(f"{house.base}/lots/{gid}"))
    assert 404 == missing.status
    assert "/" in missing.links


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/lots", None),
        ("/login/", "/login"),
        ("/Register", "/register"),
        ("/nope", None),
        ("/Auctions", None),
        ("/..%2f", None),
        ("/%00", None),
        ("/%0a", None),
        ("/" + quote(HOSTILE), None),
        ("/ü//", None),
        ("/" + "a" * 5000, None),
    ],
)
def test_a_mistyped_address_is_a_page(sqlite_house: House, path: str, meant: str | None) -> None:
    """A browser at an unknown address gets a page in the reader's language, which leads to the lots and to what was meant."""
    missing = page(sqlite_house, path, Accept=BROWSER, **{"Accept-Language": "de"})
    assert (404, "Diese Seite gibt es nicht") == (missing.status, missing.heading)
    main = [link for link in missing.links if not link.startswith(("/language/", "#"))]
    assert "/" in main
    assert (meant in main) is (meant is not None)
    assert {"/login", "/register", "/"} >= {link for link in main if link not in ("/docs", "/sell", "/catalogues")}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/nope", {}),
        ("/nope", {"Accept": "application/json"}),
        ("/nope", {"Accept": "image/avif,image/webp,*/*;q=0.8"}),
        ("/nope", {"Accept": BROWSER, "X-Requested-With": ""}),
        ("/nope", {"Accept": BROWSER, "Authorization": "Bearer x"}),
        ("/auctions/", {"Accept": BROWSER}),
        ("/auctions/x/y/z", {"Accept": BROWSER}),
        ("/auctions/AAAAAAAAAAAA", {"Accept": BROWSER}),
        ("/me/", {"Accept": BROWSER}),
        ("/openapi.json/x", {"Accept": BROWSER}),
    ],
)
def test_a_program_gets_json(sqlite_house: House, path: str, headers: dict[str, str]) -> None:
    """A program at an unknown address, and a browser at an address of the API, get the problem in JSON as ever."""
    answer = httpx.get(sqlite_house.base + path, headers=headers)
    assert (404, "application/json") == (answer.status_code, answer.headers["content-type"])
    assert {"message", "code"} <= answer.json().keys()


def test_a_form_to_nowhere_is_json(sqlite_house: House) -> None:
    """Only what is opened to be read becomes a page: another method at an unknown address is refused as ever."""
    answer = httpx.post(f"{sqlite_house.base}/nope", headers={"Accept": BROWSER, "X-Requested-With": "x"})
    assert (404, "not_found") == (answer.status_code, answer.json()["code"])


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_inline_script_or_style(house: House, open_page: Open, path: str) -> None:
    """Each page keeps to the strict policy: no inline script, style or handler, and nothing from another host."""
    response = open_page(path)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    shown = Page(response)
    assert [] == shown.all("style")
    for element in shown.elements:
        assert not [name for name in element.attributes if name == "style" or name.startswith(("on", "hx-on"))]
        assert element.tag != "script" or ("" == element.text and element["src"].startswith("/assets/"))
        for name in ("src", "href", "action"):
            address = element.attributes.get(name, "/").removeprefix(house.base)
            assert address[:1] in "/#?" and address[:2] != "//"


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize("path", [path for path in PAGES if "{" in path or path.startswith(("/mine", "/?"))])
def test_markup_in_texts_makes_no_element(open_page: Open, path: str) -> None:
    """Markup in names, descriptions and searches is shown as text and makes no element, on any page."""
    shown = Page(open_page(f"/?q={quote(HOSTILE)}" if path == "/?q=clock" else path))
    if path not in ("/?status=over&sort=newest", "/mine/sessions"):
        assert HOSTILE in "".join(
            [e.raw for e in shown.elements] + [e.attributes.get("value", "") for e in shown.elements]
        )
    assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
    assert {image["src"].split("/")[1] for image in shown.all("img")} <= {"assets", "photos", "lots"}
    assert "1522756" not in shown.one("title").text


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_light(open_page: Open, path: str) -> None:
    """A page with all its scripts and styles is under 150 KB as sent, without photos. The API's viewer may be larger."""
    response = open_page(path)
    linked = parts_of(Page(response))
    parts = [open_page(url) for url in linked if not url.startswith("/photos/")]
    sizes = [part.num_bytes_downloaded for part in (response, *parts)]
    assert all(part.headers.get("content-encoding") == "br" for part in parts if part.num_bytes_downloaded > 2000)
    assert path == "/docs" or sum(sizes) < BYTES_MAX


def parts_of(shown: Page) -> list[str]:
    """Return the addresses of what a browser fetches with a page: not of its feeds."""
    linking = [e for e in shown.elements if e.tag in LINKING and e.attributes.get("rel") != "alternate"]
    return [e.attributes.get("src") or e["href"] for e in linking]


@pytest.mark.parametrize("path", PAGES)
def test_every_asset_of_a_page_is_there_for_good(house: House, open_page: Open, path: str) -> None:
    """Pages link their assets by hashed names, and each asset exists and may be cached forever."""
    linked = parts_of(Page(open_page(path)))
    assert linked
    for url in linked:
        response = house.stranger.get(url)
        lasts = "private, max-age=300" if url.endswith("/qr.svg") else "public, max-age=31536000, immutable"
        assert (200, lasts) == (response.status_code, response.headers["cache-control"])


@pytest.mark.parametrize("path", [*VISITORS, *MEMBERS])
def test_a_page_has_its_landmarks(open_page: Open, path: str) -> None:
    """Each page has a language, a title, and one main part that the skip link leads to, and says that times are UTC."""
    shown = Page(open_page(path))
    assert "en-GB" == shown.one("html")["lang"]
    assert shown.one("title").text.endswith(" · Saleroom")
    assert "#main" == shown.all("a")[0]["href"]
    assert ["div" if path == "/docs" else "main"] == [e.tag for e in shown.elements if e.attributes.get("id") == "main"]
    assert "All times are in UTC." in shown.one("footer").text


@pytest.mark.parametrize("path", ["/sell", "/sell/{gid}", "/mine", "/mine/selling", "/mine/watching", "/mine/sessions"])
def test_private_pages_ask_for_a_login(house: House, furnished: dict[str, str], path: str) -> None:
    """A visitor who is not logged in is led to the login, and from there back to the page."""
    address = path.format(**furnished)
    answer = house.stranger.get(address)
    assert (303, f"/login?next={address}") == (answer.status_code, answer.headers["location"])


@pytest.mark.parametrize("path", ["/mine", "/mine/selling", "/mine/sessions", "/admin/people"])
def test_no_browser_keeps_pages_of_ones_own(house: House, path: str) -> None:
    """Who uses the browser after the reader has logged out finds nothing of them in its cache."""
    staff = Visitor(house, house.staff(Role.OWNER))
    answer = staff.http.get(path)
    assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"])


def test_pages_are_for_one_pair_of_eyes(house: House) -> None:
    """A page names the logged-in user, so no shared cache may keep it."""
    headers = house.stranger.get("/").headers
    assert ("private, no-cache", "Cookie, Accept-Language, Accept-Encoding") == (
        headers["cache-control"],
        headers["vary"],
    )


@pytest.mark.parametrize(
    ("accepted", "coding"), [("br, gzip", "br"), ("gzip", "gzip"), ("identity", None), ("br;q=0", None)]
)
def test_a_page_comes_in_the_coding_that_is_asked_for(house: House, accepted: str, coding: str | None) -> None:
    """A page is the same compressed or not, except that its token is encoded differently each time."""
    plain = house.stranger.get("/login", headers={"Accept-Encoding": "identity"})
    packed = house.stranger.get("/login", headers={"Accept-Encoding": accepted})
    assert coding == packed.headers.get("content-encoding")
    assert Page(plain).main == Page(packed).main
    tokens = {Page(answer).all("input", name="csrfToken")[0]["value"] for answer in (plain, packed)}
    assert 2 == len(tokens)


def test_all_forms_of_a_page_have_one_token(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a hundred forms is as cheap as one of two: its token is made once."""
    session = {"Cookie": f"saleroom_session={house.user('ada').token}"}
    made: list[bytes] = []

    def masked(token: bytes) -> str:
        made.append(token)
        return token.hex()

    monkeypatch.setattr(forgery, "_masked", masked)
    page = Page(house.stranger.get("/mine/security", headers=session))
    shown = [field["value"] for field in page.all("input", name="csrfToken")]
    assert 1 == len(made) == len(set(shown)) < len(shown)


def test_head_is_get_without_the_body(house: House) -> None:
    """HEAD on a page has GET's status and type."""
    head = house.stranger.head("/")
    assert (200, "text/html; charset=utf-8", b"") == (head.status_code, head.headers["content-type"], head.content)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/", "GET, HEAD"),
        ("DELETE", "/lots/none", "GET, HEAD"),
        ("GET", "/session", "POST"),
        ("GET", "/session/end", "POST"),
        ("PUT", "/register", "GET, HEAD, POST"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
def test_other_methods_get_a_page(house: House, method: str, path: str, allow: str) -> None:
    """At the paths of pages, 405 is a page and names the allowed methods."""
    response = house.anyone.request(method, path)
    assert (405, allow) == (response.status_code, response.headers["allow"])
    assert "This page cannot be opened like this" == Page(response).heading


def test_the_login_of_the_api_stays_the_apis(house: House) -> None:
    """GET /login is the form. Every other method of this path answers in JSON."""
    assert 200 == page(house, "/login").status
    response = house.anyone.post("/login", json={})
    assert (400, "application/json") == (response.status_code, response.headers["content-type"])
    assert "application/json" == house.anyone.request("PUT", "/login").headers["content-type"]


@pytest.mark.parametrize("path", [path for path in FRAMED if not path.endswith(".csv")])
def test_each_page_of_my_saleroom_marks_its_tab(house: House, path: str) -> None:
    """One of the tabs is the current one, so that the reader sees where the page belongs; forms answer under longer paths."""
    page = Visitor(house, house.newcomer()).page(path)
    assert 2 == len(page.all("a", **{"aria-current": "page"})), "the menu's, and one of the tabs"
