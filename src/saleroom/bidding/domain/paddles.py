"""Paddles: numbers of bidders in one sale, and how they are shown in place of usernames (docs/decisions/0067)."""

from __future__ import annotations

PADDLE_MAX = 99_999
PADDLE_PATTERN = "#[1-9][0-9]{0,4}"
"""A paddle as a name. No username has a number sign, so none can be taken for a paddle."""


def name_of(paddle: int) -> str:
    """Return the name of the bidder with this paddle."""
    return f"#{paddle}"
