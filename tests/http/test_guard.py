"""The guard: forgery filter, limit on headers, security headers, and CORS for named origins only."""

import hmac
import re
from contextlib import nullcontext

import httpx
import pytest
from sqlalchemy import update

from saleroom.http.guard import HEADER_BYTES_MAX, Guard
from saleroom.http.problems import HeadersTooLarge
from saleroom.http.requests import HEAD_BYTES
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.storage.tables import secrets
from tests.contract import SECURITY_HEADERS
from tests.fixtures_house import PASSWORD, House, ServeHouse
from tests.sealing import known

UNSAFE = ("POST", "PUT", "PATCH", "DELETE", "PROPFIND")
ADDRESSES = ("/users", "/login", "/logout", "/auctions", "/auctions/x/bids", "/me", "/nowhere", "/healthz")
ORIGIN = "https://shop.example"


@pytest.mark.parametrize("method", UNSAFE)
@pytest.mark.parametrize("address", ADDRESSES)
def test_unsafe_requests_are_checked_on_every_route(sqlite_house: House, method: str, address: str) -> None:
    """Without `X-Requested-With` every method but GET, HEAD and OPTIONS is 403 `csrf`, even without a route."""
    answer = sqlite_house.stranger.request(method, address)
    assert (403, "csrf") == (answer.status_code, answer.json()["code"])
    assert "X-Requested-With" in answer.json()["message"]


@pytest.mark.parametrize("address", ["/", "/docs", "/lots/x", "/register", "/session", "/session/end"])
def test_pages_are_checked_too(sqlite_house: House, address: str) -> None:
    """At the paths of pages the filter answers with a page."""
    answer = sqlite_house.stranger.post(address)
    assert 403 == answer.status_code
    assert answer.headers["content-type"].startswith("text/html")


def test_the_filter_comes_before_authentication_and_body(sqlite_house: House) -> None:
    """A valid token, a malformed body or an oversized one change nothing: the filter answers first."""
    token = {"Authorization": f"Bearer {sqlite_house.user().token}"}
    stranger = sqlite_house.stranger
    answers = [
        stranger.post("/auctions", headers=token, json={"name": "Clock", "startingPrice": "1"}),
        stranger.post("/auctions", headers=token, content=b"{"),
        stranger.delete("/logout", headers=token),
        stranger.post("/login", json={"username": "ada", "password": PASSWORD}),
    ]
    assert [(403, "csrf")] * 4 == [(answer.status_code, answer.json()["code"]) for answer in answers]
    assert 200 == sqlite_house.user().get("/me").status_code


@pytest.mark.parametrize("value", ["XMLHttpRequest", "anything", "0", "false", ""])
def test_x_requested_with_passes_with_any_value(sqlite_house: House, value: str) -> None:
    """`X-Requested-With` passes the filter with any value, even an empty one."""
    answer = sqlite_house.stranger.delete("/logout", headers={"X-Requested-With": value})
    assert 401 == answer.status_code


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("address", ["/auctions", "/nowhere", "/login"])
def test_safe_requests_are_not_checked(sqlite_house: House, method: str, address: str) -> None:
    """GET, HEAD and OPTIONS pass without any header."""
    assert 403 != sqlite_house.stranger.request(method, address).status_code


def form(client: httpx.Client) -> str:
    """Open the form of the login, which sets the cookie, and return its token."""
    found = re.search(r'name="csrfToken" value="([^"]+)"', client.get("/login").text)
    assert found is not None
    return found[1]


def test_the_pages_own_token_passes_in_the_header(sqlite_house: House) -> None:
    """`X-CSRF-Token` with a page's token passes, together with the cookie that the page set."""
    with httpx.Client(base_url=sqlite_house.base) as browser:
        token = form(browser)
        assert 401 == browser.delete("/logout", headers={"X-CSRF-Token": token}).status_code
        assert 403 == browser.delete("/logout", headers={"X-CSRF-Token": token[:-1]}).status_code
        assert 403 == browser.delete("/logout", headers={"X-CSRF-Token": ""}).status_code
        assert 403 == browser.delete("/logout", headers={b"X-CSRF-Token": "\u00fc".encode("latin-1")}).status_code
        assert 403 == browser.delete("/logout").status_code
        browser.cookies.clear()
        assert 403 == browser.delete("/logout", headers={"X-CSRF-Token": token}).status_code


@pytest.mark.parametrize("foreign", ["a[b]=1", "k=\u00e9", '{"j":1}=2', ";;=;"])
def test_odd_cookies_of_others_hide_nothing(sqlite_house: House, foreign: str) -> None:
    """The page's cookie is found, whatever other cookies come before it."""
    with httpx.Client(base_url=sqlite_house.base) as browser:
        token = form(browser)
        cookie = f"{foreign}; saleroom_csrf={browser.cookies['saleroom_csrf']}".encode()
        browser.cookies.clear()
        answer = browser.delete("/logout", headers={b"X-CSRF-Token": token.encode(), b"Cookie": cookie})
        assert 401 == answer.status_code


def test_quoted_cookies_are_not_taken_apart(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quoted cookie is never unquoted: the standard library needs quadratic time for it, 50 ms for 7 KB on every address."""
    monkeypatch.setattr("http.cookies._unquote", None)
    quoted = 'a="' + '\\"' * 3_500 + '"'
    token = sqlite_house.user("ada").token
    cookie = f"{quoted}; saleroom_session={token}; saleroom_language=de; saleroom_csrf=x"
    assert 200 == sqlite_house.stranger.get("/mine", headers={"Cookie": cookie}).status_code
    assert 403 == sqlite_house.stranger.post("/session", headers={"Cookie": cookie}).status_code


def test_a_form_is_not_taken_apart_for_its_token(sqlite_house: House) -> None:
    """The token is found anywhere in a form, and the last one counts. A field whose name only ends so is no token."""
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    many = "&".join(["a=%22"] * 60)
    with httpx.Client(base_url=sqlite_house.base) as browser:
        token = form(browser)
        for body, status in (
            (f"{many}&csrfToken={token}&{many[:50]}", 400),
            (f"csrfToken=00&csrfToken={token}", 400),
            (f"csrfToken={token}&csrfToken=00", 403),
            (f"xcsrfToken={token}", 403),
            (f"x=1%26csrfToken={token}", 403),
            ("&" * 60_000, 403),
        ):
            assert status == browser.post("/session", content=body, headers=kind).status_code, body[:40]


def test_the_pages_token_is_bound_to_its_cookie(sqlite_house: House) -> None:
    """A token of one browser's page does not pass with another browser's cookie."""
    with httpx.Client(base_url=sqlite_house.base) as one, httpx.Client(base_url=sqlite_house.base) as other:
        token = form(one)
        form(other)
        assert 403 == other.delete("/logout", headers={"X-CSRF-Token": token}).status_code


def test_the_pages_token_needs_the_secret_of_the_house(sqlite_house: House) -> None:
    """The cookie alone gives no token, neither by the old recipe nor by another secret."""
    mask = bytes(64)
    for token in (
        hmac.digest(b"planted", b"saleroom forgery token", "sha256"),
        hmac.digest(b"saleroom forgery token", b"planted", "sha256"),
        hmac.digest(known().key(Purpose.FORMS), b"planted", "sha256"),
    ):
        for sent in (token, token * 2):
            headers = {"X-CSRF-Token": (mask[: len(sent)] + sent).hex(), "Cookie": "saleroom_csrf=planted"}
            assert 403 == sqlite_house.stranger.delete("/logout", headers=headers).status_code


def test_a_planted_pair_does_not_pass_in_a_session(sqlite_house: House) -> None:
    """An attacker who plants a cookie with a token of the house cannot send forms in another user's session."""
    victim = f"saleroom_session={sqlite_house.newcomer().token}"
    with httpx.Client(base_url=sqlite_house.base) as attacker:
        tokens = [form(attacker)]
        planted = f"saleroom_csrf={attacker.cookies['saleroom_csrf']}"
        own = {"Cookie": f"{planted}; saleroom_session={sqlite_house.newcomer().token}"}
        found = re.search(r'name="csrfToken" value="([^"]+)"', attacker.get("/sell/drafts/one", headers=own).text)
        assert found is not None
        tokens.append(found[1])
    for token in tokens:
        sent = {"X-CSRF-Token": token, "Cookie": f"{planted}; {victim}"}
        assert 403 == sqlite_house.stranger.post("/session/end", headers=sent).status_code
    sent = {"X-CSRF-Token": tokens[1], "Cookie": planted}
    assert 303 == sqlite_house.stranger.post("/session/end", headers=sent).status_code, (
        "without a session the pair passes"
    )


def test_every_process_takes_the_pages_token(serve_house: ServeHouse) -> None:
    """A process accepts the forms of another one on the same database, and no other house does."""
    one, copied = serve_house(), serve_house()
    copied.write(lambda tx: tx.execute(update(secrets).values(value="5ea1" * 16)))
    other, stranger = House(one.settings), House(copied.settings)
    other.start()
    stranger.start()
    try:
        with httpx.Client(base_url=one.base) as browser:
            headers = {"X-CSRF-Token": form(browser), "Cookie": f"saleroom_csrf={browser.cookies['saleroom_csrf']}"}
        answers = [house.stranger.delete("/logout", headers=headers).status_code for house in (one, other, stranger)]
    finally:
        other.stop()
        stranger.stop()
    assert [401, 401, 403] == answers


def test_the_pages_own_token_passes_in_the_form(sqlite_house: House) -> None:
    """The form field `csrfToken` passes the filter, and the handler still gets the whole form."""
    name = sqlite_house.newcomer().name
    with httpx.Client(base_url=sqlite_house.base) as browser:
        sent = {"username": name, "password": PASSWORD, "csrfToken": form(browser)}
        assert 403 == browser.post("/session", data=sent | {"csrfToken": "forged"}).status_code
        assert 303 == browser.post("/session", data=sent).status_code
        assert name in browser.get("/").text


def test_a_session_cookie_alone_passes_nothing(sqlite_house: House) -> None:
    """The filter covers the session of the pages: its cookie without the token is 403."""
    with httpx.Client(base_url=sqlite_house.base) as browser:
        sent = {"username": sqlite_house.user("ada").name, "password": PASSWORD, "csrfToken": form(browser)}
        browser.post("/session", data=sent)
        assert 403 == browser.post("/session/end").status_code


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("GET", "/auctions"),
        ("GET", "/nowhere"),
        ("GET", "/"),
        ("GET", "/lots/none"),
        ("DELETE", "/auctions"),
        ("GET", "/me"),
        ("HEAD", "/auctions"),
        ("OPTIONS", "/auctions"),
        ("GET", "/assets/none"),
        ("GET", "/healthz"),
    ],
)
def test_every_answer_has_the_security_headers(sqlite_house: House, method: str, address: str) -> None:
    """Every answer has a strict policy, even an error. Answers that are not JSON have the other headers as well."""
    answer = sqlite_house.stranger.request(method, address)
    policy = answer.headers["content-security-policy"]
    assert "nosniff" == answer.headers["x-content-type-options"]
    assert policy.startswith("default-src 'none'; ") and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    if answer.headers.get("content-type") != "application/json":
        assert SECURITY_HEADERS == {name: answer.headers[name] for name in SECURITY_HEADERS}


@pytest.mark.parametrize("address", ["/auctions", "/nowhere", "/me"])
def test_large_headers_are_431(sqlite_house: House, address: str) -> None:
    """More than 8 KiB of headers are 431 with the limit, in one header or in many. Less passes."""
    client = sqlite_house.stranger
    for headers in ({"X-Long": "a" * HEADER_BYTES_MAX}, {f"X-{n}": "a" * 1000 for n in range(9)}):
        answer = client.get(address, headers=headers)
        assert (431, "headers_too_large") == (answer.status_code, answer.json()["code"])
        assert HEADER_BYTES_MAX == answer.json()["limit"]
    assert 431 != client.get(address, headers={"X-Long": "a" * (HEADER_BYTES_MAX - 1000)}).status_code


@pytest.mark.parametrize(("before", "refused"), [(0, False), (1, True)])
def test_separators_do_not_count(before: int, refused: bool) -> None:
    """What counts are address and headers, to the byte: a head that came with more bytes is counted by its parts."""
    guard = Guard(secret=HouseSecret(), form_bytes_max=0)
    value = b"a" * (HEADER_BYTES_MAX - len(b"/nowhere") - len(b"x-long") + before)
    head = {"method": "GET", "path": "/nowhere", "raw_path": b"/nowhere", "query_string": b""}
    for came in ({}, {HEAD_BYTES: HEADER_BYTES_MAX + 60}):
        scope = {**head, "headers": [(b"x-long", value)], **came}
        with pytest.raises(HeadersTooLarge) if refused else nullcontext():
            assert guard.passes(scope)


def preflight(house: House, origin: str) -> httpx.Response:
    """Send the preflight of a browser for a bid from a page of `origin`."""
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-requested-with"}
    return house.plain.options("/auctions", headers={"Origin": origin, **asks})


def cors(answer: httpx.Response) -> dict[str, str]:
    """Return the CORS headers of an answer."""
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}


def test_no_cors_headers_by_default(sqlite_house: House) -> None:
    """Without named origins no answer has a CORS header."""
    answer = sqlite_house.stranger.get("/auctions", headers={"Origin": ORIGIN})
    assert {} == cors(answer)
    assert {} == cors(preflight(sqlite_house, ORIGIN))


def test_cors_headers_for_named_origins_only(serve_house: ServeHouse) -> None:
    """A named origin may send what the API reads. Any other gets no CORS header, also `null` and look-alikes."""
    house = serve_house(cors_origins=(ORIGIN,))
    allowed = preflight(house, ORIGIN)
    assert ORIGIN == allowed.headers["access-control-allow-origin"]
    may_send = set(allowed.headers["access-control-allow-headers"].lower().split(", "))
    assert {"authorization", "idempotency-key", "if-match", "if-none-match", "x-requested-with"} <= may_send
    assert ORIGIN == house.stranger.get("/auctions", headers={"Origin": ORIGIN}).headers["access-control-allow-origin"]
    for origin in ("https://evil.example", "null", f"{ORIGIN}.evil.example", "http://shop.example", "*", ""):
        assert {} == cors(preflight(house, origin))
        assert {} == cors(house.stranger.get("/auctions", headers={"Origin": origin}))


def test_caches_keep_origins_apart(serve_house: ServeHouse) -> None:
    """If origins are named, each answer varies by Origin: otherwise a cache would mix them up."""
    stranger = serve_house(cors_origins=(ORIGIN,)).stranger
    for path in ("/auctions", "/", "/nowhere"):
        for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": ORIGIN}):
            assert "origin" in stranger.get(path, headers=origin).headers["vary"].lower()


def test_browsers_stay_with_https(serve_house: ServeHouse, sqlite_house: House) -> None:
    """A house with an https address sends HSTS with a max-age of a year, by a setting for its subdomains. Others send none."""
    house = serve_house(public_url="https://bids.example")
    more = serve_house(public_url="https://bids.example", hsts_subdomains=True)
    assert "max-age=31536000; includeSubDomains" == more.stranger.get("/").headers["strict-transport-security"]
    for path in ("/", "/auctions", "/nowhere", "/assets/none"):
        assert "max-age=31536000" == house.stranger.get(path).headers["strict-transport-security"]
        assert "strict-transport-security" not in sqlite_house.stranger.get(path).headers


@pytest.mark.parametrize("name", ["Host", "X-Forwarded-Host", "Forwarded", "X-Original-URL"])
def test_no_header_leads_away(sqlite_house: House, name: str) -> None:
    """No page shows a malformed Host."""
    gid = sqlite_house.user("ada").gid()
    for named in ("evil.example/x", 'x"><script>', "evil b", "evil:99999999", "http://evil", "[::evil", "evil\u00fc"):
        for path in (f"/lots/{gid}/screen", f"/lots/{gid}"):
            answer = sqlite_house.plain.get(path, headers={name.encode(): named.encode("latin-1")})
            assert "evil" not in answer.text and "<script>" not in answer.text


def test_the_public_address_is_nobodys_to_say(serve_house: ServeHouse) -> None:
    """If `public_url` is set, no page shows the Host of its request."""
    house = serve_house(public_url="https://bids.example")
    gid = house.user("ada").auction()
    for path in (f"/lots/{gid}", f"/lots/{gid}/screen", "/"):
        shown = house.plain.get(path, headers={"Host": "evil.example"}).text
        assert "evil.example" not in shown
    assert "bids.example" in house.plain.get(f"/lots/{gid}/screen", headers={"Host": "evil.example"}).text


def test_cors_answers_have_the_security_headers_and_errors_the_cors_headers(serve_house: ServeHouse) -> None:
    """A page of a named origin can read errors too, also the filter's. A preflight has the security headers."""
    house = serve_house(cors_origins=(ORIGIN,))
    assert SECURITY_HEADERS.items() <= dict(preflight(house, ORIGIN).headers).items()
    for answer in (
        house.stranger.delete("/logout", headers={"Origin": ORIGIN}),
        house.anyone.delete("/logout", headers={"Origin": ORIGIN}),
        house.anyone.get("/nowhere", headers={"Origin": ORIGIN}),
    ):
        assert ORIGIN == answer.headers["access-control-allow-origin"]
