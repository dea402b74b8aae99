"""The sources of a ledger and of keys: a file, or an address, which `http.py` reads."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from saleroom.bidding.domain.signatures import Keys
from saleroom.tools.amounts import KEYS_PATH
from saleroom.tools.arguments import AuctionAddress, find_auction, split
from saleroom.tools.errors import ToolError, WrongUsage
from saleroom.tools.http_client import SMALL_BYTES_MAX

FORM = "write http://host:port/... or https://host/..."


def is_url(text: str) -> bool:
    """Return whether `text` looks like a URL."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def auction_address(url: str) -> AuctionAddress:
    """Return the auction that a URL names: of its page, of the API, or of its ledger. Raises WrongUsage."""
    found = find_auction(split(url, FORM))
    if found is None:
        raise WrongUsage("this is no address of an auction: write https://host/auctions/GID, or that of its page")
    return found


def small_file(file: str) -> bytes:
    """Return the content of a small file. Raises ToolError."""
    try:
        with Path(file).open("rb") as stream:
            raw = stream.read(SMALL_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise ToolError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > SMALL_BYTES_MAX:
        raise ToolError(f"cannot read {file}: it is larger than any key or receipt")
    return raw


def keys_of(raw: bytes, where: str) -> Keys:
    """Return the keys in the JSON of /.well-known/saleroom.json. Raises ToolError."""
    try:
        keys = msgspec.json.decode(raw, type=Keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ToolError(f"{where} has no keys: it should be what a house serves at {KEYS_PATH}") from None
    return keys
