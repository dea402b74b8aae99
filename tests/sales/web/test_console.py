"""The acts of the console's page: the same answer to a repetition, and refusals in the reader's words."""

import httpx

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.sales.api.test_participants import published


def cookie(user: User) -> dict[str, str]:
    """The header of a browser with the user's session."""
    return {"Cookie": f"saleroom_session={user.token}"}


def send(house: House, user: User, gid: str, key: str = "k" * 24, **members: str) -> httpx.Response:
    """Send an act as the page does."""
    headers = {"X-Requested-With": "desk", "Idempotency-Key": key, "Accept-Language": "de", **cookie(user)}
    return house.plain.post(f"/sales/{gid}/console", data=members, headers=headers)


def test_an_act_is_done_once(house: House) -> None:
    """A repetition gets the first answer's tag, and the desk as it is now."""
    staff = house.staff(Role.AUCTIONEER)
    gid, _ = published(staff, kind="live")
    first = send(house, staff, gid, act="call", seen="0").json()
    assert ("1", "called") == (
        first["desk"]["block"]["onBlock"]["label"],
        first["desk"]["block"]["onBlock"]["auction"]["stage"],
    )
    other = send(house, staff, gid, "m" * 24, act="warn", seen=first["tag"]).json()
    again = send(house, staff, gid, act="call", seen="0").json()
    assert first["tag"] == again["tag"] != other["tag"] == again["desk"]["block"]["tag"]


def test_refusals_are_said_in_the_readers_language(house: House) -> None:
    """Each has its code for the script and a sentence for the clerk, whatever was sent."""
    staff = house.staff(Role.AUCTIONEER)
    gid, _ = published(staff, kind="live")
    cases = [
        (409, "block_changed", {"act": "call", "seen": "1"}),
        (409, "no_lot_on_block", {"act": "sell", "seen": "0"}),
        (400, "validation", {"act": "sell"}),
        (400, "validation", {"act": "bid", "amount": "ten"}),
        (400, "validation", {"act": "bid", "amount": "10", "paddle": "9" * 5000}),
        (400, "validation", {"act": "no such act"}),
        (400, "validation", {}),
    ]
    for status, code, members in cases:
        answer = send(house, staff, gid, **members)
        assert (status, code) == (answer.status_code, answer.json()["code"]), members
        assert answer.json()["message"], members
    too_long = send(house, staff, gid, "k" * 1000, act="call", seen="0")
    assert 400 == too_long.status_code
    assert 401 == house.plain.post(f"/sales/{gid}/console", headers={"X-Requested-With": "desk"}).status_code
    assert 403 == send(house, house.newcomer(), gid, act="call", seen="0").status_code
    assert 404 == send(house, staff, "AAAAAAAAAAAA", act="call", seen="0").status_code


def test_a_clerk_reads_about_the_bidder_and_not_about_themselves(house: House) -> None:
    """The limit of a paddle is the bidder's; the page of the book says so too."""
    staff = house.staff(Role.AUCTIONEER)
    gid, _ = published(staff, kind="live")
    someone = {"personName": "Ada", "contact": "in the hall", "paddle": 12, "bidLimit": "5"}
    staff.json("POST", f"/sales/{gid}/participants", json=someone)
    called = send(house, staff, gid, "c" * 24, act="call", seen="0").json()
    ask = called["desk"]["block"]["onBlock"]["auction"]["minimumBid"]
    refused = send(house, staff, gid, "b" * 24, act="bid", amount=ask, paddle="12", seen=called["tag"])
    assert "beyond_limit" == refused.json()["code"]
    assert refused.json()["message"].startswith("Das übersteigt das Limit dieser Bieternummer von 5,00")


def test_a_clerk_reads_what_to_do_about_a_lot_that_was_hidden_on_the_block(house: House) -> None:
    """It is to be skipped."""
    staff = house.staff(Role.AUCTIONEER)
    gid, [lot, *_] = published(staff, kind="live")
    called = send(house, staff, gid, "c" * 24, act="call", seen="0").json()
    house.staff(Role.MANAGER).json("PUT", f"/auctions/{lot}/hiding", json={"reason": "A forgery, perhaps."})
    tag = staff.json("GET", f"/sales/{gid}/block")["tag"]
    refused = send(house, staff, gid, "p" * 24, act="pass", seen=tag)
    assert (410, "taken_down") == (refused.status_code, refused.json()["code"])
    assert "überspringen Sie es (S) und rufen dann das nächste Los auf" in refused.json()["message"]
    assert called["tag"] != tag
    left = send(house, staff, gid, "s" * 24, act="skip", seen=tag).json()["desk"]["block"]
    assert (None, "2") == (left["onBlock"], left["nextLots"][0]["label"])


def test_only_those_who_run_the_sale_see_its_desk(house: House) -> None:
    """Reserves are on it: a bidder gets a page that says no, and a stranger the form to log in."""
    staff, bob = house.staff(Role.AUCTIONEER), house.newcomer()
    gid, _ = published(staff, kind="live")
    for path in ("console", "auctioneer", "console/state"):
        of_bob = house.plain.get(f"/sales/{gid}/{path}", headers=cookie(bob))
        assert 403 == of_bob.status_code, path
        assert house.plain.get(f"/sales/{gid}/{path}").status_code in (303, 401), path
        answer = house.plain.get(f"/sales/{gid}/{path}", headers=cookie(staff))
        assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"]), path
