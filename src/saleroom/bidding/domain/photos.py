"""Photos: their sizes, widths and addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from saleroom.kernel.errors import Fault, Invalid

PHOTO_ID = re.compile("[A-Za-z0-9_-]{1,64}")
PHOTO_ID_BYTES = 12
"""Random bytes of a photo's id: 96 bits, 16 characters of URL-safe Base64. Nobody guesses the id of a photo."""
WIDTHS = (400, 800, 1600)
"""The widths in pixels that a photo is kept in; none is wider than the original."""
PER_LOT_MAX = 12
UNPLACED_MAX = 60
"""The most photos of one user that may be on no lot."""
UNPLACED_LIFETIME = timedelta(hours=24)
"""How long a photo is kept while it is on no lot."""
_MEGAPIXELS_MAX = 60
PIXELS_MAX = _MEGAPIXELS_MAX * 1_000_000
SIDE_MIN = 16
RATIO_MAX = 8
"""The most that the long side may be, in lengths of the short one: the widest rendition is at most 12,800 pixels high."""


class Photo(Struct, frozen=True):
    """A photo for everybody: its `id`, the size in pixels of its widest rendition, and all widths, rising."""

    id: str
    width: int
    height: int
    widths: tuple[int, ...]

    def url(self, width: int) -> str:
        """Return the address of the narrowest rendition that is at least `width` wide, otherwise of the widest."""
        made = next((one for one in self.widths if one >= width), self.widths[-1])
        return f"/photos/{self.id}/{made}.webp"


def made_widths(width: int) -> tuple[int, ...]:
    """Return the widths of the renditions of an original of this `width`, rising."""
    return tuple(sorted({min(width, one) for one in WIDTHS}))


def size_fault(width: int, height: int, megapixels_max: int = _MEGAPIXELS_MAX) -> Fault | None:
    """Return the fault of an original of this size in pixels, or None. `megapixels_max` is lower for some kinds of files."""
    if width * height > megapixels_max * 1_000_000:
        return too_many_pixels(megapixels_max)
    if min(width, height) < SIDE_MIN:
        return Fault("image_too_small", f"must be at least {SIDE_MIN} pixels wide and high", least=SIDE_MIN)
    if max(width, height) > RATIO_MAX * min(width, height):
        message = f"must be no more than {RATIO_MAX} times as wide as high, or as high as wide"
        return Fault("image_too_narrow", message, most=RATIO_MAX)
    return None


def too_many_pixels(megapixels_max: int) -> Fault:
    """Return the fault of an original with more than so many million pixels."""
    return Fault("image_too_large", f"must have at most {megapixels_max} million pixels", most=megapixels_max)


def is_webp(data: bytes) -> bool:
    """Whether a file has the header of WebP with its true length."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP" and int.from_bytes(data[4:8], "little") + 8 == len(data)


def refuse_bad_list(ids: Sequence[str]) -> None:
    """Raise Invalid, field `photos`, if no lot can have this list of photos."""
    if len(ids) > PER_LOT_MAX:
        raise Invalid({"photos": [Fault("too_many_photos", f"must be at most {PER_LOT_MAX}", most=PER_LOT_MAX)]})
    if len(set(ids)) < len(ids):
        raise Invalid.one("photos", "repeated", "must each be given once")
