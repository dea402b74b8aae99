"""What the texts of the tables may hold, for rows that come from elsewhere: an import prints and publishes what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, String

from saleroom.accounts.domain.accounts import parse_username
from saleroom.accounts.storage.tables import idempotency, users
from saleroom.bidding.storage.tables import auctions, photos
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.texts import control_fault


def text_fault(column: Column[Any], value: Any) -> Fault | None:
    """Return what keeps a value of a column from being a text that a house would have taken; None for what is no text."""
    if not isinstance(value, str) or not isinstance(column.type, String):
        return None
    rule = _RULES.get(column)
    return control_fault(value, lines=False) if rule is None else rule(value)


def _username_fault(value: str) -> Fault | None:
    found = parse_username(value)
    if isinstance(found, Fault):
        return found
    return None if found == value else Fault("username_format", "must be in lower case")


def _gid_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("gid", "must be 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


_RULES: dict[Column[Any], Callable[[str], Fault | None]] = {
    users.c.username: _username_fault,
    auctions.c.gid: _gid_fault,
    photos.c.gid: _gid_fault,
    auctions.c.description: lambda value: control_fault(value, lines=True),
    idempotency.c.key: lambda value: None,  # any header of a client's, and shown to nobody
}
"""The rules of texts; all others hold no control characters."""
