"""Voiding a bid: what stood before it stands again (docs/rules.md, "Voiding a bid", number by number).

The book of bids is read from the log. It also decides the undo of a clerk on the block (`calling.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction, refuse_if_over
from saleroom.bidding.domain.bidding import BidRequest, decide_again, soft_close
from saleroom.bidding.domain.block_events import ActUndone, BidderNamed, BidRetracted
from saleroom.bidding.domain.errors import AlreadyVoided, BidsThere, UnknownBid
from saleroom.bidding.domain.events import BidPlaced, BidVoided, Channel, Event, MaximumRaised
from saleroom.kernel.parties import Party

REASON_CHARACTERS_MAX = 500
"""Enough to say why, and little enough for every message that quotes it."""


UNDONE, RETRACTED = "undone", "retracted"
"""The marks of bids that no longer stand without a reason in words: the clerk undid them, or their bidders took them back."""


class _AcceptedRequest(Struct, frozen=True):
    """A request that was accepted: the bid at `version`, or a later raise of its maximum (`raises`).

    `named` is the bidder whom the clerk named for a bid of the floor.
    """

    version: int
    bidder: Party
    request: BidRequest
    at: datetime
    named: Party | None = None
    raises: bool = False

    @property
    def holder(self) -> Party:
        """The one who leads by it."""
        return self.named or self.bidder

    def again(self, auction: Auction) -> Auction:
        """Return `auction` once the request has been decided again, and its bidder is named again."""
        after = auction.after_all(decide_again(auction, self.bidder, self.request, self.at))
        leads = after.leader is not None and after.leader.id == self.bidder.id
        return structs.replace(after, leader=self.named) if self.named is not None and leads else after


class _Retraction(Struct, frozen=True):
    """The leader took the bid at `version` back: none stands."""

    version: int

    def again(self, auction: Auction) -> Auction:
        """Return `auction` once no bid stands."""
        return without_bids(auction)


def without_bids(auction: Auction) -> Auction:
    """Return `auction` with no bid that stands."""
    return structs.replace(auction, current_bid=None, current_bid_at=None, leader=None, maximum=None)


class BidBook:
    """The accepted bids of an auction, read from its log event by event, and which of them were voided."""

    def __init__(self, log: Iterable[Event] = ()) -> None:
        self.voided: dict[int, str] = {}
        """The reasons for which bids were voided, by their versions; `UNDONE` for those that the clerk undid."""
        self.retracted: dict[int, int] = {}
        """The versions of the bids that their bidders took back, by those of the retractions."""
        self.numbers: dict[int, list[int]] = {}
        """The numbers of the bids that were recorded with the bid at a version, its own among them, counted from 1."""
        self.places: dict[int, list[int]] = {}
        """The indexes of all events of the log that go with the bid at a version: its bids, and its raises."""
        self.own_numbers: dict[int, int] = {}
        """The number of the bid at a version itself."""
        self._bids: dict[int, BidPlaced] = {}
        self._accepted: list[_AcceptedRequest | _Retraction] = []
        self._named: dict[int, int] = {}
        """The versions of the bids whose bidders the clerk named, by those of the acts."""
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
                self.voided[event.voided] = event.reason
                self._leader = event.leader_id
            case BidderNamed():
                self._named[self._version] = event.named
                self._name(event.named, Party(event.bidder_id, event.bidder))
                self._leader = event.bidder_id
            case BidRetracted():
                self.retracted[self._version] = event.retracted
                self._accepted.append(_Retraction(event.retracted))
                self._leader = None
            case ActUndone():
                self._undo(event.undone)
                self._leader = event.leader_id

    def _take(self, bid: BidPlaced) -> None:
        self._bids[self._version] = bid
        self.own_numbers[self._version] = self._number
        self._recorded_with(self._version)
        self._held_off = None if bid.leading else self._version
        party, asked = Party(bid.bidder_id, bid.bidder), bid.asked
        prices = (None, bid.maximum) if asked is None else (asked.amount, asked.maximum)
        self._accepted.append(_AcceptedRequest(self._version, party, BidRequest(*prices), bid.at))

    def _name(self, version: int, party: Party | None) -> None:
        """Note who made the bid at `version`; without them its raises are nobody's."""
        kept: list[_AcceptedRequest | _Retraction] = []
        for each in self._accepted:
            if not isinstance(each, _AcceptedRequest) or each.version != version:
                kept.append(each)
            elif not each.raises:
                kept.append(structs.replace(each, named=party))
        self._accepted = kept

    def _undo(self, version: int) -> None:
        if version in self._bids:
            self.voided[version] = UNDONE
        elif version in self._named:
            self._name(self._named.pop(version), None)
        elif version in self.retracted:
            back = self.retracted.pop(version)
            self._accepted = [one for one in self._accepted if one != _Retraction(back)]

    def _recorded_with(self, version: int) -> None:
        for number, index in self._early:
            self.numbers.setdefault(version, []).append(number)
            self.places.setdefault(version, []).append(index)
        self._early = []

    def _raised(self, event: MaximumRaised) -> None:
        """A raise goes with the last bid of the leader that stood when it was made."""
        bid = self.leading_bid()
        if bid is not None:
            request = BidRequest(None, event.maximum)
            self._accepted.append(_AcceptedRequest(bid.version, bid.holder, request, event.at, raises=True))
            self.places[bid.version].append(self._index)

    def leading_bid(self) -> _AcceptedRequest | None:
        """Return the last bid of the leader that stands, or its last raise; None if nobody leads."""
        for each in reversed(self._accepted):
            if (
                isinstance(each, _AcceptedRequest)
                and each.holder.id == self._leader
                and each.version not in self.voided
            ):
                return each
        return None

    def leading_channel(self) -> Channel | None:
        """Return the channel of the request that leads, also where the house bid for its maximum; None without one."""
        leading = self.leading_bid()
        return self.bid_at(leading.version).channel if leading else None

    def standing_of(self, user_id: int) -> list[tuple[int, Decimal]]:
        """Return the requests of a user that stand, raises of the maximum among them: the bid's version, and the limit."""
        found: list[tuple[int, Decimal]] = []
        for each in self._accepted:
            if isinstance(each, _Retraction):
                found = []  # none of before stands then
            elif each.holder.id == user_id and each.version not in self.voided:
                found.append((each.version, each.request.limit))
        return found

    @property
    def last_bid(self) -> int:
        """The version of the last bid that stands; 0 without one."""
        return max((version for version in self._bids if version not in self.voided), default=0)

    def without(self, auction: Auction, version: int) -> Auction:
        """Return `auction` as it would stand if the act at `version` had not been: a bid, a name or a retraction."""
        other = structs.replace(auction, block=None)
        again = without_bids(other)
        for each in self._less(version):
            again = each.again(again)
        return again

    def _less(self, version: int) -> list[_AcceptedRequest | _Retraction]:
        """Return what was not voided, in order, without the act at `version`."""
        named, back = self._named.get(version), self.retracted.get(version)
        found: list[_AcceptedRequest | _Retraction] = []
        for each in self._accepted:
            if isinstance(each, _Retraction):
                if each.version not in (back, version):
                    found.append(each)
            elif each.version != version and each.version not in self.voided:
                if each.version != named:
                    found.append(each)
                elif not each.raises:
                    found.append(structs.replace(each, named=None))
        return found

    def marks(self) -> dict[int, str]:
        """Return why bids do not stand, by the number of the bid."""
        taken_back = dict.fromkeys(self.retracted.values(), RETRACTED) | self.voided
        return {number: why for version, why in taken_back.items() for number in self.numbers.get(version, ())}

    def bid_at(self, version: int) -> BidPlaced:
        """Return the bidder's own bid at `version`. Raises UnknownBid, or AlreadyVoided if it no longer stands."""
        if version not in self._bids:
            raise UnknownBid
        if not self._stands(version):
            raise AlreadyVoided
        return self._bids[version]

    def _stands(self, version: int) -> bool:
        return version not in self.voided and version not in self.retracted.values()

    def refuse_bidder(self, user_id: int) -> None:
        """Raise BidsThere if this user has bid: nobody decides against their rivals."""
        named = {one.holder.id for one in self._accepted if isinstance(one, _AcceptedRequest)}
        if user_id in named or any(bid.bidder_id == user_id for bid in self._bids.values()):
            raise BidsThere

    def open_bids(self) -> Iterator[tuple[int, BidPlaced]]:
        """Yield each bidder's own bid that stands, with its version."""
        return ((version, bid) for version, bid in self._bids.items() if self._stands(version))


def void(auction: Auction, book: BidBook, version: int, reason: str, now: datetime) -> list[Event]:
    """Return what happens when staff void the bid at `version` of an open auction, whose whole log `book` has read.

    The price and the leader are decided again, the end is not brought forward. Raises AuctionOver, UnknownBid or AlreadyVoided.
    """
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    bid = book.bid_at(version)
    again = book.without(auction, version)
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
