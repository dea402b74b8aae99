"""The judge: what the log says, what bidders were told and what a subscriber was told go in; what is wrong comes out."""

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import pairwise

from sqlalchemy import select

from saleroom.storage.database import Transaction
from saleroom.storage.tables import auctions, events
from tests.delivery.equipment import Received

Log = Mapping[str, Sequence[bytes]]
"""Each auction's public events in order, as the database has them: gid -> payloads."""


@dataclass(frozen=True)
class Told:
    """What one subscriber was told. `duplicates` may be; everything below it must be 0."""

    received: int
    duplicates: int
    missing: int
    """Events of the log that never came."""
    disordered: int
    """Events that came before one of their auction that precedes them; and steps within a repeat that skip one."""
    doubled: int
    """Ids that came with two different payloads, or another than the log's."""
    unknown: int
    """Ids that the log does not hold."""
    stale: int
    """States older than an event of their auction that came before them."""


@dataclass(frozen=True)
class Recorded:
    """What the house has recorded. `bids` is their number; everything below it must be 0."""

    bids: int
    lost: int
    """Bids that were acknowledged and are not in the log."""
    doubled: int
    """Bids that are in the log more often than they were acknowledged, or were never acknowledged at all."""


def faults(verdict: Told | Recorded) -> dict[str, int]:
    """Return what must be 0 and is not."""
    counted = [field.name for field in fields(verdict) if field.name not in {"received", "duplicates", "bids"}]
    return {name: number for name in counted if (number := getattr(verdict, name))}


def read_log(tx: Transaction) -> dict[str, list[bytes]]:
    """Read the whole log as it is on the wire."""
    same = events.c.auction_id == auctions.c.id
    chosen = select(auctions.c.gid, events.c.payload).join_from(events, auctions, same)
    found: dict[str, list[bytes]] = {}
    for row in tx.execute(chosen.where(events.c.version.is_not(None)).order_by(events.c.auction_id, events.c.version)):
        found.setdefault(row.gid, []).append(row.payload)
    return found


def judge_records(log: Log, accepted: Iterable[tuple[str, str, str]]) -> Recorded:
    """Compare the log's bids with those that were acknowledged: gid, bidder, amount."""
    logged = Counter(
        (gid, said["data"]["bidder"], said["data"]["amount"])
        for gid, payloads in log.items()
        for payload in payloads
        if (said := json.loads(payload))["type"] == "bid.placed"
    )
    told = Counter(accepted)
    return Recorded(logged.total(), (told - logged).total(), (logged - told).total())


def read_order(tx: Transaction) -> list[str]:
    """Read the ids of all public events in the order of the table."""
    same = events.c.auction_id == auctions.c.id
    chosen = select(auctions.c.gid, events.c.version).join_from(events, auctions, same)
    rows = tx.execute(chosen.where(events.c.version.is_not(None)).order_by(events.c.id))
    return [f"{row.gid}/{row.version}" for row in rows]


def judge_read(log: Log, order: Sequence[str], ids: Sequence[str], data: Sequence[bytes]) -> Told:
    """Compare what a reader got with `order`, the ids that it should have: there a repeat is a fault too."""
    payloads = {f"{gid}/{number}": payload for gid, those in log.items() for number, payload in enumerate(those, 1)}
    once = dict.fromkeys(ids)
    altered = sum(payloads.get(name) != payload for name, payload in zip(ids, data, strict=True) if name in payloads)
    return Told(
        received=len(ids),
        duplicates=0,
        missing=len(set(order) - once.keys()),
        disordered=sum(one > other for one, other in pairwise(_places(order, once))),
        doubled=len(ids) - len(once) + altered,
        unknown=len(once.keys() - set(order)),
        stale=0,
    )


def _places(order: Sequence[str], ids: Iterable[str]) -> list[int]:
    places = {name: place for place, name in enumerate(order)}
    return [places[name] for name in ids if name in places]


def read_acknowledged(tx: Transaction, spans: Iterable[tuple[datetime, datetime]]) -> set[str]:
    """Read the ids of the events that a broker acknowledged in one of `spans`, from and until."""
    same = events.c.auction_id == auctions.c.id
    chosen = select(auctions.c.gid, events.c.version).join_from(events, auctions, same)
    rows = [row for span in spans for row in tx.execute(chosen.where(events.c.delivered_at.between(*span)))]
    return {f"{row.gid}/{row.version}" for row in rows}


def judge_told(
    log: Log, messages: Iterable[Received], *, states: bool = True, excused: Container[str] = frozenset()
) -> Told:
    """Compare what a subscriber got, in its order, with the log.

    `states` False leaves the states unjudged: a broker that was killed may bring back older ones than it has sent. It may
    also have taken events with it that it had acknowledged; those of `excused` may be missing.
    """
    payloads = {f"{gid}/{number}": payload for gid, those in log.items() for number, payload in enumerate(those, 1)}
    seen: dict[str, bytes] = {}
    newest: dict[str, int] = {}
    latest: dict[str, int] = {}
    counted: Counter[str] = Counter()
    for topic, payload, retained in messages:
        *_, gid, kind = topic.split("/")
        if kind == "state" and payload and not retained and states:
            counted["stale"] += json.loads(payload)["version"] < newest.get(gid, 0)
        if kind != "events":
            continue
        said = json.loads(payload)
        counted["received"] += 1
        if said["id"] not in payloads:
            counted["unknown"] += 1
            continue
        counted["doubled"] += seen.setdefault(said["id"], payload) != payload or payload != payloads[said["id"]]
        # A repeat begins with an earlier one, and goes on in order.
        skipped = range(latest.get(gid, 0) + 1, said["sequence"])
        counted["disordered"] += any(f"{gid}/{number}" not in excused for number in skipped)
        latest[gid] = said["sequence"]
        newest[gid] = max(newest.get(gid, 0), said["sequence"])
    return Told(
        received=counted["received"],
        duplicates=counted["received"] - counted["unknown"] - len(seen),
        missing=sum(name not in excused for name in payloads.keys() - seen.keys()),
        disordered=counted["disordered"],
        doubled=counted["doubled"],
        unknown=counted["unknown"],
        stale=counted["stale"],
    )
