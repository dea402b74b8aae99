"""Archives (ZIP) of strangers: how many files, and how many bytes, they may unpack to, before any of them is unpacked."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto, is_of_the_system, photo_name

PHOTOS = "photos"
"""The field of a form with the archive of photos."""
FILES_MAX = 20_000
DIRECTORY_BYTES_MAX = 4 * 2**20
PIECE_BYTES = 1 << 16
FAULTS_MAX = 100
_END = struct.Struct("<4s4xHHLLH")
"""The end record of an archive: signature, numbers of files, size and place of the directory (APPNOTE, 4.3.16)."""
_END_SIGNATURE, _END64_SIGNATURE = b"PK\5\6", b"PK\6\7"
_END64_BYTES = 20
_COMMENT_BYTES_MAX = 2**16
_ENCRYPTED = 1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Of files that are packed otherwise, zipfile unpacks all of a piece at once: gigabytes from a few bytes."""
_DAMAGED = Fault("damaged_file", "is damaged, or packed in a way that cannot be unpacked here")


@contextmanager
def opened(file: BinaryIO, field: str, bytes_max: int, files_max: int = FILES_MAX) -> Iterator[zipfile.ZipFile]:
    """Open an archive that unpacks to at most `bytes_max` bytes. Raises Invalid, field `field`."""
    if _directory_bytes(file) > DIRECTORY_BYTES_MAX:
        raise Invalid({field: [Fault("too_many_files", f"must have at most {files_max} files", most=files_max)]})
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise Invalid.one(field, "not_an_archive", "is no ZIP archive, or is broken off or damaged") from error
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


def sent_photos(archive: zipfile.ZipFile, photo_bytes_max: int) -> list[SentPhoto]:
    """Return the photos of an archive by their places, each with its digest. Raises Invalid with the faults of all files."""
    faults: list[Fault] = []
    found = []
    for info in archive.infolist():
        if info.is_dir() or is_of_the_system(info.filename):
            continue
        name = _named(info, photo_bytes_max)
        digest = digest_of(archive, info) if isinstance(name, PhotoName) else name
        if isinstance(digest, Fault):
            faults.append(_about(info.filename, digest))
        elif isinstance(name, PhotoName):
            found.append(SentPhoto(name, info.filename, digest))
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


def unpacked(archive: zipfile.ZipFile, photo: SentPhoto) -> bytes:
    """Return a photo of an archive, whose file `sent_photos` has read.

    Without the number of bytes, zipfile would unpack two gigabytes before it cuts them to the size that the directory says.
    """
    info = archive.getinfo(photo.path)
    with archive.open(info) as file:
        return file.read(info.file_size)


def named(path: str, fault: Fault) -> Fault:
    """Return the fault of a file with its path."""
    return _about(path, fault)


def _named(info: zipfile.ZipInfo, photo_bytes_max: int) -> PhotoName | Fault:
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


def _about(path: str, fault: Fault) -> Fault:
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
