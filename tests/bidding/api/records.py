"""The records of an auction, to compare before and after a request."""

from msgspec import Struct

from saleroom.bidding.domain import ledger
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Event
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.bidding.storage.bids import Bid
from saleroom.storage.database import Transaction
from tests.fixtures_house import House


class Records(Struct, frozen=True):
    """The row of an auction, its log, and its bids, newest first."""

    auction: Auction
    events: list[Event]
    bids: list[Bid]

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event.TYPE for event in self.events]


def records(house: House, gid: str) -> Records:
    """Return the records. Fails unless the log alone gives them back, bit by bit and numbered without gaps."""
    found = house.read(_records, gid)
    assert found.auction == ledger.replay(found.auction.id, found.events)
    assert found.auction.position == len(found.events)
    assert found.auction.version == sum(event.PUBLIC for event in found.events)
    assert list(range(found.auction.bid_count, 0, -1)) == [bid.number for bid in found.bids]
    return found


def _records(tx: Transaction, gid: str) -> Records:
    auction = auctions.get(tx, gid)
    assert auction is not None, f"there is no auction {gid}"
    return Records(auction, event_log.read(tx, auction.id), bids.newest(tx, auction.id, 1_000_000, None))
