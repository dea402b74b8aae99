"""Documents checked: each has the digest of its series up to it, and no number is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Row

from saleroom.settlement.domain.documents.content import (
    CREDITABLE,
    FIRST,
    DocumentKind,
    decoded,
    digest_of,
    encoded,
    number_of,
)
from saleroom.settlement.domain.documents.retention import is_early
from saleroom.settlement.service.retention import rest_digest
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.documents import Owner
from saleroom.storage.database import Transaction

PAGE = 500


def document_faults(tx: Transaction) -> Iterator[str]:
    """Yield every fault in the documents of the house."""
    for one in documents.series(tx):
        before, last = FIRST, 0
        while rows := documents.rows_of_series(tx, one.kind, one.year, last, PAGE):
            for row in rows:
                name = f"document {row.kind} {row.year}/{row.place}"
                if row.place != last + 1:
                    yield f"{name}: the document before it is missing"
                yield from (f"{name}: {fault}" for fault in _faults(row, before))
                before, last = row.digest, row.place
        if (one.last, one.digest) != (last, before):
            yield f"documents {one.kind} {one.year}: the last one is not that of its series"
    for one in documents.without_series(tx):
        yield f"documents {one.kind} {one.year}: they have no series"
    yield from _marks(tx)


def _marks(tx: Transaction) -> Iterator[str]:
    """Yield the faults in the rows that say which lots are on which document, and which lines are taken back."""
    free, noted = {"", *documents.needs(tx)}, documents.all_credited(tx)
    taken = {(number, place) for number, place, _ in noted}
    billed, credited = set[tuple[str, str, int]](), set[tuple[int, int, int]]()
    for one in documents.readable(tx):
        if one.document.kind in CREDITABLE:
            lines = enumerate(one.document.lines)
            left = {line.lot for place, line in lines if line.lot not in free and (one.id, place) not in taken}
            billed |= {(one.document.kind.value, lot, one.id) for lot in left}
        if one.credits_id is not None:
            credited |= {
                (one.credits_id, line.credits, one.id) for line in one.document.lines if line.credits is not None
            }
    if billed != documents.lots_on(tx):
        yield "documents: the rows of the lots that are on them are not those of their lines"
    if credited != noted:
        yield "documents: the rows of the lines that are taken back are not those of the credit notes"


def _faults_of_rest(row: Row[Any]) -> Iterator[str]:
    """Yield the faults of a document without the name of its party."""
    if rest_digest(row, row.content) != row.rest_digest:
        yield "what is left of it does not have its digest"
    if is_early(row.issued_at, row.forgotten_at):
        yield "it has lost its name too early"


def _faults(row: Row[Any], before: str) -> Iterator[str]:
    owner = Owner(sale_id=row.sale_id, user_id=row.user_id, consignor_id=row.consignor_id)
    facts = documents.facts_of(row.gid, owner, row.credits_id, row.issued_at)
    if row.forgotten_at is None and (digest_of(row.content, facts, before), None) != (row.digest, row.rest_digest):
        yield "it does not have its digest"
    if row.forgotten_at is not None:
        yield from _faults_of_rest(row)
    try:
        document = decoded(row.content)
    except msgspec.MsgspecError:
        yield "it cannot be read"
        return
    if encoded(document) != row.content:
        yield "it is not in its canonical form"
    number = number_of(DocumentKind(row.kind), row.year, row.place) if row.kind in set(DocumentKind) else ""
    if (document.kind, document.number, document.issued_on) != (row.kind, number, row.issued_at.date()):
        yield "its row is that of another document"
