"""Bills: what lots cost and bring by the rate cards that held when the hammer fell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.sales.domain.lots import Lot
from saleroom.sales.storage import participants
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.cards import Choice, holding
from saleroom.settlement.domain.drafting import BilledLot
from saleroom.settlement.domain.rates import Hammer, RateCard, bill
from saleroom.settlement.storage import rates
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
    channels = _channels(tx, decided)
    made = []
    for lot, auction in decided:
        at = auction.closed_at
        assert at is not None, "it is over"
        card_id = _chosen([found.get(number, []) for found, number in zip(choices, _key(lot), strict=True)], at)
        version = None if card_id is None else holding(versions[card_id], at)
        hammer = Hammer(
            price=auction.current_bid if auction.outcome is Outcome.SOLD else None,
            on=at.date(),
            channel=channels.get((lot.sale_id, auction.leader.id if auction.leader else 0), Channel.ONLINE),
            scheme=lot.entry.tax_scheme,
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


def _chosen(choices: Sequence[Sequence[Choice]], at: datetime) -> int | None:
    """Return the number of the card that held, from the choices of the lot, the consignor and the sale."""
    for some in choices:
        found = holding(some, at)
        if found is not None and found.card_id is not None:
            return found.card_id
    return None


def _channels(tx: Transaction, some: Sequence[tuple[Lot, Auction]]) -> dict[tuple[int, int], Channel]:
    pairs = {(lot.sale_id, auction.leader.id) for lot, auction in some if auction.leader is not None}
    return {pair: one.channel for pair, one in participants.of_pairs(tx, pairs, locked=False).items()}
