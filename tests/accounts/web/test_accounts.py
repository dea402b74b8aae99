"""The forms to register, log in and log out: tokens, cookies, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from tests.fixtures_house import PASSWORD, House, ServeHouse, without_delay
from tests.site.markup import Page

pytestmark = pytest.mark.databases("sqlite")

_numbers = count(1)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class PlainBrowser:
    """A browser. It keeps cookies, follows no redirect, and fills in the hidden token of a form."""

    def __init__(self, house: House) -> None:
        self.http = httpx.Client(base_url=house.base)

    def page(self, path: str) -> Page:
        """Open a page."""
        return Page(self.http.get(path))

    def send(self, path: str, action: str, **fields: str) -> httpx.Response:
        """Open the page at `path` and send its form to `action` with `fields`."""
        page = self.page(path)
        assert action in [form["action"] for form in page.all("form")]
        return self.http.post(action, data={"csrfToken": page.all("input", name="csrfToken")[0]["value"], **fields})

    def register(self, username: str, password: str = PASSWORD) -> httpx.Response:
        """Send the form to register."""
        return self.send("/register", "/register", username=username, password=password)

    def log_in(self, username: str, password: str = PASSWORD) -> httpx.Response:
        """Send the form to log in."""
        return self.send("/login", "/session", username=username, password=password)

    def log_out(self) -> httpx.Response:
        """Press the button in the header."""
        return self.send("/", "/session/end")

    def viewer(self) -> str | None:
        """Return the user that the header names as logged in, or None."""
        shown = self.page("/").all("li", class_="viewer")
        return shown[0].text.removeprefix("Logged in as ") if shown else None


@pytest.fixture
def browser(house: House) -> Iterator[PlainBrowser]:
    """A browser in front of the house, on each database."""
    it = PlainBrowser(house)
    yield it
    it.http.close()


def test_registration_logs_in(browser: PlainBrowser, house: House) -> None:
    """Registering creates the account, logs in and leads home, and the header shows the name."""
    response = browser.register("First.Visitor")
    assert (303, "/") == (response.status_code, response.headers["location"])
    assert "first.visitor" == browser.viewer()
    assert PASSWORD not in browser.http.get("/").text
    assert [] == browser.page("/").all("a", href="/login")


def test_the_header_leads_back(browser: PlainBrowser) -> None:
    """Its links to log in and to register lead back to the page that they are on; those of a form keep where it leads."""

    def links(path: str) -> set[str]:
        found = [one.attributes.get("href") or "" for one in Page(browser.http.get(path)).all("a")]
        return {one for one in found if one.startswith(("/login", "/register"))}

    assert {"/login", "/register"} == links("/")
    assert {"/login?next=/owner", "/register?next=/owner"} == links("/owner")
    assert {"/login?next=/%3Fq%3Da%26status%3Dopen", "/register?next=/%3Fq%3Da%26status%3Dopen"} == links(
        "/?q=a&status=open"
    )
    for path in ("/login", "/register"):
        assert {"/login?next=/owner", "/register?next=/owner"} == links(f"{path}?next=/owner")
        assert {"/login", "/register"} >= links(path) - {"/login?next=/", "/register?next=/"}
    assert {"/login", "/register"} == links("/password/forgotten")


def test_log_in_and_out(browser: PlainBrowser, house: House) -> None:
    """The cookie holds the API's own token. Logging out ends the session everywhere at once and deletes the cookie."""
    house.user("ada")
    response = browser.log_in("ADA")
    assert (303, "/") == (response.status_code, response.headers["location"])
    assert "ada" == browser.viewer()
    token = browser.http.cookies["saleroom_session"]
    me = {"Authorization": f"Bearer {token}"}
    assert "ada" == house.anyone.json("GET", "/me", headers=me)["username"]
    ended = browser.log_out()
    assert (303, "/") == (ended.status_code, ended.headers["location"])
    assert browser.viewer() is None
    assert "saleroom_session" not in browser.http.cookies
    assert 401 == house.anyone.get("/me", headers=me).status_code


def test_the_session_cookie_is_out_of_reach(browser: PlainBrowser, house: House) -> None:
    """The session's cookie is hidden from scripts and other sites' requests, and lasts as long as its token."""
    house.user("ada")
    [cookie] = cookies(browser.log_in("ada"), "saleroom_session")
    _, *attributes = cookie.split("; ")
    assert {"Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"} == set(attributes)
    [gone] = cookies(browser.log_out(), "saleroom_session")
    assert gone.startswith("saleroom_session=; ")
    assert "Max-Age=0" in gone


def test_over_https_the_cookie_never_leaves_it(serve_house: ServeHouse) -> None:
    """If the public address is https, the cookies are Secure, and their names keep other hosts from setting them."""
    served = serve_house(public_url="https://sales.example.org")
    served.user("ada")
    form = httpx.get(f"{served.base}/login")
    [forgery] = cookies(form, "__Host-saleroom_csrf")
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} == set(forgery.split("; ")[1:])
    # The test speaks plain http, over which a client sends no Secure cookie: the test sends it itself.
    fields = {
        "username": "ada",
        "password": PASSWORD,
        "csrfToken": Page(form).all("input", name="csrfToken")[0]["value"],
    }
    response = httpx.post(f"{served.base}/session", data=fields, headers={"Cookie": forgery.split(";")[0]})
    assert 303 == response.status_code
    [session] = cookies(response, "__Host-saleroom_session")
    assert {"Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax", "Secure"} == set(session.split("; ")[1:])
    home = httpx.get(served.base, headers={"Cookie": session.split(";")[0]})
    assert "Logged in as ada" in Page(home).one("li", class_="viewer").text
    plain = httpx.get(served.base, headers={"Cookie": session.split(";")[0].removeprefix("__Host-")})
    assert [] == Page(plain).all("li", class_="viewer")


@pytest.mark.parametrize("path", ["/session", "/session/end", "/register"])
@pytest.mark.parametrize("token", [None, "", "f" * 64])
def test_a_form_without_its_token_does_nothing(house: House, path: str, token: str | None) -> None:
    """A form from another site lacks the token: the answer is 403 as a page, without an account or a session."""
    account = {"username": f"forged.{next(_numbers)}", "password": PASSWORD}
    response = house.stranger.post(path, data=account | ({} if token is None else {"csrfToken": token}))
    assert 403 == response.status_code
    assert "This form is out of date" == Page(response).heading
    assert [] == cookies(response, "saleroom_session")
    assert 201 == house.anyone.post("/users", json=account).status_code


def test_a_token_is_bound_to_its_cookie(browser: PlainBrowser, house: House) -> None:
    """Another browser's token is refused."""
    stolen = Page(house.stranger.get("/login")).one("input", name="csrfToken")["value"]
    browser.page("/login")
    fields = {"csrfToken": stolen, "username": "ada", "password": PASSWORD}
    assert 403 == browser.http.post("/session", data=fields).status_code


@pytest.mark.databases("sqlite", "postgresql")
def test_a_page_without_a_form_sets_no_cookie(house: House) -> None:
    """A page without a form sets no cookie."""
    assert "set-cookie" not in httpx.get(house.base).headers


def test_a_wrong_password_is_told_kindly(browser: PlainBrowser, house: House) -> None:
    """A wrong password gets the form again with 422, with the typed name and without the password."""
    house.user("ada")
    response = browser.log_in("ada", "wrong password")
    form = Page(response)
    assert 422 == response.status_code
    assert "The username or the password is wrong." in form.one("p", role="alert").text
    assert "ada" == form.one("input", id="username")["value"]
    assert "wrong password" not in response.text
    assert browser.viewer() is None


def test_an_empty_login_names_both_fields(browser: PlainBrowser) -> None:
    """A login without its fields gets the form again with 400 and a message at each field."""
    response = browser.log_in("", "")
    form = Page(response)
    assert 400 == response.status_code
    assert ["Please fill this in."] * 2 == [word.text for word in form.all("small", class_="fault")]
    assert "Please check the marked fields." in form.one("p", role="alert").text
    assert ["username-help", "password-help"] == [
        i["aria-describedby"] for i in form.all("input", **{"aria-invalid": "true"})
    ]


@pytest.mark.databases("sqlite", "postgresql")
def test_too_many_failures_wait(browser: PlainBrowser, house: House) -> None:
    """After five failures in a row the form says how long to wait, with 429 and Retry-After."""
    name = house.newcomer().name
    assert [422] * 5 == [browser.log_in(name, "wrong password").status_code for _ in range(5)]
    response = without_delay(lambda: browser.log_in(name, "wrong password"))
    assert 429 == response.status_code
    assert f"Try again in {response.headers['retry-after']} second" in Page(response).one("p", role="alert").text


def test_all_faults_of_a_registration_come_at_once(browser: PlainBrowser) -> None:
    """A bad username and a bad password are both reported, with 400, and nothing is registered."""
    response = browser.register("a b", "short")
    form = Page(response)
    assert 400 == response.status_code
    assert [
        "The username must have 3 to 32 characters: letters a to z, digits, dots, underscores and hyphens.",
        "The password must have 8 to 256 characters.",
    ] == [word.text for word in form.all("small", class_="fault")]
    assert "a b" == form.one("input", id="username")["value"]


def test_a_taken_name_is_told(browser: PlainBrowser, house: House) -> None:
    """A username that is taken gets the form again with 409."""
    house.user("ada")
    response = browser.register("Ada")
    assert 409 == response.status_code
    assert "taken" in Page(response).one("p", role="alert").text


def test_markup_in_a_form_stays_text(browser: PlainBrowser) -> None:
    """Markup typed as a username comes back as text."""
    hostile = '"><script>alert(1)</script>'
    form = Page(browser.log_in(hostile))
    assert hostile == form.one("input", id="username")["value"]
    assert [] == [script for script in form.all("script") if "src" not in script.attributes]
    assert "alert(1)" not in [script.text for script in form.all("script")]


@pytest.mark.databases("sqlite", "postgresql")
def test_a_login_that_has_to_wait_does_not_undo_the_registration(browser: PlainBrowser, house: House) -> None:
    """If the login after a registration has to wait, the account exists, and the form to log in says why."""
    for _ in range(5):
        browser.log_in("patient.one", "wrong password")
    response = browser.register("patient.one")
    assert 429 == response.status_code
    assert "Log in" == Page(response).heading
    assert 409 == browser.register("patient.one").status_code


def test_closed_registration_is_told(serve_house: ServeHouse) -> None:
    """If registration is closed, no page offers it, and the form's address refuses with 403."""
    served = serve_house(registration="closed")
    assert [] == Page(served.stranger.get("/")).all("a", href="/register")
    form = Page(served.stranger.get("/register"))
    assert [] == form.all("form")
    assert "You cannot register here yourself." in form.main
    response = served.anyone.post("/register", data={"username": "ada", "password": PASSWORD})
    assert 403 == response.status_code
    assert "You cannot register here yourself." in Page(response).main


def test_the_forms_lead_a_logged_in_user_home(browser: PlainBrowser, house: House) -> None:
    """The forms to log in and to register lead a logged-in user home."""
    house.user("ada")
    browser.log_in("ada")
    for path in ("/login", "/register"):
        response = browser.http.get(path)
        assert (303, "/") == (response.status_code, response.headers["location"])


def test_both_forms_lead_back(browser: PlainBrowser, house: House) -> None:
    """The page to return to is kept by either form, from one to the other, and after a mistake."""
    house.user("ada")
    where = "/lots/x?before=3&a=b"
    form = browser.page("/login?next=%2Flots%2Fx%3Fbefore%3D3%26a%3Db")
    assert where == form.one("input", name="next")["value"]
    other = next(link for link in form.links if link.startswith("/register?"))
    register = browser.page(other)
    assert where == register.one("input", name="next")["value"]
    wrong = browser.send("/login", "/session", username="ada", password="wrong password", next=where)
    assert where == Page(wrong).one("input", name="next")["value"]
    response = browser.send(other, "/register", username=f"led.back.{next(_numbers)}", password=PASSWORD, next=where)
    assert (303, where) == (response.status_code, response.headers["location"])
    browser.log_out()
    response = browser.send("/login", "/session", username="ada", password=PASSWORD, next=where)
    assert (303, where) == (response.status_code, response.headers["location"])
    again = browser.http.get("/login", params={"next": where})
    assert (303, where) == (again.status_code, again.headers["location"])


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "//evil.example", "/\\evil.example", "x", "/a\r\nb: c", "/é"]
)
def test_a_form_never_leads_to_another_host(browser: PlainBrowser, house: House, address: str) -> None:
    """A form never leads to another host, whatever its `next` says."""
    house.user("ada")
    assert "/" == Page(browser.http.get("/login", params={"next": address})).one("input", name="next")["value"]
    response = browser.send("/login", "/session", username="ada", password=PASSWORD, next=address)
    assert (303, "/") == (response.status_code, response.headers["location"])
    assert "/" == browser.http.get("/register", params={"next": address}).headers["location"]


def test_refusals_are_in_the_readers_language(browser: PlainBrowser, house: House) -> None:
    """A wrong password, a wait and the faults of fields are reported in the language of the form."""
    browser.http.headers["Accept-Language"] = "de"
    name = house.newcomer().name
    assert (
        "Benutzername oder Passwort ist falsch"
        in Page(browser.log_in(name, "wrong password")).one("p", role="alert").text
    )
    for _ in range(4):
        browser.log_in(name, "wrong password")
    waits = browser.log_in(name)
    assert 429 == waits.status_code
    assert "in 1 Sekunde noch einmal" in Page(waits).one("p", role="alert").text
    faults = Page(browser.register("ä", "kurz")).all("small", class_="fault")
    assert "Das Passwort muss 8 bis 256 Zeichen haben." == faults[1].text


def test_password_managers_understand_the_forms(house: House) -> None:
    """The fields state their purpose, and a new password its minimum length."""
    login, register = (Page(house.stranger.get(path)) for path in ("/login", "/register"))
    for form, password in ((login, "current-password"), (register, "new-password")):
        assert "username" == form.one("input", id="username")["autocomplete"]
        assert password == form.one("input", id="password")["autocomplete"]
    assert "8" == register.one("input", id="password")["minlength"]
    assert "minlength" not in login.one("input", id="password").attributes


@pytest.mark.parametrize("value", ["AAAAAAAAAAAAAA==", "", "rubbish", '"', "%00", "a" * 3000, "é"])
def test_a_dead_session_is_none(house: House, value: str) -> None:
    """A cookie with an unknown or malformed token means a visitor who is not logged in. Logging out deletes it."""
    headers = [(b"cookie", f"saleroom_session={value}".encode()), (b"x-requested-with", b"test")]
    for path in ("/", "/login", "/docs"):
        response = httpx.get(f"{house.base}{path}", headers=headers)
        assert 200 == response.status_code
        assert [] == Page(response).all("li", class_="viewer")
    response = httpx.post(f"{house.base}/session/end", headers=headers)
    assert 303 == response.status_code
    assert 1 == len(cookies(response, "saleroom_session"))


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", FORM, 400),
        (b"username=ada", FORM, 400),
        (b"username=%ff&password=x", FORM, 400),
        (b"username=\xff&password=x", FORM, 400),
        (b"&".join(b"a=1" for _ in range(200)), FORM, 400),
        (b'{"username": "ada", "password": "x"}', {"Content-Type": "application/json"}, 400),
        (b"--x\r\n", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
        (b"username=a%00b&password=wrong+password", FORM, 422),
        (b"username=ada&password=" + b"x" * 70_000, FORM, 413),
        (b"username=ada&password=" + b"%22" * 11_000, FORM, 413),
    ],
)
def test_a_malformed_form_is_refused(house: House, body: bytes, headers: dict[str, str], status: int) -> None:
    """A malformed form gets a page with a 4xx, and no session."""
    response = house.anyone.post("/session", content=body, headers=headers)
    assert status == response.status_code
    assert Page(response).heading
    assert [] == cookies(response, "saleroom_session")


def cookies(response: httpx.Response, name: str) -> list[str]:
    """Return the Set-Cookie headers for the cookie `name`."""
    return [header for header in response.headers.get_list("set-cookie") if header.startswith(f"{name}=")]
