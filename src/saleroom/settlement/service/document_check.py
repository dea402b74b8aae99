"""Documents checked: each has the digest of its series up to it, and no number is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Row

from saleroom.settlement.domain.documents import FIRST, Kind, decoded, digest_of, encoded, number_of
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


def _faults(row: Row[Any], before: str) -> Iterator[str]:
    owner = Owner(sale_id=row.sale_id, user_id=row.user_id, consignor_id=row.consignor_id)
    facts = documents.facts_of(row.gid, owner, row.credits_id, row.issued_at)
    if digest_of(row.content, facts, before) != row.digest:
        yield "it does not have its digest"
    try:
        document = decoded(row.content)
    except msgspec.MsgspecError:
        yield "it cannot be read"
        return
    if encoded(document) != row.content:
        yield "it is not in its canonical form"
    number = number_of(Kind(row.kind), row.year, row.place) if row.kind in set(Kind) else ""
    if (document.kind, document.number, document.issued_on) != (row.kind, number, row.issued_at.date()):
        yield "its row is that of another document"
