"""Hash chains, which make changes to a ledger visible (docs/ledger.md)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
from msgspec import Struct

SEED_BYTES = 32
ZERO = "0" * 64
"""The hash before the first link."""


class Chain(Struct, frozen=True):
    """The end of an auction's ledger: 64 hexadecimal digits each.

    `head` is the hash of its last public event, `hidden` that of the hidden events since. Each event's salt is derived from
    `seed`, which is random and is shown to nobody.
    """

    seed: str = ""
    head: str = ZERO
    hidden: str = ZERO


def link(previous: str, value: Any) -> str:
    """Return the hash of `value`, which is ready for JSON, after `previous`."""
    return link_text(previous, canonical(value))


def link_text(previous: str, text: bytes) -> str:
    """Return the hash of `text`, which is canonical JSON, after `previous`."""
    return hashlib.sha256(b"%b\n%b" % (previous.encode(), text)).hexdigest()


def salt(seed: str, version: int) -> str:
    """Return the salt of an auction's public event `version`. Without the seed it cannot be guessed."""
    return hmac.digest(seed.encode(), str(version).encode(), "sha256").hex()


canonical = msgspec.json.Encoder(order="sorted").encode
"""RFC 8785, for the values of ledgers: objects with ASCII names, strings, whole numbers, booleans and null."""
