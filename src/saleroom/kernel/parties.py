"""Parties: users as every area knows them."""

from __future__ import annotations

from msgspec import Struct

ERASED = "erased."
"""How the pseudonyms of people who were erased begin."""
GUEST = "guest-"
"""How the usernames of people without an account begin."""
RESERVED = (ERASED, GUEST)
"""How names begin that the house alone gives: nobody registers one."""


class Party(Struct, frozen=True):
    """A user by number and name. The number stays inside; the name is public."""

    id: int
    name: str
