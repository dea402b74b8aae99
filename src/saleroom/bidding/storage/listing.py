"""Lists of auctions by page, which neither skip nor repeat while the auctions change.

Prices and ends move between pages. So a list keeps the order it had when its first page was read: the cursor holds that
moment (the horizon) in the database's terms, and later pages sort each auction that has changed since by its values in the
log at that moment (docs/decisions/0042).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, structs
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    String,
    Subquery,
    Text,
    bindparam,
    cast,
    column,
    func,
    literal,
    or_,
    select,
    tuple_,
    union_all,
)

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.auction import OVER, Auction
from saleroom.bidding.storage import search_index
from saleroom.bidding.storage.auction_columns import NO_END_RANK
from saleroom.bidding.storage.auctions import CHAIN_MARK, at_marks
from saleroom.bidding.storage.tables import HIDDEN, auctions, events
from saleroom.kernel.folding import words
from saleroom.kernel.page import Page, page_of
from saleroom.storage.bulk import PreparedSelect, among
from saleroom.storage.database import Transaction
from saleroom.storage.schema import NUMBER_MAX, Snapshot

_HORIZON = {"sqlite": re.compile(r"[0-9]{1,18}"), "postgresql": re.compile(r"[0-9]{1,18}:[0-9]{1,18}:[0-9,]{0,4000}")}
_WHOLE = re.compile(r"[0-9]{1,19}")
_AMOUNT = re.compile(r"[0-9]{1,17}\.[0-9]{3}")
_XID_BITS = (1 << 32) - 1


class Sort(StrEnum):
    """The order of a list: by end (soonest first), by creation (newest first) or by price (lowest first)."""

    ENDING = "ending"
    NEWEST = "newest"
    PRICE = "price"


class Filter(Struct, frozen=True, kw_only=True):
    """Which auctions a list shows; None does not restrict. All words of `text` are looked for in name and
    description, in any order, as `kernel/folding.py` compares them: without case and accents.

    With `hidden` the list also has those that staff hide.

    `over` asks for those that are closed or cancelled; in a list by end the newest end comes first.
    """

    status: str | None = None
    over: bool | None = None
    author: str | None = None
    text: str | None = None
    category: str | None = None
    hidden: bool = False

    @property
    def is_costly(self) -> bool:
        """Whether such a list may have to look at a great part of the house: no index has its order."""
        return self.text is not None or self.author is not None


class ListPlace(Struct, frozen=True, array_like=True):
    """The content of a cursor: the last row of a page, and the moment of its list."""

    key: str
    id: Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
    horizon: str


def page(tx: Transaction, which: Filter, sort: Sort, limit: int, after: ListPlace | None) -> Page[Auction, ListPlace]:
    """Return up to `limit` auctions after `after`.

    Raises ValueError if `after` is not a place in such a list on this database.
    """
    is_own = which.is_costly or after is not None  # few others ask for the same
    rows = _rows(tx, which, sort, limit + 1, after) if is_own else _first_rows(tx, which, sort, limit + 1)
    found = page_of(rows, limit, lambda row: ListPlace(str(row.list_key), row.id, str(row.list_horizon)))
    return found.with_rows(at_marks(tx, [row[: len(CHAIN_MARK)] for row in found.rows]))


def _rows(tx: Transaction, which: Filter, sort: Sort, most: int, after: ListPlace | None) -> Sequence[Any]:
    looked_for = words(which.text or "")
    conditions = _conditions(which)
    if looked_for:
        conditions.append(auctions.c.id.in_(search_index.may_have(tx, looked_for)))
    horizon, parts = _parts(tx, sort, after, conditions)
    # All candidates of a search are sorted first, so that only as many texts are read as a page needs.
    listed = _together(parts, sort, None if looked_for else most)
    statement = select(listed, horizon.label("list_horizon")).limit(most)
    return tx.execute(statement.where(search_index.has(tx, listed.c.id, looked_for)) if looked_for else statement).all()


class _ListRow(NamedTuple):
    """The mark of an auction, its place in a list, and the moment of the list."""

    id: int
    position: int
    head: str
    hidden: str
    renamed: int
    list_key: Decimal
    list_horizon: str


def _first_rows(tx: Transaction, which: Filter, sort: Sort, most: int) -> Sequence[Any]:
    """Return the rows of the first page of a list without a search, which many ask for at once."""
    # All categories share a statement.
    any_category = structs.replace(which, category="") if which.category else which
    rows = _first_page(any_category, sort)(tx, category=which.category, most=most)
    return sorted(rows, key=lambda row: (row.list_key, row.id), reverse=sort is Sort.NEWEST)


@lru_cache(256)
def _first_page(which: Filter, sort: Sort) -> PreparedSelect[_ListRow]:
    """Return the statement of a first page: it has the parameters `category` and `most`."""
    most = bindparam("most", type_=Integer)
    statements = {}
    for dialect in ("postgresql", "sqlite"):
        key, horizon = _now(dialect, sort)
        present = select(*CHAIN_MARK, key.label("list_key")).where(*_conditions(which))
        statements[dialect] = select(_together([present], sort, most), horizon.label("list_horizon"))
    return PreparedSelect(_ListRow, statements)


def beside(tx: Transaction, auction: Auction) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Return the gid and the name of the auction before `auction`, and of the one after it, by end.

    They are of the same list: running ones of the same status, or those that are over.
    """
    which = Filter(over=True) if auction.over else Filter(status=auction.status)
    rank = tx.execute(select(auctions.c.ending_rank).where(auctions.c.id == auction.id)).scalar_one()
    key = (auctions.c.ending_rank, auctions.c.id)
    place = tuple_(literal(rank, BigInteger()), literal(auction.id, BigInteger()))
    found = []
    for stands, order in ((tuple_(*key) < place, [c.desc() for c in key]), (tuple_(*key) > place, key)):
        statement = select(auctions.c.gid, auctions.c.name).where(*_conditions(which), stands)
        row = tx.execute(statement.order_by(*order).limit(1)).first()
        found.append(None if row is None else (row.gid, row.name))
    return found[0], found[1]


def count(tx: Transaction, which: Filter, limit: int) -> int:
    """Return how many auctions there are, counted no further than to `limit`."""
    looked_for = words(which.text or "")
    found = select(auctions.c.id).where(*_conditions(which))
    if looked_for:
        found = found.where(auctions.c.id.in_(search_index.may_have(tx, looked_for)))
        # With an OFFSET it stays whole, so that only the texts of candidates are read.
        found = select(found.offset(0).subquery())
        found = found.where(search_index.has(tx, found.selected_columns["id"], looked_for))
    return int(tx.execute(select(func.count()).select_from(found.limit(limit).subquery())).scalar_one())


def _parts(
    tx: Transaction, sort: Sort, after: ListPlace | None, conditions: list[ColumnElement[bool]]
) -> tuple[ColumnElement[str], list[Select[Any]]]:
    """Return the horizon, and queries that have each auction after the place once, with its `list_key`."""
    key, horizon = _now(tx.dialect, sort)
    present = select(*CHAIN_MARK, key.label("list_key")).where(*conditions)
    if after is None:
        return horizon, [present]
    _check_horizon(tx, after.horizon)
    horizon = literal(after.horizon)
    last = tuple_(literal(_read_key(sort, after.key), key.type), literal(after.id))
    if sort is Sort.NEWEST:
        # Numbers never change, and newer auctions stand before the first page.
        return horizon, [present.where(tuple_(key, auctions.c.id) < last)]
    # Unchanged auctions keep their place. For the others the log is read, once for each auction: if this were not
    # materialized, it would be read again for every use of the key.
    changed = _changed(tx, after.horizon)
    then = select(*CHAIN_MARK, _then(tx, sort, after.horizon).label("list_key"))
    moved = then.where(changed, *conditions).cte("moved").prefix_with("MATERIALIZED")
    stood = tuple_(moved.c.list_key, moved.c.id) > last
    return horizon, [present.where(~changed, tuple_(key, auctions.c.id) > last), select(moved).where(stood)]


def _together(parts: Sequence[Select[Any]], sort: Sort, most: ColumnElement[int] | int | None) -> Subquery:
    """Return the rows of all parts in the order of the list, up to `most` of them unless it is None."""
    ordered = [_ordered(part, sort, most) for part in parts]
    if len(ordered) == 1:
        return ordered[0].subquery()
    return _ordered(union_all(*(select(part.subquery()) for part in ordered)).subquery().select(), sort).subquery()


def _ordered(part: Select[Any], sort: Sort, limit: ColumnElement[int] | int | None = None) -> Select[Any]:
    """Return a sorted query that no outer query reorders: both databases keep a subquery with an OFFSET as it is."""
    columns = (part.selected_columns["list_key"], part.selected_columns["id"])
    return part.order_by(*(c.desc() if sort is Sort.NEWEST else c for c in columns)).limit(limit).offset(0)


def _now(dialect: str, sort: Sort) -> tuple[ColumnElement[Any], ColumnElement[str]]:
    """Return the key as it is, and the moment of this statement."""
    if dialect == "postgresql":
        horizon: ColumnElement[str] = cast(func.pg_current_snapshot(), String)
    else:
        horizon = cast(select(func.coalesce(func.max(events.c.id), 0)).scalar_subquery(), String)
    return {Sort.ENDING: auctions.c.ending_rank, Sort.NEWEST: auctions.c.id, Sort.PRICE: auctions.c.price}[
        sort
    ], horizon


def _changed(tx: Transaction, horizon: str) -> ColumnElement[bool]:
    """Return the condition that an auction has been written since `horizon`, or may have been."""
    if tx.dialect == "sqlite":
        return auctions.c.id.in_(select(events.c.auction_id).where(events.c.id > int(horizon)))
    # Each row says by xmin which transaction wrote it, in 32 bits: the last one with that number, up to now.
    _, end, under_way = horizon.split(":")
    now = _transactions_begun()
    written_by = now - (now - cast(cast(column("xmin", _selectable=auctions), Text), BigInteger)).op("&")(_XID_BITS)
    changed = written_by >= literal(int(end), BigInteger)
    if under_way:
        changed |= written_by.in_([int(number) for number in under_way.split(",")])
    return changed


def _then(tx: Transaction, sort: Sort, horizon: str) -> ColumnElement[Any]:
    """Return the key as it was at `horizon`: null for an auction that nobody could see then."""
    if tx.dialect == "postgresql":
        # Imported rows have no transaction, and restored rows may have one with a number that is still to come.
        written_by = events.c.written_by
        visible = or_(
            written_by.is_(None),
            func.pg_visible_in_snapshot(written_by, cast(literal(horizon), Snapshot())),
            cast(cast(written_by, Text), BigInteger) >= _transactions_begun(),
        )
    else:
        visible = events.c.id <= int(horizon)
    return (
        select(events.c.ending_rank if sort is Sort.ENDING else events.c.price)
        .where(events.c.auction_id == auctions.c.id, visible)
        .order_by(events.c.position.desc())
        .limit(1)
        .correlate(auctions)
        .scalar_subquery()
    )


def _transactions_begun() -> ColumnElement[int]:
    """Return a number above those of all transactions whose work this statement can see."""
    return select(cast(cast(func.pg_snapshot_xmax(func.pg_current_snapshot()), Text), BigInteger)).scalar_subquery()


def _check_horizon(tx: Transaction, horizon: str) -> None:
    if _HORIZON[tx.dialect].fullmatch(horizon) is None or (tx.dialect == "postgresql" and not _is_snapshot(horizon)):
        raise ValueError("the horizon is not of this database")


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
    """Return the conditions of a list, except for the text itself."""
    conditions: list[ColumnElement[bool]] = [] if which.hidden else [~HIDDEN]
    if which.status is not None:
        conditions.append(auctions.c.status == which.status)
    if which.over is not None:
        # By the rank, because its index is in the order of the list.
        rank = auctions.c.ending_rank
        conditions.append(rank > NO_END_RANK if which.over else rank <= NO_END_RANK)
    if which.author is not None:
        conditions.append(
            auctions.c.author_id == select(users.c.id).where(users.c.username == which.author).scalar_subquery()
        )
    if which.category is not None:
        conditions.append(auctions.c.category == bindparam("category", which.category))
        if which.status is not None:
            # The index by category holds all states. The rank keeps a list of running auctions from those that are over.
            over = which.status in OVER
            conditions.append(auctions.c.ending_rank > NO_END_RANK if over else auctions.c.ending_rank <= NO_END_RANK)
    return conditions


def names(tx: Transaction, gids: Collection[str]) -> dict[str, str]:
    """Return the names of auctions by gid, also of those that are hidden."""
    found = select(auctions.c.gid, auctions.c.name).where(among(tx, auctions.c.gid, gids))
    return {row.gid: row.name for row in tx.execute(found)}
