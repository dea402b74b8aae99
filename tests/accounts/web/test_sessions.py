"""The list of a user's sessions: each one shown, one ended, all ended."""

from __future__ import annotations

import httpx
import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, without_delay
from tests.site.markup import Page

PATHS = ("/mine/sessions/end", "/mine/sessions/end-all")


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


def test_sessions_are_listed_and_ended(come: Come, house: House) -> None:
    """The page lists each session with its time and marks this one; a session that is ended is dead at once."""
    user = house.newcomer()
    other = house.log_in(user.name)
    visitor = come(user)
    page = visitor.page("/mine/sessions")
    assert 1 == len(page.all("input", name="id"))
    assert ["this device"] == [e.text for e in page.all("span", class_="tag")]
    answer = visitor.send(page, "/mine/sessions/end", password=PASSWORD)
    assert (303, "/mine/sessions") == (answer.status_code, answer.headers["location"])
    assert 401 == other.get("/me").status_code
    assert 200 == user.get("/me").status_code
    assert [] == visitor.page("/mine/sessions").all("input", name="id")


@pytest.mark.parametrize(("language", "name"), [("en", "Firefox on Linux"), ("de", "Firefox unter Linux")])
def test_a_device_is_named_in_the_language_of_its_reader(come: Come, house: House, language: str, name: str) -> None:
    """The name has a word between the browser and its system, which German pages say in German."""
    user = house.newcomer()
    known = {"username": user.name, "password": PASSWORD}
    agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    assert 200 == house.anyone.post("/login", json=known, headers=agent).status_code
    visitor = come(user)
    visitor.http.headers["Accept-Language"] = language
    assert name in [e.text for e in visitor.page("/mine/sessions").all("h3")]


def test_nobody_ends_the_session_of_another(come: Come, house: House) -> None:
    """The number of another user's session changes nothing; a malformed number is refused."""
    mine, other = house.newcomer(), house.newcomer()
    other_again = house.log_in(other.name)
    number = come(other).page("/mine/sessions").one("input", name="id")["value"]
    house.log_in(mine.name)
    visitor = come(mine)
    page = visitor.page("/mine/sessions")
    assert 303 == visitor.send(page, "/mine/sessions/end", id=number, password=PASSWORD).status_code
    assert 200 == other_again.get("/me").status_code
    for wrong in ("", "x", "-1", "1e3", "\u0663", "9" * 30):
        assert 400 == visitor.send(page, "/mine/sessions/end", id=wrong, password=PASSWORD).status_code


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("typed", "status"), [("", 400), ("not the password", 403)])
def test_a_thief_of_a_session_logs_nobody_out(come: Come, house: House, path: str, typed: str, status: int) -> None:
    """Without the password no session ends: the form stays open and names the fault."""
    user = house.newcomer()
    other = house.log_in(user.name)
    visitor = come(user)
    answer = visitor.send(visitor.page("/mine/sessions"), path, password=typed)
    shown = Page(answer)
    assert status == answer.status_code
    forms = {path: "open" in e.attributes for e, path in zip(shown.all("details")[-2:], PATHS, strict=True)}
    assert {one: one == path for one in PATHS} == forms
    assert 1 == len(shown.all("small", class_="fault"))
    assert [200, 200] == [one.get("/me").status_code for one in (user, other)]


def test_guesses_on_this_page_count_as_logins(come: Come, house: House) -> None:
    """Wrong passwords here are delayed as at a login, so that a thief guesses no quicker."""
    user = house.newcomer()
    visitor = come(user)
    page = visitor.page("/mine/sessions")
    answer = without_delay(lambda: visitor.send(page, "/mine/sessions/end-all", password="not the password"))
    assert 429 == answer.status_code


def test_log_out_everywhere(come: Come, house: House) -> None:
    """All tokens are dead at once, the cookie is removed, and the user is at home, logged out."""
    user = house.newcomer()
    other, here = house.log_in(user.name), house.log_in(user.name)
    visitor = come(here)
    answer = visitor.send(visitor.page("/mine/sessions"), "/mine/sessions/end-all", password=PASSWORD)
    assert (303, "/") == (answer.status_code, answer.headers["location"])
    assert any(one.startswith("saleroom_session=;") and "Max-Age=0" in one for one in cookies_of(answer))
    for client in (user, other, here):
        assert 401 == client.get("/me").status_code
    again = visitor.http.post("/mine/sessions/end-all", headers={"X-Requested-With": "tests"})
    assert "/login?next=/mine/sessions" == again.headers["location"]


def cookies_of(answer: httpx.Response) -> list[str]:
    """Return the cookies that an answer sets."""
    return answer.headers.get_list("set-cookie")
