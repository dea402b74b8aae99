"""Remarks: what a seller adds to a lot that can no longer be changed; dated, and never changed or deleted."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, refuse_if_over, refuse_unless_author
from saleroom.bidding.domain.errors import TooManyRemarks
from saleroom.kernel.instants import instant
from saleroom.kernel.parties import Party

REMARKS_MAX = 10
"""The most remarks on one lot."""
REMARK_CHARACTERS_MAX = 2000


class Remark(Struct, frozen=True):
    """A remark on a lot; `number` counts the remarks of the lot from 1."""

    number: int
    text: str
    written_at: datetime


class RemarkView(Struct, frozen=True, rename="camel"):
    """A remark as the API shows it."""

    number: int
    text: str
    written_at: str

    @classmethod
    def of(cls, remark: Remark) -> RemarkView:
        """Return the view of a remark."""
        return cls(remark.number, remark.text, instant(remark.written_at))


def write(auction: Auction, author: Party, text: str, earlier: list[Remark], now: datetime) -> Remark:
    """Return a new remark, or the last one if its text is the same: a form that is sent twice counts once.

    Raises NotAuthor, AuctionOver or TooManyRemarks.
    """
    refuse_unless_author(auction, author)
    if earlier and earlier[-1].text == text:
        return earlier[-1]
    refuse_if_over(auction, now)
    if len(earlier) >= REMARKS_MAX:
        raise TooManyRemarks(limit=REMARKS_MAX)
    return Remark(len(earlier) + 1, text, now)
