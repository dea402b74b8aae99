"""Voiding a bid: what stood before it stands again (docs/rules.md, "Voiding a bid", number by number)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction, refuse_if_over
from saleroom.bidding.domain.bidding import BidRequest, decide_again, soft_close
from saleroom.bidding.domain.errors import AlreadyVoided, BidsThere, UnknownBid
from saleroom.bidding.domain.events import BidPlaced, BidVoided, Event, MaximumRaised
from saleroom.kernel.parties import Party

REASON_CHARACTERS_MAX = 500
"""Enough to say why, and little enough for every message that quotes it."""


class _Accepted(Struct, frozen=True):
    """A request that was accepted: the bid at `version`, or a later raise of its maximum."""

    version: int
    bidder: Party
    request: BidRequest
    at: datetime


class BidBook:
    """The accepted bids of an auction, read from its log event by event, and which of them were voided."""

    def __init__(self, log: Iterable[Event] = ()) -> None:
        self.voided: set[int] = set()
        """The versions of the voided bids."""
        self.numbers: dict[int, list[int]] = {}
        """The numbers of the bids that were recorded with the bid at a version, its own among them, counted from 1."""
        self.places: dict[int, list[int]] = {}
        """The indexes of all events of the log that go with the bid at a version: its bids, and its raises."""
        self._bids: dict[int, BidPlaced] = {}
        self._accepted: list[_Accepted] = []
        self._version = self._number = 0
        self._index = -1
        self._leader: int | None = None
        self._early: list[tuple[int, int]] = []
        """The numbers and indexes of automatic bids that were recorded before the bid that they answer."""
        self._held_off: int | None = None
        """The version of a bid that does not lead, as long as the next event may be the automatic bid that answers it."""
        for event in log:
            self.read(event)

    def read(self, event: Event) -> None:
        """Read the next event of the log."""
        self._version += event.PUBLIC
        self._index += 1
        held_off, self._held_off = self._held_off, None
        match event:
            case BidPlaced():
                self._number += 1
                self._early.append((self._number, self._index))
                if not event.automatic:
                    self._take(event)
                elif held_off is not None:
                    self._recorded_with(held_off)
                self._leader = event.bidder_id if event.leading else self._leader
            case MaximumRaised():
                self._raised(event)
            case BidVoided():
                self.voided.add(event.voided)
                self._leader = event.leader_id

    def _take(self, bid: BidPlaced) -> None:
        self._bids[self._version] = bid
        self._recorded_with(self._version)
        self._held_off = None if bid.leading else self._version
        party, asked = Party(bid.bidder_id, bid.bidder), bid.asked
        prices = (None, bid.maximum) if asked is None else (asked.amount, asked.maximum)
        self._accepted.append(_Accepted(self._version, party, BidRequest(*prices), bid.at))

    def _recorded_with(self, version: int) -> None:
        for number, index in self._early:
            self.numbers.setdefault(version, []).append(number)
            self.places.setdefault(version, []).append(index)
        self._early = []

    def _raised(self, event: MaximumRaised) -> None:
        """A raise goes with the last bid of the leader that stood when it was made."""
        for each in reversed(self._accepted):
            if each.bidder.id == self._leader and each.version not in self.voided:
                self._accepted.append(structs.replace(each, request=BidRequest(None, event.maximum), at=event.at))
                self.places[each.version].append(self._index)
                return

    def standing(self) -> list[_Accepted]:
        """Return the bids that were not voided and their raises, in order."""
        return [each for each in self._accepted if each.version not in self.voided]

    def bid_at(self, version: int) -> BidPlaced:
        """Return the bidder's own bid at `version`. Raises UnknownBid, or AlreadyVoided if it no longer stands."""
        if version not in self._bids:
            raise UnknownBid
        if version in self.voided:
            raise AlreadyVoided
        return self._bids[version]

    def refuse_bidder(self, user_id: int) -> None:
        """Raise BidsThere if this user has bid: nobody decides against their rivals."""
        if any(bid.bidder_id == user_id for bid in self._bids.values()):
            raise BidsThere

    def open_bids(self) -> Iterator[tuple[int, BidPlaced]]:
        """Yield each bidder's own bid that stands, with its version."""
        return ((version, bid) for version, bid in self._bids.items() if version not in self.voided)


def void(auction: Auction, book: BidBook, version: int, reason: str, now: datetime) -> list[Event]:
    """Return what happens when staff void the bid at `version` of an open auction, whose whole log `book` has read.

    The price and the leader are decided again, the end is not brought forward. Raises AuctionOver, UnknownBid or AlreadyVoided.
    """
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    bid = book.bid_at(version)
    again = structs.replace(auction, current_bid=None, current_bid_at=None, leader=None, maximum=None)
    for each in book.standing():
        if each.version != version:
            again = again.after_all(decide_again(again, each.bidder, each.request, each.at))
    voided = BidVoided(
        at=now,
        voided=version,
        bidder=bid.bidder,
        amount=bid.amount,
        reason=reason,
        current_bid=again.current_bid,
        current_bidder=None if again.leader is None else again.leader.name,
        current_bid_at=again.current_bid_at,
        minimum_bid=again.minimum_bid,
        reserve_met=again.reserve_met,
        leader_id=None if again.leader is None else again.leader.id,
        maximum=again.maximum,
    )
    return [voided, *soft_close(auction, now)]
