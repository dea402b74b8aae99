"""Ledgers made from histories, and forged ones."""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import msgspec

from saleroom.bidding.domain.auction import begin
from saleroom.bidding.domain.events import AuctionCancelled, AuctionClosed, AuctionCreated, Event
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter, commitment, enter, event_hash
from saleroom.kernel.chain import PSEUDONYMS, ZERO, canonical, link
from saleroom.tools.verify.reading import Breakage, Ledger, read

SEED = PSEUDONYMS + "5eed" * 16

Json = dict[str, Any]


def lines_of(log: Iterable[Event], *, opened: bool | None = None) -> list[bytes]:
    """Return the lines of a ledger, opened if the auction is over."""
    pages, auction, over = [], None, False
    for happened in log:
        event = happened
        if isinstance(happened, AuctionCreated):
            event = msgspec.structs.replace(happened, seed=SEED)
            auction = begin(7, event)
        else:
            assert auction is not None
            auction = auction.after(event)
        auction, entry = enter(auction, event)
        pages.append(LedgerEvent(event.TYPE, event.at, entry.payload, msgspec.json.decode(entry.private)))
        over = over or isinstance(event, AuctionClosed | AuctionCancelled)
    return list(LedgerWriter(SEED if (over if opened is None else opened) else None).of(pages))


def verified(raw: bytes) -> Ledger:
    """Return the ledger in `raw`. Raises Breakage."""
    return read(BytesIO(raw))


def broken(raw: bytes | list[bytes]) -> tuple[int, str] | None:
    """Return the line at which a ledger breaks and the reason, or None."""
    try:
        verified(raw if isinstance(raw, bytes) else b"".join(raw))
    except Breakage as error:
        return error.line, error.reason
    return None


def forged(lines: list[bytes], change: Callable[[list[Json]], object]) -> list[bytes]:
    """Return the ledger after a `change` of its lines, with new commitments and hashes, so that it is consistent."""
    entries = [msgspec.json.decode(line) for line in lines]
    change(entries)
    head = ZERO
    for number, line in enumerate(entries, 1):
        event, opened = line["event"], line.get("opened")
        if opened is not None:
            hidden = ZERO
            for each in opened["hidden"]:
                hidden = link(hidden, each)
            event["commitment"] = commitment(opened["salt"], opened["data"], hidden)
        event["sequence"], event["id"] = number, f"{event['id'].partition('/')[0]}/{number}"
        event.pop("hash")
        event["hash"] = head = event_hash(head, event)
    return [canonical(line) + b"\n" for line in entries]
