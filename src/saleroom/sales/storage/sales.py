"""Sales as rows: lock, save, read; and their log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, Select, exists, func, insert, literal, select, union_all, update

from saleroom.accounts.domain.audit import SubjectName
from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import Ladder, Tier
from saleroom.bidding.storage.tables import RUNNING, auctions
from saleroom.kernel.parties import Party
from saleroom.log.store import Log
from saleroom.sales.domain.consignors import SUBJECT
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.domain.events import ENDS, SaleEvent
from saleroom.sales.domain.sale import OVER, Kind, Names, Registration, Sale, SaleStatus, SaleTerms
from saleroom.sales.domain.views import wire_event
from saleroom.sales.storage.tables import consignors, lots, sale_events, sales
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder(order="sorted").encode
_decode_tiers = msgspec.json.Decoder(tuple[Tier, ...]).decode
_decode_soft_close = msgspec.json.Decoder(SoftClose).decode
_ROWS = select(sales, users.c.username.label("owner_name")).join_from(sales, users, users.c.id == sales.c.owner_id)


def add(tx: Transaction, sale: Sale) -> Sale:
    """Store a new sale and return it with its number. Raises IntegrityError if its gid exists already."""
    row = {"gid": sale.gid, "owner_id": sale.owner.id, "created_at": sale.created_at, **_columns(sale)}
    return msgspec.structs.replace(sale, id=tx.execute(insert(sales).returning(sales.c.id), row).scalar_one())


def get(tx: Transaction, gid: str) -> Sale | None:
    """Return one sale, not locked."""
    return _first(tx, _ROWS.where(sales.c.gid == gid))


def named(tx: Transaction, keys: Collection[str]) -> list[SubjectName]:
    """Return the sales, lots of drafts and consignors that the audit log names by these keys."""
    codes = [key.removeprefix(SUBJECT) for key in keys if key.startswith(SUBJECT)]
    found = union_all(
        select(sales.c.gid.label("key"), sales.c.title.label("name"), ("sales/" + sales.c.gid).label("place")).where(
            among(tx, sales.c.gid, keys)
        ),
        select(lots.c.gid, sales.c.title + ", " + lots.c.label, "sales/" + sales.c.gid + "/lots/" + lots.c.label).where(
            lots.c.sale_id == sales.c.id, lots.c.auction_id.is_(None), among(tx, lots.c.gid, keys)
        ),
        select(SUBJECT + consignors.c.code, consignors.c.name, literal("consignors")).where(
            among(tx, consignors.c.code, codes)
        ),
    )
    return [SubjectName(row.key, row.name, row.place) for row in tx.execute(found)]


def by_id(tx: Transaction, sale_id: int) -> Sale:
    """Return the sale with this number, not locked."""
    return _sale(tx.execute(_ROWS.where(sales.c.id == sale_id)).one())


def by_ids(tx: Transaction, sale_ids: Collection[int]) -> dict[int, Sale]:
    """Return these sales, not locked, by number."""
    if not sale_ids:
        return {}
    return {row.id: _sale(row) for row in tx.execute(_ROWS.where(among(tx, sales.c.id, sale_ids)))}


def lock(tx: Transaction, gid: str) -> Sale | None:
    """Return one sale, locked until the transaction ends.

    Lock it before its auctions, never after them: who has locked auctions only reads sales.
    """
    # The names are read by another statement, so that only the row of the sale is locked.
    locked = select(sales.c.id).where(sales.c.gid == gid).with_for_update(key_share=True)
    sale_id = tx.execute(locked).scalar()
    return None if sale_id is None else by_id(tx, sale_id)


def public(tx: Transaction, gids: Iterable[str]) -> dict[str, Sale]:
    """Return those of these sales that anyone may see, not locked, by gid."""
    rows = tx.execute(_ROWS.where(among(tx, sales.c.gid, list(gids)), sales.c.version > 0))
    return {row.gid: _sale(row) for row in rows}


LOG = Log(sale_events, sale_events.c.sale_id, sales, ENDS, public, UnknownSale)


def record(tx: Transaction, sale: Sale, events: Sequence[SaleEvent]) -> Sale:
    """Write what the locked `sale` is after `events`, append them to its log, and return it."""
    rows = []
    for event in events:
        sale = sale.after(event)
        rows.append(_logged(sale, event))
    save(tx, sale)
    LOG.append(tx, rows)
    return sale


def save(tx: Transaction, sale: Sale) -> None:
    """Write a locked sale back."""
    tx.execute(update(sales).where(sales.c.id == sale.id).values(_columns(sale)))


def newest(tx: Transaction, *, public_only: bool, limit: int, before: int | None = None) -> list[Sale]:
    """Return up to `limit` sales, the newest first, from the number `before` (exclusive) downwards."""
    found = _ROWS.order_by(sales.c.id.desc()).limit(limit)
    if public_only:
        found = found.where(sales.c.version > 0)
    if before is not None:
        found = found.where(sales.c.id < before)
    return [_sale(row) for row in tx.execute(found)]


def changed_at(tx: Transaction, sale_ids: Collection[int]) -> dict[int, datetime]:
    """Return for each of these sales when its last event was decided, by number."""
    last = (sale_events.c.sale_id == sales.c.id) & (sale_events.c.version == sales.c.version)
    found = select(sale_events.c.sale_id, sale_events.c.at).select_from(sales.join(sale_events, last))
    rows = tx.execute(found.where(among(tx, sales.c.id, sale_ids))) if sale_ids else ()
    return {row.sale_id: row.at for row in rows}


def running_numbers(tx: Transaction, before: int | None, limit: int) -> list[int]:
    """Return the numbers of up to `limit` public sales that are not over, the newest first, below the number `before`."""
    running = select(sales.c.id).where(sales.c.version > 0, sales.c.status.not_in([one.value for one in OVER]))
    if before is not None:
        running = running.where(sales.c.id < before)
    return list(tx.execute(running.order_by(sales.c.id.desc()).limit(limit)).scalars())


def due(tx: Transaction, now: datetime) -> list[str]:
    """Return the gids of the sales that begin or close by now: a timed one opens, or no lot of a running one runs any more."""
    opens = (sales.c.status == SaleStatus.PUBLISHED.value) & (sales.c.kind == Kind.TIMED.value)
    opens &= sales.c.opens_at.is_(None) | (sales.c.opens_at <= now)
    runs = exists().where(auctions.c.sale_id == sales.c.id, RUNNING)
    closes = (sales.c.status == SaleStatus.RUNNING.value) & (sales.c.kind == Kind.TIMED.value) & ~runs
    return list(tx.execute(select(sales.c.gid).where(opens | closes).order_by(sales.c.id)).scalars())


def next_opening(tx: Transaction) -> datetime | None:
    """Return the next instant at which a published timed sale begins."""
    waiting = (sales.c.status == SaleStatus.PUBLISHED.value, sales.c.kind == Kind.TIMED.value)
    first: datetime | None = tx.execute(
        select(func.min(sales.c.opens_at, type_=sales.c.opens_at.type)).where(*waiting)
    ).scalar_one()
    return first


def has_running_lots(tx: Transaction, sale_id: int) -> bool:
    """Return whether an auction of the sale is scheduled or open."""
    return tx.execute(select(auctions.c.id).where(auctions.c.sale_id == sale_id, RUNNING).limit(1)).first() is not None


def _first(tx: Transaction, statement: Select[Any]) -> Sale | None:
    row = tx.execute(statement).first()
    return None if row is None else _sale(row)


def _columns(sale: Sale) -> dict[str, Any]:
    """Return the columns that can change, by name."""
    terms = sale.terms
    return {
        "title": terms.title,
        "description": terms.description,
        "venue": terms.venue,
        "kind": terms.kind.value,
        "status": sale.status.value,
        "opens_at": terms.opens_at,
        "starts_at": terms.starts_at,
        "spacing": terms.spacing,
        "soft_close": None if terms.soft_close is None else _encode(terms.soft_close).decode(),
        "following": terms.following,
        "increment": _encode(terms.ladder.tiers).decode(),
        "names": terms.names.value,
        "registration": terms.registration.value,
        "limit_default": terms.limit_default,
        "cancelled_for": sale.cancelled_for,
        "block": sale.block,
        "version": sale.version,
        "position": sale.version,
    }


def _sale(row: Row[Any]) -> Sale:
    return Sale(
        id=row.id,
        gid=row.gid,
        owner=Party(row.owner_id, row.owner_name),
        terms=SaleTerms(
            title=row.title,
            kind=Kind(row.kind),
            description=row.description,
            venue=row.venue,
            opens_at=row.opens_at,
            starts_at=row.starts_at,
            spacing=row.spacing,
            soft_close=None if row.soft_close is None else _decode_soft_close(row.soft_close),
            following=row.following,
            ladder=Ladder(_decode_tiers(row.increment)),
            names=Names(row.names),
            registration=Registration(row.registration),
            limit_default=row.limit_default,
        ),
        created_at=row.created_at,
        status=SaleStatus(row.status),
        cancelled_for=row.cancelled_for,
        block=row.block,
        version=row.version,
    )


def _logged(sale: Sale, event: SaleEvent) -> Mapping[str, Any]:
    """Return the columns of an event as it is logged, by name; `sale` is as it was right after it."""
    return {
        "sale_id": sale.id,
        "position": sale.version,
        "version": sale.version,
        "type": event.TYPE,
        "at": event.at,
        "payload": _encode(wire_event(sale, event)),
        "private": b"{}",
    }
