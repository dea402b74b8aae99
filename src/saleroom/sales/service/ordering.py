"""The order of calling, set as a whole in one transaction, so that lots can change places and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain import selling
from saleroom.bidding.service.recording import Step, record, steps
from saleroom.sales.domain import events
from saleroom.sales.domain.order import (
    Place,
    deal_ends,
    moved,
    refuse_bad_order,
    refuse_to_renumber,
    renumbered,
)
from saleroom.sales.domain.sale import Sale, refuse_if_over
from saleroom.sales.service.access import get_lot, lock_one
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Transaction


class OrderView(msgspec.Struct, frozen=True):
    """The order of calling: the labels of all lots."""

    labels: list[str]


def set_order(
    tx: Transaction, token: str, gid: str, labels: Sequence[str] | None, *, renumber_from: int | None = None
) -> OrderView:
    """Put all lots of a sale in this order, None for that which they have, and number them from `renumber_from` on.

    Raises Unauthenticated, MissingRight, UnknownSale, SaleOver, BidOnLots, BegunAlready, or Invalid (field `labels`).
    """
    staff = authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    before, after = arrange(tx, sale, labels, renumber_from=renumber_from)
    if before != after:
        audit.note(tx, staff, Act.LOTS_ORDERED, gid, {"lots": _told(before)}, {"lots": _told(after)})
    return OrderView(after)


def move(tx: Transaction, token: str, gid: str, label: str, before: str | None) -> OrderView:
    """Move one lot before another one, to the end for None. Raises as `set_order`, and UnknownLot."""
    authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    for one in (label, before):
        if one is not None:
            get_lot(tx, sale, one)
    return set_order(tx, token, gid, moved(lots.labels(tx, sale.id), label, before))


def move_behind(tx: Transaction, token: str, gid: str, label: str, other: str) -> OrderView:
    """Move one lot behind another one. Raises as `move`."""
    authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    get_lot(tx, sale, other)
    rest = [each for each in lots.labels(tx, sale.id) if each != label or each == other]
    place = rest.index(other) + 1
    return move(tx, token, gid, label, rest[place] if place < len(rest) else None)


def step(tx: Transaction, token: str, gid: str, label: str, *, up: bool) -> OrderView:
    """Move one lot by one place; the first stays where it is, and so does the last. Raises as `move`."""
    authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    get_lot(tx, sale, label)
    known = lots.labels(tx, sale.id)
    place = known.index(label)
    if up:
        return move(tx, token, gid, label, known[max(0, place - 1)]) if place else OrderView(known)
    return move(tx, token, gid, label, known[place + 2] if place + 2 < len(known) else None)


def arrange(
    tx: Transaction, sale: Sale, labels: Sequence[str] | None, *, renumber_from: int | None = None
) -> tuple[list[str], list[str]]:
    """Order a locked sale; return its labels before and after. Raises as `set_order`; nothing is noted."""
    refuse_if_over(sale)
    offered = lots.of_sale(tx, sale.id)
    known = [lot.label for lot in offered]
    labels = known if labels is None else labels
    refuse_bad_order(known, labels)
    if renumber_from is not None:
        refuse_to_renumber(sale)
    by_label, now = {lot.label: lot for lot in offered}, tx.now()
    if not sale.is_draft and labels != known:
        auctions = lots.lock_auctions(tx, offered)
        places = [
            Place(
                lot.label,
                auctions[lot.gid].ends_at,
                has_bids=auctions[lot.gid].bid_count > 0,
                in_turn=not lot.is_withdrawn and not auctions[lot.gid].over,
            )
            if lot.gid in auctions
            else Place(lot.label, None, in_turn=False)
            for lot in offered
        ]
        taken: list[Step] = []
        for label, end in deal_ends(places, labels).items():
            auction = auctions[by_label[label].gid]
            taken += steps(auction, selling.amend(auction, sale.owner, {"ends_at": end}, now))
        record(tx, taken)
    after = list(labels) if renumber_from is None else renumbered(len(labels), renumber_from)
    if labels != known or after != known:
        lots.set_order(tx, sale.id, [(by_label[old].id, new) for old, new in zip(labels, after, strict=True)])
        if not sale.is_draft:
            told = events.OrderSet(at=now, labels=tuple(after), renumbered=renumber_from is not None)
            sales.record(tx, sale, [told])
    return known, after


def _told(labels: Sequence[str]) -> str:
    """Return an order as the audit log has it: all of a short one."""
    return ", ".join(labels) if len(labels) <= _TOLD_MAX else f"{', '.join(labels[:_TOLD_MAX])}, …"


_TOLD_MAX = 100
