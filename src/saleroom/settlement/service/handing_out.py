"""Handing out: sold lots leave the house once they are paid, or as a manager decides; and that is undone."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.idempotency import once
from saleroom.accounts.storage import accounts as users
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_lot
from saleroom.sales.storage import participants
from saleroom.settlement.domain.errors import HandedOut, LotNotSold, NotHandedOut, NotPaid
from saleroom.settlement.domain.journal import Account, Book, balances
from saleroom.settlement.domain.pickup_views import PickupsView, PickupView
from saleroom.settlement.domain.pickups import NewPickup, Purse
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.journal import SaleBook
from saleroom.settlement.storage import journal, pickups
from saleroom.settlement.storage.pickups import Pickup
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


def listed(tx: Transaction, token: str, gid: str, places: int) -> PickupsView:
    """Return the sold lots of a sale, for the door. Raises Unauthenticated, MissingRight or UnknownSale."""
    _, sale, book = begin(tx, token, gid, places)
    return _view(tx, sale, book)


def hand_out(
    tx: Transaction, token: str, gid: str, new: NewPickup, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Hand a lot out, and return the JSON of all sold lots.

    A lot that is not paid needs the right to manage sales, and a reason. Raises Unauthenticated, MissingRight,
    IdempotencyMismatch, UnknownSale, UnknownLot, LotNotSold, HandedOut or NotPaid.
    """
    staff, sale, book = begin(tx, token, gid, places)

    def do() -> bytes:
        lot, reason = get_lot(tx, sale, new.label), new.reason
        posted = book.posted.get(lot.id)
        buyer = None if posted is None else posted.settled.result.buyer
        if posted is None or buyer is None:
            raise LotNotSold
        taken = pickups.of_sale(tx, sale.id)
        if (lot.id, buyer) in taken:
            raise HandedOut
        purse, due = _purses(tx, sale, book, taken)[buyer], posted.settled.bill.due
        paid = purse.pays(due)
        if not paid and not reason:
            raise NotPaid(owed=purse.owed)
        if not paid:
            staff.refuse_without(Right.MANAGE_SALES)
        pickups.add(tx, lot.id, buyer, new.to, staff.id, None if paid else reason)
        audit.note(tx, staff, Act.LOT_HANDED_OUT, gid, {}, {"lot": new.label, "paid": paid}, "" if paid else reason)
        return _encode(_view(tx, sale, book))

    return once(tx, staff, key, do)


def undo(tx: Transaction, token: str, gid: str, label: str, places: int, key: IdempotencyKey | None = None) -> bytes:
    """Note that a lot is back or was never handed out, and return the JSON of all sold lots.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot or NotHandedOut.
    """
    staff, sale, book = begin(tx, token, gid, places)

    def do() -> bytes:
        lot = get_lot(tx, sale, label)
        if not any(number == lot.id for number, _ in pickups.of_sale(tx, sale.id)):
            raise NotHandedOut
        pickups.undo(tx, lot.id, staff.id)
        audit.note(tx, staff, Act.PICKUP_UNDONE, gid, {"lot": label}, {})
        return _encode(_view(tx, sale, book))

    return once(tx, staff, key, do)


def _purses(tx: Transaction, sale: Sale, book: SaleBook, taken: Mapping[tuple[int, int], Pickup]) -> dict[int, Purse]:
    """Return what each buyer of a sale has paid for, by the number of the user."""
    moved = journal.moved(tx, sale.id)
    owed = balances(one.posting for one in moved)
    cost = balances(one.posting for one in moved if one.kind.value in journal.OF_LOTS)
    has: dict[int, Decimal] = {}
    for number, posted in book.posted.items():
        buyer = posted.settled.result.buyer
        if buyer is not None and (number, buyer) in taken:
            has[buyer] = has.get(buyer, ZERO) + posted.settled.bill.due
    buyers = {posted.settled.result.buyer for posted in book.posted.values()} - {None}
    return {
        user: Purse(
            cost=cost.get(Account(Book.BUYERS, user), ZERO),
            owed=owed.get(Account(Book.BUYERS, user), ZERO),
            taken=has.get(user, ZERO),
        )
        for user in buyers
        if user is not None
    }


def _view(tx: Transaction, sale: Sale, book: SaleBook) -> PickupsView:
    taken = pickups.of_sale(tx, sale.id)
    purses = _purses(tx, sale, book, taken)
    names = users.names_of(tx, list(purses))
    known = {
        key[1]: one
        for key, one in participants.of_pairs(tx, [(sale.id, user) for user in purses], locked=False).items()
    }
    views = []
    for one in book.offered:
        posted = book.posted.get(one.lot.id)
        buyer = None if posted is None else posted.settled.result.buyer
        if posted is None or buyer is None:
            continue
        person, pickup, due = known.get(buyer), taken.get((one.lot.id, buyer)), posted.settled.bill.due
        views.append(
            PickupView(
                label=one.lot.label,
                lot_name="" if one.auction is None else one.auction.name,
                paddle=None if person is None else person.paddle,
                username=names[buyer],
                person_name=names[buyer] if person is None else person.name or names[buyer],
                due=f"{due:.3f}",
                is_paid=purses[buyer].pays(ZERO if pickup is not None else due),
                handed_out_at=None if pickup is None else instant(pickup.at),
                handed_out_by=None if pickup is None else pickup.by,
                handed_out_to=None if pickup is None else pickup.to,
                unpaid_reason=None if pickup is None else pickup.reason,
            )
        )
    left = sum(one.handed_out_at is None for one in views)
    return PickupsView(sale=sale.gid, to_hand_out=left, pickups=views)
