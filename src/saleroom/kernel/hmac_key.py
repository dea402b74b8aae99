"""HMAC with SHA-256 (RFC 2104) under one key, by two plain hashes."""

from __future__ import annotations

from hashlib import sha256

_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


class HmacKey:
    """A key for many short messages.

    It gives what `hmac.digest` gives, in half the time: OpenSSL looks its algorithm up for each message, which takes longer
    than to hash it, and a bid has two of them.
    """

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = (key if len(key) <= _BLOCK_BYTES else sha256(key).digest()).ljust(_BLOCK_BYTES, b"\0")
        self._inner, self._outer = block.translate(_INNER), block.translate(_OUTER)

    def digest(self, message: bytes) -> bytes:
        """Return the 32 bytes that authenticate `message`."""
        return sha256(self._outer + sha256(self._inner + message).digest()).digest()
