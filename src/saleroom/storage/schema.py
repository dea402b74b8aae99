"""The types of columns, and the one metadata of all tables."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    Numeric,
    String,
    TypeDecorator,
)
from sqlalchemy.types import TypeEngine, UserDefinedType

from saleroom.kernel.instants import instant

PRECISION, SCALE = 20, 3
NUMBER_MAX = 2**63 - 1
"""The highest number that a BIGINT holds."""

_SQLITE_WIDTH = PRECISION + 1
_NO_OFFSET = "an instant needs its offset from UTC"


def money_text(amount: Decimal) -> str:
    """Return an amount as SQLite keeps it: all of the same length, so that text compares as money does."""
    return str(amount).zfill(_SQLITE_WIDTH)


class Money(TypeDecorator[Decimal]):
    """An exact amount: NUMERIC(20,3), or zero-padded text on SQLite, which has no decimal type (it compares as money does).

    `Numeric(20, 3)` on SQLite is stored as a binary float and loses digits; 20 digits do not fit 64 bits either.
    """

    impl = Numeric(PRECISION, SCALE)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Decimal]:
        """Return VARCHAR(21) on SQLite (text affinity), otherwise NUMERIC(20, 3)."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(_SQLITE_WIDTH))  # type: ignore[arg-type]  # text stands in for decimals
        return dialect.type_descriptor(Numeric(PRECISION, SCALE))

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Decimal | None:
        """Write `12.500` as `00000000000000012.500` on SQLite."""
        if value is None or dialect.name != "sqlite":
            return value
        return money_text(value)  # type: ignore[return-value]  # see load_dialect_impl

    def process_result_value(self, value: Decimal | str | None, dialect: Dialect) -> Decimal | None:
        """Read the amount with its three decimals."""
        return Decimal(value) if isinstance(value, str) else value


def instant_text(value: datetime) -> str:
    """Return an instant as SQLite keeps it, as `Instant` writes it too: naive UTC with microseconds.

    Raises ValueError without an offset.
    """
    if value.tzinfo is not UTC:
        if value.tzinfo is None:
            raise ValueError(_NO_OFFSET)
        value = value.astimezone(UTC)
    return instant(value)[:26].replace("T", " ")


def read_instant(value: datetime) -> datetime:
    """Return an instant from the database with UTC as its zone. SQLite's has none, PostgreSQL's that of its session."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def read_maybe_instant(value: datetime | None) -> datetime | None:
    """Return an instant from the database as `read_instant` does, None for None."""
    return None if value is None else read_instant(value)


class Instant(TypeDecorator[datetime]):
    """An aware instant in UTC with microseconds: TIMESTAMP WITH TIME ZONE, or naive UTC on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive instants (ValueError): their offset is unknown."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(_NO_OFFSET)
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the instant with UTC as its zone."""
        return read_maybe_instant(value)


class TransactionId(UserDefinedType[str]):
    """PostgreSQL's xid8: which transaction wrote a row, to tell later what an earlier reader could see."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the type's name in DDL."""
        return "xid8"


class Snapshot(UserDefinedType[str]):
    """PostgreSQL's pg_snapshot: which transactions a reader could see."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the type's name in DDL."""
        return "pg_snapshot"


Number = BigInteger().with_variant(Integer, "sqlite")
"""BIGINT; on SQLite INTEGER, which is 64 bits wide and numbers its own rows."""


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
