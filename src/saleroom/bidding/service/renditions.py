"""Renditions: a picture made upright, in sRGB, on white, in a few widths, as WebP without metadata.

No metadata of a camera is left, such as the place. `make` runs in a separate process with limits (decoder.py).
"""

from __future__ import annotations

import io
import re
import warnings

from msgspec import Struct
from PIL import AvifImagePlugin, Image, ImageCms, UnidentifiedImageError, WebPImagePlugin

from saleroom.bidding.domain.photos import PIXELS_MAX, WIDTHS, made_widths, size_fault, too_many_pixels
from saleroom.kernel.errors import Fault, Invalid

FIELD = "photo"
NOT_AN_IMAGE = Fault("not_an_image", "must be a picture: JPEG, PNG, WebP, GIF or AVIF")
TRUNCATED = Fault("image_truncated", "is broken off or damaged; send it again, or save it again first")
TOO_COSTLY = Fault(
    "image_too_costly",
    "takes too much time or memory to decode; save it as a baseline (not progressive) JPEG, and send that",
)
SCANS_MAX = 64
"""Passes that a JPEG may make over its picture. Programs write 1 to 20; each costs time in proportion to the pixels."""
MEGAPIXELS_MAX = {"WEBP": 25, "AVIF": 25}
MEGAPIXELS_IN_SCANS_MAX = 50
"""Lower limits if the decoder holds more than the pixels: up to 17 bytes for each pixel of WebP and AVIF, and 8 for one of a
JPEG with several scans."""
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
"""The transposition that turns a picture upright, by its EXIF orientation."""
_SIDEWAYS = (5, 6, 7, 8)
"""The orientations in which stored rows are upright columns."""
_SRGB = ImageCms.createProfile("sRGB")
_SIGNATURE = re.compile(
    rb"(?P<JPEG>\xff\xd8\xff)|(?P<PNG>\x89PNG\r\n)|(?P<GIF>GIF8)|(?P<WEBP>RIFF....WEBP)|....ftyp(?P<AVIF>avi[fs]|m[is]f1)",
    re.DOTALL,
)
"""The first bytes of each kind of file, which a truncated file has too."""
_SHARED_BRANDS = (b"mif1", b"msf1")
"""AVIF files may begin with these, and so may pictures that are not accepted, such as HEIC."""
_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")
_COLOUR_SPACES = {"RGB": "RGB ", "CMYK": "CMYK", "L": "GRAY"}
"""The colour space that a profile names, by the mode of the picture."""

_JPEG_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
"""A marker inside the compressed data. FF 00 is an escaped byte there, and FF D0 to FF D7 only divide the data."""
_JPEG_SCAN, _JPEG_END = 0xDA, 0xD9
_JPEG_BARE = (0x01, 0xD8)
"""Markers without a length."""

# Each thread of a decoder takes more memory.
AvifImagePlugin.DEFAULT_MAX_THREADS = 1
# Otherwise the library would load all its plugins in search of these two.
assert WebPImagePlugin.SUPPORTED and AvifImagePlugin.SUPPORTED, "Pillow comes with both"


class Renditions(Struct, frozen=True):
    """The renditions of a picture: the size of the widest, and the WebP of each width."""

    width: int
    height: int
    files: dict[int, bytes]


def make(data: bytes) -> Renditions:
    """Return the renditions of the picture in `data`. Its bytes tell its kind.

    Raises Invalid, field `photo`.
    """
    signature = _SIGNATURE.match(data)
    if signature is None:
        raise _refused(NOT_AN_IMAGE)
    kind = str(signature.lastgroup)
    most = MEGAPIXELS_MAX.get(kind, PIXELS_MAX // 1_000_000)
    # Some decoders allocate memory while they open a file. The library refuses more than twice this size there.
    Image.MAX_IMAGE_PIXELS = most * 1_000_000 // 2
    try:
        with warnings.catch_warnings(action="ignore"):
            return _make(data, kind, most)
    except Invalid:
        raise
    except UnidentifiedImageError as error:
        raise _refused(NOT_AN_IMAGE if signature[kind] in _SHARED_BRANDS else TRUNCATED) from error
    except Image.DecompressionBombError as error:
        raise _refused(too_many_pixels(most)) from error
    except MemoryError as error:
        raise _refused(TOO_COSTLY) from error
    except Exception as error:
        # On damaged files the decoders raise OSError, SyntaxError, struct.error, IndexError and more.
        raise _refused(TRUNCATED) from error


def _make(data: bytes, kind: str, most: int) -> Renditions:
    with Image.open(io.BytesIO(data), formats=[kind]) as image:
        scans = _count_scans(data) if kind == "JPEG" else 1
        in_scans = scans > 1 or "progressive" in image.info
        fault = size_fault(*image.size, MEGAPIXELS_IN_SCANS_MAX if in_scans else most)
        if fault is not None:
            raise _refused(fault)
        if scans > SCANS_MAX:
            raise _refused(TOO_COSTLY)
        orientation = _orientation(image)
        if kind == "JPEG":
            # The decoder leaves out detail that the renditions do not show: a quarter of the memory, less time.
            scale = WIDTHS[-1] / _upright_width(image, orientation)
            image.draft(image.mode, (int(image.width * scale) + 1, int(image.height * scale) + 1))
        image.load()
        profile = image.info.get("icc_profile")
        picture = _in_srgb(_reduced(image, _upright_width(image, orientation)), profile)
    turn = _TURNS.get(orientation)
    return _in_all_widths(picture if turn is None else picture.transpose(turn))


def _count_scans(data: bytes) -> int:
    """Return the number of scans of a JPEG, up to one more than `SCANS_MAX`; a second picture in the file does not count."""
    scans, place = 0, 2
    while scans <= SCANS_MAX and (found := _JPEG_MARKER.search(data, place)) is not None:
        kind, place = found[1][0], found.end()
        if kind == _JPEG_END:
            break
        scans += kind == _JPEG_SCAN
        if kind not in _JPEG_BARE:
            place += int.from_bytes(data[place : place + 2])
    return scans


def _refused(fault: Fault) -> Invalid:
    return Invalid({FIELD: [fault]})


def _upright_width(picture: Image.Image, orientation: int) -> int:
    return picture.height if orientation in _SIDEWAYS else picture.width


def _orientation(picture: Image.Image) -> int:
    """Return the EXIF orientation; a picture with damaged EXIF is shown as it is stored."""
    try:
        return int(picture.getexif().get(_ORIENTATION, 1))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # the parser raises errors of many kinds, and the picture is fine
        return 1


def _reduced(picture: Image.Image, upright_width: int) -> Image.Image:
    """Return the picture flat on white, reduced by a whole factor, but no narrower than the widest rendition.

    It works strip by strip, so that the pixels of a large picture are in memory once.
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
    """Return a strip in 8 bits of RGB, CMYK or grey, on white if it is transparent."""
    if strip.mode in _SIXTEEN_BITS:
        return strip.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if strip.has_transparency_data:
        layer = strip.convert("RGBA")
        white = Image.new("RGB", layer.size, "white")
        white.paste(layer, mask=layer.getchannel("A"))
        return white
    return strip if strip.mode in _COLOUR_SPACES else strip.convert("RGB")


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the picture in sRGB; an unusable profile is ignored."""
    if profile:
        try:
            named = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            if named.profile.xcolor_space == _COLOUR_SPACES[picture.mode]:
                converted = ImageCms.profileToProfile(picture, named, _SRGB, outputMode="RGB")
                return picture.convert("RGB") if converted is None else converted
        except (ImageCms.PyCMSError, OSError, ValueError):
            pass
    return picture.convert("RGB")


def _in_all_widths(picture: Image.Image) -> Renditions:
    whole, files = picture.size, {}
    widest = None
    for width in reversed(made_widths(whole[0])):
        picture = picture.resize((width, max(1, round(width * whole[1] / whole[0]))), Image.Resampling.LANCZOS)
        widest = widest or picture.size
        written = io.BytesIO()
        picture.save(written, "WEBP", quality=_QUALITY, method=4, exif=b"", icc_profile=b"", xmp=b"")
        files[width] = written.getvalue()
    assert widest is not None, "there is always a width"
    return Renditions(*widest, files)
