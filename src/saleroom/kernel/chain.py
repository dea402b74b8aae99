"""Hash chains, which make changes to a ledger visible (docs/ledger.md)."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.kernel.hmac_key import HmacKey

SEED_BYTES = 32
PSEUDONYMS = "p"
"""How the seed of a ledger that hashes pseudonyms begins. The seed of an older ledger, which hashes names, has digits alone."""
ZERO = "0" * 64
"""The hash before the first link."""


class Chain(Struct, frozen=True):
    """The end of an auction's ledger.

    `head` is the hash of its last public event, `hidden` that of the hidden events since: 64 hexadecimal digits each. The
    salts of events and names are derived from `seed`, which is random and is shown to nobody.
    """

    seed: str = ""
    head: str = ZERO
    hidden: str = ZERO

    @property
    def hides_names(self) -> bool:
        """Whether its hashes cover pseudonyms in place of names."""
        return self.seed.startswith(PSEUDONYMS)


def link(previous: str, value: Any) -> str:
    """Return the hash of `value`, which is ready for JSON, after `previous`."""
    return link_text(previous, canonical(value))


def link_text(previous: str, text: bytes) -> str:
    """Return the hash of `text`, which is canonical JSON, after `previous`."""
    return hashlib.sha256(b"%b\n%b" % (previous.encode(), text)).hexdigest()


def salt(seed: str, version: int) -> str:
    """Return the salt of an auction's public event `version`. Without the seed it cannot be guessed."""
    if seed.startswith(PSEUDONYMS):
        return _keyed(seed, str(version), 32)
    return HmacKey(seed.encode()).digest(str(version).encode()).hex()


def name_salt(seed: str, name: str) -> str:
    """Return the salt of a name in an auction's ledger: 32 hexadecimal digits. Without the seed it cannot be guessed."""
    return _keyed(seed, f"name {name}", 16)


def _keyed(seed: str, text: str, size: int) -> str:
    """Return a keyed hash of `size` bytes, in hexadecimal digits. It takes a third of an HMAC's time, twice for each bid."""
    return hashlib.blake2b(text.encode(), key=seed.removeprefix(PSEUDONYMS).encode(), digest_size=size).hexdigest()


canonical = msgspec.json.Encoder(order="sorted").encode
"""RFC 8785, for the values of ledgers: objects with ASCII names, strings, whole numbers, booleans and null."""
