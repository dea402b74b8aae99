"""The result of a ledger, for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, TextIO

import msgspec
from msgspec import Struct, structs
from rich.table import Table
from rich.text import Text

from saleroom.bidding.domain.events import BidPlaced, BidVoided, ReserveMet
from saleroom.bidding.domain.reasons import conclusion, said
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.terminal import plain
from saleroom.tools.console import ToolConsole
from saleroom.tools.verify.reading import CheckedEvent, Ledger

SEALED = "sealed until the auction is over"


class BidRow(Struct, frozen=True, rename="camel"):
    """A bid for display. `amount` is None for a hidden raise, `maximum` while it is sealed.

    `voided` is the `sequence` of the event that voided the bid; None if it stands.
    """

    sequence: int
    at: str
    received_at: str | None
    bidder: str
    amount: str | None
    maximum: str | None
    automatic: bool
    leading: bool
    why: str
    voided: int | None = None


def rows(ledger: Ledger, money: Callable[[Decimal], str] = str) -> Iterator[BidRow]:
    """Yield the bids of a ledger, in order, with amounts written by `money`."""
    voids = _voids(ledger)
    if ledger.trace is None:
        for index, placed in enumerate(ledger.events):
            bid = placed.event
            if isinstance(bid, BidPlaced):
                public = (
                    placed.sequence,
                    instant(bid.at),
                    maybe_instant(bid.received_at),
                    bid.bidder,
                    money(bid.amount),
                )
                yield _with_void(BidRow(*public, None, bid.automatic, bid.leading, SEALED), voids.get(index))
        return
    for why in ledger.trace.bids:
        row = BidRow(
            ledger.events[why.index].sequence,
            instant(why.at),
            maybe_instant(why.received_at),
            why.bidder,
            None if why.amount is None else money(why.amount),
            money(why.limit),
            why.automatic,
            why.leading,
            said(why.words, money),
        )
        yield _with_void(row, voids.get(why.index))


def _voids(ledger: Ledger) -> dict[int, CheckedEvent]:
    """Return the events that voided bids, by the index of each bid and of each raise that was voided."""
    places = BidBook(each.event for each in ledger.events).places
    found: dict[int, CheckedEvent] = {}
    for placed in ledger.events:
        if isinstance(placed.event, BidVoided):
            found.update(dict.fromkeys(places[placed.event.voided], placed))
    return found


def _with_void(row: BidRow, void: CheckedEvent | None) -> BidRow:
    if void is None or not isinstance(void.event, BidVoided):
        return row
    why = f"{row.why}; voided at event {void.sequence}: {void.event.reason}"
    return structs.replace(row, why=why, voided=void.sequence)


def result(ledger: Ledger, money: Callable[[Decimal], str] = str) -> str:
    """Return in a line how the auction ended, or who leads, with amounts written by `money`."""
    if ledger.trace is not None:
        return conclusion(ledger.trace.auction, money)
    price, leader = _standing(ledger)
    nobody = "no bid stands" if any(isinstance(each.event, BidPlaced) for each in ledger.events) else "nobody has bid"
    stands = nobody if price is None else f"{leader} leads at {money(price)}"
    return (
        f"not over: {stands}; limits and the reserve are sealed until then, so only chain and public parts are checked"
    )


def _standing(ledger: Ledger) -> tuple[Decimal | None, str]:
    price, leader = None, ""
    for placed in ledger.events:
        event = placed.event
        if isinstance(event, ReserveMet) or (isinstance(event, BidPlaced) and event.leading):
            price, leader = event.amount, event.bidder
        if isinstance(event, BidVoided):
            price, leader = event.current_bid, event.current_bidder or ""
    return price, leader


def as_json(ledger: Ledger, notes: list[str]) -> bytes:
    """Return the result as JSON."""
    trace = ledger.trace
    auction = None if trace is None else trace.auction
    sold = auction is not None and auction.outcome == "sold" and auction.leader is not None
    price, leader = _standing(ledger)
    return msgspec.json.encode(
        {
            "ok": True,
            "gid": ledger.gid,
            "name": ledger.name,
            "opened": ledger.opened,
            "events": len(ledger.hashes),
            "head": ledger.head,
            "status": None if auction is None else auction.status,
            "outcome": None if auction is None else auction.outcome,
            "winner": leader if sold else None,
            "price": str(price) if sold else None,
            "result": result(ledger),
            "bids": list(rows(ledger)),
            "notes": notes,
        }
    )


def failure_as_json(line: int | None, reason: str) -> bytes:
    """Return the line at which a ledger breaks and the reason as JSON; `line` is None if the ledger is not at fault."""
    broken: dict[str, Any] = {"ok": False, "line": line, "reason": reason}
    return msgspec.json.encode(broken)


def show(ledger: Ledger, notes: list[str], money: Callable[[Decimal], str] = str, out: TextIO | None = None) -> None:
    """Print the result on `out`, by default standard output: a table on a terminal, otherwise a line for each bid."""
    out = sys.stdout if out is None else out
    console = ToolConsole(file=out, highlight=False, soft_wrap=not out.isatty())
    console.print(Text(plain(f"{ledger.name} ({ledger.gid})"), style="bold"))
    console.print(Text(plain(result(ledger, money)), style="bold"))
    console.print(Text(f"{len(ledger.hashes)} events, head {ledger.head}"))
    for note in notes:
        console.print(Text(plain(note)))
    if out.isatty():
        console.print(_table(ledger, money))
        return
    for row in rows(ledger, money):
        console.print(Text(plain(f"{row.at} {row.bidder} {_amount(row)}{_limit(row)}: {row.why}")))


def _table(ledger: Ledger, money: Callable[[Decimal], str]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("event", justify="right", no_wrap=True)
    table.add_column("decided (UTC)", max_width=27)
    table.add_column("bidder", max_width=20)
    table.add_column("bid", justify="right", no_wrap=True)
    table.add_column("up to", justify="right", no_wrap=True)
    table.add_column("why", ratio=1)
    for row in rows(ledger, money):
        cells = (str(row.sequence), row.at, row.bidder, _amount(row), row.maximum or "", row.why)
        table.add_row(*(Text(plain(cell)) for cell in cells), style="dim" if row.automatic else "")
    return table


def _amount(row: BidRow) -> str:
    return "(hidden)" if row.amount is None else row.amount


def _limit(row: BidRow) -> str:
    return "" if row.maximum is None else f" up to {row.maximum}"
