"""Sanctions over HTTP, on each database: imposed, in force at once, read, lifted, and noted in the audit log."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")


def sanction(by: User, on: User, kind: str, reason: str = "Shill bids", **more: Any) -> httpx.Response:
    """Return the answer to a request to sanction a user."""
    return by.post(f"/staff/users/{on.name}/sanctions", json={"kind": kind, "reason": reason, **more})


def lift(by: User, on: User) -> httpx.Response:
    """Return the answer to a request to lift what bars a user."""
    return by.post(f"/staff/users/{on.name}/sanctions/lift", json={"reason": "A mistake"})


def in_days(days: float) -> str:
    """Return an instant so many days from now."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.fixture
def manager(house: House) -> User:
    """A manager."""
    return house.staff(Role.MANAGER)


@pytest.mark.parametrize(("kind", "days"), [("ban", None), ("ban", 2), ("suspension", 2)])
def test_a_bar_stops_bids_purchases_lots_and_questions(
    house: House, manager: User, kind: str, days: int | None
) -> None:
    """From the answer on each is refused by 403 with the reason and the end, and works again once it is lifted."""
    person, seller = house.newcomer(), house.newcomer()
    gid = seller.auction(buyNowPrice="500")
    own = person.auction()
    more = {} if days is None else {"until": in_days(days)}
    assert 201 == sanction(manager, person, kind, **more).status_code
    acts: dict[str, Callable[[], httpx.Response]] = {
        "bid": lambda: person.bid(gid, "10"),
        "buy": lambda: person.post(f"/auctions/{gid}/buy"),
        "ask": lambda: person.post(f"/auctions/{gid}/questions", json={"text": "Does it run?"}),
        "sell": lambda: person.post("/auctions", json={"name": "Clock", "startingPrice": "1", "increment": "1"}),
        "close": lambda: person.post(f"/auctions/{own}/close", json={}),
    }
    for name, act in acts.items():
        answer = act()
        said = answer.json()
        assert (403, "barred", kind, "Shill bids") == (
            answer.status_code,
            said["code"],
            said["sanction"],
            said["reason"],
        ), name
        assert (said["until"] is None) == (days is None)
    for path in ("/me", "/me/bids", "/me/auctions", f"/auctions/{own}", "/me/sanctions"):
        assert 200 == person.get(path).status_code, path
    assert 200 == lift(manager, person).status_code
    assert 201 == person.bid(gid, "10").status_code


def test_what_stood_before_a_ban_stands(house: House, manager: User) -> None:
    """The leading bid of a banned user leads on, and others still bid on their lot."""
    person, other = house.newcomer(), house.newcomer()
    gid, own = other.auction(), person.auction()
    assert person.bid(gid, maximum="100").is_success
    sanction(manager, person, "ban")
    assert person.name == house.anyone.json("GET", f"/auctions/{gid}")["currentBidder"]
    assert other.bid(own, "10").is_success


def test_the_history_and_the_audit_log_have_every_act(house: House, manager: User) -> None:
    """Each sanction stands in the history with who, why and how it ended; each act is an entry of the audit log."""
    person, owner = house.newcomer(), house.staff(Role.OWNER)
    sanction(manager, person, "warning", "Be polite")
    sanction(manager, person, "suspension", until=in_days(1))
    sanction(owner, person, "ban", "Again")
    lift(owner, person)
    found = owner.json("GET", f"/staff/users/{person.name}/sanctions")
    assert None is found["person"]["barred"]
    ban, suspension, warning = found["sanctions"]
    assert ("ban", "Again", owner.name, owner.name, "A mistake") == tuple(
        ban[name] for name in ("kind", "reason", "by", "endedBy", "endedReason")
    )
    assert (manager.name, owner.name, None) == (suspension["by"], suspension["endedBy"], suspension["endedReason"])
    assert ("Be polite", None) == (warning["reason"], warning["endedAt"])
    entries = owner.json("GET", f"/staff/audit?user={person.name}")["entries"]
    acts = [(one["act"], one["by"], one["before"].get("barred"), one["after"].get("barred")) for one in entries]
    assert [
        ("bar.lifted", owner.name, "ban", None),
        ("user.banned", owner.name, "suspension", "ban"),
        ("user.suspended", manager.name, None, "suspension"),
        ("user.warned", manager.name, None, None),
    ] == acts
    assert found["sanctions"] == person.json("GET", "/me/sanctions")["sanctions"]


def test_nobody_sanctions_themselves_or_those_above_or_beside_them(house: House, manager: User) -> None:
    """Each refusal names its reason, and changes nothing."""
    owner, member = house.staff(Role.OWNER), house.newcomer()
    for by, on, code in (
        (manager, manager, "not_oneself"),
        (manager, owner, "not_above_them"),
        (owner, owner, "not_oneself"),
        (member, manager, "missing_right"),
        (house.staff(Role.CLERK), member, "missing_right"),
    ):
        for answer in (sanction(by, on, "ban"), lift(by, on)):
            assert (403, code) == (answer.status_code, answer.json()["code"])
    assert None is owner.json("GET", f"/staff/users/{manager.name}")["barred"]
    unknown = manager.post("/staff/users/nobody.at.all/sanctions", json={"kind": "ban", "reason": "x"})
    assert (404, "unknown_user") == (unknown.status_code, unknown.json()["code"])


def test_a_banned_manager_has_no_power(house: House) -> None:
    """A ban takes the rights of staff at once: a banned manager neither bans others nor lifts the own ban."""
    owner, person = house.staff(Role.OWNER), house.newcomer()
    manager = house.newcomer()
    assert owner.request("PUT", f"/staff/users/{manager.name}/role", json={"role": "manager"}).is_success
    assert sanction(manager, person, "warning").is_success
    assert sanction(owner, manager, "ban").is_success
    for answer in (sanction(manager, person, "ban"), lift(manager, manager), manager.get("/staff/users")):
        assert (403, "barred") == (answer.status_code, answer.json()["code"])
    assert ["read", "account", "watch"] == manager.json("GET", "/me/rights")["rights"]


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"kind": "exile", "reason": "x"}, "kind", "not_a_choice"),
        ({"kind": "ban"}, "reason", "required"),
        ({"kind": "ban", "reason": ""}, "reason", "text_length"),
        ({"kind": "ban", "reason": "x" * 501}, "reason", "text_length"),
        ({"kind": "suspension", "reason": "x"}, "until", "end_required"),
        ({"kind": "ban", "reason": "x", "until": "2001-01-01T00:00:00Z"}, "until", "end_in_past"),
        ({"kind": "warning", "reason": "x", "until": "2101-01-01T00:00:00Z"}, "until", "end_of_warning"),
    ],
)
def test_a_faulty_sanction_is_refused(house: House, manager: User, body: dict[str, Any], field: str, code: str) -> None:
    """The answer names the field and what would be right, and nothing is imposed."""
    person = house.newcomer()
    answer = manager.post(f"/staff/users/{person.name}/sanctions", json=body)
    assert (400, [code]) == (answer.status_code, [one["code"] for one in answer.json()["message"][field]])
    assert [] == person.json("GET", "/me/sanctions")["sanctions"]


def test_only_what_is_in_force_is_lifted(house: House, manager: User) -> None:
    """A user who is not barred, or only warned, has nothing that could be lifted."""
    person = house.newcomer()
    sanction(manager, person, "warning")
    answer = lift(manager, person)
    assert (409, "not_barred") == (answer.status_code, answer.json()["code"])


@pytest.mark.databases("sqlite", "postgresql")
def test_a_warning_stays_until_it_is_read(house: House, manager: User) -> None:
    """The user reads it, says so, and it has an end; staff sees that. Reading twice changes nothing."""
    person = house.newcomer()
    sanction(manager, person, "warning", "Be polite")
    for _ in range(2):
        assert 204 == person.post("/me/sanctions/read").status_code
    [warning] = manager.json("GET", f"/staff/users/{person.name}/sanctions")["sanctions"]
    assert (person.name, "Be polite") == (warning["endedBy"], warning["reason"])


@pytest.mark.databases("sqlite", "postgresql")
def test_staff_finds_those_who_are_barred(house: House, manager: User) -> None:
    """The list of users takes what bars them, with its end."""
    person = house.newcomer()
    sanction(manager, person, "suspension", until=in_days(3))
    [found] = manager.json("GET", f"/staff/users?barred=suspension&q={person.name}")["users"]
    assert ("suspension", person.name) == (found["barred"], found["username"])
    assert [] == manager.json("GET", f"/staff/users?barred=ban&q={person.name}")["users"]
