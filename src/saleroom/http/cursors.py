"""Cursors: where the next page of a list starts, encrypted, so that no reader learns the numbers of the house.

A place in a list consists of the database's own numbers, which also count secrets such as a raised maximum. So a cursor is
encrypted and authenticated with a key of the house, and all cursors have the same length.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec import Struct

from saleroom.http.secret import HouseSecret, Purpose
from saleroom.kernel.errors import Fault, Invalid

BLOCK_BYTES = 256
"""A place is padded to this length. Only on PostgreSQL, with about twenty simultaneous writers, it may need two blocks."""
NONCE_BYTES = 12
TEXT = r"[A-Za-z0-9_-]+"
BAD_CURSOR = Fault("cursor", "is not a cursor of this list; start again without one")


class CursorKind(Struct, frozen=True):
    """A kind of list, and the type of a place in it. A cursor of one kind is refused by every other."""

    name: str
    place: Any

    def within(self, asked: Mapping[str, object]) -> CursorKind:
        """Return the kind of the same list with this filter and order, by their names; the list itself without any."""
        if not asked:
            return self
        return CursorKind(f"{self.name} {sorted((name, str(value)) for name, value in asked.items())!r}", self.place)


class CursorText(Struct, frozen=True):
    """A cursor as a client sent it, for a kind of list."""

    of: CursorKind
    text: str

    def within(self, asked: Mapping[str, object]) -> CursorText:
        """Return the same text as a cursor of the list with this filter and order."""
        return CursorText(self.of.within(asked), self.text)


class Cursors:
    """Writes and reads the cursors of one house."""

    def __init__(self, secret: HouseSecret) -> None:
        self._secret = secret

    def place_in(self, query: Mapping[str, str], of: CursorKind, name: str = "cursor") -> Any:
        """Return the place that the query of a page names; None without one. Raises Invalid, DatabaseUnavailable."""
        text = query.get(name)
        if text is None:
            return None
        found = self.read(CursorText(of, text))
        if isinstance(found, Fault):
            raise Invalid({name: [found]})
        return found

    def next_page(self, of: CursorKind, place: Any | None) -> str | None:
        """Return the cursor of the page that starts at `place`, as `write` does; None if there is no further page."""
        return None if place is None else self.write(of, place)

    def write(self, of: CursorKind, place: Any) -> str:
        """Return a cursor, safe in an address. Raises DatabaseUnavailable while the secret is not known."""
        plain = _encode(place)
        nonce = secrets.token_bytes(NONCE_BYTES)
        padded = plain.ljust(-(-len(plain) // BLOCK_BYTES) * BLOCK_BYTES)
        return _text(nonce + self._cipher().encrypt(nonce, padded, of.name.encode()))

    def read(self, sent: CursorText) -> Any:
        """Return the place, or a Fault if the house has given no such cursor. Raises DatabaseUnavailable as `write` does."""
        cipher = self._cipher()
        try:
            raw = base64.b64decode(sent.text + "=" * (-len(sent.text) % 4), altchars=b"-_", validate=True)
            plain = cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], sent.of.name.encode())
            return msgspec.json.decode(plain, type=sent.of.place)
        except (binascii.Error, ValueError, InvalidTag):
            return BAD_CURSOR

    def _cipher(self) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(self._secret.key(Purpose.CURSORS))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


_encode = msgspec.json.Encoder().encode
