"""Preconditions: a request that rests on an older state of the auction is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.bidding.domain.auction import TERMS, Auction
from saleroom.bidding.domain.errors import PreconditionFailed, TermsChanged
from saleroom.bidding.domain.events import Terms
from saleroom.kernel.errors import Change

_TOLD = (str, Decimal, datetime)
_LONG = frozenset({"description"})
_SECRET = frozenset({"reserve_price"})


class Precondition(Struct, frozen=True, kw_only=True):
    """The state of an auction that a request rests on; a field is None if the request does not name it.

    `version`: terms and photos must not have changed since that version, but others may have bid. `tags`: the auction must
    still have one of these (`Auction.tag`). `price`: the buy-now price.
    """

    version: int | None = None
    tags: frozenset[str] | None = None
    price: Decimal | None = None


def refuse_if_changed(auction: Auction, seen: Precondition | None) -> None:
    """Raise PreconditionFailed or TermsChanged if `auction` is not as it was seen."""
    if seen is None:
        return
    if seen.tags is not None and auction.tag not in seen.tags:
        versions = [int(tag.partition("-")[0]) for tag in seen.tags]
        raise PreconditionFailed(seen=max(versions, default=None), version=auction.version)
    # A later version was seen before a failover lost commits: its terms are unknown.
    if seen.version is not None and not auction.terms_version <= seen.version <= auction.version:
        raise TermsChanged(seen=seen.version, version=auction.version)
    if seen.price is not None and seen.price != auction.buy_now_price:
        price = Change("buy_now_price", seen.price, auction.buy_now_price)
        raise TermsChanged(seen=seen.version, changes=(price,), version=auction.version)


def changes(before: Terms, auction: Auction, photos: tuple[Sequence[str], Sequence[str]]) -> tuple[Change, ...]:
    """Return the changes of the terms from `before` to `auction`; `photos` are the ids of the photos before and now.

    A description, the photos and the soft close are named without their values, and so is the reserve, which is secret.
    """
    found = []
    for name in TERMS:
        was, now = getattr(before, name), getattr(auction, name)
        if was != now:
            told = name not in _LONG | _SECRET and all(
                value is None or isinstance(value, _TOLD) for value in (was, now)
            )
            found.append(Change(name, was, now) if told else Change(name))
    if list(photos[0]) != list(photos[1]):
        found.append(Change("photos"))
    return tuple(found)
