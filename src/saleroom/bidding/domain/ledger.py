"""The ledger: an auction's events in a hash chain, so that no change goes unnoticed; and the replay that rebuilds the auction.

docs/ledger.md describes it for authors of verifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import AuctionCreated, Event
from saleroom.bidding.domain.pseudonyms import as_hashed, hide_names, salts_in
from saleroom.bidding.domain.views import cloud_event, event_parts, sealed_part
from saleroom.kernel.chain import ZERO, Chain, canonical, link, link_text, salt
from saleroom.kernel.instants import instant


class Entry(Struct, frozen=True):
    """An event as the log keeps it: canonical JSON if it is public, and its private part as JSON."""

    payload: bytes | None
    private: bytes


class LedgerEvent(Struct, frozen=True):
    """An event as it is read back from the log; `private` as in `event_parts`, `payload` None for a hidden event."""

    type: str
    at: datetime
    payload: bytes | None
    private: dict[str, Any]


def enter(auction: Auction, event: Event) -> tuple[Auction, Entry]:
    """Enter `event` in the ledger of `auction`, which is the auction after it; return the auction with its chain moved on."""
    public, private = event_parts(event)
    sealed, chain = sealed_part(type(event), private), auction.chain
    payload = None
    if event.PUBLIC:
        hashed = hide_names(chain, public)
        data = canonical(public)
        covered = data if hashed is public else canonical(hashed)
        committed = commitment(salt(chain.seed, auction.version), sealed, chain.hidden)
        wire = cloud_event(auction.gid, auction.version, event, Raw(covered), committed)
        head = link_text(chain.head, _encode(wire))
        payload = _encode(structs.replace(wire, data=Raw(data), hash=head))
        moved = Chain(chain.seed, head, ZERO)
    else:
        moved = structs.replace(chain, hidden=link(chain.hidden, hidden_event(type(event), event.at, sealed)))
    return structs.replace(auction, chain=moved), Entry(payload, _encode(private))


def event_hash(previous: str, event: Mapping[str, Any]) -> str:
    """Return the hash of a public event after `previous`; a hash that it has already is not covered. Raises InvalidNames."""
    data = event.get("data")
    if isinstance(data, dict) and salts_in(data):
        event = {**event, "data": as_hashed(data)}
    return link(previous, {member: value for member, value in event.items() if member != "hash"})


def commitment(salt_: str, sealed: Mapping[str, Any], hidden: str) -> str:
    """Return the commitment of a public event to its `sealed` members and to the `hidden` events before it."""
    return link(salt_, {"data": sealed, "hidden": hidden})


def hidden_event(kind: type[Event], at: datetime, sealed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hidden event as the chain links it, and as the ledger shows it once the auction is over."""
    return {"data": sealed, "time": instant(at), "type": kind.TYPE}


def replay(auction_id: int, events: Iterable[Event]) -> Auction:
    """Return the auction that all of its `events` lead to, its chain included.

    Raises ValueError if they do not start with its creation.
    """
    log = iter(events)
    first = next(log, None)
    if not isinstance(first, AuctionCreated):
        raise ValueError(f"auction {auction_id}: the log does not start with {AuctionCreated.TYPE}")
    auction, _ = enter(begin(auction_id, first), first)
    for event in log:
        auction, _ = enter(auction.after(event), event)
    return auction


class LedgerWriter:
    """Writes the lines of a ledger, page by page of the log. With a `seed` they show the sealed members too."""

    def __init__(self, seed: str | None) -> None:
        self._seed = seed
        self._version = 0
        self._hidden: list[dict[str, Any]] = []

    def of(self, page: Iterable[LedgerEvent]) -> Iterator[bytes]:
        """Yield the line of each public event of `page`."""
        for event in page:
            kind = EVENTS[event.type]
            sealed = sealed_part(kind, event.private)
            if event.payload is None:
                self._hidden.append(hidden_event(kind, event.at, sealed))
                continue
            self._version += 1
            if self._seed is None:
                yield b'{"event":' + event.payload + b"}\n"
                continue
            unsealed = {"data": sealed, "hidden": self._hidden, "salt": salt(self._seed, self._version)}
            self._hidden = []
            yield b'{"event":' + event.payload + b',"opened":' + canonical(unsealed) + b"}\n"


_encode = msgspec.json.Encoder().encode
