"""The JSON shape of the book of absentee bids, for staff."""

from __future__ import annotations

from msgspec import Struct

from saleroom.kernel.instants import instant
from saleroom.sales.domain.book import BookRow


class BookLineView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of the book: an absentee bid that staff have entered, and whether it stands and leads."""

    lot: str
    label: str
    paddle: int | None
    person_name: str
    book_maximum: str
    stands: bool
    leads: bool
    entered_by: str
    entered_at: str


def line_view(one: BookRow) -> BookLineView:
    """Return a line as staff see it."""
    return BookLineView(
        lot=one.lot,
        label=one.label,
        paddle=one.paddle,
        person_name=one.bidder,
        book_maximum=str(one.maximum),
        stands=one.stands,
        leads=one.leads,
        entered_by=one.clerk,
        entered_at=instant(one.entered_at),
    )
