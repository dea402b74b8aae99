"""Where a ledger and keys come from: a file, or an address; what is at an address, `http.py` reads."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from saleroom.tools.verify.receipts import Keys

SMALL_BYTES_MAX = 1024 * 1024
"""The longest answer that is no ledger, and the longest file with keys or a receipt."""
KEYS_PATH = "/.well-known/saleroom.json"
_AUCTION = re.compile(r"(?P<base>.*)/(?:auctions|lots)/(?P<gid>[A-Za-z0-9_-]{1,64})(?:/ledger|/bids|/screen)?/?")


class CannotRead(Exception):
    """What was to be read cannot be; the message says why and what would help."""


class WrongUsage(Exception):
    """What was given cannot be used."""


class Lot(Struct, frozen=True):
    """An auction in a house on the web: `base` is the house's address."""

    base: str
    gid: str


def is_url(text: str) -> bool:
    """Return whether `text` is meant as an address."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def lot(url: str) -> Lot:
    """Return what an auction's address names: that of its page, of the API, or of its ledger. Raises WrongUsage."""
    parts = split(url)
    match = _AUCTION.fullmatch(parts.path)
    if match is None:
        raise WrongUsage("this is no address of an auction: write https://host/auctions/GID, or that of its page")
    return Lot(f"{parts.scheme}://{parts.netloc}{match['base']}", match["gid"])


def split(url: str) -> SplitResult:
    """Take an address apart. Raises WrongUsage, which never repeats an account."""
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise WrongUsage(
            "the address has no valid host and port; write http://host:port/... or https://host/..."
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise WrongUsage("this is no address of a house; write http://host:port/... or https://host/...")
    if parts.username is not None:
        raise WrongUsage("leave user and password out of the address: a house takes neither")
    return parts


def small_file(file: str) -> bytes:
    """Return what is in a small file. Raises CannotRead."""
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(SMALL_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise CannotRead(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > SMALL_BYTES_MAX:
        raise CannotRead(f"cannot read {file}: it is larger than any key or receipt")
    return raw


def keys_of(raw: bytes, where: str) -> Keys:
    """Return the keys in `raw`: what /.well-known/saleroom.json says, or one JSON Web Key. Raises CannotRead."""
    try:
        keys = msgspec.json.decode(raw, type=Keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CannotRead(f"{where} has no keys: it should be what a house says at {KEYS_PATH}") from None
    return keys
