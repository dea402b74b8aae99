"""Arguments that several tools take: the address of a house or a broker, and a secret in a file."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from saleroom.kernel.identifiers import GID
from saleroom.tools.errors import WrongUsage

_AUCTION = re.compile(rf"(?P<base>.*)/(?:auctions|lots)/(?P<gid>{GID.pattern})(?:/[a-z]+)?/?")
_SALE = re.compile(rf"(?P<base>.*)/(?:sales|catalogues)/(?P<gid>{GID.pattern})(?:/[a-z]+)?/?")
_SECRET_CHARACTERS_MAX = 65_536


class AuctionAddress(Struct, frozen=True):
    """The address of an auction or of a sale; `base` is the address of its house."""

    base: str
    gid: str


def split(url: str, form: str, schemes: Collection[str] = ("http", "https")) -> SplitResult:
    """Split an address; `form` says how one is written. Raises WrongUsage, which never quotes an account."""
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise WrongUsage(f"the address has no valid host and port; {form}") from None
    if parts.scheme not in schemes or not parts.hostname or port == 0:
        raise WrongUsage(f"this is no address of {'a house' if len(schemes) == 2 else 'a house or a broker'}; {form}")
    if parts.username is not None and parts.scheme.startswith("http"):
        raise WrongUsage("leave user and password out of the address: a house takes neither")
    return parts


def bare(parts: SplitResult) -> str:
    """Return an address without an account, a query, a fragment, and a slash at the end."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def find_auction(parts: SplitResult) -> AuctionAddress | None:
    """Return the auction that an address names: of its page as a browser shows it, or of the API. None if it names none."""
    match = _AUCTION.fullmatch(parts.path)
    return None if match is None else AuctionAddress(f"{parts.scheme}://{parts.netloc}{match['base']}", match["gid"])


def find_sale(parts: SplitResult) -> AuctionAddress | None:
    """Return the sale of many lots that an address names, as `find_auction` does."""
    match = _SALE.fullmatch(parts.path)
    return None if match is None else AuctionAddress(f"{parts.scheme}://{parts.netloc}{match['base']}", match["gid"])


def first_line(file: str, name: str) -> str:
    """Return the secret in the first line of a file. Raises WrongUsage, with the secret's `name`."""
    try:
        with Path(file).open(encoding="utf-8") as opened:  # a terminal or a pipe too
            lines = opened.readline(_SECRET_CHARACTERS_MAX).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise WrongUsage(f"cannot read the {name} in {file}: {reason}") from None
    if not lines or not lines[0].strip():
        raise WrongUsage(f"there is no {name} in the first line of {file}")
    return lines[0]
