"""Offers to underbidders: at which price each lot that was not sold is offered (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct


class Otherwise(StrEnum):
    """The price of a lot whose highest bid is below its reserve: the reserve, or the lower estimate if that is more."""

    RESERVE = "reserve"
    ESTIMATE = "estimate"


class LeftOut(StrEnum):
    """Why a lot is not offered, beside what refuses a single offer."""

    NO_BID = "no_bid"
    NO_PADDLE = "no_paddle"


class Terms(Struct, frozen=True, kw_only=True):
    """What the price rests on."""

    highest_bid: Decimal
    reserve_price: Decimal | None
    lower_estimate: Decimal | None


def price_for(terms: Terms, otherwise: Otherwise) -> Decimal:
    """Return the price of an offer: the bidder's own highest bid if it reaches the reserve, and never less than the reserve."""
    reserve = terms.reserve_price
    if reserve is None or terms.highest_bid >= reserve:
        return terms.highest_bid
    if otherwise is Otherwise.ESTIMATE and terms.lower_estimate is not None:
        return max(reserve, terms.lower_estimate)
    return reserve


def tag_of(rows: Iterable[tuple[str, int, Decimal]]) -> str:
    """Return what a plan is known by: its lots, each with its paddle and its price."""
    said = "\n".join(f"{label} {paddle} {price:f}" for label, paddle, price in rows)
    return sha256(said.encode()).hexdigest()
