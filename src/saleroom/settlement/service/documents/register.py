"""Documents: issued with a number without gaps, credited, and found again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from sqlalchemy.exc import IntegrityError

from saleroom.kernel.currency import decimals
from saleroom.kernel.identifiers import GID_BYTES
from saleroom.settlement.domain.documents.content import (
    Draft,
    credit_note,
    digest_of,
    encoded,
    issued,
    number_of,
    refuse_faulty,
)
from saleroom.settlement.domain.errors import LotOnDocument, UnknownDocument
from saleroom.settlement.service import money_mails
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Transaction


def issue(tx: Transaction, draft: Draft, owner: Owner, lots: Mapping[str, int]) -> StoredDocument:
    """Issue a document within the transaction of what it is about; `lots` are the numbers of its lots by gid.

    A fund-a-need is not among them: many are invoiced for it.

    Raises Contradiction, or LotOnDocument if one of its lots is on another document of this kind.
    """
    made = _issue(tx, draft, owner)
    try:
        # A refusal does not end the transaction: its caller may still ask the database.
        with tx.connection.begin_nested():
            documents.bill(tx, draft.kind, {lots[line.lot] for line in draft.lines if line.lot in lots}, made.id)
    except IntegrityError:
        raise LotOnDocument from None
    return made


def credit(tx: Transaction, gid: str, places: Sequence[int]) -> StoredDocument:
    """Issue the credit note for lines of a document, all that are left if none are named.

    A lot of which no line is left can be on a document again. Raises UnknownDocument, NotToCredit or CreditedAlready.
    """
    found = documents.find(tx, gid, locked=True)
    if found is None:
        raise UnknownDocument
    before = documents.credited(tx, found.id)
    draft = credit_note(found.document, before, places)
    made = _issue(tx, draft, found.owner, credits_id=found.id)
    taken = {line.credits for line in draft.lines if line.credits is not None}
    documents.note_credits(tx, found.id, sorted(taken), made.id)
    left = {line.lot for place, line in enumerate(found.document.lines) if place not in before | taken}
    gone = {line.lot for line in draft.lines if line.lot} - left
    documents.release(tx, found.id, gone)
    return made


def _issue(tx: Transaction, draft: Draft, owner: Owner, credits_id: int | None = None) -> StoredDocument:
    refuse_faulty(draft, decimals(draft.currency))
    now = tx.now()
    place = documents.take_place(tx, draft.kind, now.year)
    document = issued(draft, number_of(place.kind, place.year, place.place), now.date())
    content = encoded(document)
    gid = secrets.token_urlsafe(GID_BYTES)
    facts = documents.facts_of(gid, owner, credits_id, now)
    made = StoredDocument(
        id=0,
        gid=gid,
        owner=owner,
        issued_at=now,
        document=document,
        digest=digest_of(content, facts, place.before),
        credits_id=credits_id,
    )
    stored = documents.add(tx, place, made, content)
    money_mails.tell_of_document(tx, stored)
    return stored
