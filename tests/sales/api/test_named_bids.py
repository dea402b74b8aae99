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


def test_a_bidder_in_the_hall_finds_what_they_lead_and_have_won(house: House) -> None:
    """Over the API and on their page, until the name is undone or somebody else leads."""
    staff, paul = house.staff(Role.AUCTIONEER), house.newcomer()
    gid = with_lots(staff, 2, kind="live")
    staff.json("POST", f"/sales/{gid}/publish")
    staff.json("POST", f"/sales/{gid}/participants", json={"username": paul.name, "paddle": 71})

    def act(what: str, **said: Any) -> None:
        seen = staff.json("GET", f"/sales/{gid}/block")["tag"]
        staff.json("POST", f"/sales/{gid}/block", json={"act": what, "seen": seen, **said})

    act("call", label="2")
    act("ask", amount="20")
    act("bid", amount="20")
    assert [] == standings(paul)
    act("name", paddle=71)
    assert ["leading"] == standings(paul)
    act("sell")
    assert ["won"] == standings(paul)
    assert "Lot 2" in Visitor(house, paul).page("/mine").main
    act("undo")
    act("undo")
    assert [] == standings(paul)
    assert [] == house.staff(Role.MANAGER).json("GET", "/staff/users?q=floor")["users"], "the floor is nobody"
