"""Money and instants in the tables: exact, aware and comparable on both databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, delete, func, insert, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import StatementError

from saleroom.storage.database import Database, Transaction
from saleroom.storage.schema import Instant, Money, instant_text
from tests.bidding.domain.playing import money
from tests.fixtures_hypothesis import on_a_database

scratch = Table(
    "scratch", MetaData(), Column("id", Integer, primary_key=True), Column("price", Money), Column("at", Instant)
)
ONE_DATABASE = on_a_database(30)
"""Examples share the test's database, and empty the table themselves."""

amounts = (
    st.integers(0, 10**20 - 1)
    | st.integers(0, 10**20 - 1).map(lambda n: n // 10**17)
    | st.sampled_from((0, 1, 999, 1000, 10**17, 10**19, 10**20 - 1))
)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_first, _last = datetime(1970, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001  # hypothesis adds the zone
instants = st.datetimes(_first, _last, timezones=zones)


@pytest.fixture
async def kept(database: Database) -> AsyncIterator[Database]:
    """The database with a table of one amount and one instant."""
    await database.write(lambda tx: scratch.create(tx.connection))
    yield database
    await database.write(lambda tx: scratch.drop(tx.connection))


def keep(tx: Transaction, prices: list[Decimal | None], ats: list[datetime | None]) -> None:
    """Write these, and nothing else, numbered from 0."""
    tx.execute(delete(scratch))
    rows = [{"id": i, "price": price, "at": at} for i, (price, at) in enumerate(zip(prices, ats, strict=True))]
    tx.execute(insert(scratch), rows)


@ONE_DATABASE
@given(st.lists(amounts, min_size=1, max_size=20))
async def test_money_comes_back_exactly(kept: Database, thousandths: list[int]) -> None:
    """Every amount of up to 20 digits comes back digit by digit, with its three decimals."""
    prices = [money(n) for n in thousandths]
    await kept.write(keep, list(prices), [None] * len(prices))
    found = await kept.read(lambda tx: tx.execute(select(scratch.c.price).order_by(scratch.c.id)).scalars().all())
    assert [str(price) for price in prices] == [str(price) for price in found]


@ONE_DATABASE
@given(st.lists(amounts, min_size=1, max_size=20), amounts)
async def test_money_compares_in_sql(kept: Database, thousandths: list[int], pivot: int) -> None:
    """Order, comparison, minimum and maximum in SQL are those of the numbers."""
    prices = [money(n) for n in thousandths]
    await kept.write(keep, list(prices), [None] * len(prices))

    def ask(tx: Transaction) -> tuple[list[Decimal], set[int], set[int], set[int], tuple[Decimal, ...]]:
        ordered = tx.execute(select(scratch.c.price).order_by(scratch.c.price)).scalars().all()
        price = scratch.c.price
        below, at, above = (
            set(tx.execute(select(scratch.c.id).where(condition)).scalars())
            for condition in (price < money(pivot), price == money(pivot), price > money(pivot))
        )
        ends = tx.execute(select(func.min(price, type_=Money), func.max(price, type_=Money))).one()
        return list(ordered), below, at, above, tuple(ends)

    numbered = list(enumerate(thousandths))
    assert (
        sorted(prices),
        {i for i, n in numbered if n < pivot},
        {i for i, n in numbered if n == pivot},
        {i for i, n in numbered if n > pivot},
        (min(prices), max(prices)),
    ) == await kept.read(ask)


@ONE_DATABASE
@given(st.lists(instants, min_size=1, max_size=20), instants)
async def test_instants_come_back_aware_and_in_order(kept: Database, ats: list[datetime], pivot: datetime) -> None:
    """An instant in any offset comes back as the same instant in UTC, to the microsecond, and compares as one."""
    await kept.write(keep, [None] * len(ats), list(ats))

    def ask(tx: Transaction) -> tuple[list[datetime], set[int]]:
        found = tx.execute(select(scratch.c.at).order_by(scratch.c.at)).scalars().all()
        return list(found), set(tx.execute(select(scratch.c.id).where(scratch.c.at <= pivot)).scalars())

    found, until = await kept.read(ask)
    assert [at.astimezone(UTC).isoformat() for at in sorted(ats)] == [at.isoformat() for at in found]
    assert {i for i, at in enumerate(ats) if at <= pivot} == until


async def test_nothing_is_nothing(kept: Database) -> None:
    """A missing amount and a missing instant come back as None."""
    await kept.write(keep, [None], [None])
    row = await kept.read(lambda tx: tx.execute(select(scratch.c.price, scratch.c.at)).one())
    assert (None, None) == tuple(row)


@given(instants)
def test_the_short_way_of_an_instant_is_the_long_one(at: datetime) -> None:
    """Among many rows an instant has the text on SQLite that it has in one row; a naive one is refused as well."""
    dialect = sqlite.dialect()
    write = Instant().dialect_impl(dialect).bind_processor(dialect)
    assert write is not None
    assert write(at) == instant_text(at)
    with pytest.raises(ValueError, match="offset"):
        instant_text(at.replace(tzinfo=None))


async def test_a_naive_instant_is_refused(kept: Database) -> None:
    """Nobody knows what an instant without an offset means, so it is not stored."""
    with pytest.raises(StatementError, match="offset"):
        await kept.write(keep, [None], [datetime(2026, 11, 21)])  # noqa: DTZ001  # naive on purpose


async def test_the_clock_is_aware(database: Database) -> None:
    """The house's clock gives UTC with microseconds, and goes on within a transaction."""
    first, second = await database.write(lambda tx: (tx.now(), tx.now()))
    assert (timedelta(0), timedelta(0)) == (first.utcoffset(), second.utcoffset())
    assert first <= second
    assert abs(datetime.now(UTC) - second) < timedelta(minutes=1)
