"""A whole database compared with its ledgers. Every change of a covered row is found."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from sqlalchemy import Table, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import users
from saleroom.admin import ledger_check
from saleroom.admin.ledger_check import check, faults_of
from saleroom.areas import TABLES
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.service.auctions import cancel
from saleroom.bidding.service.bidding import buy_now
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.storage.tables import auctions, bids, events, texts
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import migrate
from saleroom.storage.transfer import freeze, heads
from tests.bidding.service.people import Person, bid, person, sells
from tests.fixtures_database import FakeClock

NOT_COVERED = {
    "events": {"id", "written_by", "delivered_at", "cleared_at"},
    "bids": {"id"},
    "auctions": {"renamed", "withheld", "sale_id"},
}
"""Columns that no ledger covers: numbers of which only the order is checked, deliveries, the count of erased
people, what staff hide after the end, and the sale that a lot belongs to."""

LONG = settings.get_current_profile_name() == "long"
COVERED = (auctions, events, bids)


class _Rollback(Exception):
    """Rolls a transaction back."""


async def sale(database: Database, clock: FakeClock) -> None:
    """Create an auction of each kind: sold, reserve not met, bought, cancelled, running with a hidden raise, scheduled."""
    ada, bob, cyd = [await person(database, name) for name in ("ada", "bob", "cyd")]
    soft = SoftClose(120, 120)
    sold = await sells(database, ada, ends_at=clock.now + timedelta(hours=1), soft_close=soft, reserve_price="150")
    bought = await sells(database, ada, buy_now_price="300")
    gone = await sells(database, ada)
    unmet = await sells(database, ada, ends_at=clock.now + timedelta(hours=1), reserve_price="900")
    runs = await sells(database, ada, ends_at=clock.now + timedelta(days=2))
    await sells(database, ada, starts_at=clock.now + timedelta(days=1))
    await sells(database, bob, description="ëßo <b>")
    await bids_of(database, clock, bob, sold, "100", "up to 140")
    await bids_of(database, clock, cyd, sold, "140", "120 up to 145")
    await bids_of(database, clock, cyd, sold, "up to 200")
    await bids_of(database, clock, bob, unmet, "100")
    await database.write(buy_now, cyd.token, bought, None)
    await database.write(cancel, ada.token, gone)
    clock.advance(3550)
    await bids_of(database, clock, bob, sold, "up to 500")
    clock.advance(300)
    await database.write(settle_due, reopens=False)
    await bids_of(database, clock, bob, runs, "100", "up to 200", "up to 300")


async def bids_of(database: Database, clock: FakeClock, who: Person, gid: str, *amounts: str) -> None:
    """Place bids, a second apart."""
    for each in amounts:
        clock.advance(1)
        await bid(database, who.bids(gid, each))


@pytest.fixture
async def house(clocked_database: Database, clock: FakeClock) -> Database:
    """A house after a sale."""
    await sale(clocked_database, clock)
    return clocked_database


async def tampered(database: Database, tamper: Callable[[Transaction], object]) -> list[str] | None:
    """Return the faults after a change of rows, which is rolled back, or None if the database refuses the change."""
    found: list[list[str]] = []

    def work(tx: Transaction) -> None:
        tamper(tx)
        found.append(faults_of(tx))
        raise _Rollback

    try:
        await database.write(work)
    except _Rollback:
        return found[0]
    except IntegrityError:
        return None
    raise AssertionError("the transaction is rolled back")


def other(value: Any, table: Table, name: str) -> Any:
    """Return another value, of the same kind if there is one."""
    if table.c[name].foreign_keys:
        return 1 if value != 1 else 2
    match value:
        case bool():
            return not value
        case Decimal():
            return value + Decimal("0.001")
        case datetime():
            return value + timedelta(microseconds=1)
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case bytes():
            return value[:-1] + b',"x":1}' if len(value) > 2 else b'{"x":1}'
    by_kind: dict[str, Any] = {"Money": Decimal("1.000"), "Instant": datetime.fromisoformat("2026-11-21T12:00:00Z")}
    by_kind["LargeBinary"] = b"{}"
    return by_kind.get(type(table.c[name].type).__name__, "x" if str(table.c[name].type) in ("VARCHAR", "TEXT") else 1)


async def test_an_unchanged_house_has_no_faults(house: Database) -> None:
    """An unchanged house has no faults, and its rows are counted."""
    checked = await house.read(check)
    assert [] == checked.faults
    rows = {table.name: len(await house.read(_all, table)) for table in COVERED}
    assert rows == {"auctions": checked.auctions, "events": checked.events, "bids": checked.bids}
    assert checked.digest == (await house.read(heads, TABLES)).digest


async def test_a_lot_that_ends_at_the_last_instant_has_no_fault(database: Database) -> None:
    """asyncpg reads that instant without a zone."""
    ada = await person(database, "ada")
    await sells(
        database, ada, ends_at=datetime.max.replace(tzinfo=UTC), starts_at=datetime.max.replace(tzinfo=UTC, second=0)
    )
    assert [] == (await database.read(check)).faults


def _all(tx: Transaction, table: Table) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(select(table)).mappings()]


async def test_every_changed_column_is_found(house: Database) -> None:
    """A change of any column that ledgers cover is found, unless the database itself refuses it."""
    for table in COVERED:
        missed, tried = await changed_and_missed(house, table)
        assert [] == missed
        assert {column.name for column in table.columns} == tried | NOT_COVERED[table.name]


async def changed_and_missed(house: Database, table: Table) -> tuple[list[tuple[str, Any]], set[str]]:
    """Change the columns of a table one by one; return the missed changes, and the names of all changed columns."""
    missed: list[tuple[str, Any]] = []
    tried: set[str] = set()
    rows = await house.read(_all, table)
    first = 0 if house.kind == "sqlite" else 3
    cells = [(count + place, row, name) for count, row in enumerate(rows) for place, name in enumerate(row)]
    for turn, row, name in cells:
        # Each column is changed in one row out of seven, on each database in others. HYPOTHESIS_PROFILE=long changes every row.
        if name in NOT_COVERED[table.name] or (turn % 7 != first and not LONG):
            continue

        def change(tx: Transaction, row: dict[str, Any] = row, name: str = name) -> None:
            changed = {name: other(row[name], table, name)}
            tx.execute(update(table).where(table.c.id == row["id"]).values(**changed))

        tried.add(name)
        if await tampered(house, change) == []:
            missed.append((name, row[name]))
    return missed, tried


async def test_every_lost_or_doubled_row_is_found(house: Database) -> None:
    """A deleted row is found, and so is an added one."""
    step = 1 if LONG else 4
    rows = [(table, row) for table in COVERED for row in (await house.read(_all, table))[::step]]
    for table, row in rows:
        more = {name: value for name, value in row.items() if name not in {"id", "written_by"}}
        number = {"auctions": "gid", "events": "position", "bids": "number"}[table.name]
        more[number] = f"{more[number]}x" if number == "gid" else more[number] + 1000

        def gone(tx: Transaction, table: Table = table, row: dict[str, Any] = row) -> None:
            tx.execute(delete(texts))
            tx.execute(delete(table).where(table.c.id == row["id"]))

        def doubled(tx: Transaction, table: Table = table, more: dict[str, Any] = more) -> None:
            tx.execute(insert(table).values(**more))

        assert await tampered(house, gone)
        assert await tampered(house, doubled)


async def test_a_house_older_than_ledgers_has_no_faults(house: Database) -> None:
    """The migration chains the events of an older house, which are derived from the rules."""

    def aged(tx: Transaction) -> None:
        migrate(tx, "0004")
        for row in tx.execute(select(events.c.id, events.c.payload, events.c.private)).all():
            private = msgspec.json.decode(row.private)
            payload = None if row.payload is None else msgspec.json.decode(row.payload)
            for members in (private, payload or {}, (payload or {}).get("data", {})):
                for name in ("asked", "receivedAt", "downSince", "seed", "salts", "commitment", "hash"):
                    members.pop(name, None)
            old = {"private": msgspec.json.encode(private), "payload": payload and msgspec.json.encode(payload)}
            tx.execute(update(events).where(events.c.id == row.id).values(**old))

    await house.write(aged)
    await house.write(migrate)
    assert [] == await house.read(faults_of)


async def test_users_that_change_places_are_found(house: Database) -> None:
    """Hashes cover the names of users, and the users' numbers must fit the names."""
    for name in ("ada", "bob", "cyd"):

        def renamed(tx: Transaction, name: str = name) -> None:
            tx.execute(update(users).where(users.c.username == name).values(username=f"{name}2"))

        assert await tampered(house, renamed)

    def swapped(tx: Transaction) -> None:
        for old, new in (("bob", "x"), ("cyd", "bob"), ("x", "cyd")):
            tx.execute(update(users).where(users.c.username == old).values(username=new))

    found = await tampered(house, swapped)
    assert found is not None
    assert any("is bob in its log, and cyd among the users" in each for each in found)


async def test_rows_of_no_auction_are_found(house: Database) -> None:
    """Events and bids of a deleted auction are found."""

    def orphaned(tx: Transaction) -> None:
        tx.execute(delete(texts))
        tx.execute(delete(auctions).where(auctions.c.outcome == "sold"))

    found = await tampered(house, orphaned)
    assert found is not None
    assert 2 == sum("which does not exist" in each and each.startswith("events") for each in found)
    assert 2 == sum("which does not exist" in each and each.startswith("bids") for each in found)


async def test_a_wholly_deleted_auction_changes_the_digest(house: Database) -> None:
    """Only a digest that was written down before shows that an auction is deleted completely."""
    before = await house.read(check)
    digests: list[str] = []

    def work(tx: Transaction) -> None:
        number = tx.execute(select(auctions.c.id).where(auctions.c.outcome == "sold")).scalars().first()
        for table in (events, bids):
            tx.execute(delete(table).where(table.c.auction_id == number))
        tx.execute(delete(texts))
        tx.execute(delete(auctions).where(auctions.c.id == number))
        result = check(tx)
        assert [] == result.faults
        digests.append(result.digest)
        raise _Rollback

    with pytest.raises(_Rollback):
        await house.write(work)
    assert [before.digest] != digests


LOOK_ALIKES = [
    "UPDATE auctions SET due_at = replace(due_at, ' ', 'T') WHERE due_at IS NOT NULL",
    "UPDATE auctions SET price = ltrim(price, '0') WHERE outcome = 'sold'",
    "UPDATE auctions SET ends_at = substr(ends_at, 1, 19) WHERE outcome = 'sold'",
    "UPDATE auctions SET version = version || 'x'",
    "UPDATE bids SET automatic = 2 WHERE automatic",
    "UPDATE bids SET amount = CAST(amount AS BLOB)",
    "UPDATE events SET payload = CAST(payload AS TEXT) WHERE payload IS NOT NULL",
    "UPDATE events SET at = 'soon'",
    "UPDATE events SET private = '[]'",
    "UPDATE events SET payload = x'ff' WHERE payload IS NOT NULL",
    "UPDATE events SET type = 'auction.eaten'",
    "UPDATE events SET auction_id = 'x' WHERE position = 1 AND auction_id = 2",
]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_value_in_another_form_is_found(house: Database) -> None:
    """SQLite stores a value in any form. A form that reads the same but sorts differently is found, without a crash."""
    for statement in LOOK_ALIKES:
        assert await tampered(house, partial(Transaction.driver_sql, statement=statement, values=())), statement


FORGERIES = [
    (b'"startsAt":null', b'"startsAt":"2026-11-21T12:00:00"'),
    (b'"startingPrice":"100.000"', b'"startingPrice":"NaN"'),
    (b'"startingPrice":"100.000"', b'"startingPrice":"1E+9999"'),
    (b'"data":{', b'"data":[{'),
    (b'"specversion":"1.0"', b'"specversion":"2.0"'),
]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_payloads_of_all_kinds_are_faults(house: Database) -> None:
    """A payload that no event can have is a fault of its auction, not a crash."""
    for old, new in FORGERIES:

        def forged(tx: Transaction, old: bytes = old, new: bytes = new) -> None:
            row = tx.execute(select(events).where(events.c.position == 1)).first()
            assert row is not None
            assert old in row.payload
            tx.execute(update(events).where(events.c.id == row.id).values(payload=row.payload.replace(old, new)))

        found = await tampered(house, forged)
        assert found is not None
        assert 1 == len(found)
        assert "event 1: " in found[0] or "its log has a value" in found[0]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_seeds_and_limits_are_not_told(house: Database) -> None:
    """Faults may be printed and mailed, so that they name secret columns without their values."""

    def changed(tx: Transaction) -> None:
        tx.execute(update(auctions).values(seed="secret" * 10, maximum=Decimal("777.000")))

    found = await tampered(house, changed)
    assert found is not None
    assert any("seed is not what it must be" in each for each in found)
    assert not any("secret" in each or "777" in each for each in found)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_the_number_of_faults_is_bounded(house: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ruined house gets a bounded list of faults."""
    monkeypatch.setattr(ledger_check, "FAULTS_MAX", 3)
    found = await tampered(house, lambda tx: tx.execute(text("UPDATE auctions SET bid_count = 77")))
    assert found is not None
    assert "and more: these are the first 3" == found[-1]
    assert 4 == len(found)


async def test_a_check_does_not_see_later_writes(house: Database, clock: FakeClock) -> None:
    """A check of a running house sees one snapshot, and no uncommitted change."""

    def work(tx: Transaction) -> int:
        freeze(tx)
        return len(check(tx, lambda *_: None).faults)

    assert 0 == await house.read(work)
