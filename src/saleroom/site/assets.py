"""The public files under `/assets/` (docs/pages.md, "Assets").

The public folder of each area is read once, at start, into one dictionary from address to answer. A request is a look-up
in it and never touches the file system, so no spelling of an address leads outside the folders.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Container, Iterator
from pathlib import Path

import brotli
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.entity_tags import is_known
from saleroom.http.problems import NotFound

PREFIX = "/assets/"
FOREVER = "public, max-age=31536000, immutable"
BRIEFLY = "public, max-age=60"
DIGEST_CHARACTERS = 16
COMPRESSED_AT_START_BYTES_MAX = 64 * 1024
"""Larger files are compressed when the package is built (`.br` and `.gz` beside them), so that the start does not wait."""

_SUFFIXES = {"br": ".br", "gzip": ".gz"}
_TEXT = ("text/", "application/json", "application/manifest+json", "image/svg+xml")
_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", re.IGNORECASE)
_QUALITY = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


class Representation(Struct, frozen=True):
    """A file's bytes in one content coding, with their own strong entity tag."""

    body: bytes
    etag: str


class Asset(Struct, frozen=True):
    """A file, with its representation in each content coding (`identity`, `br`, `gzip`)."""

    media_type: str
    cache_control: str
    representations: dict[str, Representation]


class Assets:
    """The files of the public `folders`, as they were when this was made."""

    def __init__(self, *folders: Path) -> None:
        self._found: dict[str, Asset] = {}
        self._urls: dict[str, str] = {}
        for folder in folders:
            for name, asset in _read(folder).items():
                self._add(name, asset)

    def add(self, file: Path, name: str) -> None:
        """Add a file by its path below the public folder."""
        self._add(name, _asset(file, name))

    def put(self, name: str, content: bytes) -> str:
        """Add what is made at the start, as if it were a file of that name; return its lasting address."""
        media_type = _media_type(name)
        self._add(name, Asset(media_type, FOREVER, _compressed({"identity": content}, media_type)))
        return self._urls[name]

    def _add(self, name: str, asset: Asset) -> None:
        """Add a file at its lasting address, and at its own name, where it may change."""
        assert name not in self._urls, f"two folders have a file {name}"
        hashed = _hashed_name(name, asset.representations["identity"])
        self._urls[name] = PREFIX + hashed
        self._found[name] = Asset(asset.media_type, BRIEFLY, asset.representations)
        self._found[hashed] = asset

    def url(self, name: str) -> str:
        """Return the lasting address of `name`, a path below its folder. Raises KeyError if there is no such file."""
        return self._urls[name]

    async def answer(self, request: Request) -> Response:
        """Answer GET and HEAD for the path parameter `file`. Raises NotFound."""
        name = request.path_params["file"]
        asset = self._found.get(name)
        # The router's pattern ignores a line feed at the end of a path.
        if asset is None or not request.scope["path"].endswith(name):
            raise NotFound
        coding = choose_coding(",".join(request.headers.getlist("accept-encoding")), asset.representations)
        chosen = asset.representations[coding]
        headers = {"ETag": chosen.etag, "Cache-Control": asset.cache_control, "Vary": "Accept-Encoding"}
        if is_known(request.scope, chosen.etag):
            return Response(status_code=304, headers=headers)
        headers |= {"Content-Type": asset.media_type, "Accept-Ranges": "bytes"}
        if coding != "identity":
            headers["Content-Encoding"] = coding
        size = len(chosen.body)
        if request.method == "HEAD":
            return Response(headers=headers | {"Content-Length": str(size)})
        part = _part(request, chosen)
        if part is None:
            return Response(chosen.body, headers=headers)
        if part.start >= size:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
        return Response(chosen.body[part.start : part.stop], 206, headers)


def choose_coding(accepted: str, available: Container[str]) -> str:
    """Return the best of the `available` content codings for the header Accept-Encoding (RFC 9110, 12.5.3).

    Of equals: br, gzip, identity. Identity is the fallback, also for a client that refuses everything.
    """
    qualities: dict[str, float] = {}
    for item in accepted.split(","):
        coding, _, parameter = (part.strip() for part in item.partition(";"))
        weight = _QUALITY.fullmatch(parameter)
        if coding and (weight or not parameter):
            qualities[coding.lower()] = float(weight[1]) if weight else 1.0
    rest = qualities.get("*", 0.0)
    # Identity is always acceptable, but a client that lists codings prefers one of them.
    quality = {"br": qualities.get("br", rest), "gzip": qualities.get("gzip", rest)}
    quality["identity"] = qualities.get("identity", 0.0005)
    best = max((coding for coding in quality if coding in available), key=lambda coding: quality[coding])
    return best if quality[best] > 0 else "identity"


def _files(folder: Path) -> Iterator[Path]:
    """Yield every public file: no symbolic link, nothing hidden, no compressed twin of another file.

    An area may have no public files, and then a clone of this repository has no folder for them.
    """
    for entry in sorted(folder.iterdir()) if folder.exists() else ():
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.is_file() and not (entry.suffix in _SUFFIXES.values() and entry.with_suffix("").exists()):
            yield entry


def _media_type(name: str) -> str:
    # The machine's own table, which `mimetypes` reads, may have an old type for scripts or none.
    known = {
        ".js": "text/javascript",
        ".css": "text/css",
        ".svg": "image/svg+xml",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
    }
    found = known.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{found}; charset=utf-8" if found.startswith(_TEXT) else found


def _read(folder: Path) -> dict[str, Asset]:
    """Return the public files of a folder by their paths below it."""
    names = {file.relative_to(folder).as_posix(): file for file in _files(folder)}
    return {name: _asset(file, name) for name, file in names.items()}


def _asset(file: Path, name: str) -> Asset:
    media_type = _media_type(name)
    bodies = {"identity": file.read_bytes()}
    for coding, suffix in _SUFFIXES.items():
        twin = file.with_name(file.name + suffix)
        if twin.is_file() and not twin.is_symlink():
            bodies[coding] = twin.read_bytes()
    return Asset(media_type, FOREVER, _compressed(bodies, media_type))


def _compressed(bodies: dict[str, bytes], media_type: str) -> dict[str, Representation]:
    """Return a small text in all content codings, anything else in those that there are."""
    plain = bodies["identity"]
    for coding in _SUFFIXES:
        if coding not in bodies and media_type.startswith(_TEXT) and len(plain) <= COMPRESSED_AT_START_BYTES_MAX:
            bodies[coding] = brotli.compress(plain) if coding == "br" else gzip.compress(plain, mtime=0)
    return {
        coding: Representation(body, f'"{hashlib.sha256(body).hexdigest()[:DIGEST_CHARACTERS]}"')
        for coding, body in bodies.items()
        if coding == "identity" or len(body) < len(plain)
    }


def _hashed_name(name: str, identity: Representation) -> str:
    folder, slash, file = name.rpartition("/")
    digest = identity.etag.strip('"')
    return f"{folder}{slash}{digest}-{file}"


def _part(request: Request, chosen: Representation) -> range | None:
    """Return the requested range, perhaps beyond the end, or None for the whole file.

    Several ranges, a malformed one, or an If-Range with another tag get the whole file, as RFC 9110, 14.2 allows.
    """
    wanted = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if wanted is None or request.headers.get("if-range", chosen.etag).strip() != chosen.etag:
        return None
    size = len(chosen.body)
    first, last, from_end = wanted.groups()
    start = max(size - int(from_end), 0) if from_end else int(first)
    stop = min(int(last) + 1, size) if last else size
    return None if first and last and int(last) < int(first) else range(start, stop)
