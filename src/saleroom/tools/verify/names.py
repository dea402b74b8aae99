"""The names in a ledger: each line says them in the same way, and each name has one salt (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saleroom.bidding.domain.pseudonyms import InvalidNames, names_in, salts_in


class NameCheck:
    """Checks the names of one event after the other."""

    def __init__(self) -> None:
        self._salts: dict[str, str] = {}
        self._salted: bool | None = None
        """Whether names have salts, as the first event says; older houses hashed the names themselves."""

    def check(self, data: Mapping[str, Any]) -> None:
        """Check the names in the data of the next event. Raises InvalidNames."""
        names, salts = names_in(data), salts_in(data)
        if self._salted is None:
            self._salted = bool(salts) or not names
        if not self._salted and salts:
            raise InvalidNames("its names have salts, and those before it have none")
        if self._salted and set(names) != salts.keys():
            raise InvalidNames("it must have the salt of each name in it, and no other")
        for name, salt in salts.items():
            if self._salts.setdefault(name, salt) != salt:
                raise InvalidNames(f"the name {name!r} had another salt before")
