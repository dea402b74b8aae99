"""From the bytes of a picture to the ones that are shown: upright, in sRGB, on white, in a few widths, as bare WebP.

Nothing of what a camera writes beside the picture, such as where it was taken, is left.
"""

from __future__ import annotations

import io
import re

import structlog
from msgspec import Struct
from PIL import Image, ImageCms, UnidentifiedImageError

from saleroom.domain.errors import Fault, Invalid
from saleroom.domain.photos import WIDTHS, made_widths, size_fault

log = structlog.get_logger()

FIELD = "photo"
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
NOT_AN_IMAGE = Fault("not_an_image", "must be a picture: JPEG, PNG, WebP, GIF or AVIF")
TRUNCATED = Fault("image_truncated", "is broken off or damaged; send it once more, or save it anew")
_QUALITY = 80
_STRIP_ROWS = 64
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What turns a picture upright, by its EXIF orientation."""
_SIDEWAYS = (5, 6, 7, 8)
"""The orientations in which what is stored as rows stands upright as columns."""
_SRGB = ImageCms.createProfile("sRGB")
_SIGNATURE = re.compile(rb"\xff\xd8\xff|\x89PNG\r\n|GIF8|RIFF....WEBP|....ftypavi[fs]", re.DOTALL)
"""How the files of `FORMATS` begin, also those that end too early."""
_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")
_COLOUR_SPACES = {"RGB": "RGB ", "CMYK": "CMYK", "L": "GRAY"}
"""What a colour profile says that it is for, by the mode of the picture."""

# The library's own limit warns before it refuses; `size_fault` is stricter and comes before anything is decoded.
Image.MAX_IMAGE_PIXELS = None


class Made(Struct, frozen=True):
    """A picture as it is kept: the size of the widest, and the WebP of each width."""

    width: int
    height: int
    files: dict[int, bytes]


def make(data: bytes) -> Made:
    """Return what is kept of the picture in `data`, which is told by its bytes alone. It takes some 300 MB at most.

    Raises Invalid, field `photo`.
    """
    try:
        return _make(data)
    except Invalid:
        raise
    except UnidentifiedImageError as error:
        raise _refused(TRUNCATED if _SIGNATURE.match(data) else NOT_AN_IMAGE) from error
    except Exception as error:
        # The decoders raise whatever damage leads them to: OSError, SyntaxError, struct.error, IndexError and more.
        log.info("a picture cannot be decoded", error=type(error).__name__)
        raise _refused(TRUNCATED) from error


def _make(data: bytes) -> Made:
    with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        fault = size_fault(*opened.size)
        if fault is not None:
            raise _refused(fault)
        orientation = _orientation(opened)
        if opened.format in ("JPEG", "MPO"):
            # The decoder leaves out detail that nobody will see: a quarter of the memory, less time.
            scale = WIDTHS[-1] / _upright_width(opened, orientation)
            opened.draft(opened.mode, (int(opened.width * scale) + 1, int(opened.height * scale) + 1))
        opened.load()
        profile = opened.info.get("icc_profile")
        picture = _in_srgb(_reduced(opened, _upright_width(opened, orientation)), profile)
    turn = _TURNS.get(orientation)
    return _in_all_widths(picture if turn is None else picture.transpose(turn))


def _refused(fault: Fault) -> Invalid:
    return Invalid({FIELD: [fault]})


def _upright_width(picture: Image.Image, orientation: int) -> int:
    return picture.height if orientation in _SIDEWAYS else picture.width


def _orientation(picture: Image.Image) -> int:
    """Return the EXIF orientation; a picture whose EXIF is damaged is shown as it lies."""
    try:
        return int(picture.getexif().get(_ORIENTATION, 1))
    except Exception as error:  # noqa: BLE001  # the parser raises whatever damage leads it to, and the picture is fine
        log.info("the EXIF of a picture cannot be read", error=type(error).__name__)
        return 1


def _reduced(picture: Image.Image, upright_width: int) -> Image.Image:
    """Return the picture flat on white, a whole number of times smaller, yet no narrower than the widest one made.

    It goes strip by strip, so that the pixels of a large one are in memory once.
    """
    factor = max(1, upright_width // WIDTHS[-1])
    rows = _STRIP_ROWS * factor
    whole = None
    for top in range(0, picture.height, rows):
        strip = _flat(picture.crop((0, top, picture.width, min(top + rows, picture.height)))).reduce(factor)
        if whole is None:
            whole = Image.new(strip.mode, (strip.width, -(-picture.height // factor)))
        whole.paste(strip, (0, top // factor))
    assert whole is not None, "a picture has rows"
    return whole


def _flat(strip: Image.Image) -> Image.Image:
    """Return a strip in 8 bits of RGB, CMYK or grey, on white where it lets something through."""
    if strip.mode in _SIXTEEN_BITS:
        return strip.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if strip.has_transparency_data:
        layer = strip.convert("RGBA")
        white = Image.new("RGB", layer.size, "white")
        white.paste(layer, mask=layer.getchannel("A"))
        return white
    return strip if strip.mode in _COLOUR_SPACES else strip.convert("RGB")


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the picture in sRGB; a profile that cannot be used is left out of account."""
    if profile:
        try:
            named = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            if named.profile.xcolor_space == _COLOUR_SPACES[picture.mode]:
                converted = ImageCms.profileToProfile(picture, named, _SRGB, outputMode="RGB")
                return picture.convert("RGB") if converted is None else converted
        except (ImageCms.PyCMSError, OSError, ValueError) as error:
            log.info("the colour profile of a picture cannot be used", error=type(error).__name__)
    return picture.convert("RGB")


def _in_all_widths(picture: Image.Image) -> Made:
    whole, files = picture.size, {}
    widest = None
    for width in reversed(made_widths(whole[0])):
        picture = picture.resize((width, max(1, round(width * whole[1] / whole[0]))), Image.Resampling.LANCZOS)
        widest = widest or picture.size
        written = io.BytesIO()
        picture.save(written, "WEBP", quality=_QUALITY, method=4, exif=b"", icc_profile=b"", xmp=b"")
        files[width] = written.getvalue()
    assert widest is not None, "there is always a width"
    return Made(*widest, files)
