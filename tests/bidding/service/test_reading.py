"""Reading: what each user sees of auctions, lists, histories, and of their own auctions and bids."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service import reading
from saleroom.bidding.service.auctions import close
from saleroom.bidding.service.reading import AuctionJson, MyBid
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage.batching import SharedRead
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, bid, person, sells

pytestmark = pytest.mark.databases("sqlite")


def shown(view: Any) -> dict[str, Any]:
    """A view as JSON."""
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(view))
    return decoded


async def test_only_the_author_sees_the_reserve(database: Database) -> None:
    """The author sees it, in the auction and in lists; other users and visitors do not."""
    ada, bob = [await person(database) for _ in range(2)]
    gid = await sells(database, ada, reserve_price="150")
    for token, expected in ((ada.token, "150.000"), (bob.token, None), (None, None)):
        [one] = await database.read(reading.shown, [(gid, token)])
        assert isinstance(one, AuctionJson)
        [listed], _ = await database.read(reading.auction_list, token, Filter(), Sort.NEWEST, 10, None)
        assert one.json == listed
        assert expected == msgspec.json.decode(listed).get("reservePrice")


async def test_a_dead_token_is_no_visitor(database: Database) -> None:
    """A token that is not live is refused even if none is needed; a user's own lists need one."""
    ada = await person(database)
    gid = await sells(database, ada)
    reads: list[Callable[[str], Awaitable[Any]]] = [
        lambda token: SharedRead(database, reading.shown).ask((gid, token)),
        lambda token: database.read(reading.auction_list, token, Filter(), Sort.NEWEST, 10, None),
        lambda token: database.read(reading.shown_history, gid, token, 10, None),
        lambda token: database.read(reading.my_auctions, token, 10, None),
        lambda token: database.read(reading.my_bids, token, 10, None),
        lambda token: database.read(authenticate, token, Right.READ),
    ]
    for look in reads:
        with pytest.raises(Unauthenticated):
            await look("no token")


async def test_an_unknown_auction_is_refused(database: Database) -> None:
    """An unknown gid has no auction and no history."""
    with pytest.raises(UnknownAuction):
        await SharedRead(database, reading.shown).ask(("nowhere", None))
    with pytest.raises(UnknownAuction):
        await database.read(reading.shown_history, "nowhere", None, 10, None)


async def test_a_history_shows_a_maximum_to_its_bidder_only(database: Database) -> None:
    """A history shows visible amounts, newest first, by pages, and a maximum only on the reader's own bids."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "up to 150"), cy.bids(gid, "up to 120"), cy.bids(gid, "up to 200"))
    expected = [("160.000", cy, "200.000"), ("150.000", bob, "150.000"), ("130.000", bob, "150.000")]
    expected += [("120.000", cy, "120.000"), ("100.000", bob, "150.000")]
    for viewer in (ada, bob, cy, None):
        listed: list[dict[str, Any]] = []
        before: int | None = None
        while True:
            token = None if viewer is None else viewer.token
            page, before = await database.read(reading.shown_history, gid, token, 2, before)
            listed += [shown(view) for view in page]
            if before is None:
                break
        assert [
            (amount, bidder.account.username, limit if viewer is bidder else None) for amount, bidder, limit in expected
        ] == [(view["amount"], view["bidder"], view.get("maximum")) for view in listed]
        assert [False, True, True, False, False] == [view["automatic"] for view in listed]


async def _standings(database: Database, who: Person) -> list[tuple[str, str]]:
    listed: list[MyBid] = []
    before: int | None = None
    while True:
        page, before = await database.read(reading.my_bids, who.token, 2, before)
        listed += page
        if before is None:
            return [(mine.auction.gid, mine.standing) for mine in listed]


async def test_the_standing_of_a_bidder(database: Database) -> None:
    """A bidder leads or is outbid while it runs, then has won if it sold to them, otherwise lost; newest auction first."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    leading, outbid, won, lost = [await sells(database, ada) for _ in range(4)]
    unsold = await sells(database, ada, reserve_price="500")
    await sells(database, ada)
    await bid(database, *(bob.bids(gid, "100") for gid in (leading, outbid, won, lost, unsold)))
    await bid(database, *(cy.bids(gid, "110") for gid in (outbid, lost)))
    for gid in (won, lost, unsold):
        await database.write(close, ada.token, gid, None, None)
    assert [(unsold, "lost"), (lost, "lost"), (won, "won"), (outbid, "outbid"), (leading, "leading")] == (
        await _standings(database, bob)
    )
    assert [(lost, "won"), (outbid, "leading")] == await _standings(database, cy)
    assert [] == await _standings(database, ada)


@pytest.mark.databases("sqlite", "postgresql")
async def test_my_auctions(database: Database) -> None:
    """A user's list has only their own auctions, newest first, by pages, with the reserve."""
    ada, bob = [await person(database) for _ in range(2)]
    mine = [await sells(database, ada, reserve_price="150") for _ in range(3)]
    await sells(database, bob)
    listed: list[dict[str, Any]] = []
    place: ListPlace | None = None
    while True:
        page, place = await database.read(reading.my_auctions, ada.token, 2, place)
        listed += [msgspec.json.decode(view) for view in page]
        if place is None:
            break
    assert [(gid, "150.000") for gid in reversed(mine)] == [(view["gid"], view["reservePrice"]) for view in listed]
    assert ada.account == await database.read(authenticate, ada.token, Right.READ)
