"""Small pictures that are made to cost a decoder much time or memory."""

import struct
import zlib
from collections.abc import Callable

from PIL import Image

from tests.pictures import plain, png_that_claims, quartered, written


def segment(marker: int, data: bytes) -> bytes:
    """Return a part of a JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def jpeg_of_scans(count: int, side: int = 7_000) -> bytes:
    """Return a grey, blank progressive JPEG that passes so many times over its picture."""
    blocks = (-(-side // 8)) ** 2
    runs = -(-blocks // 32_767)
    # A code of one bit says that nothing is in the next 2**14 blocks and as many more as 14 bits tell.
    bits = ("0" + "1" * 14) * runs
    packed = int(bits.ljust(-(-len(bits) // 8) * 8, "1"), 2).to_bytes(-(-len(bits) // 8)).replace(b"\xff", b"\xff\0")
    scan = segment(0xDA, bytes([1, 1, 0, 1, 63, 0])) + packed
    return b"".join(
        [
            b"\xff\xd8",
            segment(0xDB, bytes([0] + [1] * 64)),
            segment(0xC2, struct.pack(">BHHBBBB", 8, side, side, 1, 1, 0x11, 0)),
            segment(0xC4, bytes([0x10, 1] + [0] * 15 + [0xE0])),
            scan * count,
            b"\xff\xd9",
        ]
    )


def jpeg_that_claims(width: int, height: int, *more: bytes) -> bytes:
    """Return a JPEG that is only a head."""
    frame = segment(0xC0, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0))
    return b"\xff\xd8" + segment(0xDB, bytes([0] + [1] * 64)) + frame + b"".join(more)


def jpeg_of_full_tables() -> bytes:
    """Return a JPEG whose table of codes has more codes than there can be."""
    return jpeg_that_claims(64, 64, segment(0xC4, bytes([0] + [255] * 16) + bytes(255)))


def jpeg_of_restarts() -> bytes:
    """Return a JPEG of 60 million pixels that is only restarts and a height that comes late."""
    scan = segment(0xDA, bytes([1, 1, 0, 0, 63, 0]))
    tables = segment(0xC4, bytes([0, 1] + [0] * 15 + [0])) + segment(0xC4, bytes([16, 1] + [0] * 15 + [0]))
    restarts = b"".join(bytes([0xFF, 0xD0 + n % 8]) for n in range(100_000))
    late = segment(0xDC, struct.pack(">H", 7_700))
    return jpeg_that_claims(7_700, 7_700, segment(0xDD, b"\0\1"), tables, scan, restarts, late, b"\xff\xd9")


def avif_that_lies(side: int = 4_096) -> bytes:
    """Return an AVIF of `side` by `side` pixels whose head says 64 by 64."""
    data = written(Image.new("RGB", (side, side), (254, 0, 0)), "AVIF", speed=10, quality=10)
    size_box = b"ispe" + bytes(4) + struct.pack(">II", side, side)
    assert size_box in data
    return data.replace(size_box, b"ispe" + bytes(4) + struct.pack(">II", 64, 64))


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_zeros(count: int = 200_000_000) -> bytes:
    """Return `count` zero bytes, packed as zlib packs them. A million of them are packed once, and repeated."""
    million = bytes(1_000_000)
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(million) + packer.flush(zlib.Z_FULL_FLUSH)
    times, left = divmod(count, len(million))
    rest = packer.compress(million[:left]) + packer.flush()
    checksum = (count % 65_521) << 16 | 1  # Adler-32 of zeros
    return b"\x78\xda" + packed * times + rest + struct.pack(">I", checksum)


PASSES = ((8, 8, 0, 0), (8, 8, 4, 0), (4, 8, 0, 4), (4, 4, 2, 0), (2, 4, 0, 2), (2, 2, 1, 0), (1, 2, 0, 1))
"""How far apart the pixels of each pass of an interlaced PNG are, across and down, and where the first one is."""


def png(size: tuple[int, int], *more: bytes, interlaced: bool = False, bits: int = 8) -> bytes:
    """Return a blank PNG with opacity, and with more chunks before its pixels."""
    width, height = size
    count = 0
    for across, down, left, top in PASSES if interlaced else ((1, 1, 0, 0),):
        row = 1 + -(-(width - left) // across) * 4 * bits // 8
        count += row * -(-(height - top) // down)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 6, 0, 0, int(interlaced)))
    pixels = chunk(b"IDAT", packed_zeros(count))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + pixels + chunk(b"IEND", b"")


def moving_gif(frames: int) -> bytes:
    """Return a GIF of so many frames."""
    data = plain(kind="GIF")
    start = data.index(b"\x2c\0\0\0\0")
    return data[:start] + data[start:-1] * frames + b";"


def moving_png(frames: int) -> bytes:
    """Return a PNG of so many frames."""
    control = struct.pack(">IIIIHHBB", 64, 48, 0, 0, 1, 10, 0, 0)
    pixels = zlib.compress(bytes((1 + 64 * 4) * 48))
    later = [
        chunk(b"fcTL", struct.pack(">I", 2 * n + 1) + control) + chunk(b"fdAT", struct.pack(">I", 2 * n + 2) + pixels)
        for n in range(frames - 1)
    ]
    first = chunk(b"acTL", struct.pack(">II", frames, 0)) + chunk(b"fcTL", bytes(4) + control)
    data = png((64, 48), first)
    return data[:-12] + b"".join(later) + data[-12:]


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a WebP of these chunks."""
    body = b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def three(number: int) -> bytes:
    """Return a number in three bytes."""
    return number.to_bytes(3, "little")


def moving_webp(frames: int) -> bytes:
    """Return a WebP of so many frames."""
    frame = three(0) * 2 + three(63) + three(47) + three(10) + b"\0" + plain((64, 48), kind="WEBP")[12:]
    head = (b"VP8X", b"\x02\0\0\0" + three(63) + three(47))
    return riff(head, (b"ANIM", bytes(6)), *[(b"ANMF", frame)] * frames)


def webp_that_claims(side: int) -> bytes:
    """Return a WebP with a canvas of this size around a small picture."""
    return riff((b"VP8X", bytes(4) + three(side - 1) * 2), (b"VP8 ", plain(kind="WEBP")[20:]))


def lossless_that_claims(side: int) -> bytes:
    """Return a lossless WebP that claims this size, and ends."""
    return riff((b"VP8L", b"\x2f" + struct.pack("<I", (side - 1) | (side - 1) << 14) + bytes(64)))


def exif_in_circles() -> bytes:
    """Return a JPEG whose EXIF has as many entries as can be told, and leads back to itself."""
    entries = struct.pack(">HHII", 0x8769, 4, 1, 8) * 4_000
    exif = b"Exif\0\0MM\0*" + struct.pack(">I", 8) + struct.pack(">H", 65_535) + entries
    return plain()[:2] + segment(0xE1, exif) + plain()[2:]


def profile_of_many() -> bytes:
    """Return a PNG whose colour profile says that it has four thousand million entries."""
    profile = written(Image.new("RGB", (64, 64)), "PNG", icc_profile=bytes(128) + b"\xff" * 4 + bytes(60_000))
    assert b"iCCP" in profile
    return profile


def several_in_one(count: int) -> bytes:
    """Return a JPEG with so many more after it."""
    others = [Image.new("RGB", (64, 64), (n % 255, 0, 0)) for n in range(count)]
    return written(Image.new("RGB", (64, 64), (254, 0, 0)), "MPO", save_all=True, append_images=others)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a JPEG of 9,000 scans": (lambda: jpeg_of_scans(9_000), "image_too_costly"),
    "a JPEG of 64 scans": (lambda: jpeg_of_scans(64), "made"),
    "a JPEG of one scan too many": (lambda: jpeg_of_scans(65, 640), "image_too_costly"),
    "a JPEG of one scan too many behind its end": (lambda: jpeg_of_scans(64, 640) + jpeg_of_scans(65, 640), "made"),
    "a JPEG of scans in a comment": (
        lambda: written(quartered()).replace(b"\xff\xd8", b"\xff\xd8" + segment(0xFE, b"\xff\xda\0\0" * 999), 1),
        "made",
    ),
    "a JPEG of scans, too large for several": (lambda: jpeg_of_scans(2, 7_700), "image_too_large"),
    "a JPEG that says 65,535 by 65,535": (lambda: jpeg_that_claims(65_535, 65_535), "image_too_large"),
    "a JPEG that says it and goes on": (
        lambda: jpeg_that_claims(65_535, 65_535, segment(0xDA, bytes([1, 1, 0, 0, 63, 0])), b"\xff\xd9"),
        "image_too_large",
    ),
    "a JPEG of too many codes": (jpeg_of_full_tables, "image_truncated"),
    "a JPEG of restarts": (jpeg_of_restarts, "made"),
    "a JPEG of fifty others": (lambda: several_in_one(50), "made"),
    "an EXIF in circles": (exif_in_circles, "made"),
    "an AVIF that lies": (avif_that_lies, "made"),
    "a GIF of 10,000 frames": (lambda: moving_gif(10_000), "made"),
    "a PNG of 10,000 frames": (lambda: moving_png(10_000), "made"),
    "a WebP of 10,000 frames": (lambda: moving_webp(10_000), "made"),
    "a PNG whose text unpacks": (lambda: png((64, 64), chunk(b"zTXt", b"x\0\0" + packed_zeros())), "image_truncated"),
    "a PNG of such texts": (
        lambda: png((64, 64), *[chunk(b"iTXt", b"x\0\1\0\0\0" + zlib.compress(bytes(1_000_000), 9))] * 200),
        "image_truncated",
    ),
    "a PNG whose profile unpacks": (
        lambda: png((64, 64), chunk(b"iCCP", b"x\0\0" + packed_zeros())),
        "image_truncated",
    ),
    "a profile of many entries": (profile_of_many, "made"),
    "an interlaced PNG of 60 million pixels": (lambda: png((10_000, 6_000), interlaced=True), "made"),
    "a PNG of 60 million of 16 bits": (lambda: png((10_000, 6_000), bits=16), "made"),
    "a PNG that says 900 million": (lambda: png_that_claims(30_000, 30_000), "image_too_large"),
    "a WebP of a large canvas": (lambda: webp_that_claims(16_384), "image_too_large"),
    "a WebP of a canvas within the limit": (lambda: webp_that_claims(5_000), "image_truncated"),
    "a lossless WebP that says 16,384": (lambda: lossless_that_claims(16_384), "image_too_large"),
    "a lossless WebP that says 5,000": (lambda: lossless_that_claims(5_000), "image_truncated"),
    "a GIF that is a page": (lambda: moving_gif(1) + b"<script>alert(1)</script>", "made"),
    "a JPEG that is a document": (lambda: written(quartered()) + b"%PDF-1.7", "made"),
}
"""Each picture with its result: `made`, or the code of its fault."""
