"""Lots of a sale: what the catalogue says of each beside the terms of its auction."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.errors import Contradiction, Fault
from saleroom.sales.domain.errors import OfNeeds, WithdrawnAlready
from saleroom.sales.domain.needs import Need, Stage


class TaxScheme(StrEnum):
    """How the sale of a lot is taxed."""

    STANDARD = "standard"
    MARGIN = "margin"
    EXEMPT = "exempt"
    RESALE_RIGHT = "resale_right"
    REVERSE_CHARGE = "reverse_charge"
    NONE = "none"


class LotTerms(Struct, frozen=True, kw_only=True):
    """The terms that a lot brings to its auction; the sale has the others."""

    name: str
    starting_price: Decimal
    description: str = ""
    reserve_price: Decimal | None = None
    category: str | None = None


class Entry(Struct, frozen=True, kw_only=True):
    """What the catalogue says of a lot: its number, its estimate, who consigned it, and how its sale is taxed."""

    label: str
    consignor_id: int | None = None
    estimate_from: Decimal | None = None
    estimate_to: Decimal | None = None
    tax_scheme: TaxScheme | None = None


class Lot(Struct, frozen=True, kw_only=True):
    """A lot of a sale. `rank` is its place in the order of calling. `gid` is that of its auction.

    `terms` are those of its auction to come; None once there is one, whose number is `auction_id`. A lot with a `need` is a
    fund-a-need: it keeps its terms, and never gets an auction.
    """

    id: int
    gid: str
    sale_id: int
    auction_id: int | None
    rank: int
    entry: Entry
    terms: LotTerms | None
    withdrawn_for: str | None
    created_at: datetime
    need: Need | None = None

    @property
    def label(self) -> str:
        """The number of the lot in the catalogue."""
        return self.entry.label

    @property
    def is_withdrawn(self) -> bool:
        """Whether it is no longer for sale."""
        return self.withdrawn_for is not None

    @property
    def is_offered(self) -> bool:
        """Whether it was ever offered: nobody but staff sees a lot that was withdrawn before its sale was published."""
        return self.auction_id is not None if self.need is None else self.need.stage is not Stage.NEVER_OFFERED

    @property
    def tag(self) -> str:
        """The identifier of the state of a fund-a-need."""
        return self.asked.tag

    @property
    def block(self) -> Need | None:
        """The state of a fund-a-need that is on the block."""
        return self.need if self.need is not None and self.need.on_block else None

    @property
    def asked(self) -> Need:
        """What a fund-a-need asks for. Raises OfNeeds for an auction."""
        if self.need is None:
            raise OfNeeds
        return self.need


def refuse_if_withdrawn(lot: Lot) -> None:
    """Raise WithdrawnAlready if the lot is no longer for sale."""
    if lot.is_withdrawn:
        raise WithdrawnAlready(label=lot.label)


def refuse_contradictory_estimate(entry: Entry) -> None:
    """Raise Contradiction unless the estimate is a range."""
    if entry.estimate_to is None:
        return
    if entry.estimate_from is None:
        raise Contradiction(
            {"estimate_from": [Fault("required_with_to", "is required if the estimate has an upper end")]}
        )
    if entry.estimate_to < entry.estimate_from:
        raise Contradiction({"estimate_to": [Fault("below_from", "must be at least the lower end of the estimate")]})
