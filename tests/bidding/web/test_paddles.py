"""Pages of lots of a sale whose bidders are shown by paddles: each reader is told their own standing."""

from __future__ import annotations

import re

import pytest

from saleroom.accounts.storage import people
from saleroom.bidding.storage import auctions, bidder_names
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction
from tests.bidding.service.people import lot_of_sale
from tests.bidding.web.test_live import messages
from tests.fixtures_database import unique
from tests.fixtures_house import House, User
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def number_of(tx: Transaction, name: str) -> int:
    """The number of a user."""
    user = people.find(tx, name)
    assert user is not None
    return user.id


def lot_with(house: House, *paddles: tuple[User, str]) -> str:
    """A lot of a sale of its own, in which these users have these names."""
    sale_id = abs(hash(unique("sale"))) % 10**9
    seller = house.newcomer()
    for user, name in paddles:
        house.write(bidder_names.put, sale_id, house.read(number_of, user.name), name)
    return house.write(lot_of_sale, Party(house.read(number_of, seller.name), seller.name), sale_id)


def test_pages_know_their_reader_by_a_paddle(house: House) -> None:
    """The page of a lot, the list and the user's own lots say who leads by paddle, and "you" to the right reader."""
    grace, hedy = house.newcomer(), house.newcomer()
    gid = lot_with(house, (grace, "#12"), (hedy, "#13"))
    assert "#12" == grace.bid(gid, maximum="200").json()["auction"]["currentBidder"]
    assert not hedy.bid(gid, amount="150").json()["leading"]
    leads, outbid = (Visitor(house, one).page(f"/lots/{gid}").main for one in (grace, hedy))
    assert "You lead" in leads and "You were outbid" not in leads
    assert "You were outbid" in outbid and "#12 leads" in outbid
    assert "You bid on this lot as #12." in leads and "You bid on this lot as #13." in outbid
    for text in (leads, outbid):
        assert grace.name not in text and hedy.name not in text
    assert "You lead" in Visitor(house, grace).page("/mine").main
    assert "#12 leads" in Visitor(house, hedy).page("/mine").main
    cards = [Visitor(house, one).page("/?sort=newest").one("div", id=f"card-{gid}").text for one in (grace, hedy)]
    assert "You lead" in cards[0] and "Outbid" in cards[1]


def test_a_page_that_is_open_learns_the_paddle_of_its_reader(house: House) -> None:
    """Streams that begin before a user has a paddle in the sale say "you lead" once the user leads under it."""
    grace = house.newcomer()
    gid = lot_with(house)
    auction = house.anyone.json("GET", f"/auctions/{gid}")
    assert auction["currentBidder"] is None

    def come() -> None:
        sale_id = house.read(sale_of, gid)
        house.write(bidder_names.put, sale_id, house.read(number_of, grace.name), "#77")
        grace.bid(gid, amount="100")

    cookie = f"saleroom_session={grace.token}"
    seen = "".join(messages(house, f"/lots/{gid}/live?after=1", "lot-panel", come, Cookie=cookie))
    assert "You lead at" in re.sub("<[^>]+>", "", seen)
    cards = "".join(messages(house, f"/live?lots={gid}", gid, None, Cookie=cookie))
    assert "You lead" in cards


def sale_of(tx: Transaction, gid: str) -> int:
    """The sale of a lot."""
    found = auctions.get(tx, gid)
    assert found is not None and found.sale_id is not None
    return found.sale_id


def test_receipts_of_a_paddle_are_shown_to_its_bidder(house: House) -> None:
    """The page of receipts finds those of the reader's paddle."""
    grace = house.newcomer()
    gid = lot_with(house, (grace, "#12"))
    receipt = grace.bid(gid, amount="100").json()["receipt"]
    assert receipt in Visitor(house, grace).http.get(f"/lots/{gid}/receipts").text
