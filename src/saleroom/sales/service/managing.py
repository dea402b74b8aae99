"""Managing sales: made, changed, published, cancelled; and begun and closed once their lots are."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import moderation
from saleroom.bidding.domain.categories import refuse_unknown
from saleroom.bidding.service.auctions import new_seed
from saleroom.bidding.service.photos import put_on_new
from saleroom.bidding.service.recording import begin_ledgers, record, steps
from saleroom.kernel.identifiers import GID_BYTES, IdempotencyKey
from saleroom.sales.domain import publication
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.publication import refuse_contradictory_terms
from saleroom.sales.domain.sale import Sale, SaleStatus, SaleTerms
from saleroom.sales.domain.views import sale_view
from saleroom.sales.service.access import lock_one
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

_encode = msgspec.json.Encoder().encode


def make(tx: Transaction, token: str, terms: SaleTerms, asked: IdempotencyKey | None = None) -> bytes:
    """Make the draft of a sale and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch or Contradiction.
    """
    staff = authenticate(tx, token, Right.MANAGE_SALES)

    def begin() -> bytes:
        refuse_contradictory_terms(terms)
        gid = secrets.token_urlsafe(GID_BYTES)
        try:
            sale = sales.add(tx, Sale(id=0, gid=gid, owner=staff.party, terms=terms, created_at=tx.now()))
        except IntegrityError as error:
            raise TryAgain("the gid was taken") from error
        audit.note(tx, staff, Act.SALE_MADE, gid, {}, _facts(sale))
        return _shown(sale)

    return once(tx, staff, asked, begin)


def change(tx: Transaction, token: str, gid: str, changes: dict[str, Any]) -> bytes:
    """Change terms of a sale and return its JSON.

    Raises Unauthenticated, MissingRight, UnknownSale, and as `publication.amend`.
    """
    staff = _staff(tx, token)
    sale = lock_one(tx, gid)
    after, events = publication.amend(sale, changes, tx.now())
    if after != sale:
        # The events tell what the public sees; the limit is beside them.
        sales.record(tx, after, events)
        audit.note(tx, staff, Act.SALE_CHANGED, gid, *_difference(_facts(sale), _facts(after)))
    return _shown(after)


def publish(
    tx: Transaction, token: str, gid: str, asked: IdempotencyKey | None = None, categories: Collection[str] = ()
) -> bytes:
    """Publish a sale: each of its lots becomes an auction. Return its JSON; `categories` are the house's.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, and as `publication.publish`.
    """
    staff = _staff(tx, token)
    sale = lock_one(tx, gid)

    def act() -> bytes:
        now = tx.now()
        events, plan = publication.publish(sale, lots.of_sale(tx, sale.id), now)
        put_up(tx, sale, plan, now, categories)
        after = sales.record(tx, sale, events)
        audit.note(tx, staff, Act.SALE_PUBLISHED, gid, _facts(sale), {**_facts(after), "lots": len(plan)})
        return _shown(after)

    return once(tx, staff, asked, act)


def cancel(tx: Transaction, token: str, gid: str, reason: str, asked: IdempotencyKey | None = None) -> bytes:
    """Cancel a sale that has not begun, with all its lots, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, and as `publication.cancel`.
    """
    staff = _staff(tx, token)
    sale = lock_one(tx, gid)

    def act() -> bytes:
        now = tx.now()
        events = publication.cancel(sale, reason, now)
        running = [one for one in lots.lock_auctions(tx, lots.of_sale(tx, sale.id)).values() if not one.over]
        for some in tx.in_pieces(running):
            record(tx, [step for one in some for step in steps(one, moderation.cancel(one, reason, now))])
        after = sales.record(tx, sale, events)
        if not events:
            after = msgspec.structs.replace(sale, status=SaleStatus.CANCELLED, cancelled_for=reason)
            sales.save(tx, after)
        audit.note(tx, staff, Act.SALE_CALLED_OFF, gid, _facts(sale), _facts(after), reason)
        return _shown(after)

    return once(tx, staff, asked, act)


def put_up(
    tx: Transaction,
    sale: Sale,
    plan: Collection[tuple[Lot, datetime | None]],
    now: datetime,
    categories: Collection[str] | None = None,
) -> None:
    """Make auctions of lots of a locked sale, each with its end and its photos; None takes any category.

    Raises Contradiction, with the number of the lot at fault.
    """
    created = []
    for lot, ends_at in tx.unhurried(plan):
        if lot.terms is not None and categories is not None:
            refuse_unknown(lot.terms.category, categories)
        created.append(publication.created(sale, lot, ends_at, now, new_seed()))
    try:
        begun = begin_ledgers(tx, created, sale.id)
    except IntegrityError as error:
        raise TryAgain("the gid of a lot was taken") from error
    photos = lots.photos_of(tx, [lot.id for lot, _ in plan])
    numbers = {lot.id: auction.id for (lot, _), auction in zip(plan, begun, strict=True)}
    lots.put_up(tx, numbers)
    put_on_new(tx, [(auction, photos[lot.id]) for (lot, _), auction in zip(plan, begun, strict=True)])


def settle(tx: Transaction) -> float | None:
    """Begin and close the sales that are due, and return in how many seconds the next one opens, None for none."""
    for gid in sales.due(tx, tx.now()):
        sale = sales.lock(tx, gid)
        assert sale is not None, "sales are never deleted"
        now = tx.now()
        if events := publication.begin_if_due(sale, now):
            sale = sales.record(tx, sale, events)
        if events := publication.close_if_over(sale, now, lots_running=sales.has_running_lots(tx, sale.id)):
            sales.record(tx, sale, events)
    then = sales.next_opening(tx)
    return None if then is None else max(0.0, (then - tx.now()).total_seconds())


def _staff(tx: Transaction, token: str) -> Account:
    return authenticate(tx, token, Right.MANAGE_SALES)


def _shown(sale: Sale) -> bytes:
    return _encode(sale_view(sale, staff=True))


def _facts(sale: Sale) -> dict[str, str | int | bool | None]:
    """Return what the audit log says of a sale."""
    view = msgspec.to_builtins(sale_view(sale, staff=True))
    return {name: value for name, value in view.items() if isinstance(value, str | int | None) and name in _NOTED}


def _difference(before: Facts, after: Facts) -> tuple[Facts, Facts]:
    changed = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in changed}, {name: after[name] for name in changed}


_NOTED = frozenset(
    {
        "title",
        "venue",
        "kind",
        "status",
        "opensAt",
        "startsAt",
        "spacing",
        "following",
        "names",
        "registration",
        "limitDefault",
    }
)
