"""Sealing: values that only this house can read, kept in its own rows or by those whom it gives them to."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NONCE_BYTES = 12


class Sealing:
    """Seals values with one key of the house, by ChaCha20-Poly1305 (RFC 8439).

    `key` raises DatabaseUnavailable while the secret of the house is not known, and so do both methods.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    def seal(self, plain: bytes, about: str) -> bytes:
        """Return a sealed value, which opens only with the same `about`: so nobody can move it to another place."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + ChaCha20Poly1305(self._key()).encrypt(nonce, plain, about.encode())

    def open(self, sealed: bytes, about: str) -> bytes | None:
        """Return the value; None if this house has not sealed it for `about`, or its secret was replaced since."""
        try:
            return ChaCha20Poly1305(self._key()).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError):
            return None
