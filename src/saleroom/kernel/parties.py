"""Parties: users as every area knows them."""

from __future__ import annotations

from msgspec import Struct


class Party(Struct, frozen=True):
    """A user by number and name. The number stays inside; the name is public."""

    id: int
    name: str
