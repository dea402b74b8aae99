"""The category of an auction over the API."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.service import auctions
from saleroom.kernel.errors import Contradiction
from saleroom.tools.verify import reading
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, ServeHouse, User
from tests.pictures import plain

pytestmark = pytest.mark.databases("sqlite")

CATEGORIES = ("Clocks; de=Uhren", "Silver")


@pytest.fixture
def categorized(serve_house: ServeHouse) -> House:
    """A house with two categories."""
    return serve_house(categories=CATEGORIES)


def amended(author: User, gid: str, **changes: Any) -> dict[str, Any]:
    """An auction after these changes."""
    return dict(author.json("PATCH", f"/auctions/{gid}", json=changes))


def listed(house: House, query: str) -> list[str]:
    """The gids of a list."""
    return [one["gid"] for one in house.anyone.json("GET", f"/auctions?{query}")["auctions"]]


def test_a_lot_has_a_category_of_the_house(categorized: House) -> None:
    """It is given or null, changed until the first bid, and another one is refused with a fault that names those there are."""
    ada, anyone = categorized.user("ada"), categorized.anyone
    clock, other = ada.auction(category="Clocks"), ada.auction()
    assert ["Clocks", None] == [anyone.json("GET", f"/auctions/{gid}")["category"] for gid in (clock, other)]
    for answer in (
        ada.post("/auctions", json={"name": "Stamp", "startingPrice": "1", "category": "Stamps"}),
        ada.patch(f"/auctions/{clock}", json={"category": "Uhren", "name": "Watch"}),
    ):
        assert (400, {"category": ["unknown_category"]}) == (answer.status_code, faults(answer))
        assert "must be one of: Clocks, Silver" in answer.text
    for wrong in ("", "x" * 61, 7, ["Clocks"]):
        assert ["category"] == [*faults(ada.patch(f"/auctions/{clock}", json={"category": wrong}))]
    assert "Longcase clock" == anyone.json("GET", f"/auctions/{clock}")["name"]
    before = anyone.get(f"/auctions/{clock}")
    assert "Silver" == amended(ada, clock, category="Silver")["category"]
    after = anyone.get(f"/auctions/{clock}", headers={"If-None-Match": before.headers["etag"]})
    assert (200, "Silver", 2) == (after.status_code, after.json()["category"], after.json()["version"])
    assert 2 == amended(ada, clock, category="Silver")["version"], "nothing has changed"
    assert "Silver" == amended(ada, clock, name="Watch")["category"]
    assert None is amended(ada, clock, category=None)["category"]
    amended(ada, clock, category="Clocks")
    bob = categorized.user("bob")
    stale = bob.post(f"/auctions/{clock}/bids", json={"amount": "10", "seenVersion": 2})
    assert (409, "terms_changed") == refusal(stale)
    assert {"member": "category", "was": "Silver", "now": "Clocks"} in stale.json()["changes"]
    assert bob.bid(clock, amount="10").is_success
    assert (409, "has_bids") == refusal(ada.patch(f"/auctions/{clock}", json={"category": "Silver"}))


def test_lists_by_category(categorized: House) -> None:
    """`category` filters the list, also by page and with the other filters; any text is a category that may be empty."""
    ada = categorized.user("ada")
    clocks = [ada.auction(category="Clocks", name=f"Clock {number}") for number in range(3)]
    silver = ada.auction(category="Silver")
    ada.auction()
    assert [silver] == listed(categorized, "category=Silver")
    assert clocks == sorted(listed(categorized, "category=Clocks"), key=clocks.index)
    assert [clocks[1]] == listed(categorized, "category=Clocks&q=clock+1&author=ada&status=open")
    assert [] == listed(categorized, "category=Stamps") == listed(categorized, "category=Clocks&status=closed")
    first = categorized.anyone.json("GET", "/auctions?category=Clocks&limit=2&sort=newest")
    rest = listed(categorized, f"category=Clocks&limit=2&sort=newest&cursor={first['next']}")
    assert clocks[::-1] == [one["gid"] for one in first["auctions"]] + rest


def test_the_ledger_knows_no_category(categorized: House) -> None:
    """A ledger with categories has the members of one without, is verified, and fits the house's rows; so do its photos."""
    ada = categorized.user("ada")
    gid = ada.auction(category="Clocks", reservePrice="50")
    photo = ada.post("/photos", content=plain(), headers={"Content-Type": "image/jpeg"}).json()
    ada.json("PUT", f"/auctions/{gid}/photos", json={"photos": [photo["id"]]})
    amended(ada, gid, category="Silver")
    amended(ada, gid, category=None, description="Silver")
    amended(ada, gid, category="Clocks")
    assert [photo["id"]] == [one["id"] for one in ada.json("GET", f"/auctions/{gid}/photos")["photos"]]
    categorized.user("bob").bid(gid, amount="60")
    ada.json("POST", f"/auctions/{gid}/close", json={})
    ledger = categorized.anyone.get(f"/auctions/{gid}/ledger").content
    assert b"ategory" not in ledger
    assert ["auction.created", "photos.arranged", "photos.arranged", "auction.amended", "photos.arranged"] == [
        entry.event.TYPE for entry in reading.read(BytesIO(ledger)).events
    ][:5]
    assert [] == categorized.read(faults_of)


def test_a_category_that_the_house_gives_up(categorized: House) -> None:
    """A lot keeps it, is listed by it and amended with it; nobody can give it to another lot, and it can be taken off."""
    ada = categorized.user("ada")
    clock, other = ada.auction(category="Clocks"), ada.auction()

    def amend(gid: str, **changes: Any) -> None:
        categorized.write(auctions.amend, ada.token, gid, changes, None, ("Silver",))

    amend(clock, name="Watch", category="Clocks")
    amend(clock, description="Gold")
    assert [clock] == listed(categorized, "category=Clocks")
    with pytest.raises(Contradiction, match="must be one of: Silver"):
        amend(other, category="Clocks")
    amend(clock, category=None)
    with pytest.raises(Contradiction):
        amend(clock, category="Clocks")


def test_a_house_without_categories(house: House) -> None:
    """Any category is refused, and each auction has null."""
    answer = house.user("ada").post("/auctions", json={"name": "Clock", "startingPrice": "1", "category": "Clocks"})
    assert "this house has no categories" in answer.text
    gid = house.user("ada").auction(category=None)
    assert None is house.anyone.json("GET", f"/auctions/{gid}")["category"]
