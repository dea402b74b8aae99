"""Mergers as rows: who is the same person in a sale, so that all that names one of them is the other's.

Nothing else is changed: entries of the journal and documents go on to name the user whom they were made for. Each read looks up
whose they are now. A chain is kept short: `target_id` is always somebody who was not merged further.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Column, ColumnElement, Row, and_, func, insert, or_, select, update

from saleroom.sales.storage.tables import mergers, sales
from saleroom.storage.bulk import among_pairs
from saleroom.storage.database import Transaction

Pair = tuple[int, int]
"""The numbers of a sale and a user."""


def add(tx: Transaction, sale_id: int, source: int, target: int) -> None:
    """Store that `source` is `target` from now on, and with them all who were merged into `source`. The sale is locked."""
    tx.execute(
        update(mergers).where(mergers.c.sale_id == sale_id, mergers.c.target_id == source).values(target_id=target)
    )
    tx.execute(insert(mergers), {"sale_id": sale_id, "source_id": source, "target_id": target, "at": tx.now()})


def person(tx: Transaction, sale_id: int, user_id: int) -> int:
    """Return who somebody is in a sale: themselves unless they were merged."""
    which = select(mergers.c.target_id).where(mergers.c.sale_id == sale_id, mergers.c.source_id == user_id)
    return int(tx.execute(which).scalar_one_or_none() or user_id)


def persons(tx: Transaction, pairs: Collection[Pair]) -> dict[Pair, int]:
    """Return who these users of sales are: themselves unless they were merged."""
    if not pairs:
        return {}
    which = select(mergers).where(among_pairs(tx, (mergers.c.sale_id, mergers.c.source_id), pairs))
    merged = {(row.sale_id, row.source_id): row.target_id for row in tx.execute(which)}
    return {pair: merged.get(pair, pair[1]) for pair in pairs}


def of_sale(tx: Transaction, sale_id: int) -> dict[int, int]:
    """Return who those who were merged in a sale are now, by number."""
    rows = tx.execute(select(mergers.c.source_id, mergers.c.target_id).where(mergers.c.sale_id == sale_id))
    return {row.source_id: row.target_id for row in rows}


def into(tx: Transaction, pairs: Collection[Pair]) -> dict[Pair, int]:
    """Return who was merged into these users of sales, by the sale and their own number, with the number of the user."""
    if not pairs:
        return {}
    which = among_pairs(tx, (mergers.c.sale_id, mergers.c.target_id), pairs)
    return {(row.sale_id, row.source_id): row.target_id for row in tx.execute(select(mergers).where(which))}


def is_theirs(user_id: int, user: Column[Any], sale: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a row of a sale names a user, or somebody who was merged into them; not what is another's.

    `user` is the column of its user, `sale` that of the number of its sale.
    """
    own, other = mergers.alias(), mergers.alias()
    same = (own.c.sale_id == sale, own.c.source_id == user)
    # The subquery stands on its own, so that both conditions can use an index on `user`.
    sources = select(other.c.source_id).where(other.c.target_id == user_id)
    merged = select(own.c.id).where(*same, own.c.target_id == user_id).exists()
    gone = select(own.c.id).where(*same, own.c.target_id != user_id).exists()
    return or_(and_(user == user_id, ~gone), and_(user.in_(sources), merged))


def whose(user: Column[Any]) -> ColumnElement[int]:
    """Return whose a row is that names a `user`; the statement joins `mergers` by `joined`."""
    return func.coalesce(mergers.c.target_id, user).label("party_id")


def joined(user: Column[Any], sale: ColumnElement[int]) -> ColumnElement[bool]:
    """Return how `mergers` is joined, from outside, to rows with a `user` of a `sale`."""
    return and_(mergers.c.sale_id == sale, mergers.c.source_id == user)


def all_rows(tx: Transaction) -> list[Row[Any]]:
    """Return all mergers of the house with the gids of their sales, for a check."""
    found = select(mergers, sales.c.gid).join_from(mergers, sales, sales.c.id == mergers.c.sale_id)
    return [*tx.execute(found.order_by(mergers.c.id))]
