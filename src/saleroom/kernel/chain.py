"""Hash chains: what makes a ledger one that nobody can change unnoticed (docs/ledger.md has all of it)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
from msgspec import Struct

SEED_BYTES = 32
ZERO = "0" * 64
"""What comes before the first link."""


class Chain(Struct, frozen=True):
    """Where an auction's ledger stands: 64 hexadecimal digits each.

    `head` is the hash of its last public event, `hidden` links what has been hidden since. `seed` gives each event its salt;
    it is drawn by chance when the auction is created, and never shown.
    """

    seed: str = ""
    head: str = ZERO
    hidden: str = ZERO


def link(previous: str, value: Any) -> str:
    """Return the hash of `value`, which is ready for JSON, after `previous`."""
    return hashlib.sha256(previous.encode() + b"\n" + canonical(value)).hexdigest()


def salt(seed: str, version: int) -> str:
    """Return the salt of an auction's public event `version`: to tell it without the seed is as hard as to guess it."""
    return hmac.new(seed.encode(), str(version).encode(), "sha256").hexdigest()


canonical = msgspec.json.Encoder(order="sorted").encode
"""RFC 8785, for what ledgers hold: objects with ASCII names, strings, whole numbers, booleans and null."""
