"""Pictures that were damaged in transit, or made to do damage."""

import io
import resource
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from saleroom.bidding.domain.photos import WIDTHS, made_widths
from saleroom.bidding.service import renditions
from saleroom.kernel.errors import Invalid
from tests import pictures
from tests.fuzz.mangling import bounded, mangled

PICTURE_SECONDS_MAX = 20.0
"""The largest that is taken needs some 3 s on its own."""
MEGABYTES_MAX = 600
"""How much more memory the process may have needed at any time: twice what one picture takes at most."""
KINDS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
FILES = [
    *(pictures.plain((40, 24), kind=kind) for kind in KINDS),
    *(pictures.plain((24, 40), mode="L", colour=99, kind=kind) for kind in ("JPEG", "PNG")),
    pictures.plain((40, 24), mode="RGBA", colour=(1, 2, 3, 128), kind="PNG"),
    pictures.plain((40, 24), mode="CMYK", colour=(1, 2, 3, 4), kind="JPEG"),
    pictures.plain((40, 24), mode="P", colour=7, kind="GIF"),
    pictures.written(pictures.quartered((900, 60)), "PNG"),
]


def with_exif(orientation: int) -> bytes:
    """A JPEG that says which side is up."""
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = orientation
    return pictures.written(pictures.quartered((48, 32)), exif=exif)


def sized(width: int, height: int) -> bytes:
    """A PNG whose head says that it is larger than what follows."""
    data = bytearray(FILES[1])
    data[16:24] = struct.pack(">II", width, height)
    return bytes(data)


sides = st.sampled_from([0, 1, 16, 400, 7000, 8571, 30_000, 65_535, 2**31 - 1, 2**32 - 1])
some = st.sampled_from(FILES) | st.builds(with_exif, st.integers(0, 9)) | st.builds(sized, sides, sides)


@example(b"")
@example(b"\xff\xd8\xff")
@example(b"RIFF\xff\xff\xff\xffWEBPVP8 ")
@example(sized(7000, 8571))
@given(mangled(some))
def test_a_picture_is_made_or_refused(data: bytes) -> None:
    """Any bytes sent as a picture become plain files or are refused, in little time and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = None
    with bounded(PICTURE_SECONDS_MAX):
        try:
            made = renditions.make(data)
        except Invalid as refused:
            assert [renditions.FIELD] == [*refused.faults]  # noqa: PT017  # what it must be, whichever it is
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES_MAX * 1024
    if made is not None:
        assert tuple(made.files) == made_widths(max(made.files))[::-1]
        assert made.width == max(made.files) <= WIDTHS[-1]
        for width, file in made.files.items():
            shown = Image.open(io.BytesIO(file))
            shown.load()
            assert ("WEBP", width) == (shown.format, shown.width)
            assert not shown.getexif()


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "ICO", "PPM", "EPS", "PDF", "TGA"])
def test_other_kinds_are_no_pictures(kind: str) -> None:
    """Only the named kinds are tried: a decoder that is not needed cannot be attacked."""
    with pytest.raises(Invalid):
        renditions.make(pictures.plain((32, 32), kind=kind))
