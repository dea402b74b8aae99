"""Retracing the photos of a lot."""

from msgspec import structs

from saleroom.bidding.domain.events import PhotosArranged, ShownFile, ShownPhoto
from saleroom.bidding.domain.selling import arrange
from tests.bidding.domain.examples import ADA, after
from tests.bidding.domain.test_retrace import PlayedAuction, broken


def _photo(photo_id: str, *widths: int, sha256: str = "5a" * 32) -> ShownPhoto:
    return ShownPhoto(photo_id, tuple(ShownFile(width, sha256) for width in widths))


def test_photos_retrace_before_the_first_bid_only() -> None:
    """The author arranges photos until the first bid, and every list must be one that a lot can have."""
    photos = [_photo("one", 400, 800), _photo("two", 1)]
    story = (
        PlayedAuction().then(arrange, ADA, photos, after(1)).then(arrange, ADA, [], after(2)).bids("bob 100", seconds=3)
    )
    assert None is broken(story.log)
    late = PhotosArranged(at=after(4), photos=tuple(photos))
    has_bids = "the rules refuse it: The auction has bids, so it can be neither changed nor cancelled any more."
    assert (4, has_bids) == broken([*story.log, late])
    files, digest = (
        "a photo has files, the narrowest first",
        "a photo has an id, and its files have a SHA-256 in 64 hexadecimal digits",
    )
    for wrong, reason in (
        ([_photo("one", 400)] * 2, "its photos must each be given once"),
        ([_photo(f"{n}", 400) for n in range(13)], "its photos must be at most 12"),
        ([_photo("one")], files),
        ([_photo("one", 0, 400)], files),
        ([_photo("one", 400, 400)], files),
        ([_photo("", 400)], digest),
        ([_photo("../one", 400)], digest),
        ([_photo("one", 400, sha256="5A" * 32)], digest),
        ([_photo("one", 400, sha256="5a" * 31)], digest),
    ):
        event = structs.replace(story.log[1], photos=tuple(wrong))
        assert (1, reason) == broken([story.log[0], event, *story.log[2:]])
