"""Retracing: the rules decide every event of an auction once more, and the result is compared with the recorded events.

The requests are taken from the events. The rules then decide them again, and must give exactly the recorded events. Several
decisions may share one instant, so a decision is known by its first event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import Any

from msgspec import Struct, structs

from saleroom.bidding.domain import bidding, calling, closing, moderation, pausing, selling, voiding
from saleroom.bidding.domain.auction import TERMS, Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.block_events import (
    ActUndone,
    AskSet,
    AuctionCalled,
    AuctionDecided,
    AuctionReopened,
    AuctionSkipped,
    AuctionWarned,
    BidderNamed,
    BidRetracted,
)
from saleroom.bidding.domain.events import (
    SOFT_CLOSE_SECONDS_MAX,
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
    AuctionCreated,
    AuctionExtended,
    AuctionHidden,
    AuctionOpened,
    AuctionPaused,
    AuctionResumed,
    AuctionShown,
    BidPlaced,
    BidVoided,
    Event,
    MaximumRaised,
    Outcome,
    PhotosArranged,
    Reason,
    SoftClose,
)
from saleroom.bidding.domain.increments import Ladder, ladder_faults
from saleroom.bidding.domain.photos import PHOTO_ID, refuse_bad_list
from saleroom.bidding.domain.reasons import BidReason, reasons
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.voiding import REASON_CHARACTERS_MAX, BidBook
from saleroom.kernel.errors import Invalid, Refusal
from saleroom.kernel.instants import instant
from saleroom.kernel.money import LIMIT, STEP, ZERO
from saleroom.kernel.parties import Party

_SHA256 = re.compile("[0-9a-f]{64}")


class RuleViolation(Exception):
    """The events break the rules from `index` on (0 is the first); `reason` says how."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"event {index + 1}: {reason}")
        self.index = index
        self.reason = reason


class Trace(Struct, frozen=True):
    """The auction after all events, and the reason of each bid."""

    auction: Auction
    bids: list[BidReason]


def retrace(events: Iterable[Event]) -> Trace:
    """Decide `events`, all those of one auction, once more by the rules.

    Raises RuleViolation at the first event that breaks them. Its index is past the last event if the rules demand another.
    """
    log = list(events)
    for index, event in enumerate(log):
        check_form(index, event)
    auction = _begun(log)
    bids: list[BidReason] = []
    people = _People(auction.author)
    index = 1
    while index < len(log):
        if log[index].at < log[index - 1].at:
            raise RuleViolation(index, "it is earlier than the event before it")
        made = _decide(auction, log, index)
        _compare(log, index, made)
        for at in range(index, index + len(made)):
            people.check(at, log[at])
        bids += reasons(auction, made, index)
        auction = auction.after_all(made)
        index += len(made)
    return Trace(auction, bids)


class _People:
    """Users by number and name: the rules tell them apart by number, readers by name."""

    def __init__(self, author: Party) -> None:
        self._names = {author.id: author.name}
        self._numbers = {author.name: author.id}

    def check(self, index: int, event: Event) -> None:
        """Raise RuleViolation if one bidder has two names, or two bidders have the same."""
        if not isinstance(event, BidPlaced | BidderNamed):
            return
        known = self._names.setdefault(event.bidder_id, event.bidder)
        if known != event.bidder:
            raise RuleViolation(index, f"its bidder is {event.bidder!r}, who was {known!r} before")
        if self._numbers.setdefault(event.bidder, event.bidder_id) != event.bidder_id:
            raise RuleViolation(index, f"its bidder is {event.bidder!r}, a name that another has")


def _begun(log: list[Event]) -> Auction:
    """Return the auction after its creation, if the rules allow that."""
    first = log[0] if log else None
    if not isinstance(first, AuctionCreated):
        raise RuleViolation(0, f"an auction begins with {AuctionCreated.TYPE}")
    draft = Draft(increment=Ladder(first.increment), **{name: getattr(first, name) for name in TERMS})
    try:
        made = selling.create(first.gid, Party(first.author_id, first.author), draft, first.at)
    except Refusal as refusal:
        raise RuleViolation(0, _refused(refusal)) from None
    _compare(log, 0, [structs.replace(made, seed=first.seed)])
    return begin(0, first)


def _decide(auction: Auction, log: list[Event], index: int) -> list[Event]:
    """Return the decision of the rules at `index`. Raises RuleViolation if they refuse the request."""
    try:
        made = _decision(auction, log, index)
    except Refusal as refusal:
        raise RuleViolation(index, _refused(refusal)) from None
    except ArithmeticError:
        raise RuleViolation(index, "its amounts or instants are beyond what the rules can reckon with") from None
    if not made:
        raise RuleViolation(index, f"by the rules nothing has brought {log[index].TYPE} about")
    return made


def _decision(auction: Auction, log: list[Event], index: int) -> list[Event]:
    event = log[index]
    now = event.at
    made: list[Event] = []
    match event:
        case BidPlaced():
            made = _bid(auction, log, index)
        case MaximumRaised() if auction.leader is not None:
            request = BidRequest(None, event.maximum, received_at=event.received_at)
            made = bidding.place_bid(auction, auction.leader, request, now)
        case AuctionOpened():
            # It is dated by the start, whether the closer, a bid or the author opened it.
            made = closing.open_if_due(auction, now)
        case AuctionAmended() if auction.leader is not None and event.ends_at is not None:
            made = selling.announce_end(auction, auction.author, event.ends_at, now)
        case AuctionAmended():
            made = selling.amend(auction, auction.author, {name: getattr(event, name) for name in TERMS}, now)
        case PhotosArranged():
            made = selling.arrange(structs.replace(auction, category=event.category), auction.author, event.photos, now)
        case AuctionClosed() if auction.block is not None:
            made = _hammer(auction, event)
        case AuctionClosed() if auction.ends_at is None:
            made = selling.close_now(auction, auction.author, now)
        case AuctionClosed():
            made = closing.settle(auction, now)
        case AuctionExtended(reason=Reason.OUTAGE):
            made = _outage(auction, event, index)
        case AuctionExtended(reason=Reason.FOLLOWS):
            # The ledgers of the lots before it say why. Here the end only may not come earlier.
            made = closing.follow(auction, event.ends_at, now)
        case _:
            made = _moderation(auction, log, index)
    return made


def _moderation(auction: Auction, log: list[Event], index: int) -> list[Event]:
    """Decide what staff did, and each cancellation."""
    event = log[index]
    now = event.at
    made: list[Event] = []
    match event:
        case BidVoided():
            made = voiding.void(auction, BidBook(log[:index]), event.voided, event.reason, now)
        case AuctionHidden():
            made = moderation.hide(auction, event.hidden_for, now)
        case AuctionShown():
            made = moderation.show(auction, now)
        case AuctionPaused():
            made = pausing.pause(auction, now)
        case AuctionResumed():
            made = pausing.resume(auction, now)
        case AuctionCancelled() if event.reason is not None:
            made = moderation.cancel(auction, event.reason, now)
        case AuctionCancelled() if auction.ends_at == now:
            made = closing.settle(auction, now)
        case AuctionCancelled():
            made = selling.cancel(auction, auction.author, now)
        case _:
            made = _act(auction, log, index)
    return made


def _hammer(auction: Auction, event: AuctionClosed) -> list[Event]:
    """Decide the end of a lot on the block."""
    match event.outcome:
        case Outcome.SOLD:
            return calling.sell(auction, event.at)
        case Outcome.CONDITIONAL:
            return calling.sell_conditionally(auction, event.at)
    return calling.pass_(auction, event.at)


def _act(auction: Auction, log: list[Event], index: int) -> list[Event]:
    """Decide what the clerk and the auctioneer did on the block."""
    event = log[index]
    now = event.at
    made: list[Event] = []
    match event:
        case AuctionCalled():
            made = calling.call(auction, now)
        case AskSet():
            made = calling.ask(auction, event.minimum_bid, now)
        case AuctionWarned():
            made = calling.warn(auction, now)
        case BidderNamed():
            bidder = Party(event.bidder_id, event.bidder)
            made = calling.name_bidder(auction, BidBook(log[:index]), bidder, now)
        case BidRetracted() if auction.leader is not None:
            made = calling.retract(auction, BidBook(log[:index]), auction.leader, now)
        case AuctionSkipped():
            made = calling.skip(auction, now)
        case ActUndone():
            made = calling.undo_as(event, auction, log[:index], now)
        case AuctionReopened():
            made = calling.reopen(auction, event.reason, now)
        case AuctionDecided():
            made = calling.decide(auction, now, accepted=event.outcome is Outcome.SOLD)
    return made


def _outage(auction: Auction, event: AuctionExtended, index: int) -> list[Event]:
    """Decide an extension after an outage. Old logs do not tell when it began: any beginning will do."""
    if event.down_since is None:
        made = closing.reopen_after_outage(auction, auction.created_at, event.at)
        return [_without(each, "down_since") for each in made]
    if event.down_since > event.at:
        raise RuleViolation(index, "an outage does not begin after its end")
    return closing.reopen_after_outage(auction, event.down_since, event.at)


def _bid(auction: Auction, log: list[Event], index: int) -> list[Event]:
    """Decide the request behind the bids at `index`. It is the first or the second bid: the one that is not automatic."""
    two = log[index : index + 2]
    bid = next((each for each in two if isinstance(each, BidPlaced) and not each.automatic), None)
    if bid is None:
        raise RuleViolation(index, "an automatic bid answers somebody's, and here is none")
    bidder, asked = Party(bid.bidder_id, bid.bidder), bid.asked
    if asked is not None:
        if asked.amount is None and asked.maximum is None:
            raise RuleViolation(index, "a bidder asks for an amount, a maximum or both")
        if asked.amount is not None and asked.maximum is not None and asked.amount > asked.maximum:
            raise RuleViolation(index, "a bidder's amount is at most their maximum")
        request = BidRequest(asked.amount, asked.maximum, received_at=bid.received_at, channel=bid.channel)
        return bidding.place_bid(auction, bidder, request, bid.at)
    return _unasked(auction, log, index, bid)


def _unasked(auction: Auction, log: list[Event], index: int, bid: BidPlaced) -> list[Event]:
    """Decide a bid without `asked`: a purchase, or a bid of an old log, which has neither `asked` nor `received_at`.

    For an old bid, the request is the first that gives the recorded events: a purchase, or a bid in one of three forms.
    """
    bidder = Party(bid.bidder_id, bid.bidder)
    following = log[index + 1 : index + 2]
    tries: list[Callable[[], list[Event]]] = []
    if following and isinstance(following[0], AuctionClosed) and following[0].at == bid.at:
        request = BidRequest(None, None, received_at=bid.received_at)
        tries.append(partial(bidding.buy_now, auction, bidder, bid.at, request))
    if bid.received_at is None:
        forms = ((None, bid.maximum), (bid.maximum, None), (bid.amount, bid.maximum))
        tries += [partial(bidding.place_bid, auction, bidder, BidRequest(*form), bid.at) for form in forms]
    said: Refusal | list[Event] | None = None
    for attempt in tries:
        try:
            made = [_without(each, "asked") for each in attempt()]
        except Refusal as refusal:
            said = said or refusal
            continue
        if made == log[index : index + len(made)]:
            return made
        said = said or made
    if isinstance(said, Refusal):
        raise said
    return said or []


def _without(event: Event, name: str) -> Event:
    return structs.replace(event, **{name: None}) if hasattr(event, name) else event


def _refused(refusal: Refusal) -> str:
    facts = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in refusal.facts.items())
    return f"the rules refuse it: {refusal}" + (f" ({facts})" if facts else "")


def _compare(log: list[Event], index: int, made: list[Event]) -> None:
    """Raise RuleViolation at the first event from `index` on that differs from those that the rules have `made`."""
    for at, expected in enumerate(made, index):
        if at >= len(log):
            raise RuleViolation(at, f"by the rules {expected.TYPE} comes next, but nothing does")
        if log[at] != expected:
            raise RuleViolation(at, _difference(log[at], expected))


def _difference(recorded: Event, expected: Event) -> str:
    if type(recorded) is not type(expected):
        return f"it is {recorded.TYPE}, but by the rules {expected.TYPE} comes next"
    names = zip(expected.__struct_fields__, expected.__struct_encode_fields__, strict=True)
    told = ((wire, getattr(recorded, name), getattr(expected, name)) for name, wire in names)
    wire, one, other = next(each for each in told if each[1] != each[2])
    return f"its {'time' if wire == 'at' else wire} is {_shown(one)}, but by the rules {_shown(other)}"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "none"
        case Decimal():
            return str(value)
        case datetime():
            return instant(value)
        case Enum():
            return repr(value.value)
    return repr(value)


def check_form(index: int, event: Event) -> None:
    """Raise RuleViolation if nobody could have asked for an amount, a step or a number of seconds of the event."""
    for value in _values(event):
        if isinstance(value, Decimal) and not _is_money(value):
            raise RuleViolation(index, f"{value} is no amount with three decimals")
        if isinstance(value, SoftClose) and not all(
            0 < seconds <= SOFT_CLOSE_SECONDS_MAX for seconds in (value.window, value.extension)
        ):
            raise RuleViolation(index, f"a soft close has 1 to {SOFT_CLOSE_SECONDS_MAX} seconds")
    if isinstance(event, BidPlaced | MaximumRaised) and event.received_at is not None and event.received_at > event.at:
        raise RuleViolation(index, "it was received after it was decided")
    if (
        isinstance(event, BidVoided | AuctionCancelled | AuctionReopened)
        and event.reason is not None
        and not 0 < len(event.reason) <= REASON_CHARACTERS_MAX
    ):
        raise RuleViolation(index, f"a reason has 1 to {REASON_CHARACTERS_MAX} characters")
    if isinstance(event, AuctionCreated):
        faults = ladder_faults(event.increment)
        if faults:
            raise RuleViolation(index, f"its increment {faults[0].message}")
    if isinstance(event, PhotosArranged):
        _check_photos(index, event)


def _check_photos(index: int, event: PhotosArranged) -> None:
    """Raise RuleViolation if no lot could show these photos."""
    try:
        refuse_bad_list([photo.id for photo in event.photos])
    except Invalid as invalid:
        raise RuleViolation(index, f"its photos {invalid.faults['photos'][0].message}") from None
    for photo in event.photos:
        widths = [file.width for file in photo.files]
        if not widths or widths[0] < 1 or any(one >= other for one, other in pairwise(widths)):
            raise RuleViolation(index, "a photo has files, the narrowest first")
        if not PHOTO_ID.fullmatch(photo.id) or not all(_SHA256.fullmatch(file.sha256) for file in photo.files):
            raise RuleViolation(index, "a photo has an id, and its files have a SHA-256 in 64 hexadecimal digits")


def _values(value: Any) -> Iterator[Any]:
    """Yield `value` and all values in it."""
    yield value
    parts = structs.astuple(value) if isinstance(value, Struct) else value
    if isinstance(parts, tuple):
        for part in parts:
            yield from _values(part)


def _is_money(amount: Decimal) -> bool:
    return amount.is_finite() and amount.as_tuple().exponent == STEP.as_tuple().exponent and ZERO <= amount <= LIMIT
