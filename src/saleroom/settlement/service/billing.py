"""Bills: what lots cost and bring by the rate cards that held when the hammer fell."""

from __future__ import annotations

from collections.abc import Sequence

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import BidPlaced, Channel, Outcome
from saleroom.bidding.storage import event_log
from saleroom.sales.domain.lots import Lot
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.choices import version_for
from saleroom.settlement.domain.drafting import BilledLot
from saleroom.settlement.domain.rates import Hammer, RateCard, bill
from saleroom.settlement.storage import after_sale, rates
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction

_BEFORE = (rate_choices.c.lot_id, rate_choices.c.consignor_id, rate_choices.c.sale_id)
"""Whose choice holds: that for the lot, then that for its consignor, then that for the sale."""


def billed(tx: Transaction, decided: Sequence[tuple[Lot, Auction]], places: int) -> list[BilledLot]:
    """Return lots whose auctions are over with their bills; a lot for which nobody chose a card costs the hammer price."""
    choices = [
        rates.choices_of(tx, column, {_key(lot)[place] for lot, _ in decided}) for place, column in enumerate(_BEFORE)
    ]
    chosen = {one.card_id for found in choices for some in found.values() for one in some if one.card_id is not None}
    versions = rates.versions_of(tx, chosen)
    again = {one for sale_id in {lot.sale_id for lot, _ in decided} for one in after_sale.came_from_others(tx, sale_id)}
    made = []
    for lot, auction in decided:
        at = auction.closed_at
        assert at is not None, "it is over"
        own = [found.get(number, []) for found, number in zip(choices, _key(lot), strict=True)]
        version = version_for(at, own, versions)
        hammer = Hammer(
            price=auction.current_bid if auction.outcome is Outcome.SOLD else None,
            on=at.date(),
            channel=channel_of(tx, auction),
            scheme=lot.entry.tax_scheme,
            again=lot.id in again,
        )
        found = bill(RateCard() if version is None else version.card, hammer, places)
        made.append(BilledLot(gid=lot.gid, label=lot.label, name=auction.name, bill=found))
    return made


def decided(some: Sequence[OfferedLot]) -> list[tuple[Lot, Auction]]:
    """Return those of some lots that ended, sold or not; one whose seller is still to decide is left out."""
    return [
        (one.lot, one.auction)
        for one in some
        if one.auction is not None and one.auction.over and one.auction.outcome is not Outcome.CONDITIONAL
    ]


def _key(lot: Lot) -> tuple[int, int, int]:
    return lot.id, lot.entry.consignor_id or 0, lot.sale_id


def channel_of(tx: Transaction, auction: Auction) -> Channel:
    """Return the channel of the bid that won: it is noted where a clerk took it."""
    placed = [one for one in event_log.read(tx, auction.id) if isinstance(one, BidPlaced)]
    won = [one for one in placed if one.amount == auction.current_bid]
    return (won[-1].channel if won else None) or Channel.ONLINE
