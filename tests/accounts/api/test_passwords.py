"""Changing the password over HTTP: its effect on sessions, and its refusals."""

from functools import partial
from typing import Any

import pytest

from saleroom.accounts import area
from saleroom.accounts.service import passwords
from saleroom.accounts.service.throttle import FailedLogins
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_database import FakeClock
from tests.fixtures_house import LOAD_KEY, PASSWORD, House, ServeHouse, User

pytestmark = pytest.mark.databases("sqlite")

NEW = "another battery staple"
CHANGE = {"currentPassword": PASSWORD, "newPassword": NEW}


def logs_in(house: House, name: str, password: str) -> int:
    """Return the status of a login."""
    return house.anyone.post("/login", json={"username": name, "password": password}).status_code


def test_a_new_password(house: House) -> None:
    """The change is 204. Only the new password logs in, all other tokens are dead at once, and this one stays valid."""
    ada, bob = house.newcomer(), house.newcomer()
    others = [house.log_in(ada.name) for _ in range(2)]
    answer = ada.request("PUT", "/me/password", json=CHANGE)
    assert (204, b"") == (answer.status_code, answer.content)
    assert [200, 401, 401, 200] == [who.get("/me").status_code for who in (ada, *others, bob)]
    assert [True] == [one["current"] for one in ada.json("GET", "/me/sessions")["sessions"]]
    assert [422, 200] == [logs_in(house, ada.name, password) for password in (PASSWORD, NEW)]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_it_is_so_in_every_process(database_url: str, serve_house: ServeHouse) -> None:
    """After a change in one process, another one on the same database refuses the old tokens and the old password at once."""
    one, other = serve_house(database=database_url), serve_house(database=database_url)
    ada = one.user("ada")
    there, same = (User(other, "ada", token) for token in (one.log_in("ada").token, ada.token))
    assert 200 == there.get("/me").status_code
    assert 204 == ada.request("PUT", "/me/password", json=CHANGE).status_code
    assert [401, 200] == [who.get("/me").status_code for who in (there, same)]
    assert [422, 200] == [logs_in(other, "ada", password) for password in (PASSWORD, NEW)]
    for client in (there, same):
        client.http.close()


def test_no_password_is_the_name_of_its_user(house: House) -> None:
    """A name with a few more characters is refused at a registration and at a change, and changes nothing."""
    account = {"username": "ada.lovelace", "password": "Ada-Lovelace-1"}
    assert (422, "obvious_password") == refusal(house.anyone.post("/users", json=account))
    ada = house.newcomer()
    changed = ada.request("PUT", "/me/password", json=CHANGE | {"newPassword": f"{ada.name}!"})
    assert (422, "obvious_password") == refusal(changed)
    assert 200 == logs_in(house, ada.name, PASSWORD)


def test_a_wrong_current_password(house: House) -> None:
    """A wrong current password is 403 `wrong_password`, as the token is valid. Nothing changes, and no session ends."""
    ada = house.newcomer()
    other = house.log_in(ada.name)
    for wrong in ("wrong password", "", PASSWORD.upper()):
        answer = ada.request("PUT", "/me/password", json=CHANGE | {"currentPassword": wrong})
        assert (403, "wrong_password") == refusal(answer)
    assert [200, 200] == [who.get("/me").status_code for who in (ada, other)]
    assert [200, 422] == [logs_in(house, ada.name, password) for password in (PASSWORD, NEW)]


def test_a_user_without_a_password_cannot_change_it(house: House) -> None:
    """A test user has no password, and gets the refusal of a wrong one, byte for byte."""
    made = house.anyone.json("POST", "/test-users", json={"count": 1}, headers={"Authorization": f"Bearer {LOAD_KEY}"})
    asking = (house.newcomer().token, made["users"][0]["token"])
    sent = CHANGE | {"currentPassword": "wrong password"}
    answers = [
        house.anyone.request("PUT", "/me/password", json=sent, headers={"Authorization": f"Bearer {token}"})
        for token in asking
    ]
    assert [(403, answers[0].content)] * 2 == [(answer.status_code, answer.content) for answer in answers]


def test_guesses_wait_as_those_of_a_login_do(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five failures at either address the next try is 429 with Retry-After at both. The token stays valid."""
    monkeypatch.setattr(area, "FailedLogins", partial(FailedLogins, clock=FakeClock()))
    house = serve_house()
    ada = house.newcomer()
    wrong = CHANGE | {"currentPassword": "wrong password"}
    guesses = [logs_in(house, ada.name, "wrong password") for _ in range(2)]
    guesses += [ada.request("PUT", "/me/password", json=wrong).status_code for _ in range(3)]
    assert [422, 422, 403, 403, 403] == guesses
    answer = ada.request("PUT", "/me/password", json=CHANGE)
    assert (429, "too_many_requests") == refusal(answer)
    assert 1 == answer.json()["retryAfter"] == int(answer.headers["retry-after"])
    assert 429 == logs_in(house, ada.name, PASSWORD)
    assert 200 == ada.get("/me").status_code


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"currentPassword": ["required"], "newPassword": ["required"]}),
        (
            {"currentPassword": 1, "newPassword": "short"},
            {"currentPassword": ["not_a_string"], "newPassword": ["password_length"]},
        ),
        (CHANGE | {"newPassword": "x" * 257}, {"newPassword": ["password_length"]}),
        (CHANGE | {"newPassword": PASSWORD}, {"newPassword": ["same_password"]}),
        (CHANGE | {"username": "ada"}, {"username": ["unknown"]}),
        ([], {"body": ["not_an_object"]}),
    ],
)
def test_malformed_requests_are_400(sqlite_house: House, body: Any, expected: dict[str, list[str]]) -> None:
    """A malformed request is 400 with all its faults. The new password has the rules of registration."""
    assert expected == faults(sqlite_house.newcomer().request("PUT", "/me/password", json=body))


@pytest.mark.databases("sqlite", "postgresql")
def test_a_storm_of_changes_is_turned_away(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the queue for digests is full, the change is 503 with Retry-After, and nothing changes or counts."""
    ada = house.newcomer()
    monkeypatch.setattr(passwords, "WAITING_MAX", -passwords.THREADS)
    for _ in range(6):
        answer = ada.request("PUT", "/me/password", json=CHANGE)
        assert (503, "busy", "1") == (*refusal(answer), answer.headers["retry-after"])
    monkeypatch.undo()
    assert 200 == logs_in(house, ada.name, PASSWORD)
