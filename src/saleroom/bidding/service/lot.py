"""One lot with all details for its reader."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import contacts
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Outcome, SoftClose
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.domain.questions import QuestionView
from saleroom.bidding.domain.remarks import RemarkView
from saleroom.bidding.domain.views import AuctionView, BidView, auction_view
from saleroom.bidding.service import photos, questions, remarks, watching
from saleroom.bidding.service.admission import known_as
from saleroom.bidding.service.lookup import get_one, moderates, refuse_unless_seen, view_for
from saleroom.bidding.service.reading import Standing, history, standing
from saleroom.bidding.storage import bids
from saleroom.kernel.parties import ERASED
from saleroom.storage.database import Transaction


class Deal(Struct, frozen=True, kw_only=True):
    """The contacts that only the winner and the seller of a sold lot see: the other one's, and the reader's own.

    `is_erased` is whether the other one was erased, and so leaves no contact any more.
    """

    contact: str
    own_contact: str
    is_erased: bool


class LotDetails(Struct, frozen=True, kw_only=True):
    """A lot as its reader sees it.

    `terms_version` is the version of the last change to its terms or photos. `known_as` is the name by which the lot shows the
    reader's bids, None for a stranger. `standing` and `limit` (the reader's highest maximum) are None if no bid of the reader
    stands; then `voided` is the reason for which the last of them was voided, None if the reader has not bid. `own`: the reader
    is its author; `moderated`: the reader is staff who may hide the lot. `deal` is None unless the reader has won or sold the
    lot. The next page of bids starts before `older`.
    """

    auction: AuctionView
    terms_version: int
    soft_close: SoftClose | None
    bids: list[BidView]
    older: int | None
    photos: list[Photo]
    remarks: list[RemarkView]
    questions: list[QuestionView]
    own: bool
    moderated: bool
    watched: bool
    known_as: str | None
    standing: Standing | None
    limit: Decimal | None
    voided: str | None
    deal: Deal | None


class Story(Struct, frozen=True):
    """The remarks on a lot, and its questions as its `author` sees them."""

    author: str
    remarks: list[RemarkView]
    questions: list[QuestionView]


def story(tx: Transaction, gid: str) -> Story:
    """Return a lot's story. Raises UnknownAuction."""
    found = get_one(tx, gid)
    return Story(found.author.name, remarks.of_lot(tx, gid), questions.shown(tx, found, found.author))


def show(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None) -> LotDetails:
    """Return a lot with a page of its bids. Raises UnknownAuction, TakenDown, or Unauthenticated for a dead token."""
    viewer = None if token is None else authenticate(tx, token, Right.READ)
    found = get_one(tx, gid)
    refuse_unless_seen(found, viewer)
    staff = viewer is not None and moderates(viewer)
    own = viewer is not None and viewer.id == found.author.id
    page = history(tx, found, viewer, limit, before)
    highest = None if viewer is None or own else _limit(tx, found, viewer)
    return LotDetails(
        auction=view_for(found, viewer, staff=staff),
        terms_version=found.terms_version,
        soft_close=found.soft_close,
        bids=page.rows,
        older=page.next,
        photos=photos.of_lot(tx, gid),
        remarks=remarks.of_lot(tx, gid),
        questions=questions.shown(tx, found, None if viewer is None else viewer.party),
        own=own,
        moderated=staff,
        watched=watching.is_watched(tx, token, gid),
        known_as=None if viewer is None else known_as(tx, found, viewer.party),
        standing=None if viewer is None or highest is None else standing(found, viewer.id, highest),
        limit=highest,
        voided=None if viewer is None or highest is not None else bids.last_void(tx, found.id, viewer.id),
        deal=None if viewer is None else _deal(tx, found, viewer),
    )


def as_bidders_see(auction: Auction, pictures: list[Photo]) -> LotDetails:
    """Return a lot that is not published yet as it will be for a bidder."""
    return LotDetails(
        auction=auction_view(auction),
        terms_version=auction.terms_version,
        soft_close=auction.soft_close,
        bids=[],
        older=None,
        photos=pictures,
        remarks=[],
        questions=[],
        own=False,
        moderated=False,
        watched=False,
        known_as=None,
        standing=None,
        limit=None,
        voided=None,
        deal=None,
    )


def _deal(tx: Transaction, sold: Auction, viewer: Account) -> Deal | None:
    """Return the contacts for this reader; None before the sale, and for everybody but its winner and its seller."""
    if sold.outcome is not Outcome.SOLD or sold.leader is None or viewer.id not in (sold.leader.id, sold.author.id):
        return None
    other = sold.author if viewer.id == sold.leader.id else sold.leader
    own_contact, contact = contacts.of_two(tx, viewer.id, other.id)
    return Deal(contact=contact, own_contact=own_contact, is_erased=other.name.startswith(ERASED))


def _limit(tx: Transaction, auction: Auction, viewer: Account) -> Decimal | None:
    """Return the viewer's highest maximum. A leader's raised maximum is stored with the auction only."""
    if auction.leader is not None and auction.leader.id == viewer.id:
        return auction.maximum
    return bids.highest_limit(tx, auction.id, viewer.id)
