"""The search index: the folded text of each auction, and an index of its grams (docs/decisions/0041).

A search is for words, in any order. The index finds the auctions that may have them, and the folded text decides. It is not
among `tables.metadata`, as each kind of database has another: a GIN index over arrays of numbers, or a table of FTS5 in which
the numbers are words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    column,
    delete,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY

from saleroom.bidding.storage.tables import auctions, texts
from saleroom.kernel.folding import fold, grams, sought
from saleroom.storage.database import Transaction

INDEX = "text_grams"
"""The name of the index's table, and how FTS5's own tables begin."""
_BATCH = 200
_BETWEEN = "\n"
"""Stands between name and description. No folded text contains it, so no search finds a text across both."""

_grams = Table(
    INDEX,
    MetaData(),
    Column("auction_id", BigInteger, primary_key=True, autoincrement=False),
    Column("grams", ARRAY(Integer), nullable=False),
)
_MAKE = {
    "postgresql": (
        f"CREATE TABLE {INDEX} (auction_id BIGINT PRIMARY KEY, grams INTEGER[] NOT NULL)",
        # Statistics of thousands of numbers in each row would take minutes to make, and change no plan.
        f"ALTER TABLE {INDEX} ALTER COLUMN grams SET STATISTICS 0",
    ),
    "sqlite": (
        # It keeps no copy of the texts, and neither places nor sizes, which would double it.
        f"CREATE VIRTUAL TABLE {INDEX} USING fts5 (grams, content='', columnsize=0, detail=none, tokenize='ascii')",
    ),
}
_FINISH = {
    # New entries wait in a list of up to so many KB, which every search reads; sorting them in together costs a third.
    "postgresql": (f"CREATE INDEX ix_{INDEX} ON {INDEX} USING gin (grams) WITH (gin_pending_list_limit = 1024)",),
    "sqlite": (),
}


def make_index(tx: Transaction, tell: Callable[[int], object]) -> None:
    """Make the index with all auctions in it; `tell` gets the number done. A batch of them is in memory at a time."""
    for statement in _MAKE[tx.dialect]:
        tx.execute(text(statement))
    done, last = 0, 0
    named = select(auctions.c.id, auctions.c.name, auctions.c.description).order_by(auctions.c.id).limit(_BATCH)
    while rows := tx.execute(named.where(auctions.c.id > last)).all():
        for row in rows:
            put(tx, row.id, row.name, row.description)
        done, last = done + len(rows), rows[-1].id
        tell(done)
    for statement in _FINISH[tx.dialect]:
        tx.execute(text(statement))


def drop_index(tx: Transaction) -> None:
    """Drop the index, and all folded texts."""
    tx.execute(text(f"DROP TABLE {INDEX}"))
    tx.execute(delete(texts))


def put(tx: Transaction, auction_id: int, name: str, description: str) -> None:
    """Let searches find an auction by this name and description, and no longer by the old ones."""
    folded = fold(name) + _BETWEEN + fold(description)
    before = tx.execute(select(texts.c.folded).where(texts.c.auction_id == auction_id)).scalar()
    if folded == before:
        return
    insert = (postgresql if tx.dialect == "postgresql" else sqlite).insert
    row = {"auction_id": auction_id, "folded": folded}
    tx.execute(insert(texts).on_conflict_do_update(index_elements=["auction_id"], set_=row), row)
    if tx.dialect == "postgresql":
        indexed = {"auction_id": auction_id, "grams": sorted(grams(folded))}
        tx.execute(insert(_grams).on_conflict_do_update(index_elements=["auction_id"], set_=indexed), indexed)
        return
    if before is not None:
        # FTS5 keeps no copy, so it needs the old words to delete them.
        forget = text(f"INSERT INTO {INDEX} ({INDEX}, rowid, grams) VALUES ('delete', :auction_id, :words)")  # noqa: S608  # our own name
        tx.execute(forget, {"auction_id": auction_id, "words": _words(grams(before))})
    learn = text(f"INSERT INTO {INDEX} (rowid, grams) VALUES (:auction_id, :words)")  # noqa: S608  # our own name
    tx.execute(learn, {"auction_id": auction_id, "words": _words(grams(folded))})


def may_have(tx: Transaction, words: Sequence[str]) -> Select[Any]:
    """Return a query of the numbers of all auctions whose text may contain these folded words, and of few others."""
    numbers = sought(words)
    if tx.dialect == "postgresql":
        return select(_grams.c.auction_id).where(_grams.c.grams.contains(literal(numbers, ARRAY(Integer))))
    found = literal(" AND ".join(_word(number) for number in numbers), Text)
    index = text(INDEX)
    return select(column("rowid", BigInteger)).select_from(index).where(column(INDEX).op("MATCH")(found))


def has(tx: Transaction, auction_id: ColumnElement[int], words: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that an auction's text contains all these folded words, as a query that is run for each row."""
    place = func.strpos if tx.dialect == "postgresql" else func.instr
    each = and_(*(place(texts.c.folded, literal(word, Text)) > 0 for word in words))
    return select(each).where(texts.c.auction_id == auction_id).scalar_subquery()


def _words(numbers: Iterable[int]) -> str:
    return " ".join(map(_word, numbers))


def _word(number: int) -> str:
    return f"{number & 0xFFFFFFFF:08x}"
