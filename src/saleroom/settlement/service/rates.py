"""Rate cards: made, changed by another version, chosen for sales, consignors and lots, and tried out by a preview."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Column
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.identifiers import GID_BYTES, IdempotencyKey
from saleroom.sales.domain.consignors import subject_of
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_lot, get_one
from saleroom.sales.storage import consignors, sales
from saleroom.sales.storage.consignors import Consignor
from saleroom.settlement.domain.errors import RateCardTaken, TooManyRateCards, UnknownRateCard
from saleroom.settlement.domain.rates import cards
from saleroom.settlement.domain.rates.bills import Hammer, RateCard, bill
from saleroom.settlement.domain.rates.cards import PreviewView, RateCardView, card_view, preview_view
from saleroom.settlement.storage import rates
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

SALES_SHOWN, CONSIGNORS_SHOWN = 50, 1_000
_encode = msgspec.json.Encoder().encode


class Trial(Struct, frozen=True, kw_only=True):
    """A hammer price to try a rate card with: None for a lot that is not sold. `scheme` is that of the lot."""

    price: Decimal | None
    channel: Channel = Channel.ONLINE
    scheme: TaxScheme | None = None


class CardTarget(Struct, frozen=True, kw_only=True):
    """What a card is chosen for: a sale, one of its lots by label, or a consignor by code."""

    sale: str = ""
    lot: str | None = None
    consignor: str | None = None


def listed(tx: Transaction, token: str | None) -> list[RateCardView]:
    """Return all rate cards, by name. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.SET_RATES)
    return [card_view(one) for one in rates.all_latest(tx)]


class Overview(Struct, frozen=True):
    """What those who set rates choose from: the cards, the latest sales with the card of each, and the consignors."""

    cards: list[RateCardView]
    sales: list[tuple[Sale, str | None]]
    consignors: list[Consignor]


def overview(tx: Transaction, token: str | None) -> Overview:
    """Return the cards, and what they can be chosen for. Raises Unauthenticated or MissingRight."""
    found = listed(tx, token)
    latest = sales.newest(tx, public_only=False, limit=SALES_SHOWN)
    chosen = rates.chosen_all(tx, rate_choices.c.sale_id, [one.id for one in latest])
    return Overview(found, [(one, chosen.get(one.id)) for one in latest], consignors.listed(tx, CONSIGNORS_SHOWN))


def shown(tx: Transaction, token: str | None, gid: str) -> RateCardView:
    """Return a rate card in its latest version. Raises Unauthenticated, MissingRight or UnknownRateCard."""
    authenticate(tx, token, Right.SET_RATES)
    return _shown(tx, gid)


def make(tx: Transaction, token: str, name: str, card: RateCard, key: IdempotencyKey | None = None) -> bytes:
    """Make a rate card and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, RateCardTaken or TooManyRateCards.
    """
    staff = authenticate(tx, token, Right.SET_RATES)

    def do() -> bytes:
        if rates.named(tx, name):
            raise RateCardTaken
        if rates.count(tx) >= cards.CARDS_MAX:
            raise TooManyRateCards
        gid = secrets.token_urlsafe(GID_BYTES)
        try:
            rates.add_version(tx, rates.add(tx, gid, name), 1, card, staff.id)
        except IntegrityError as error:
            raise TryAgain("the name came in between") from error
        return _noted(tx, staff, gid, Act.RATES_MADE)

    return once(tx, staff, key, do)


def change(tx: Transaction, token: str, gid: str, card: RateCard, key: IdempotencyKey | None = None) -> bytes:
    """Have other terms hold from now on, and return the JSON of the rate card.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownRateCard or TooManyRateCards.
    """
    staff = authenticate(tx, token, Right.SET_RATES)

    def do() -> bytes:
        number, last = rates.lock(tx, gid), rates.latest(tx, gid)
        if number is None or last is None:
            raise UnknownRateCard
        if last.card == card:
            return _encode(card_view(last))
        if last.number >= cards.VERSIONS_MAX:
            raise TooManyRateCards
        rates.add_version(tx, number, last.number + 1, card, staff.id)
        return _noted(tx, staff, gid, Act.RATES_CHANGED)

    return once(tx, staff, key, do)


def preview(tx: Transaction, token: str | None, gid: str, trial: Trial, places: int) -> PreviewView:
    """Return what a hammer price would cost and bring today, for all and for members.

    Raises Unauthenticated, MissingRight or UnknownRateCard.
    """
    authenticate(tx, token, Right.SET_RATES)
    found = rates.latest(tx, gid)
    if found is None:
        raise UnknownRateCard
    hammer = Hammer(price=trial.price, on=tx.now().date(), channel=trial.channel, scheme=trial.scheme)
    members = replace(hammer, buyer_member=True, seller_member=True) if found.card.has_member_rates else None
    for_members = None if members is None else bill(found.card, members, places)
    return preview_view(bill(found.card, hammer, places), for_members)


def choose(tx: Transaction, token: str, chosen: CardTarget, card: str | None) -> str | None:
    """Have a rate card hold from now on, None for no own one; return its gid.

    Raises Unauthenticated, MissingRight, UnknownSale, UnknownLot, UnknownConsignor or UnknownRateCard.
    """
    staff = authenticate(tx, token, Right.SET_RATES)
    at = _place(tx, chosen)
    card_id = None if card is None else rates.lock(tx, card)
    if card is not None and card_id is None:
        raise UnknownRateCard
    was = rates.chosen(tx, at.column, at.number)
    if was != card:
        rates.choose(tx, card_id, at.column, at.number, staff.id)
        audit.note(tx, staff, Act.RATES_CHOSEN, at.subject, {"rates": was}, {"rates": card})
    return card


def holding(tx: Transaction, token: str | None, chosen: CardTarget) -> str | None:
    """Return the gid of the card that holds for a sale, a lot or a consignor by its own choice, None without one.

    Raises Unauthenticated, MissingRight, UnknownSale, UnknownLot or UnknownConsignor.
    """
    authenticate(tx, token, Right.SET_RATES)
    at = _place(tx, chosen)
    return rates.chosen(tx, at.column, at.number)


class _Place(NamedTuple):
    """Where a card is chosen: a column of the choices and the number in it, and its name in the audit log."""

    column: Column[Any]
    number: int
    subject: str


def _place(tx: Transaction, chosen: CardTarget) -> _Place:
    if chosen.consignor is not None:
        found = consignors.find(tx, chosen.consignor)
        if found is None:
            raise UnknownConsignor
        return _Place(rate_choices.c.consignor_id, found.id, subject_of(found.code))
    sale = get_one(tx, chosen.sale, staff=True)
    if chosen.lot is None:
        return _Place(rate_choices.c.sale_id, sale.id, sale.gid)
    lot = get_lot(tx, sale, chosen.lot)
    return _Place(rate_choices.c.lot_id, lot.id, lot.gid)


def _shown(tx: Transaction, gid: str) -> RateCardView:
    found = rates.latest(tx, gid)
    if found is None:
        raise UnknownRateCard
    return card_view(found)


def _noted(tx: Transaction, staff: Account, gid: str, act: Act) -> bytes:
    view = _shown(tx, gid)
    audit.note(tx, staff, act, gid, {}, {"name": view.card_name, "version": view.card_version})
    return _encode(view)
