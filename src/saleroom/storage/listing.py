"""Lists of auctions by page, which neither skip nor repeat while the auctions change.

Prices and ends move while somebody turns pages. So a list stands as it was when its first page was read: the cursor holds
that moment (the horizon) as the database tells it, and further pages sort each auction by what the log says it was then.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, FromClause, String, cast, func, literal, or_, select, tuple_

from saleroom.domain.auction import Auction
from saleroom.storage.auctions import NO_END_RANK, PLACE, at_places
from saleroom.storage.database import Transaction
from saleroom.storage.tables import Snapshot, auctions, events, users

_HORIZON = {"sqlite": re.compile(r"[0-9]{1,18}"), "postgresql": re.compile(r"[0-9]{1,18}:[0-9]{1,18}:[0-9,]{0,4000}")}
_WHOLE = re.compile(r"[0-9]{1,19}")
_AMOUNT = re.compile(r"[0-9]{1,17}\.[0-9]{3}")
NUMBER_MAX = 2**63 - 1
"""The highest number that a BIGINT holds."""


class Sort(StrEnum):
    """What a list is sorted by: the end (soonest first), the creation (newest first) or the price (lowest first)."""

    ENDING = "ending"
    NEWEST = "newest"
    PRICE = "price"


class Filter(Struct, frozen=True, kw_only=True):
    """Which auctions a list shows; None does not restrict. `text` is looked for in name and description, without case.

    `over` asks for those that are closed or cancelled; in a list by end the newest end comes first.
    """

    status: str | None = None
    over: bool | None = None
    author: str | None = None
    text: str | None = None


class Mark(Struct, frozen=True, array_like=True):
    """The last row of a page and the moment its list stands for: what a cursor holds."""

    key: str
    id: Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
    horizon: str


def page(
    tx: Transaction, which: Filter, sort: Sort, limit: int, after: Mark | None
) -> tuple[list[Auction], Mark | None]:
    """Return up to `limit` auctions after `after`, and the mark for the next page or None at the end.

    Raises ValueError where `after` is not a mark of such a list on this database.
    """
    key, horizon = _now(tx, sort) if after is None else _then(tx, sort, after.horizon)
    wanted = select(*PLACE, key.label("list_key")).where(*_conditions(which))
    if after is None or sort is Sort.NEWEST:
        listed: FromClause = wanted.subquery()
    else:
        # The key is looked up in the log: once for each auction, and not again wherever the statement names it.
        listed = wanted.cte("listed").prefix_with("MATERIALIZED")
    columns = (listed.c.list_key, listed.c.id)
    descending = sort is Sort.NEWEST
    statement = select(listed, horizon.label("list_horizon")).order_by(
        *(c.desc() if descending else c for c in columns)
    )
    if after is not None:
        last = tuple_(literal(_read_key(sort, after.key), key.type), literal(after.id))
        here = tuple_(*columns)
        statement = statement.where(here < last if descending else here > last, listed.c.list_key.is_not(None))
    rows = tx.execute(statement.limit(limit + 1)).all()
    mark = None
    if len(rows) > limit:
        final = rows[limit - 1]
        mark = Mark(str(final.list_key), final.id, str(final.list_horizon))
    return at_places(tx, [row[: len(PLACE)] for row in rows[:limit]]), mark


def count(tx: Transaction, which: Filter, limit: int) -> int:
    """Return how many auctions there are, counted no further than to `limit`."""
    found = select(auctions.c.id).where(*_conditions(which)).limit(limit).subquery()
    return int(tx.execute(select(func.count()).select_from(found)).scalar_one())


def _now(tx: Transaction, sort: Sort) -> tuple[ColumnElement[object], ColumnElement[str]]:
    """The key as it is, and the moment of this very statement."""
    if tx.dialect == "postgresql":
        horizon: ColumnElement[str] = cast(func.pg_current_snapshot(), String)
    else:
        horizon = cast(select(func.coalesce(func.max(events.c.id), 0)).scalar_subquery(), String)
    return {Sort.ENDING: auctions.c.ending_rank, Sort.NEWEST: auctions.c.id, Sort.PRICE: auctions.c.price}[
        sort
    ], horizon


def _then(tx: Transaction, sort: Sort, horizon: str) -> tuple[ColumnElement[object], ColumnElement[str]]:
    """The key as it was at `horizon`: null for an auction that nobody could see then."""
    if _HORIZON[tx.dialect].fullmatch(horizon) is None or (tx.dialect == "postgresql" and not _is_snapshot(horizon)):
        raise ValueError("the horizon is not of this database")
    if sort is Sort.NEWEST:
        # Numbers never change, and whatever was created since stands before the first page.
        return auctions.c.id, literal(horizon)
    if tx.dialect == "postgresql":
        visible: ColumnElement[bool] = func.pg_visible_in_snapshot(
            events.c.written_by, cast(literal(horizon), Snapshot())
        )
    else:
        visible = events.c.id <= int(horizon)
    latest = (
        select(events.c.ending_rank if sort is Sort.ENDING else events.c.price)
        .where(events.c.auction_id == auctions.c.id, visible)
        .order_by(events.c.position.desc())
        .limit(1)
        .correlate(auctions)
        .scalar_subquery()
    )
    return latest, literal(horizon)


def _is_snapshot(text: str) -> bool:
    """Whether PostgreSQL would take `text` (xmin:xmax:those under way between them, in order) as a pg_snapshot."""
    first, end, under_way = text.split(":")
    numbers = [int(number) for number in under_way.split(",") if number]
    return (
        0 < int(first) <= int(end)
        and under_way == ",".join(map(str, numbers))
        and all(int(first) <= number < int(end) for number in numbers)
        and all(a < b for a, b in pairwise(numbers))
    )


def _read_key(sort: Sort, key: str) -> int | Decimal:
    if (_AMOUNT if sort is Sort.PRICE else _WHOLE).fullmatch(key) is None or Decimal(key) > NUMBER_MAX:
        raise ValueError("the key is not of this order")
    return Decimal(key) if sort is Sort.PRICE else int(key)


def _conditions(which: Filter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if which.status is not None:
        conditions.append(auctions.c.status == which.status)
    if which.over is not None:
        # By the rank, as its index has them in the order of a list already.
        rank = auctions.c.ending_rank
        conditions.append(rank > NO_END_RANK if which.over else rank <= NO_END_RANK)
    if which.author is not None:
        conditions.append(
            auctions.c.author_id == select(users.c.id).where(users.c.username == which.author).scalar_subquery()
        )
    if which.text is not None:
        found = (column.icontains(which.text, autoescape=True) for column in (auctions.c.name, auctions.c.description))
        conditions.append(or_(*found))
    return conditions
