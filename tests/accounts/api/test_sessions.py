"""Sessions over HTTP: the list with devices, and how sessions end."""

import pytest

from tests.bidding.api.answers import instant, refusal
from tests.fixtures_house import PASSWORD, House, ServeHouse, User

pytestmark = pytest.mark.databases("sqlite")

PHONE = "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"


def test_sessions_are_listed(house: House) -> None:
    """GET /me/sessions lists each live login with its instants and its device, the latest first, and without its token."""
    ada = house.log_in(house.newcomer().name)
    account = {"username": ada.name, "password": PASSWORD}
    phone = house.anyone.post("/login", json=account, headers={"User-Agent": PHONE}).json()
    answer = ada.get("/me/sessions")
    newer, older, _ = answer.json()["sessions"]
    assert ["Firefox on Android", "python-httpx"] == [newer["agent"], older["agent"]]
    assert [False, True] == [newer["current"], older["current"]]
    assert (phone["createdAt"], phone["expiresAt"]) == (newer["createdAt"], newer["expiresAt"])
    assert instant(older["createdAt"]) < instant(newer["createdAt"])
    assert "no-store" == answer.headers["cache-control"]
    assert phone["token"] not in answer.text and ada.token not in answer.text


def test_one_session_ends(house: House) -> None:
    """DELETE /me/sessions/{id} is 204, and that token is dead at once. The others stay valid, and a repeat is 404."""
    ada = house.newcomer()
    other = house.log_in(ada.name)
    [ended] = [one["id"] for one in ada.json("GET", "/me/sessions")["sessions"] if not one["current"]]
    assert 204 == ada.delete(f"/me/sessions/{ended}").status_code
    assert (401, 200) == (other.get("/me").status_code, ada.get("/me").status_code)
    assert (404, "unknown_session") == refusal(ada.delete(f"/me/sessions/{ended}"))


@pytest.mark.parametrize("number", ["0", "-1", "1.0", "x", "01", "%D9%A1", "9" * 18, "9" * 19, "9" * 40])
def test_no_session_of_ones_own_is_404(house: House, number: str) -> None:
    """An id that is not one of the user's sessions is 404, and ends nothing."""
    ada = house.user("ada")
    assert (404, "unknown_session") == refusal(ada.delete(f"/me/sessions/{number}"))
    assert 200 == ada.get("/me").status_code


def test_another_users_session_is_404(house: House) -> None:
    """Nobody can end another user's session."""
    ada, eve = house.newcomer(), house.newcomer()
    [hers] = ada.json("GET", "/me/sessions")["sessions"]
    assert (404, "unknown_session") == refusal(eve.delete(f"/me/sessions/{hers['id']}"))
    assert 200 == ada.get("/me").status_code


def test_logging_out_everywhere(house: House) -> None:
    """DELETE /me/sessions is 204. All tokens of the user are dead at once, and nobody else's."""
    ada, bob = house.newcomer(), house.newcomer()
    others = [house.log_in(ada.name) for _ in range(2)]
    assert 204 == others[0].delete("/me/sessions").status_code
    assert [401] * 3 == [who.get("/me").status_code for who in (ada, *others)]
    assert 200 == bob.get("/me").status_code
    assert 200 == house.log_in(ada.name).get("/me").status_code


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_logging_out_everywhere_is_so_in_every_process(database_url: str, serve_house: ServeHouse) -> None:
    """After it in one process, another one on the same database refuses all of the tokens at once."""
    one, other = serve_house(database=database_url), serve_house(database=database_url)
    ada = one.user("ada")
    there = User(other, "ada", one.log_in("ada").token)
    assert 200 == there.get("/me").status_code
    assert 204 == ada.delete("/me/sessions").status_code
    assert 401 == there.get("/me").status_code
    there.http.close()


def test_the_pages_tell_the_device_too(sqlite_house: House) -> None:
    """A login with the form starts a session with a device like any other."""
    ada = sqlite_house.newcomer()
    account = {"username": ada.name, "password": PASSWORD}
    headers = {"X-Requested-With": "x", "User-Agent": PHONE}
    assert 303 == sqlite_house.plain.post("/session", data=account, headers=headers).status_code
    sqlite_house.plain.cookies.clear()  # other tests are strangers by this client
    assert "Firefox on Android" == ada.json("GET", "/me/sessions")["sessions"][0]["agent"]
