"""A bid of the floor that a clerk has named is a lot of its bidder."""

from __future__ import annotations

from typing import Any

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.site.visitor import Visitor


def standings(user: User) -> list[str]:
    """Return how a user stands on the lots of `GET /me/bids`."""
    return [one["standing"] for one in user.json("GET", "/me/bids")["bids"]]


def act(staff: User, gid: str, what: str, **said: Any) -> None:
    """Act as the clerk who has just looked at the block."""
    seen = staff.json("GET", f"/sales/{gid}/block")["tag"]
    staff.json("POST", f"/sales/{gid}/block", json={"act": what, "seen": seen, **said})


def test_a_bidder_in_the_hall_finds_what_they_lead_and_have_won(house: House) -> None:
    """Over the API and on their page, until the name is undone or somebody else leads."""
    staff, paul = house.staff(Role.AUCTIONEER), house.newcomer()
    gid = with_lots(staff, 2, kind="live")
    staff.json("POST", f"/sales/{gid}/publish")
    staff.json("POST", f"/sales/{gid}/participants", json={"username": paul.name, "paddle": 71})

    act(staff, gid, "call", label="2")
    act(staff, gid, "ask", amount="20")
    act(staff, gid, "bid", amount="20")
    assert [] == standings(paul)
    act(staff, gid, "name", paddle=71)
    assert ["leading"] == standings(paul)
    act(staff, gid, "sell")
    assert ["won"] == standings(paul)
    assert "Lot 2" in Visitor(house, paul).page("/mine").main
    act(staff, gid, "undo")
    act(staff, gid, "undo")
    assert [] == standings(paul)
    assert [] == house.staff(Role.MANAGER).json("GET", "/staff/users?q=floor")["users"], "the floor is nobody"


def test_a_bidder_in_the_hall_finds_where_they_were_outbid(house: House) -> None:
    """A bid that was named stays its bidder's; one that was named by mistake is not theirs."""
    staff, paul, anna = house.staff(Role.AUCTIONEER), house.newcomer(), house.newcomer()
    gid = with_lots(staff, 2, kind="live")
    staff.json("POST", f"/sales/{gid}/publish")
    for user, paddle in ((paul, 71), (anna, 72)):
        staff.json("POST", f"/sales/{gid}/participants", json={"username": user.name, "paddle": paddle})
    act(staff, gid, "call", label="2")
    act(staff, gid, "bid", amount="10")
    act(staff, gid, "name", paddle=72)
    act(staff, gid, "undo")
    act(staff, gid, "name", paddle=71)
    act(staff, gid, "ask", amount="20")
    act(staff, gid, "bid", amount="20")
    assert (["outbid"], []) == (standings(paul), standings(anna))
    assert "Somebody else leads on 1 lot." in Visitor(house, paul).page("/mine").main
    assert ("Lot 2" in Visitor(house, paul).page("/mine").main) and "Lot 2" not in Visitor(house, anna).page(
        "/mine"
    ).main
    act(staff, gid, "name", paddle=72)
    act(staff, gid, "sell")
    assert (["lost"], ["won"]) == (standings(paul), standings(anna))
    act(staff, gid, "call", label="1")
    assert (["lost"], ["won"]) == (standings(paul), standings(anna))
