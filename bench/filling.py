"""Millions of bids and events, written by SQL as the house would write them, to show what full tables cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, insert, text, update

from bench import data
from bench.bidding import CONNECTIONS, on_database
from bench.data import AUCTIONS, BIDDERS
from bench.results import Reading
from bench.stage import Stage
from bench.violations import SearchStart
from saleroom.bidding.storage import tables
from saleroom.kernel.instants import instant
from saleroom.storage.schema import Instant, Money

STEPS_AT_ONCE = 50
BYTES_EACH = 1_200
"""The bytes of a bid on disk, with its event and their indexes."""
_SPARE_BYTES = 12 * 2**30
"""Room for the write-ahead log of PostgreSQL, and for the other databases of a run."""
_START, _STEP = Decimal("1.000"), Decimal("0.001")
_BIDDER = f"(a.id * 7 + s.number) % {BIDDERS} + 1"

_steps = Table(
    "bench_steps",
    MetaData(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("wire_at", String, nullable=False),
    Column("amount", Money, nullable=False),
    Column("wire_amount", String, nullable=False),
    Column("wire_minimum", String, nullable=False),
)
"""The columns that the bids of one number share in all auctions."""

_BIDS = f"""
INSERT INTO bids (auction_id, number, bidder_id, amount, maximum, automatic, placed_at)
SELECT a.id, s.number, {_BIDDER}, s.amount, s.amount, FALSE, s.at
FROM bench_steps AS s CROSS JOIN auctions AS a
WHERE s.number BETWEEN :low AND :high AND a.id <= :auctions ORDER BY a.id, s.number"""

_EVENTS = f"""
INSERT INTO events
  (auction_id, position, version, type, at, payload, private, price, ending_rank, delivered_at{{writer}})
SELECT a.id, s.number + 1, s.number + 1, 'bid.placed', s.at,
  {{bytes}}('{{{{"specversion":"1.0","id":"' || a.gid || '/' || (s.number + 1) || '","source":"/auctions/' || a.gid ||
    '","type":"bid.placed","time":"' || s.wire_at || '","datacontenttype":"application/json","sequence":' ||
    (s.number + 1) || ',"data":{{{{"amount":"' || s.wire_amount || '","bidder":"' || u.username ||
    '","automatic":false,"leading":true,"minimumBid":"' || s.wire_minimum ||
    '","reserveMet":null,"endsAt":null}}}}}}}}'{{encoded}}),
  {{bytes}}('{{{{"bidderId":' || u.id || ',"maximum":"' || s.wire_amount || '"}}}}'{{encoded}}),
  s.amount, a.ending_rank, {{delivered}}{{transaction}}
FROM bench_steps AS s CROSS JOIN auctions AS a JOIN users AS u ON u.id = {_BIDDER}
WHERE s.number BETWEEN :low AND :high AND a.id <= :auctions ORDER BY a.id, s.number"""


def filled(stage: Stage, kind: str, *, bids: int) -> Reading:
    """Return the accepted bids per second on 10,000 auctions that already have `bids`, and as many events.

    The database is filled once and used in every round. Where the disk is too small, there are fewer, and a note says so.
    """
    fitting = bids
    while fitting > AUCTIONS and not stage.has(f"filled-{kind}-{fitting}") and not _fits(stage, fitting):
        fitting //= 10
    note = "" if fitting == bids else f"only {fitting:,} bids and events, as the disk has no room for more"
    if note:
        stage.warn(note)
    url = stage.kept(f"filled-{kind}-{fitting}", kind, lambda url: fill(stage, url, fitting // AUCTIONS))
    number = fitting // AUCTIONS
    rows = fitting - AUCTIONS
    since = SearchStart(number, bids_after=rows, events_after=rows + AUCTIONS)
    found = on_database(stage, url, kind, auctions=AUCTIONS, connections=CONNECTIONS, since=since)
    found.figures["bids_before"] = float(fitting)
    found.note = note
    return found


def fill(stage: Stage, url: str, bids_each: int, *, auctions: int = AUCTIONS, delivered: bool = True) -> None:
    """Give the first `auctions` of a fresh copy of the template `bids_each` bids; `delivered` marks them as sent to MQTT."""
    base = datetime.now(UTC)
    data.on(url, lambda connection: _prepare(connection, bids_each, base))
    # Rows ordered by auction within a window fill the indexes page by page. The last bids are the last rows.
    windows = [(low, min(bids_each - 1, low + STEPS_AT_ONCE - 1)) for low in range(1, bids_each, STEPS_AT_ONCE)]
    for low, high in (*windows, (bids_each, bids_each)):
        stage.say(f"filling: {(low - 1) * auctions:,} of {bids_each * auctions:,} bids")
        window = {"low": low, "high": high, "auctions": auctions}
        data.on(url, lambda connection, window=window: _insert(connection, window, delivered=delivered))  # type: ignore[misc]  # it cannot see the default
    data.on(url, lambda connection: _finish(connection, bids_each, auctions, base))


def _prepare(connection: Connection, bids_each: int, base: datetime) -> None:
    _steps.create(connection)
    rows = []
    for number in range(1, bids_each + 1):
        at, amount = _at(base, bids_each, number), _START + number * _STEP
        rows.append(
            {
                "number": number,
                "at": at,
                "wire_at": instant(at),
                "amount": amount,
                "wire_amount": str(amount),
                "wire_minimum": str(amount + _STEP),
            }
        )
    connection.execute(insert(_steps), rows)


def _insert(connection: Connection, window: dict[str, int], *, delivered: bool) -> None:
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        # Foreign keys of rows that were just read need no check.
        connection.execute(text("SET LOCAL session_replication_role = replica"))
    events = _EVENTS.format(
        writer=", written_by" if postgresql else "",
        transaction=", pg_current_xact_id()" if postgresql else "",
        bytes="convert_to" if postgresql else "CAST",
        encoded=", 'UTF8'" if postgresql else " AS BLOB",
        delivered="s.at" if delivered else "NULL",
    )
    # SQLAlchemy's `text` takes a colon before a letter for a parameter.
    for statement in (_BIDS, events.replace('":', '"\\:')):
        connection.execute(text(statement), window)


def _finish(connection: Connection, bids_each: int, auctions: int, base: datetime) -> None:
    """Make the auctions agree with their last bids, and update the planner's statistics."""
    amount = _START + bids_each * _STEP
    rows = tables.auctions
    connection.execute(
        update(rows)
        .where(rows.c.id <= auctions)
        .values(
            current_bid=amount,
            maximum=amount,
            price=amount,
            current_bid_at=_at(base, bids_each, bids_each),
            current_bidder_id=(rows.c.id * 7 + bids_each) % BIDDERS + 1,
            bid_count=bids_each,
            version=bids_each + 1,
            position=bids_each + 1,
        )
    )
    _steps.drop(connection)
    connection.execute(text("ANALYZE"))


def _at(base: datetime, bids_each: int, number: int) -> datetime:
    """The times of the bids: a microsecond apart, and all before the house serves."""
    return base - timedelta(microseconds=bids_each - number)


def _fits(stage: Stage, bids: int) -> bool:
    return stage.free_bytes() > bids * BYTES_EACH + _SPARE_BYTES
