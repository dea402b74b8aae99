"""Sales and lots for examples."""

from datetime import datetime, timedelta
from typing import Any

from saleroom.kernel.parties import Party
from saleroom.sales.domain.lots import Entry, Lot, LotTerms
from saleroom.sales.domain.sale import Kind, Sale, SaleTerms
from tests.bidding.domain.examples import eur
from tests.bidding.domain.playing import T0

EVE = Party(9, "eve")


def a_sale(**terms: Any) -> Sale:
    """A draft of a timed sale whose first lot ends in an hour, unless `terms` say otherwise."""
    said = {"title": "An evening", "kind": Kind.TIMED, "starts_at": T0 + timedelta(hours=1), **terms}
    return Sale(id=1, gid="sale", owner=EVE, terms=SaleTerms(**said), created_at=T0)


def a_lot(rank: int, label: str | None = None, *, withdrawn_for: str | None = None) -> Lot:
    """A lot of a draft at this rank."""
    return Lot(
        id=rank,
        gid=f"lot-{rank}",
        sale_id=1,
        auction_id=None,
        rank=rank,
        entry=Entry(label=label or str(rank)),
        terms=LotTerms(name="A clock", starting_price=eur("100")),
        withdrawn_for=withdrawn_for,
        created_at=T0,
    )


def at(minutes: float) -> datetime:
    """So many minutes after the sale was made."""
    return T0 + timedelta(minutes=minutes)
