"""A ledger, line by line: its form, its chain, its commitments (docs/ledger.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct, field

from saleroom.bidding.domain.block_events import ActUndone, AuctionCalled, BidRetracted
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import (
    AuctionCancelled,
    AuctionClosed,
    AuctionCreated,
    BidPlaced,
    BidVoided,
    Event,
    MaximumRaised,
    ReserveMet,
)
from saleroom.bidding.domain.ledger import commitment, event_hash, hidden_event
from saleroom.bidding.domain.pseudonyms import SALTS, InvalidNames
from saleroom.bidding.domain.retrace import RuleViolation, Trace, check_form, retrace
from saleroom.bidding.domain.views import cloud_event, event_from_parts, event_parts, sealed_part
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.chain import ZERO, canonical, link
from saleroom.kernel.errors import Refusal
from saleroom.tools.verify import damage
from saleroom.tools.verify.names import NameCheck

LINE_BYTES_MAX = 64 * 1024 * 1024
"""A line has every raise of the leader's own maximum since the line before, and can therefore be long."""
LEDGER_BYTES_MAX = 1024 * 1024 * 1024
_HASH = re.compile(r"[0-9a-f]{64}")
_LAST = (AuctionClosed, AuctionCancelled)
_SAYS_WHERE = re.compile(r"lines? [0-9]|the ledger was cut|this is ")


class Breakage(Exception):
    """A ledger breaks at `line`, counted from 1, for a `reason`, which may quote the ledger and is not fit for a terminal.

    Its text names the line, unless the reason already says where the damage is.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason if _SAYS_WHERE.match(reason) else f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class CheckedEvent(Struct, frozen=True):
    """An event of a ledger, its line, and its public number; a hidden event has the number of the event before it."""

    line: int
    sequence: int
    event: Event


class Ledger(Struct):
    """A ledger that is in order. If it is opened, `trace` has all decisions, which then follow from the rules."""

    gid: str = ""
    name: str = ""
    events: list[CheckedEvent] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    opened: bool = False
    trace: Trace | None = None

    @property
    def head(self) -> str:
        """The hash of its last event."""
        return self.hashes[-1]


def read(file: BinaryIO, progress: Callable[[int], None] = lambda _: None) -> Ledger:
    """Return the ledger in `file` after checking it; `progress` is called with the bytes read. Raises Breakage."""
    ledger, size, reader = Ledger(), 0, _LedgerReader()
    while raw := file.readline(LINE_BYTES_MAX + 1):
        size += len(raw)
        number = len(ledger.hashes) + 1
        if len(raw) > LINE_BYTES_MAX or size > LEDGER_BYTES_MAX:
            raise Breakage(number, "it is larger than any ledger: is this the file?")
        try:
            reader.add(ledger, number, raw)
        except _FormFault as fault:
            changed = f"line {number} was changed: {fault}" if raw.endswith(b"\n") else str(fault)
            raise Breakage(number, changed if number > 1 else damage.wrong_file(raw, file) or str(fault)) from None
        except _ChainFault as fault:
            raise Breakage(number, f"{damage.describe(number, reader.head, fault.event, file)}: {fault}") from None
        except _LineFault as fault:
            raise Breakage(number, str(fault)) from None
        progress(size)
    if not ledger.hashes:
        raise Breakage(1, "the ledger is empty")
    _conclude(ledger)
    return ledger


def _conclude(ledger: Ledger) -> None:
    """Do the checks that need the whole ledger. Raises Breakage."""
    last = ledger.events[-1]
    if ledger.opened:
        try:
            ledger.trace = retrace(entry.event for entry in ledger.events)
        except RuleViolation as error:
            beyond = error.index == len(ledger.events)
            if beyond:
                raise Breakage(last.line + 1, f"the ledger was cut after line {last.line}: {error.reason}") from None
            raise Breakage(ledger.events[error.index].line, error.reason) from None
        if not ledger.trace.auction.over:
            raise Breakage(
                last.line + 1,
                f"the ledger was cut after line {last.line}: it is opened, so its auction is over, "
                "but its last event is missing",
            )
        return
    # A lot of a live sale is opened with its whole sale: its hammer may be undone until then.
    called = any(isinstance(entry.event, AuctionCalled) for entry in ledger.events)
    if isinstance(last.event, _LAST) and not called:
        raise Breakage(last.line, "the auction is over, but its ledger is not opened: read it again from the house")
    _check_public(ledger)


def _check_public(ledger: Ledger) -> None:
    """Check the public events of a running auction: their times are in order, and the price rises."""
    price, before, book, called = Decimal(-1), ledger.events[0].event.at, BidBook(), False
    for index, entry in enumerate(ledger.events):
        event = entry.event
        if isinstance(event, AuctionCreated) != (index == 0):
            raise Breakage(entry.line, f"an auction begins with {AuctionCreated.TYPE}, and only begins with it")
        called |= isinstance(event, AuctionCalled)
        if isinstance(event, _LAST) and not called:
            raise Breakage(entry.line + 1, "the auction is over, and nothing happens any more")
        if event.at < before:
            raise Breakage(entry.line, "it is earlier than the event before it")
        if isinstance(event, ReserveMet) or (isinstance(event, BidPlaced) and event.leading):
            if not event.amount > price:
                raise Breakage(entry.line, f"the price rises with each bid that leads, and was {price} before")
            price = event.amount
        if isinstance(event, BidVoided):
            _check_void(entry.line, event, book)
        if isinstance(event, BidVoided | ActUndone):
            price = Decimal(-1) if event.current_bid is None else event.current_bid
        if isinstance(event, BidRetracted):
            price = Decimal(-1)
        before = event.at
        book.read(event)


def _check_void(line: int, event: BidVoided, book: BidBook) -> None:
    """Raise Breakage unless a bid is voided that stands, and the event says whose it is."""
    try:
        bid = book.bid_at(event.voided)
    except Refusal as refusal:
        raise Breakage(line, f"the rules refuse it: {refusal}") from None
    if (event.bidder, event.amount) != (bid.bidder, bid.amount):
        raise Breakage(line, f"the bid at event {event.voided} is another")


class _LedgerReader:
    """Checks lines one after the other."""

    def __init__(self) -> None:
        self.head = ZERO
        self._numbers: dict[str, int] = {}
        self._names = NameCheck()

    def add(self, ledger: Ledger, number: int, raw: bytes) -> None:
        """Add line `number` to `ledger`. Raises _LineFault."""
        event, opened = _form(raw)
        ledger.opened = ledger.opened or (number == 1 and opened is not None)
        self._chain(event, number, both=ledger.opened == (opened is not None))
        ledger.gid = ledger.gid or _gid(event)
        hidden = [] if opened is None else self._check_commitment(event, opened, number)
        public = self._event(ledger.gid, number, event, opened)
        if isinstance(public, AuctionCreated):
            ledger.name = ledger.name or public.name
        ledger.events += [CheckedEvent(number, number - 1, each) for each in hidden]
        ledger.events.append(CheckedEvent(number, number, public))
        ledger.hashes.append(self.head)

    def _chain(self, event: dict[str, Any], number: int, *, both: bool) -> None:
        """Check the number and the hash, and that either all lines are opened or none."""
        if not both:
            raise _LineFault("some lines are opened and some are not")
        if event.get("sequence") != number:
            raise _ChainFault(f"its sequence is {event.get('sequence')!r}, but {number} comes next", event)
        try:
            digest = event_hash(self.head, event)
        except InvalidNames as error:
            raise _LineFault(str(error)) from None
        if event.get("hash") != digest:
            raise _ChainFault("its hash is not that of the event after the one before it", event)
        self.head = event["hash"]

    def _check_commitment(self, event: dict[str, Any], opened: dict[str, Any], number: int) -> list[Event]:
        """Return the hidden events, after checking that the commitment covers everything opened."""
        if set(opened) != {"data", "hidden", "salt"} or not isinstance(opened["data"], dict):
            raise _LineFault("what is opened has the members data, hidden and salt")
        if not isinstance(opened["salt"], str) or not _HASH.fullmatch(opened["salt"]):
            raise _LineFault("its salt is not 64 hexadecimal digits")
        if not isinstance(opened["hidden"], list):
            raise _LineFault("its hidden events are not a list")
        hidden = ZERO
        for each in opened["hidden"]:
            hidden = link(hidden, each)
        if event.get("commitment") != commitment(opened["salt"], opened["data"], hidden):
            raise _LineFault(f"line {number} was changed: what is opened is not what the event has committed to")
        return [_hidden(each) for each in opened["hidden"]]

    def _event(self, gid: str, number: int, wire: dict[str, Any], opened: dict[str, Any] | None) -> Event:
        """Return the event of a line, after checking that its members are exactly those that a house writes."""
        kind = _kind(wire)
        if not kind.PUBLIC:
            raise _LineFault(f"{kind.TYPE} is no public event")
        data = wire.get("data")
        if not isinstance(data, dict):
            raise _LineFault("its data is not an object")
        try:
            self._names.check(data)
        except InvalidNames as error:
            raise _LineFault(str(error)) from None
        leader = data.get("currentBidder")
        numbers = {
            "bidderId": self._number(data.get("bidder")),
            "authorId": self._number(data.get("author")),
            "leaderId": None if leader is None else self._number(leader),
        }
        private = _stand_ins(data) if opened is None else opened["data"]
        event = _converted(kind, wire.get("time"), {**data, **private}, numbers)
        public, known = event_parts(event)
        if SALTS in data:
            public[SALTS] = data[SALTS]
        rebuilt = msgspec.to_builtins(cloud_event(gid, number, event, public))
        _same(wire, rebuilt | {"commitment": wire.get("commitment"), "hash": wire.get("hash")})
        if opened is not None:
            _same(opened["data"], sealed_part(kind, known))
        return event

    def _number(self, name: Any) -> int:
        """Return a number for a user, because ledgers have only names."""
        return self._numbers.setdefault(name, len(self._numbers) + 1) if isinstance(name, str) else 0


class _LineFault(Exception):
    """A line is wrong; the message says how."""


class _FormFault(_LineFault):
    """A line has not the form of one."""


class _ChainFault(_LineFault):
    """The `event` of a line does not continue the chain."""

    def __init__(self, reason: str, event: dict[str, Any]) -> None:
        super().__init__(reason)
        self.event = event


def _form(raw: bytes) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the members `event` and `opened` of a line, after checking that it is in canonical form."""
    if not raw.endswith(b"\n"):
        raise _FormFault("it does not end with a line feed: the ledger was cut within it")
    try:
        line = msgspec.json.decode(raw[:-1])
        form = canonical(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _FormFault("it is not JSON") from None
    if form != raw[:-1]:
        raise _FormFault("it is not in canonical form (RFC 8785)")
    if not isinstance(line, dict) or not {"event"} <= set(line) <= {"event", "opened"}:
        raise _FormFault("it is no line of a ledger: a line has event, and also opened once the auction is over")
    event, opened = line["event"], line.get("opened")
    if not isinstance(event, dict) or ("opened" in line and not isinstance(opened, dict)):
        raise _FormFault("its members are not objects")
    return event, opened


def _gid(event: dict[str, Any]) -> str:
    data = event.get("data")
    gid = data.get("gid") if isinstance(data, dict) else None
    if not isinstance(gid, str):
        raise _LineFault(f"an auction begins with {AuctionCreated.TYPE}, which has its gid")
    return gid


def _kind(wire: dict[str, Any]) -> type[Event]:
    kind = EVENTS.get(wire["type"]) if isinstance(wire.get("type"), str) else None
    if kind is None:
        raise _LineFault(f"its type {wire.get('type')!r} is not known; a newer saleroom may know it")
    return kind


def _hidden(wire: Any) -> Event:
    """Return a hidden event, after checking that it is written as a house writes it."""
    if not isinstance(wire, dict) or wire.get("type") != MaximumRaised.TYPE or not isinstance(wire.get("data"), dict):
        raise _LineFault(f"a hidden event is {MaximumRaised.TYPE}")
    event = _converted(MaximumRaised, wire.get("time"), wire["data"], {})
    _same(wire, hidden_event(MaximumRaised, event.at, sealed_part(MaximumRaised, event_parts(event)[1])))
    return event


def _converted(kind: type[Event], time: Any, members: dict[str, Any], numbers: dict[str, int | None]) -> Event:
    try:
        at = msgspec.convert(time, datetime)
        event = event_from_parts(kind.TYPE, at, members, {**numbers, "seed": ""})
        check_form(0, event)
    except RuleViolation as error:
        raise _LineFault(error.reason) from None
    except (msgspec.ValidationError, ValueError, OverflowError, TypeError) as error:
        raise _LineFault(f"it is no {kind.TYPE}: {error}") from None
    return event


def _stand_ins(data: dict[str, Any]) -> dict[str, Any]:
    """Return stand-ins for the sealed members of an event."""
    return {"reservePrice": None, "maximum": data.get("amount")}


def _same(wire: dict[str, Any], rebuilt: dict[str, Any]) -> None:
    """Raise _LineFault if the event is not as a house writes it.

    A member that a later version of the house added may be absent if it is null, because old hashes stay valid.
    """
    if canonical(wire) == canonical(rebuilt):
        return
    data, expected = wire.get("data"), rebuilt.get("data")
    if isinstance(data, dict) and isinstance(expected, dict):
        _same(data, expected)
    names = [name for name in sorted({**wire, **rebuilt}) if not _agree(wire, rebuilt, name) and name != "data"]
    if names:
        raise _LineFault(f"its member {names[0]!r} is not as a house writes it, or should not be there")


def _agree(wire: dict[str, Any], rebuilt: dict[str, Any], name: str) -> bool:
    if name not in wire:
        return rebuilt[name] is None
    return name in rebuilt and canonical(wire[name]) == canonical(rebuilt[name])
