"""Retention: for how long names and addresses of papers are kept, and what stays of a document without them."""

from __future__ import annotations

from datetime import UTC, date, datetime

from msgspec import structs

from saleroom.settlement.domain.documents.content import Document, Party

YEARS, YEARS_MAX = 10, 100
"""Ten years are the longest that one of the countries with a preset of taxes asks for (docs/documents.md)."""


def cutoff(now: datetime, years: int) -> datetime:
    """Return before which instant papers are older than the house keeps their names: they are kept for whole years (UTC)."""
    return datetime(now.year - years, 1, 1, tzinfo=UTC)


def kept_until(issued_at: datetime, years: int) -> date:
    """Return the last day on which a document has the name and the address of its party."""
    return date(issued_at.year + years, 12, 31)


def without_party(document: Document) -> Document:
    """Return what stays of a document: all but whom it was for. The house, the lines and the amounts stay."""
    return structs.replace(document, party=Party(name=""))


def is_early(issued_at: datetime, forgotten_at: datetime) -> bool:
    """Return whether a document lost its name before any house would have let it go: within the year after its own."""
    return forgotten_at.year - issued_at.year < 2
