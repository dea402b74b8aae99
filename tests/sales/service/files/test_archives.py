import bz2
import io
import lzma
import random
import threading
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import BinaryIO, cast
from zlib import crc32

import pytest

from saleroom.confined import confinement as confining
from saleroom.confined.confinement import Confinement
from saleroom.kernel.errors import Invalid
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto
from saleroom.sales.service.files.archives import (
    DIRECTORY_BYTES_MAX,
    PHOTOS,
    PackedPhoto,
    opened,
    read_confined,
    sent_photos,
    unpacked,
)
from tests.decodings import decodings

BYTES_MAX, PHOTO_BYTES_MAX = 10_000, 1_000
UNPACKED = 16 * 2**20


def lying(method: int, data: bytes, size: int) -> bytes:
    """Return an archive of one photo that says that `data` unpacks to so many zeros."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("1.jpg", data)
    whole = bytearray(file.getvalue())
    for record, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        start = whole.rindex(record) + place
        whole[start : start + 2] = method.to_bytes(2, "little")
        whole[start + 6 : start + 10] = crc32(bytes(size)).to_bytes(4, "little")
        whole[start + 14 : start + 18] = size.to_bytes(4, "little")
    return bytes(whole)


def packed(files: dict[str, bytes]) -> bytes:
    """Return an archive of these files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def read(data: bytes, files_max: int = 20) -> list[PackedPhoto]:
    """Return the photos of an archive."""
    with opened(io.BytesIO(data), PHOTOS, BYTES_MAX, files_max) as archive:
        return sent_photos(archive, PHOTO_BYTES_MAX)


@contextmanager
def kept(data: bytes) -> Iterator[BinaryIO]:
    """Keep an archive in a file, as an upload is."""
    with TemporaryFile() as file:
        file.write(data)
        file.flush()
        yield cast("BinaryIO", file)


@pytest.fixture
def confinement() -> Iterator[Confinement]:
    """What starts processes with limits."""
    made = Confinement("archives")
    yield made
    made.close()


def refusals(data: bytes) -> list[str]:
    """Return the faults of an archive in words."""
    with pytest.raises(Invalid) as refused:
        read(data)
    return [f"{fault.code}: {fault.message}" for fault in refused.value.faults[PHOTOS]]


def test_photos_are_found_in_any_folder_and_files_of_systems_are_left_out() -> None:
    """Nested folders do not matter, nor do the files that macOS and Windows add."""
    archive = packed(
        {"a/b/12A-2.jpg": b"x", "__MACOSX/a/._12A-2.jpg": b"m", "a/.DS_Store": b"d", "Thumbs.db": b"t", "a/": b""}
    )
    assert [SentPhoto(PhotoName("12A", 2), "a/b/12A-2.jpg", sha256(b"x").hexdigest())] == [
        one.photo for one in read(archive)
    ]


def test_all_files_that_are_no_photos_are_named() -> None:
    """Each wrong file is named with the reason, all at once."""
    found = refusals(packed({"clock.jpg": b"", "2.jpg": b"x" * 1_001, "notes.txt": b"", "3.jpg": b"x"}))
    assert [one.partition(":")[0] for one in found] == ["photo_name", "file_too_large", "photo_name"]
    assert "clock.jpg" in found[0] and "2.jpg" in found[1]


def test_damaged_encrypted_and_empty_archives_are_refused() -> None:
    """An archive that cannot be unpacked is refused: as a whole, or by its files."""
    whole = packed({"1.jpg": b"hello hello hello"})
    damaged = bytearray(whole)
    damaged[40] ^= 0xFF
    assert refusals(bytes(damaged))[0].startswith("damaged_file: 1.jpg")
    encrypted = bytearray(whole)
    encrypted[whole.rindex(b"PK\1\2") + 8] |= 1
    assert refusals(bytes(encrypted))[0].startswith("encrypted_file: 1.jpg")
    assert refusals(whole[:-30])[0].startswith("not_an_archive")
    assert refusals(packed({"a/": b""}))[0].startswith("no_photos")


def test_what_an_archive_says_of_its_size_bounds_what_is_read() -> None:
    """Files that unpack to too much, too many files, and directories of 64 bits are refused before anything is unpacked."""
    assert refusals(packed({f"{n}.jpg": b"x" * 900 for n in range(1, 13)}))[0].startswith("unpacked_too_large")
    assert refusals(packed({f"{n}.jpg": b"x" for n in range(1, 22)}))[0].startswith("too_many_files")
    whole = packed({"1.jpg": b"x"})
    end = whole.rindex(b"PK\5\6")
    assert refusals(whole[:end] + b"PK\6\7" + bytes(16) + whole[end:])[0].startswith("too_many_files")
    for numbers_of_disks in (b"\0\0\0\0", b"PK\5\6"):  # nobody reads them
        large = bytearray(whole[:end] + bytes(DIRECTORY_BYTES_MAX) + whole[end:])
        large[-18:-14] = numbers_of_disks
        large[-10:-6] = (DIRECTORY_BYTES_MAX + 1).to_bytes(4, "little")
        assert refusals(bytes(large))[0].startswith("too_many_files")
    lying = bytearray(packed({"1.jpg": b"x" * 5_000}))
    place = lying.rindex(b"PK\1\2") + 24
    lying[place : place + 4] = (100).to_bytes(4, "little")
    assert refusals(bytes(lying))[0].startswith("damaged_file")


@pytest.mark.parametrize(
    ("method", "data"),
    [
        (zipfile.ZIP_BZIP2, bz2.compress(bytes(UNPACKED))),
        (zipfile.ZIP_LZMA, b"\x09\x04\x05\0]\0\0\x80\0" + lzma.compress(bytes(UNPACKED), lzma.FORMAT_ALONE)[13:]),
        (zipfile.ZIP_DEFLATED, zlib.compress(bytes(UNPACKED), 9)[2:-4]),
        (99, b"x"),
    ],
)
def test_a_file_that_unpacks_to_more_than_it_says_takes_no_memory(method: int, data: bytes) -> None:
    """What is held of it stays below what it says, however much it unpacks to; a method that cannot be bounded is refused."""
    whole = lying(method, data, 1_000)
    tracemalloc.start()
    try:
        if method == zipfile.ZIP_DEFLATED:
            with kept(whole) as file:
                assert [bytes(1_000)] == [unpacked(file, one) for one in read(whole)]
        else:
            assert refusals(whole)[0].startswith("damaged_file: 1.jpg")
        assert UNPACKED / 4 > tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_photos_are_unpacked_where_they_were_found(method: int) -> None:
    """Also behind what stands before an archive; a photo that is not there any more is refused."""
    photos = {f"{number}.jpg": random.Random(number).randbytes(number * 90) for number in range(1, 12)}
    made = io.BytesIO(b"a program that unpacks itself")
    made.seek(0, io.SEEK_END)
    with zipfile.ZipFile(made, "a", method) as archive:
        for name, data in photos.items():
            archive.writestr(name, data)
    whole = made.getvalue()
    found = read(whole)
    with kept(whole) as file:
        assert list(photos.values()) == [unpacked(file, one) for one in found]
    for other in (whole[: found[-1].at + 20], whole[: found[-1].at + 50], bytes(len(whole))):
        with kept(other) as file, pytest.raises(Invalid) as refused:
            unpacked(file, found[-1])
        assert ["damaged_file"] == [fault.code for fault in refused.value.faults[PHOTOS]]


@pytest.mark.usefixtures("confined_process")
async def test_an_archive_is_read_by_a_process_of_its_own(confinement: Confinement) -> None:
    """It finds what a reader in the house would, in a small file that is not on the disk yet, and refuses as that does."""
    whole = packed({"1.jpg": b"x" * 900, "a/2-1.jpg": b"y"})
    with SpooledTemporaryFile(10**6) as small:
        small.write(whole)
        assert read(whole) == await read_confined(confinement, cast("BinaryIO", small), PHOTO_BYTES_MAX)
    with kept(packed({"clock.jpg": b"", "2.jpg": b"x" * 1_001})) as file, pytest.raises(Invalid) as refused:
        await read_confined(confinement, file, PHOTO_BYTES_MAX)
    assert ["photo_name", "file_too_large"] == [fault.code for fault in refused.value.faults[PHOTOS]]
    assert 1_000 == refused.value.faults[PHOTOS][1].facts["most"]


@pytest.mark.usefixtures("confined_process")
async def test_the_answer_is_decoded_photo_by_photo_beside_the_loop(confinement: Confinement) -> None:
    """The event loop waits for one photo at most: each is decoded by itself, in the thread of the work on files."""
    whole = packed({f"{number}.jpg": b"x" for number in range(1, 201)})
    with kept(whole) as file, decodings() as decoded:
        assert 200 == len(await read_confined(confinement, file, PHOTO_BYTES_MAX))
    [(thread, count)] = decoded.items()
    assert thread != threading.current_thread().name
    assert 200 < count


@pytest.mark.usefixtures("confined_process")
@pytest.mark.parametrize(
    ("does", "code"),
    [("bytearray(2**32)", "archive_too_costly"), ("__import__('os').abort()", "not_an_archive")],
)
async def test_a_limit_is_named_with_its_remedy(
    confinement: Confinement, monkeypatch: pytest.MonkeyPatch, does: str, code: str
) -> None:
    """An archive that takes too much memory is refused as such, and a crash is the fault of its file."""
    start = "import sys; sys.path[:] = sys.argv[4:]; from saleroom.sales.service.files import archives"
    change = f"archives.read_to_send = lambda data: {does}"
    program = f"{start}\n{change}\nfrom saleroom.confined.program import main; main()"
    monkeypatch.setattr(confining, "START", program)
    with kept(packed({"1.jpg": b"x"})) as file, pytest.raises(Invalid) as refused:
        await read_confined(confinement, file, PHOTO_BYTES_MAX)
    assert [code] == [fault.code for fault in refused.value.faults[PHOTOS]]
