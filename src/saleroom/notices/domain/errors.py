"""Refusals of notices; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Unknown


class UnknownWord(Unknown):
    """No word with this number waits or was given up."""

    code = "unknown_word"


class UnknownSubscription(Unknown):
    """You have no browser with this number that gets messages."""

    code = "unknown_subscription"
