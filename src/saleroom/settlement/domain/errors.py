"""The refusals of settlement; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Conflict, Unknown


class UnknownRateCard(Unknown):
    """There is no such rate card."""

    code = "unknown_rate_card"


class RateCardTaken(Conflict):
    """Another rate card has this name."""

    code = "rate_card_taken"


class TooManyRateCards(Conflict):
    """The house has as many rate cards, or versions of one, as it can have."""

    code = "too_many_rate_cards"
