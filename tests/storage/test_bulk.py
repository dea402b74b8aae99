"""Many rows by one statement: the same rows as one by one, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from msgspec import Struct, structs
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    delete,
    event,
    make_url,
    select,
)

from saleroom.storage import bulk
from saleroom.storage.database import Database, Transaction
from saleroom.storage.schema import Instant, Money, Number, read_instant

scratch = Table(
    "bulk_scratch",
    MetaData(),
    Column("id", Number, primary_key=True),
    Column("word", String),
    Column("price", Money),
    Column("at", Instant),
    Column("raw", LargeBinary),
    Column("kind", Integer),
)
T0 = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
async def kept(database: Database) -> Database:
    """The database with a table of every type of column that rows come by."""
    await database.write(lambda tx: scratch.create(tx.connection))
    return database


def rows(count: int, *, alike: bool = False) -> list[dict[str, Any]]:
    """Return `count` rows; if they are `alike`, every column but the first has the same value in all of them."""
    return [
        {
            "id": number,
            "word": None if (one := 0 if alike else number) == 3 else f"word 'å' {one}",
            "price": None if one == 5 else Decimal(one * 10**16).scaleb(-3) + Decimal("0.001"),
            "at": None if one == 7 else T0 + timedelta(microseconds=one),
            "raw": bytes([one % 256, 0, 255]),
            "kind": one,
        }
        for number in range(1, count + 1)
    ]


def listed(tx: Transaction) -> list[dict[str, Any]]:
    """All rows, in order."""
    return [dict(row._mapping) for row in tx.execute(select(scratch).order_by(scratch.c.id))]


@pytest.fixture
def statements(database_url: str) -> Iterator[list[str]]:
    """Every statement that goes to the test's database."""
    sent: list[str] = []

    def note(connection: Connection, _: object, statement: str, *_rest: object) -> None:
        if connection.engine.url.database == make_url(database_url).database:  # other tests' houses live on here
            sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize("alike", [False, True], ids=["each its own", "alike"])
async def test_rows_come_back_as_they_went(kept: Database, alike: bool) -> None:
    """Inserted and then updated, every value is what it was, nulls and the largest amounts too, for any number of rows."""

    def put(tx: Transaction, expected: list[dict[str, Any]]) -> None:
        tx.execute(delete(scratch))
        bulk.insert(tx, scratch, [{**row, "word": "before", "price": None, "kind": -1} for row in expected])
        bulk.update(tx, scratch, [{name: row[name] for name in ("id", "word", "price", "kind")} for row in expected])

    for count in (0, 1, 2, 3, 7, 64, 511, 512, 513, 1500):
        expected = rows(count, alike=alike)
        await kept.write(put, expected)
        assert expected == await kept.read(listed)


async def test_an_update_leaves_the_other_rows_alone(kept: Database) -> None:
    """Only the rows that are named change, and only in the columns that are named."""
    before = rows(10)

    def put(tx: Transaction) -> None:
        bulk.insert(tx, scratch, before)
        bulk.update(tx, scratch, [{"id": number, "kind": 99} for number in (2, 4)])

    await kept.write(put)
    assert [{**row, "kind": 99} if row["id"] in (2, 4) else row for row in before] == await kept.read(listed)


async def test_expressions_hold_for_all_rows(kept: Database) -> None:
    """The database itself may fill a column."""
    await kept.write(lambda tx: bulk.insert(tx, scratch, [{"id": 1}, {"id": 2}], {"kind": "40 + 2"}))
    assert [42, 42] == [row["kind"] for row in await kept.read(listed)]


MOST = {1: 1, 7: 1, 64: 1, 127: 3, 511: 4, 512: 1, 1500: 6}
"""How many statements SQLite gets for so many rows."""


async def test_few_statements(kept: Database, statements: list[str], database_kind: str) -> None:
    """PostgreSQL gets one statement; SQLite one for each size of statement that the number of rows is made of."""
    sent = {}
    for count in MOST:
        await kept.write(lambda tx: tx.execute(delete(scratch)))
        statements.clear()
        await kept.write(lambda tx, count=count: bulk.insert(tx, scratch, rows(count)))  # type: ignore[misc]  # bound at once
        sent[count] = sum(statement.startswith("INSERT") for statement in statements)
    assert sent == (dict.fromkeys(MOST, 1) if database_kind == "postgresql" else MOST)


async def test_one_of_many(kept: Database, statements: list[str]) -> None:
    """Any number of values, even zero, picks the rows that have one of them, always by the same statement."""
    await kept.write(lambda tx: bulk.insert(tx, scratch, rows(600)))

    def pick(tx: Transaction, column: Any, values: list[Any]) -> list[int]:
        looked_up = bulk.BulkLookup(tuple[int], select(scratch.c.id), column)(tx, values)
        picked = tx.execute(select(scratch.c.id).where(bulk.among(tx, column, values))).scalars().all()
        assert sorted(picked) == sorted(row[0] for row in looked_up)
        return sorted(picked)

    statements.clear()
    for values in ([], [5], list(range(1, 600, 7)), [5, 5, 10_000]):
        wanted = sorted(set(values) & set(range(1, 601)))
        assert wanted == await kept.read(pick, scratch.c.id, values)
    assert 2 >= len({statement for statement in statements if "SELECT" in statement})
    assert [4, 9] == await kept.read(pick, scratch.c.word, ["word 'å' 4", "word 'å' 9", "word"])


class Row(Struct, frozen=True, array_like=True):
    """A row as a lookup gives it, in the types of the house."""

    id: int
    word: str | None
    price: Decimal | None
    at: datetime | None
    kind: int


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
async def test_rows_are_read_in_their_types(kept: Database, database_kind: str, zone: str) -> None:
    """Amounts keep every digit, and instants are the same in a session of any time zone."""
    expected = [{name: row[name] for name in Row.__struct_fields__} for row in rows(20)]
    await kept.write(lambda tx: bulk.insert(tx, scratch, rows(20)))
    lookup = bulk.BulkLookup(Row, select(*(scratch.c[name] for name in Row.__struct_fields__)), scratch.c.id)

    def look(tx: Transaction) -> list[dict[str, Any]]:
        if database_kind == "postgresql":
            tx.driver_sql(f"SET LOCAL TIME ZONE '{zone}'", ())
        return [structs.asdict(row) for row in lookup(tx, range(1, 21))]

    found = sorted(await kept.read(look), key=lambda row: row["id"])
    assert all(row["at"] is None or row["at"].tzinfo is not None for row in found)
    for row in found:
        row["at"] = None if row["at"] is None else read_instant(row["at"])
    assert expected == found
    assert [str(row["price"]) for row in expected] == [str(row["price"]) for row in found]
    assert {UTC, None} == {row["at"] and row["at"].tzinfo for row in found}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
async def test_the_last_instants_are_read(kept: Database, database_kind: str, zone: str) -> None:
    """asyncpg writes the last one as `infinity`, and a session east of UTC says those before it in the year 10000."""
    last = datetime.max.replace(tzinfo=UTC)
    instants = [last, None, last - timedelta(microseconds=1), last - timedelta(hours=1), last - timedelta(days=3), T0]
    given = [{"id": number, "at": at} for number, at in enumerate(instants)]
    await kept.write(lambda tx: bulk.insert(tx, scratch, given))
    await kept.write(lambda tx: tx.execute(scratch.update().where(scratch.c.id == 0).values(at=last)))
    lookup = bulk.BulkLookup(tuple[int, datetime | None], select(scratch.c.id, scratch.c.at), scratch.c.id)

    def look(tx: Transaction) -> list[tuple[int, datetime | None]]:
        if database_kind == "postgresql":
            tx.driver_sql(f"SET LOCAL TIME ZONE '{zone}'", ())
        return sorted(lookup(tx, range(len(given))), key=lambda row: row[0])

    assert list(enumerate(instants)) == await kept.read(look)


async def test_a_lookup_takes_its_own_values_and_those_of_each_call(kept: Database) -> None:
    """Values that stand in the statement, and an instant that comes with the call, as each database has it."""
    lookup = bulk.BulkLookup(
        tuple[int],
        select(scratch.c.id).where(scratch.c.kind > 3, scratch.c.price > Decimal("0.001")),
        scratch.c.word,
        lambda statement: statement.where(scratch.c.at <= bindparam("until"), scratch.c.kind != 9),
    )
    await kept.write(lambda tx: bulk.insert(tx, scratch, rows(20)))
    words = [f"word 'å' {number}" for number in range(1, 16)]
    for until, expected in ((10, [4, 6, 8, 10]), (12, [4, 6, 8, 10, 11, 12])):
        found = await kept.read(partial(lookup, keys=words, until=T0 + timedelta(microseconds=until)))
        assert expected == sorted(number for (number,) in found)
    with pytest.raises(KeyError, match="until"):
        await kept.read(lambda tx: lookup(tx, words))


async def test_a_lookup_has_one_text_for_all_values(kept: Database) -> None:
    """A list of values in its statement would need a text for each number of them, so it is refused."""
    lookup = bulk.BulkLookup(tuple[int], select(scratch.c.id).where(scratch.c.kind.in_([1, 2])), scratch.c.id)
    with pytest.raises(AssertionError, match="the same for all values"):
        await kept.read(lambda tx: lookup(tx, [1]))


async def test_one_of_many_pairs(kept: Database) -> None:
    """Pairs match as pairs: the first of one with the second of another does not match."""
    await kept.write(lambda tx: bulk.insert(tx, scratch, rows(20)))

    def pick(tx: Transaction, pairs: list[tuple[int, str]]) -> list[tuple[int, str]]:
        columns = (scratch.c.kind, scratch.c.word)
        found = tx.execute(select(*columns).where(bulk.among_pairs(tx, columns, pairs)))
        return sorted((row.kind, row.word) for row in found)

    pairs = [(4, "word 'å' 4"), (6, "word 'å' 6"), (8, "word 'å' 9"), (9, "word 'å' 8")]
    assert pairs[:2] == await kept.read(pick, pairs)
