"""The people of a sale over HTTP: users register; staff admit, check in, decline and merge."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def published(staff: User, count: int = 2, **terms: object) -> tuple[str, list[str]]:
    """Publish a sale for which people register, and return its gid and those of its lots."""
    gid = with_lots(staff, count, **{"registration": "open", **terms})
    staff.json("POST", f"/sales/{gid}/publish")
    return gid, [lot["gid"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]


def test_a_user_registers_and_sees_what_is_left(house: House, staff: User) -> None:
    """A bid needs the registration, keeps to its limit, and the refusal names the figures that the registration shows."""
    gid, (lot, other) = published(staff, limitDefault="500")
    bob, path = house.newcomer(), f"/sales/{gid}/registration"
    assert (404, "unknown_participant") == refusal(bob.get(path))
    assert (403, "not_registered") == refusal(bob.bid(lot, amount="10"))
    first = bob.json("PUT", path)
    assert ("limited", "500.000", "0.000", "500.000", None) == tuple(
        first[name] for name in ("admission", "bidLimit", "exposure", "left", "paddle")
    )
    assert first == bob.json("PUT", path)
    assert 201 == bob.bid(lot, maximum="300").status_code
    refused = bob.bid(other, maximum="200.001")
    assert (409, "beyond_limit") == refusal(refused)
    assert {"limit": "500.000", "exposure": "300.000", "asked": "200.001", "left": "200.000"}.items() <= (
        refused.json().items()
    )
    assert ("300.000", "200.000") == tuple(bob.json("GET", path)[name] for name in ("exposure", "left"))
    anybody, _ = published(staff, 1, registration="none")
    assert (409, "no_registration") == refusal(bob.request("PUT", f"/sales/{anybody}/registration"))


def test_staff_admit_somebody_without_an_account_once(staff: User) -> None:
    """A guest has a paddle and is checked in; a repeat with the key makes no second one; all faults come at once."""
    gid, _ = published(staff, names="paddles")
    path, key = f"/sales/{gid}/participants", {"Idempotency-Key": "door-1"}
    said = {"personName": "Zoë", "contact": "0171", "paddle": 12, "bidLimit": "500"}
    made = staff.post(path, json=said, headers=key)
    assert made.json() == staff.post(path, json=said, headers=key).json()
    guest = made.json()
    assert (True, 12, "limited", "floor") == tuple(guest[name] for name in ("guest", "paddle", "admission", "bidsBy"))
    assert guest["checkedInAt"] is not None
    assert (409, "paddle_taken") == refusal(staff.post(path, json={"personName": "Eva", "paddle": 12}))
    assert (404, "unknown_user") == refusal(staff.post(path, json={"username": "nobody.of.this.name"}))
    wrong = faults(staff.post(path, json={"paddle": 0, "bidLimit": "x", "bidsBy": "pigeon"}))
    assert {"paddle", "bidLimit", "bidsBy"} == wrong.keys()
    assert ["personName"] == [*faults(staff.post(path, json={}))]


def test_staff_decide_check_in_and_merge(house: House, staff: User) -> None:
    """Who waits is approved at the door; to decline needs a reason, which the user reads; a guest becomes an account."""
    gid, (lot, _) = published(staff, registration="approval")
    bob, path = house.newcomer(), f"/sales/{gid}/participants"
    mine = bob.json("PUT", f"/sales/{gid}/registration")
    assert "pending" == mine["admission"]
    one = f"{path}/{mine['participant']}"
    assert (12, "approved") == tuple(
        staff.json("POST", f"{one}/check-in", json={"paddle": 12})[name] for name in ("paddle", "admission")
    )
    assert ["reason"] == [*faults(staff.patch(one, json={"admission": "declined"}))]
    staff.json("PATCH", one, json={"admission": "declined", "reason": "Owes us."})
    assert "Owes us." == bob.json("GET", f"/sales/{gid}/registration")["declinedFor"]
    refused = bob.bid(lot, amount="10")
    assert (403, "registration_declined", "Owes us.") == (*refusal(refused), refused.json()["reason"])
    assert (403, "registration_declined") == refusal(staff.post(f"{one}/check-in"))
    staff.json("PATCH", one, json={"admission": "approved", "bidLimit": "900"})
    guest = staff.json("POST", path, json={"personName": "Bob"})["participant"]
    both = staff.json("POST", f"{path}/{guest}/merger", json={"into": mine["participant"]})
    assert (bob.name, "Bob", 12, "900.000", "limited") == tuple(
        both[name] for name in ("username", "personName", "paddle", "bidLimit", "admission")
    )
    assert (404, "unknown_participant") == refusal(staff.patch(f"{path}/{guest}", json={"bidsBy": "phone"}))
    assert ["into"] == [*faults(staff.post(f"{one}/merger", json={"into": mine["participant"]}))]


def test_bidders_come_by_pages_and_are_found(house: House, staff: User) -> None:
    """The newest come first, page by page; a paddle or the beginning of a name finds them; the answer is not kept."""
    gid, _ = published(staff)
    path = f"/sales/{gid}/participants"
    for name in ("Ada", "Bea", "Cyd"):
        staff.json("POST", path, json={"personName": name})
    answer = staff.get(f"{path}?limit=2")
    assert "no-store" == answer.headers["cache-control"]
    page = answer.json()
    rest = staff.json("GET", f"{path}?limit=2&cursor={page['next']}")
    assert ["Cyd", "Bea", "Ada"] == [one["personName"] for one in page["participants"] + rest["participants"]]
    assert ["Bea"] == [one["personName"] for one in staff.json("GET", f"{path}?q=be")["participants"]]
    assert ["Ada"] == [one["personName"] for one in staff.json("GET", f"{path}?q=100")["participants"]]
    assert (403, "missing_right") == refusal(house.newcomer().get(path))
