"""Webhooks as rows, and which lots their owners have to do with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Column, ColumnElement, Row, String, cast, delete, func, insert, literal, select, update

from saleroom.accounts.domain.rights import Right, Role, rights_of
from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.storage.tables import HIDDEN, auctions, bids, events, watches
from saleroom.notices.domain.webhooks import EVERYTHING, NOTICE, Off, Scope, Webhook
from saleroom.notices.storage.causes import PAGE
from saleroom.notices.storage.tables import webhooks
from saleroom.outbox.message import WEBHOOK
from saleroom.outbox.tables import WAITING, log_places, outbox
from saleroom.storage import bulk
from saleroom.storage.database import Note, Transaction

PLACE = "webhooks"
SWITCHED_ON: Note[int] = Note()
"""Noted for each transaction that switches a webhook on, or adds one: the number."""
_ON = webhooks.c.off.is_(None)


class Parties(Struct, frozen=True):
    """Which of some users have bid on lots, and which watch them, by the lots' numbers."""

    bidders: Mapping[int, frozenset[int]]
    watchers: Mapping[int, frozenset[int]]

    def follows(self, auction_id: int, user_id: int, *, watchers: bool) -> bool:
        """Return whether a user has bid on a lot, or with `watchers` watches it."""
        watches = watchers and user_id in self.watchers.get(auction_id, ())
        return watches or user_id in self.bidders.get(auction_id, ())


def add(tx: Transaction, user_id: int, url: str, kinds: Collection[str], scope: Scope, salt: str) -> Webhook:
    """Store a webhook that is on, and return it. The user's row is locked."""
    values: dict[str, Any] = {"url": url, "kinds": " ".join(kinds), "scope": scope}
    row = values | {"user_id": user_id, "created_at": tx.now(), "salt": salt}
    number: int = tx.execute(insert(webhooks).returning(webhooks.c.id), row).scalar_one()
    tx.note(SWITCHED_ON, (number,))
    return Webhook(
        id=number, user_id=user_id, url=url, kinds=tuple(kinds), scope=scope, created_at=row["created_at"], salt=salt
    )


def of_user(tx: Transaction, user_id: int) -> list[Webhook]:
    """Return the webhooks of a user, the oldest first."""
    found = select(webhooks).where(webhooks.c.user_id == user_id).order_by(webhooks.c.id)
    return [_webhook(row) for row in tx.execute(found)]


def find(tx: Transaction, user_id: int, number: int) -> Webhook | None:
    """Return a webhook of this user."""
    row = tx.execute(select(webhooks).where(webhooks.c.user_id == user_id, webhooks.c.id == number)).first()
    return None if row is None else _webhook(row)


def get_many(tx: Transaction, numbers: Collection[int]) -> dict[int, Webhook]:
    """Return these webhooks, of whomever, by number."""
    found = select(webhooks).where(webhooks.c.id.in_(numbers)) if numbers else None
    return {} if found is None else {row.id: _webhook(row) for row in tx.execute(found)}


def change(tx: Transaction, number: int, values: Mapping[str, Any]) -> None:
    """Change columns of a webhook."""
    kept = dict(values)
    if "kinds" in kept:
        kept["kinds"] = " ".join(kept["kinds"])
    tx.execute(update(webhooks).where(webhooks.c.id == number).values(kept))
    if kept.get("off", Off.OWNER) is None:
        tx.note(SWITCHED_ON, (number,))


def switch_off(tx: Transaction, number: int, why: Off) -> bool:
    """Switch a webhook off; False if it is off or gone already."""
    this = update(webhooks).where(webhooks.c.id == number, _ON)
    return tx.execute(this.values(off=why, off_at=tx.now())).rowcount > 0


def remove(tx: Transaction, number: int) -> None:
    """Delete a webhook."""
    tx.execute(delete(webhooks).where(webhooks.c.id == number))


def any_on(tx: Transaction) -> bool:
    """Return whether any webhook is on."""
    return tx.execute(select(webhooks.c.id).where(_ON).limit(1)).first() is not None


def begin_at_end(tx: Transaction) -> None:
    """Let the reader of the log begin at its end: nobody wanted what happened before."""
    end = select(func.coalesce(func.max(events.c.id), 0)).scalar_subquery()
    moved = update(log_places).where(log_places.c.name == PLACE).values(number=end)
    if not tx.execute(moved).rowcount:
        tx.execute(insert(log_places).from_select(["name", "number"], select(literal(PLACE), end)))


def all_on(tx: Transaction) -> list[Webhook]:
    """Return all webhooks that are on. Those for the whole house are so only while their owners may have that."""
    found = select(webhooks, users.c.role, users.c.barred, users.c.barred_until).join(
        users, users.c.id == webhooks.c.user_id
    )
    now = tx.now()
    return [_allowed(row, now) for row in tx.execute(found.where(_ON).order_by(webhooks.c.id))]


def _allowed(row: Row[Any], now: datetime) -> Webhook:
    one = _webhook(row)
    barred = row.barred is not None and (row.barred_until is None or now < row.barred_until)
    if one.scope is Scope.HOUSE and (barred or Right.POST_EVENTS not in rights_of(Role(row.role))):
        return Webhook(**{name: getattr(one, name) for name in Webhook.__struct_fields__} | {"scope": Scope.OWN})
    return one


def parties(tx: Transaction, lots: Collection[int], user_ids: Collection[int]) -> Parties:
    """Return which of these users have bid on these lots, and which watch them."""
    bid: dict[int, set[int]] = {}
    watched: dict[int, set[int]] = {}
    if lots and user_ids:
        both: tuple[tuple[dict[int, set[int]], Column[Any], Column[Any]], ...] = (
            (bid, bids.c.auction_id, bids.c.bidder_id),
            (watched, watches.c.auction_id, watches.c.user_id),
        )
        for found, lot, user in both:
            among = (bulk.among(tx, lot, lots), bulk.among(tx, user, user_ids))
            for row in tx.execute(select(lot.label("lot"), user.label("user")).where(*among).distinct()):
                found.setdefault(row.lot, set()).add(row.user)
    return Parties(
        {lot: frozenset(who) for lot, who in bid.items()}, {lot: frozenset(who) for lot, who in watched.items()}
    )


class WebhookEnding(NamedTuple):
    """An auction that ends soon, and a webhook whose owner watches it."""

    auction_id: int
    gid: str
    webhook: int
    user_id: int


def watched_ending(tx: Transaction, until: datetime) -> list[WebhookEnding]:
    """Return a page of watched lots that end by `until`, for each webhook that was not told yet."""
    key = literal("ending:") + cast(auctions.c.id, String) + ":" + cast(webhooks.c.id, String)
    source = (
        auctions.join(watches, watches.c.auction_id == auctions.c.id)
        .join(webhooks, webhooks.c.user_id == watches.c.user_id)
        .outerjoin(outbox, (outbox.c.channel == WEBHOOK) & (outbox.c.key == key))
    )
    found = (
        select(auctions.c.id, auctions.c.gid, webhooks.c.id.label("webhook"), webhooks.c.user_id)
        .select_from(source)
        .where(
            auctions.c.due_at > tx.now(),
            auctions.c.due_at <= until,
            auctions.c.status == Status.OPEN,
            _ON,
            _wanting(f"{NOTICE}ending"),
            outbox.c.id.is_(None),
        )
        .order_by(auctions.c.due_at, webhooks.c.id)
        .limit(PAGE)
    )
    return [WebhookEnding(row.id, row.gid, row.webhook, row.user_id) for row in tx.execute(found)]


def too_full(tx: Transaction, most: int) -> list[int]:
    """Return the webhooks for which more events wait."""
    waiting = select(outbox.c.address).where(WAITING, outbox.c.channel == WEBHOOK, outbox.c.address.is_not(None))
    found = waiting.group_by(outbox.c.address).having(func.count() > most)
    return [int(address) for address in tx.execute(found).scalars()]


def ended_since(tx: Transaction, since: datetime) -> int:
    """Return how many webhooks the house has switched off since then."""
    found = select(func.count()).select_from(webhooks)
    return int(tx.execute(found.where(webhooks.c.off_at > since, webhooks.c.off != Off.OWNER)).scalar_one())


def payloads(tx: Transaction, numbers: Collection[int]) -> dict[int, tuple[bytes, bool]]:
    """Return the public events with these numbers in the log as they are on the wire, and whether their lots are hidden."""
    if not numbers:
        return {}
    source = events.join(auctions, events.c.auction_id == auctions.c.id)
    found = select(events.c.id, events.c.payload, HIDDEN.label("is_hidden")).select_from(source)
    rows = tx.execute(found.where(bulk.among(tx, events.c.id, numbers), events.c.version.is_not(None)))
    return {row.id: (row.payload, row.is_hidden) for row in rows}


def _wanting(kind: str) -> ColumnElement[bool]:
    spaced = literal(" ") + webhooks.c.kinds + " "
    return spaced.contains(f" {kind} ", autoescape=True) | (webhooks.c.kinds == EVERYTHING)


def _webhook(row: Row[Any]) -> Webhook:
    values = {name: getattr(row, name) for name in Webhook.__struct_fields__}
    values |= {"kinds": tuple(row.kinds.split(" ")), "scope": Scope(row.scope)}
    return Webhook(**values | {"off": None if row.off is None else Off(row.off)})
