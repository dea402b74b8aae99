"""Which version of which rate card holds for a lot (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from saleroom.settlement.domain.rates.cards import Version


class Choice(Struct, frozen=True):
    """That a rate card holds from an instant on; `card_id` is None for none of its own."""

    card_id: int | None
    since: datetime


def version_for(
    at: datetime, choices: Sequence[Sequence[Choice]], versions: Mapping[int, Sequence[Version]]
) -> Version | None:
    """Return the version that held when a lot ended: `choices` are those for the lot, its consignor and its sale.

    All are in the order of their beginnings. If no card was chosen by then, the first one that was chosen later holds, as it
    was when it was chosen.
    """
    for made in choices:
        before = [one for one in made if one.since <= at]
        if before and before[-1].card_id is not None:
            return _held(versions[before[-1].card_id], at)
    for made in choices:
        for one in made:
            if one.card_id is not None:
                return _held(versions[one.card_id], max(at, one.since))
    return None


def _held(versions: Sequence[Version], at: datetime) -> Version:
    return next((one for one in reversed(versions) if one.since <= at), versions[0])
