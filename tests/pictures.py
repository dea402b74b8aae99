"""Pictures as cameras, scanners, programs and attackers make them."""

import io
import struct
import zlib
from typing import Any

from PIL import Image, ImageCms, TiffImagePlugin

RED, GREEN, BLUE, WHITE = (254, 0, 0), (0, 255, 1), (0, 0, 254), (255, 255, 255)
"""Colours, which JPEG and WebP give back only approximately; `close` compares them."""
ORIENTATION, GPS, MAKER = 0x0112, 0x8825, 0x010F


def written(picture: Image.Image, kind: str = "JPEG", **options: Any) -> bytes:
    """Return the bytes of a file."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def plain(size: tuple[int, int] = (64, 48), mode: str = "RGB", colour: Any = RED, kind: str = "JPEG") -> bytes:
    """Return a file of one colour."""
    return written(Image.new(mode, size, colour), kind)


def quartered(size: tuple[int, int] = (640, 480)) -> Image.Image:
    """Return a picture that is red at the top left, green at the top right, blue at the bottom left, white at the other."""
    picture = Image.new("RGB", size, WHITE)
    half = (size[0] // 2, size[1] // 2)
    for colour, corner in ((RED, (0, 0)), (GREEN, (half[0], 0)), (BLUE, (0, half[1]))):
        picture.paste(Image.new("RGB", half, colour), corner)
    return picture


def corners(data: bytes) -> list[str]:
    """Return the colours of a quartered picture's corners: top left, top right, bottom left, bottom right."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    right, bottom = picture.width * 3 // 4, picture.height * 3 // 4
    left, top = picture.width // 4, picture.height // 4
    return [named(picture.getpixel(at)) for at in ((left, top), (right, top), (left, bottom), (right, bottom))]


def named(colour: Any) -> str:
    """Return the name of a colour that is close to one of ours."""
    names = {"red": RED, "green": GREEN, "blue": BLUE, "white": WHITE}
    return next((name for name, one in names.items() if close(one, colour)), str(colour))


def close(one: Any, other: Any, within: int = 12) -> bool:
    """Tell whether two colours look alike."""
    return all(abs(a - b) <= within for a, b in zip(one, other, strict=True))


def middle(data: bytes) -> Any:
    """Return the colour in the middle of a file's picture, as RGB."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    return picture.getpixel((picture.width // 2, picture.height // 2))


def turned(orientation: int, size: tuple[int, int] = (640, 480)) -> bytes:
    """Return a quartered picture as a camera held that way stores it, so that turned upright it is as `quartered`."""
    turn = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }.get(orientation)
    stored = quartered(size) if turn is None else quartered(size).transpose(turn)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return written(stored, exif=exif, quality=95)


def told_much(kind: str = "JPEG") -> bytes:
    """Return a picture that says who took it, where, and with what."""
    exif = Image.Exif()
    exif[MAKER] = "SECRETCAM"
    exif[GPS] = {1: "N", 2: tuple(TiffImagePlugin.IFDRational(n) for n in (48, 51, 30))}
    more: dict[str, Any] = {"xmp": b"<x:xmpmeta>SECRETPLACE</x:xmpmeta>"} if kind != "GIF" else {}
    if kind == "JPEG":
        more["comment"] = b"SECRETWORD"
    return written(quartered(), kind, exif=exif, **more)


def in_wide_gamut(colour: tuple[int, int, int]) -> bytes:
    """Return a picture whose numbers mean other colours than in sRGB: red and green have changed places in its profile."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = struct.unpack(">I", profile[128:132])[0]
    entries = {bytes(profile[132 + 12 * n : 136 + 12 * n]): 132 + 12 * n for n in range(count)}
    red, green = entries[b"rXYZ"], entries[b"gXYZ"]
    profile[red : red + 4], profile[green : green + 4] = b"gXYZ", b"rXYZ"
    return written(Image.new("RGB", (64, 64), colour), "PNG", icc_profile=bytes(profile))


def png_that_claims(width: int, height: int) -> bytes:
    """Return a PNG of some hundred bytes whose head claims any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )
