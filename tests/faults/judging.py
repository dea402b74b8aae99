"""The judge: it compares the log with the answers to bidders and the messages of a subscriber, and reports faults."""

import base64
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import pairwise
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import select

from saleroom.bidding.storage.tables import auctions, events
from saleroom.kernel.merkle import root_of
from saleroom.storage.database import Transaction
from tests.mqtt.equipment import PrintedMessage

Log = Mapping[str, Sequence[bytes]]
"""Each auction's public events in order, as the database has them: gid -> payloads."""


@dataclass(frozen=True)
class SubscriberCounts:
    """One subscriber's messages. `duplicates` are allowed; every count below it must be 0."""

    received: int
    duplicates: int
    missing: int
    """Events of the log that never came."""
    disordered: int
    """Events that came before an earlier one of their auction; and steps within a repeat that skip one."""
    doubled: int
    """Ids that came with two different payloads, or with one that is not the log's."""
    unknown: int
    """Ids that the log does not hold."""
    stale: int
    """States older than an event of their auction that came before them."""


@dataclass(frozen=True)
class BidCounts:
    """The recorded bids. `bids` is their number; every count below it must be 0."""

    bids: int
    lost: int
    """Bids that were acknowledged and are not in the log."""
    doubled: int
    """Bids that are in the log more often than they were acknowledged, or were never acknowledged at all."""


@dataclass(frozen=True)
class EndCounts:
    """The ends of the auctions. `auctions` is their number; every count below it must be 0."""

    auctions: int
    unknown: int
    """Auctions in the log that no client was told of, or the other way round."""
    unclosed: int
    """Auctions without a close, or whose row does not say so."""
    repeated: int
    """Events after a close, a second close among them."""
    disagreeing: int
    """Closes whose outcome, winner, price or instant do not follow from the bids and the end, or are not the row's."""
    late: int
    """Bids at or after the end of their auction."""


def faults(verdict: SubscriberCounts | BidCounts | EndCounts) -> dict[str, int]:
    """Return the counts that must be 0 and are not."""
    harmless = {"received", "duplicates", "bids", "auctions"}
    counted = [field.name for field in fields(verdict) if field.name not in harmless]
    return {name: number for name in counted if (number := getattr(verdict, name))}


def read_log(tx: Transaction) -> dict[str, list[bytes]]:
    """Read the whole log in its wire form."""
    same = events.c.auction_id == auctions.c.id
    chosen = select(auctions.c.gid, events.c.payload).join_from(events, auctions, same)
    found: dict[str, list[bytes]] = {}
    for row in tx.execute(chosen.where(events.c.version.is_not(None)).order_by(events.c.auction_id, events.c.version)):
        found.setdefault(row.gid, []).append(row.payload)
    return found


def judge_records(log: Log, accepted: Iterable[tuple[str, str, str]]) -> BidCounts:
    """Compare the log's bids with those that were acknowledged: gid, bidder, amount."""
    logged = Counter(
        (gid, said["data"]["bidder"], said["data"]["amount"])
        for gid, payloads in log.items()
        for payload in payloads
        if (said := json.loads(payload))["type"] == "bid.placed"
    )
    acknowledged = Counter(accepted)
    return BidCounts(logged.total(), (acknowledged - logged).total(), (logged - acknowledged).total())


def read_order(tx: Transaction) -> list[str]:
    """Read the ids of all public events in the order of the table."""
    same = events.c.auction_id == auctions.c.id
    chosen = select(auctions.c.gid, events.c.version).join_from(events, auctions, same)
    rows = tx.execute(chosen.where(events.c.version.is_not(None)).order_by(events.c.id))
    return [f"{row.gid}/{row.version}" for row in rows]


def judge_read(log: Log, order: Sequence[str], ids: Sequence[str], data: Sequence[bytes]) -> SubscriberCounts:
    """Compare a reader's events with `order`, the ids that it should have; here a repeat is a fault too."""
    payloads = {f"{gid}/{number}": payload for gid, those in log.items() for number, payload in enumerate(those, 1)}
    once = dict.fromkeys(ids)
    altered = sum(payloads.get(name) != payload for name, payload in zip(ids, data, strict=True) if name in payloads)
    return SubscriberCounts(
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
    log: Log, messages: Iterable[PrintedMessage], *, states: bool = True, excused: Container[str] = frozenset()
) -> SubscriberCounts:
    """Compare a subscriber's messages, in order, with the log.

    With `states` False the states are not judged: a killed broker may bring back older ones than it has sent, and repeat
    older events before it goes on after the last one. It may also have lost events that it had acknowledged; those in
    `excused` may be missing.
    """
    brought_back = not states
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
        event = json.loads(payload)
        counted["received"] += 1
        if event["id"] not in payloads:
            counted["unknown"] += 1
            continue
        counted["doubled"] += seen.setdefault(event["id"], payload) != payload or payload != payloads[event["id"]]
        # A repeat begins with an earlier one, and goes on in order.
        skipped = range(latest.get(gid, 0) + 1, event["sequence"])
        names = {f"{gid}/{number}" for number in skipped} - (seen.keys() if brought_back else set())
        counted["disordered"] += any(name not in excused for name in names)
        latest[gid] = event["sequence"]
        newest[gid] = max(newest.get(gid, 0), event["sequence"])
    return SubscriberCounts(
        received=counted["received"],
        duplicates=counted["received"] - counted["unknown"] - len(seen),
        missing=sum(name not in excused for name in payloads.keys() - seen.keys()),
        disordered=counted["disordered"],
        doubled=counted["doubled"],
        unknown=counted["unknown"],
        stale=counted["stale"],
    )


Row = tuple[str, str | None, str | None]
"""An auction's status, outcome, and current bid in its wire form."""


def read_rows(tx: Transaction) -> dict[str, Row]:
    """Read the end of each auction from its own row: gid -> row."""
    chosen = select(auctions.c.gid, auctions.c.status, auctions.c.outcome, auctions.c.current_bid)
    return {
        row.gid: (row.status, row.outcome, None if row.current_bid is None else f"{row.current_bid:.3f}")
        for row in tx.execute(chosen)
    }


def judge_closes(log: Log, rows: Mapping[str, Row], gids: Iterable[str]) -> EndCounts:
    """Compare each auction's close with its bids, its end and its row; `gids` are those that the house has acknowledged."""
    counted: Counter[str] = Counter()
    for gid, payloads in log.items():
        counted.update(_close(rows.get(gid), [json.loads(payload) for payload in payloads]))
    known = set(gids)
    return EndCounts(
        auctions=len(known),
        unknown=len(known ^ log.keys()),
        unclosed=counted["unclosed"],
        repeated=counted["repeated"],
        disagreeing=counted["disagreeing"],
        late=counted["late"],
    )


def _close(row: Row | None, said: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a word for each fault in one auction's end."""
    ends_at: str | None = None
    leading: Mapping[str, Any] | None = None
    for number, event in enumerate(said, 1):
        data = event["data"]
        if event["type"] == "auction.closed":
            outcome = "no_bids" if leading is None else "reserve_not_met" if leading["reserveMet"] is False else "sold"
            sold = leading if outcome == "sold" else None
            due = (outcome, sold and sold["bidder"], sold and sold["amount"])
            if due != (data["outcome"], data["winner"], data["price"]) or event["time"] != (ends_at or event["time"]):
                yield "disagreeing"
            if row is not None and row[1:] != (outcome, leading and leading["amount"]):
                yield "disagreeing"
            yield from ["repeated"] * (len(said) - number)
            if row is None or row[0] != "closed":
                yield "unclosed"
            return
        if event["type"] == "bid.placed":
            if ends_at is not None and event["time"] >= ends_at:
                yield "late"
            leading = data if data["leading"] else leading
        ends_at = data.get("endsAt", ends_at)
    yield "unclosed"


def judge_receipts(log: Log, keys: Mapping[str, Any], receipts: Iterable[str]) -> list[str]:
    """Return the faults of receipts (docs/ledger.md): not signed by one of `keys`, or for a bid that the log does not hold."""
    signers = {key["kid"]: Ed25519PublicKey.from_public_bytes(_decoded(key["x"])) for key in keys["keys"]}
    return [f"a receipt {fault}: {text}" for text in receipts if (fault := _refuted(log, signers, text))]


def _refuted(log: Log, signers: Mapping[str, Ed25519PublicKey], text: str) -> str:
    jws, leaf, place = text.split("~")
    header, payload, signature = jws.split(".")
    try:
        signer = signers[json.loads(_decoded(header))["kid"]]
        signer.verify(_decoded(signature), f"{header}.{payload}".encode())
    except (InvalidSignature, KeyError):
        return "is not signed by the house"
    head, (index, *path) = json.loads(_decoded(payload)), place.split(".")
    try:
        root = root_of(_decoded(leaf), int(index), head["size"], [_decoded(node) for node in path])
    except ValueError:
        return "has no such place in the signed tree"
    if root != _decoded(head["root"]):
        return "is not in the signed tree"
    _, content = json.loads(_decoded(leaf))
    events = [json.loads(event) for event in log.get(content["gid"], [])[: content["sequence"]]]
    if len(events) < content["sequence"] or events[-1]["hash"] != content["hash"]:
        return "is for another ledger"
    bids = [
        (event["data"]["bidder"], event["data"]["amount"], event["time"])
        for event in events
        if "amount" in event["data"]
    ]
    return (
        "" if (content["bidder"], content["amount"], content["decidedAt"]) in bids else "is for a bid that is not there"
    )


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def tracebacks(logged: str) -> list[str]:
    """Return the end of each traceback."""
    blocks = re.findall(r"^Traceback .*\n((?:[ ].*\n)+.*)$", logged, re.MULTILINE)
    return [" / ".join(line.strip() for line in block.splitlines()[-7:]) for block in blocks]


def cut_short(unanswered: Iterable[datetime], endings: Sequence[tuple[datetime, datetime]]) -> list[datetime]:
    """Return the instants of `unanswered`, at which bids without an answer were decided, that fall into an orderly end."""
    return [at for at in unanswered if any(since <= at <= until for since, until in endings)]
