"""Numbers that the specification and the documents promise, because tests that read the constants cannot check them."""

from datetime import timedelta

from saleroom.accounts.domain import accounts
from saleroom.bidding.domain import photos
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.views import event_parts, sealed_part
from saleroom.kernel import chain, identifiers
from tests.bidding.domain.examples import ADA, BOB, an_auction, place


def test_chance_is_as_long_as_promised() -> None:
    """A token has 80 bits (docs/specification.md, "AuthToken"), a gid 72, a photo's id 96, a ledger's seed 256."""
    assert (10, 9, 12, 32) == (accounts.TOKEN_BYTES, identifiers.GID_BYTES, photos.PHOTO_ID_BYTES, chain.SEED_BYTES)


def test_photos_are_kept_as_promised() -> None:
    """A photo has three widths; a lot has twelve photos; a user has sixty on no lot, for a day."""
    assert (400, 800, 1600) == photos.WIDTHS
    assert (12, 60, timedelta(hours=24)) == (photos.PER_LOT_MAX, photos.UNPLACED_MAX, photos.UNPLACED_LIFETIME)


def test_numbers_and_seeds_are_in_no_hash() -> None:
    """A ledger commits to the reserve, limits and requests, and opens them; never a user's number or the seed."""
    sealed = {
        "act.undone": {"maximum"},
        "auction.created": {"reserve_price"},
        "auction.amended": {"reserve_price"},
        "bid.placed": {"maximum", "asked"},
        "bid.voided": {"maximum"},
        "maximum.raised": {"maximum", "received_at"},
    }
    assert sealed == {kind.TYPE: {*kind.SEALED} for kind in EVENTS.values() if kind.SEALED}
    _, [bid] = place(an_auction(), "bob up to 150")
    private = event_parts(bid)[1]
    assert {"bidderId", "maximum", "asked"} == private.keys()
    assert {"maximum", "asked"} == sealed_part(type(bid), private).keys()
    assert BOB.id == private["bidderId"] != ADA.id
