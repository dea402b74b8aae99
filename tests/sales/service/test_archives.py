import bz2
import io
import lzma
import tracemalloc
import zipfile
import zlib
from hashlib import sha256
from zlib import crc32

import pytest

from saleroom.kernel.errors import Invalid
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto
from saleroom.sales.service.files.archives import DIRECTORY_BYTES_MAX, PHOTOS, opened, sent_photos, unpacked

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


def read(data: bytes, files_max: int = 20) -> list[SentPhoto]:
    """Return the photos of an archive."""
    with opened(io.BytesIO(data), PHOTOS, BYTES_MAX, files_max) as archive:
        return sent_photos(archive, PHOTO_BYTES_MAX)


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
    assert [SentPhoto(PhotoName("12A", 2), "a/b/12A-2.jpg", sha256(b"x").hexdigest())] == read(archive)


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
            with opened(io.BytesIO(whole), PHOTOS, BYTES_MAX) as archive:
                [photo] = sent_photos(archive, PHOTO_BYTES_MAX)
                assert bytes(1_000) == unpacked(archive, photo)
        else:
            assert refusals(whole)[0].startswith("damaged_file: 1.jpg")
        assert UNPACKED / 4 > tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
