"""Test users: made with the key in the settings, and like any other users except for the login."""

import json
from typing import Any

import httpx
import pytest
from sqlalchemy import event, select

from saleroom.accounts.service import test_users
from saleroom.accounts.storage.accounts import list_users
from saleroom.accounts.storage.tables import users
from saleroom.settings import SettingsError, load
from saleroom.storage.database import Database, Transaction
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import LOAD_KEY, PASSWORD, House, ServeHouse, User
from tests.http.conftest import Log

pytestmark = pytest.mark.databases("sqlite")

PATHS = ("/test-users", "/test-userz")
"""The address, and an unknown one of the same length."""


def make(house: House, count: Any = 3, key: str = LOAD_KEY) -> httpx.Response:
    """Send a request for test users."""
    return house.anyone.post("/test-users", json={"count": count}, headers={"Authorization": f"Bearer {key}"})


def entered(house: House, made: dict[str, str]) -> User:
    """Return the client of a test user. The house closes it at the end."""
    found = User(house, made["username"], made["token"])
    house._clients.append(found)
    return found


@pytest.mark.databases("sqlite", "postgresql")
def test_test_users_are_made_with_a_token_each(house: House) -> None:
    """The answer is 201 with as many users as requested, all different, each with a separate token."""
    answer = make(house, 25)
    assert (201, "no-store") == (answer.status_code, answer.headers["cache-control"])
    made = answer.json()["users"]
    assert 25 == len({user["username"] for user in made}) == len({user["token"] for user in made})
    assert all(user["username"].startswith("test.") for user in made)
    for user in made[:3]:
        assert user["username"] == entered(house, user).json("GET", "/me")["username"]


def test_a_test_user_sells_and_bids_like_anybody(house: House) -> None:
    """A test user's token may do what any user's token may, and is dead after the logout."""
    [seller, bidder] = [entered(house, user) for user in make(house, 2).json()["users"]]
    answer = bidder.bid(seller.auction(), 10)
    assert (201, bidder.name) == (answer.status_code, answer.json()["bid"]["bidder"])
    bidder.json("DELETE", "/logout")
    assert 401 == bidder.get("/me").status_code


@pytest.mark.databases("sqlite", "postgresql")
def test_nobody_logs_in_as_a_test_user(house: House) -> None:
    """Test users have no digest, so no password logs them in."""
    [user] = make(house, 1).json()["users"]

    def digest(tx: Transaction) -> str | None:
        found: str | None = tx.execute(
            select(users.c.password_digest).where(users.c.username == user["username"])
        ).scalar_one()
        return found

    assert house.read(digest) is None
    account = {"username": user["username"], "password": PASSWORD}
    assert 422 == house.anyone.post("/login", json=account).status_code


def test_a_wrong_key_is_401_and_makes_nobody(house: House) -> None:
    """Any other key, even a user's token, gets the answer of a dead token."""
    wrong = ["x", LOAD_KEY[:-1], f"{LOAD_KEY}x", LOAD_KEY.upper(), house.user("ada").token]
    assert [(401, "unauthenticated")] * 5 == [refusal(make(house, 1, key)) for key in wrong]
    answer = house.plain.post(
        "/test-users",
        json={"count": 1},
        headers={b"X-Requested-With": b"x", b"Authorization": "Bearer \u00fc\u00f6\u00e4".encode("latin-1")},
    )
    assert 401 == answer.status_code


def test_without_the_setting_the_address_is_unknown(serve_house: ServeHouse) -> None:
    """Without `load_key`, every method gets the answer of an unknown address, and the document does not have it."""
    house = serve_house(load_key=None)
    headers = {"X-Requested-With": "x", "Authorization": f"Bearer {LOAD_KEY}"}
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        for body in ({"count": 1}, {"count": "x"}):
            there, nowhere = (house.plain.request(method, path, json=body, headers=headers) for path in PATHS)
            assert (404, nowhere.content) == (there.status_code, there.content)
            assert {**nowhere.headers, "date": ""} == {**there.headers, "date": ""}
    assert "test-users" not in house.plain.get("/openapi.json").text


def test_the_forgery_filter_covers_test_users(house: House) -> None:
    """Without X-Requested-With it is 403, with or without the key."""
    answer = house.stranger.post("/test-users", json={"count": 1}, headers={"Authorization": f"Bearer {LOAD_KEY}"})
    assert (403, "csrf") == refusal(answer)


@pytest.mark.parametrize("count", [0, 1001, -1, 1.5, "3", None, True, 10**30])
def test_one_to_a_thousand_at_once(sqlite_house: House, count: Any) -> None:
    """`count` is a whole number from 1 to 1000."""
    assert ["count"] == list(faults(make(sqlite_house, count)))


@pytest.mark.databases("sqlite", "postgresql")
def test_a_thousand_take_as_many_statements_as_one(house: House) -> None:
    """Test users are stored in bulk: the number of statements does not depend on the number of users."""
    assert counted(house, 1) == counted(house, 1000) <= 6


def counted(house: House, count: int) -> int:
    """Return the number of statements for so many users."""
    statements: list[str] = []

    def work(tx: Transaction) -> None:
        def noted(*arguments: Any) -> None:
            statements.append(arguments[2])

        event.listen(tx.connection, "before_cursor_execute", noted)
        test_users.make_test_users(tx, count)
        event.remove(tx.connection, "before_cursor_execute", noted)

    house.write(work)
    return len(statements)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_clash_is_tried_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a token or a name is already taken, no user is made, and the next try uses new ones."""
    tokens = iter(["taken", "new", "taken", "second", "third"])
    monkeypatch.setattr(test_users, "new_token_value", lambda: next(tokens))
    made = [await database.write(test_users.make_test_users, count) for count in (1, 2)]
    assert ["taken", "second", "third"] == [user.token.value for users in made for user in users]
    assert 3 == len(await database.read(list_users))


def test_the_key_is_in_no_log_line(serve_house: ServeHouse, errors_logged: Log) -> None:
    """No key is logged, right or wrong, and the repr of the services does not show it."""
    house = serve_house(load_key="open-sesame-open-sesame")
    make(house, 1, "open-sesame-open-sesame")
    make(house, 1, "open-sesame-wrong-sesame")
    assert "open-sesame" not in json.dumps(errors_logged, default=repr) + repr(house.settings)


def test_the_setting_changes_one_address(serve_house: ServeHouse) -> None:
    """With and without the setting, the documents of two houses differ by the one address."""
    with_them, without = (
        serve_house(load_key=key).plain.get("/openapi.json").json()["paths"] for key in (LOAD_KEY, None)
    )
    assert {"/test-users"} == with_them.keys() ^ without.keys()


@pytest.mark.parametrize(
    "key", ["x" * 15, "x" * 257, "a key with its spaces", "schl\u00fcssel-schl\u00fcssel", "tab\tab\tab\tab\tab"]
)
def test_a_key_is_long_and_fits_into_a_header(key: str) -> None:
    """`load_key` has 16 to 256 ASCII characters without spaces. A refusal does not repeat it."""
    with pytest.raises(SettingsError) as refused:
        load({}, {"SALEROOM_LOAD_KEY": key})
    assert ["SALEROOM_LOAD_KEY: write 16 to 256 characters without spaces, all of them ASCII"] == refused.value.faults


@pytest.mark.parametrize("key", ["x" * 16, "~" * 256])
def test_a_good_key_is_kept_out_of_sight(key: str) -> None:
    """A key within the bounds is accepted, and the repr of the settings does not show it."""
    settings = load({}, {"SALEROOM_LOAD_KEY": key})
    assert settings.load_key is not None
    assert (key, False) == (settings.load_key.get_secret_value(), key in repr(settings))
