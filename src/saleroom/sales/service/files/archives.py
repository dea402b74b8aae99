"""Archives (ZIP) of strangers: how many files, and how many bytes, they may unpack to, before any of them is unpacked.

A process with limits reads an archive, and says where in it each photo is. The house unpacks one photo after the other.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec
from msgspec import Struct

from saleroom.confined.confinement import Confinement, Crash, TooCostly, Work, one_by_one, whole
from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto, is_of_the_system, photo_name

PHOTOS = "photos"
"""The field of a form with the archive of photos."""
BYTES_MAX = 512 * 2**20
"""The largest archive of photos, and the most that it may unpack to: pictures hardly shrink."""
WORK = Work(f"{__name__}:read_to_send", cpu_seconds=60, memory_bytes=256 * 2**20, seconds=180)
FILES_MAX = 20_000
DIRECTORY_BYTES_MAX = 4 * 2**20
PIECE_BYTES = 1 << 16
FAULTS_MAX = 100
_LOCAL = struct.Struct("<26xHH")
"""The record before a file: the lengths of its name and of what follows that (APPNOTE, 4.3.7)."""
_END = struct.Struct("<4s4xHHLLH")
"""The end record of an archive: signature, numbers of files, size and place of the directory (APPNOTE, 4.3.16)."""
_END_SIGNATURE, _END64_SIGNATURE = b"PK\5\6", b"PK\6\7"
_END64_BYTES = 20
_COMMENT_BYTES_MAX = 2**16
_ENCRYPTED = 1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Of files that are packed otherwise, zipfile unpacks all of a piece at once: gigabytes from a few bytes."""
_NOT_AN_ARCHIVE = Fault("not_an_archive", "is no ZIP archive, or is broken off or damaged")
_TOO_COSTLY = Fault(
    "archive_too_costly",
    f"takes more than {WORK.cpu_seconds} s or {WORK.memory_bytes // 2**20} MB to read; send the photos in several archives",
)
_DAMAGED = Fault("damaged_file", "is damaged, or packed in a way that cannot be unpacked here")


class PackedPhoto(Struct, frozen=True):
    """A photo in an archive: the place of its record there, its bytes as they are packed, and its size as it is unpacked."""

    photo: SentPhoto
    at: int
    packed_bytes: int
    size: int
    is_deflated: bool


class _ArchiveQuestion(Struct, frozen=True):
    """What the process that reads an archive is told: the number by which it is open, and the largest photo."""

    file: int
    photo_bytes_max: int


_LIST, _PHOTOS = whole(list[msgspec.Raw]), one_by_one(PackedPhoto)


async def read_confined(confinement: Confinement, file: BinaryIO, photo_bytes_max: int) -> list[PackedPhoto]:
    """Return the photos of an archive, from a process with limits.

    Raises Invalid, field `photos`, or Busy if the house closes.
    """
    asked = _ArchiveQuestion(file.fileno(), photo_bytes_max)
    file.flush()  # a small file is put on the disk by the look at its number
    try:
        return await confinement.do(WORK, msgspec.msgpack.encode(asked), _received, asked.file)
    except TooCostly:
        raise Invalid({PHOTOS: [_TOO_COSTLY]}) from None
    except Crash:
        raise Invalid({PHOTOS: [_NOT_AN_ARCHIVE]}) from None


def _received(made: bytes) -> list[PackedPhoto]:
    return _PHOTOS(_LIST(made))


def read_to_send(data: bytes) -> list[PackedPhoto]:
    """Return the photos of the archive that is open. The process that reads calls it."""
    asked = msgspec.msgpack.decode(data, type=_ArchiveQuestion)
    with os.fdopen(asked.file, "rb", closefd=False) as file, opened(file, PHOTOS, BYTES_MAX) as archive:
        return sent_photos(archive, asked.photo_bytes_max)


@contextmanager
def opened(file: BinaryIO, field: str, bytes_max: int, files_max: int = FILES_MAX) -> Iterator[zipfile.ZipFile]:
    """Open an archive that unpacks to at most `bytes_max` bytes. Raises Invalid, field `field`."""
    if _directory_bytes(file) > DIRECTORY_BYTES_MAX:
        raise Invalid({field: [Fault("too_many_files", f"must have at most {files_max} files", most=files_max)]})
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise Invalid({field: [_NOT_AN_ARCHIVE]}) from error
    with archive:
        files = archive.infolist()
        if len(files) > files_max:
            raise Invalid({field: [Fault("too_many_files", f"must have at most {files_max} files", most=files_max)]})
        # Reading never goes beyond the size that the directory says.
        if sum(one.file_size for one in files) > bytes_max:
            raise Invalid(
                {field: [Fault("unpacked_too_large", f"must unpack to at most {bytes_max} bytes", most=bytes_max)]}
            )
        yield archive


def sent_photos(archive: zipfile.ZipFile, photo_bytes_max: int) -> list[PackedPhoto]:
    """Return the photos of an archive by their places, each with its digest. Raises Invalid with the faults of all files."""
    faults: list[Fault] = []
    found = []
    for info in archive.infolist():
        if info.is_dir() or is_of_the_system(info.filename):
            continue
        name = _photo_name(info, photo_bytes_max)
        digest = digest_of(archive, info) if isinstance(name, PhotoName) else name
        if isinstance(digest, Fault):
            faults.append(named(info.filename, digest))
        elif isinstance(name, PhotoName):
            photo, is_deflated = SentPhoto(name, info.filename, digest), info.compress_type == zipfile.ZIP_DEFLATED
            found.append(PackedPhoto(photo, info.header_offset, info.compress_size, info.file_size, is_deflated))
    refuse(faults)
    if not found:
        raise Invalid.one(PHOTOS, "no_photos", "has no photos; name them by their lots, such as 12A-2.jpg")
    return found


def refuse(faults: list[Fault]) -> None:
    """Raise Invalid, field `photos`, if there are faults; the first ones are named, and the others counted."""
    if faults:
        more = len(faults) - FAULTS_MAX
        rest = [Fault("more_faults", f"and {more} more files are wrong", more=more)] if more > 0 else []
        raise Invalid({PHOTOS: [*faults[:FAULTS_MAX], *rest]})


def digest_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str | Fault:
    """Return the SHA-256 of a file of an archive, read piece by piece, or its fault."""
    digest = hashlib.sha256()
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
    except Exception:  # noqa: BLE001  # damaged files raise errors of zipfile, of zlib, lzma and bz2, and more
        return _DAMAGED
    return digest.hexdigest()


def unpacked(file: BinaryIO, one: PackedPhoto) -> bytes:
    """Return a photo of an archive. Raises Invalid, field `photos`, if it is not the one that was read before."""
    packed_bytes_max = one.size + one.size // 1000 + 1024  # no photo takes more, whatever the directory says
    try:
        name_bytes, more_bytes = _LOCAL.unpack(os.pread(file.fileno(), _LOCAL.size, one.at))
        begins = one.at + _LOCAL.size + name_bytes + more_bytes
        data = os.pread(file.fileno(), min(one.packed_bytes, packed_bytes_max), begins)
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, one.size) if one.is_deflated else data
    except (struct.error, zlib.error):
        data = b""
    if hashlib.sha256(data).hexdigest() != one.photo.digest:
        raise Invalid({PHOTOS: [_DAMAGED]})
    return data


def _photo_name(info: zipfile.ZipInfo, photo_bytes_max: int) -> PhotoName | Fault:
    name = photo_name(info.filename)
    if isinstance(name, Fault):
        return name
    if info.flag_bits & _ENCRYPTED:
        return Fault("encrypted_file", "must not be encrypted")
    if info.compress_type not in _METHODS:
        return _DAMAGED
    if info.file_size > photo_bytes_max:
        return Fault("file_too_large", f"must have at most {photo_bytes_max} bytes", most=photo_bytes_max)
    return name


def named(path: str, fault: Fault) -> Fault:
    """Return the fault of a file with its path."""
    return Fault(fault.code, f"{path[-80:]}: {fault.message}", path=path[-80:], **fault.facts)


def _directory_bytes(file: BinaryIO) -> int:
    """Return the size of an archive's directory, which zipfile would read at once; more than is allowed if it has 64 bits."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _COMMENT_BYTES_MAX - _END.size - _END64_BYTES))
    tail = file.read()
    file.seek(0)
    # zipfile takes the last whole record. A signature behind its beginning, such as in a field that nobody reads, is none.
    place = tail.rfind(_END_SIGNATURE, 0, max(0, len(tail) - _END.size + len(_END_SIGNATURE)))
    if place < 0:
        return 0  # no archive: zipfile says so
    if _END64_SIGNATURE in tail[max(0, place - _END64_BYTES) : place]:
        return DIRECTORY_BYTES_MAX + 1
    return int(_END.unpack_from(tail, place)[3])
