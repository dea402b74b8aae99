"""Participants as rows, and what they owe in their sales."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, Select, case, delete, func, insert, literal, or_, select, union_all, update

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.bidding.storage.tables import auctions
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain.participants import Participant, Standing
from saleroom.sales.domain.sale import Kind
from saleroom.sales.storage.tables import consignors, lots, participants, pledges, sales
from saleroom.storage.bulk import among, among_pairs
from saleroom.storage.database import Transaction

_ROWS = select(participants, users.c.username, users.c.barred, users.c.barred_until, users.c.barred_reason).join_from(
    participants, users, users.c.id == participants.c.user_id
)
_OWED = (Outcome.SOLD, Outcome.CONDITIONAL)
Pairs = Collection[tuple[int, int]]
"""Numbers of sales and users."""


def add(tx: Transaction, one: Participant) -> Participant:
    """Store a new participant and return it with its number. Raises IntegrityError if the user or the paddle is there."""
    row = {"gid": one.gid, "sale_id": one.sale_id, "user_id": one.user.id, **_columns(one)}
    row |= {"registered_at": one.registered_at, "guest": one.is_guest}
    number = tx.execute(insert(participants).returning(participants.c.id), row).scalar_one()
    return _participant(tx, tx.execute(_ROWS.where(participants.c.id == number)).one())


def sales_of(user_id: int) -> Select[tuple[int]]:
    """Select the numbers of the live sales in which a user takes part."""
    theirs = select(participants.c.sale_id).join(sales, sales.c.id == participants.c.sale_id)
    return theirs.where(participants.c.user_id == user_id, sales.c.kind == Kind.LIVE.value)


def save(tx: Transaction, one: Participant) -> None:
    """Write a locked participant back. Raises IntegrityError if another has the paddle."""
    values = _columns(one) | {"registered_at": one.registered_at}
    tx.execute(update(participants).where(participants.c.id == one.id).values(values))


def remove(tx: Transaction, one: Participant) -> None:
    """Delete a participant."""
    tx.execute(delete(participants).where(participants.c.id == one.id))


def of_pairs(tx: Transaction, pairs: Pairs, *, locked: bool) -> dict[tuple[int, int], Participant]:
    """Return these participants by the numbers of sale and user, perhaps locked until the transaction ends."""
    if not pairs:
        return {}
    which = among_pairs(tx, (participants.c.sale_id, participants.c.user_id), pairs)
    if locked and not _lock(tx, select(participants.c.id).where(which)):
        return {}
    return {(row.sale_id, row.user_id): _participant(tx, row) for row in tx.execute(_ROWS.where(which))}


def lock(tx: Transaction, sale_id: int, gids: Collection[str]) -> dict[str, Participant]:
    """Return these participants of a sale, locked until the transaction ends, by gid."""
    which = (participants.c.sale_id == sale_id, among(tx, participants.c.gid, gids))
    _lock(tx, select(participants.c.id).where(*which))
    return {row.gid: _participant(tx, row) for row in tx.execute(_ROWS.where(*which))}


def by_gids(tx: Transaction, sale_id: int, gids: Collection[str]) -> dict[str, Participant]:
    """Return these participants of a sale, not locked, by gid."""
    which = (participants.c.sale_id == sale_id, among(tx, participants.c.gid, gids))
    return {row.gid: _participant(tx, row) for row in tx.execute(_ROWS.where(*which))}


def _lock(tx: Transaction, statement: Select[Any]) -> Sequence[int]:
    # The order of numbers is that of all who lock several, and auctions are locked before: nobody waits in a circle.
    return tx.execute(statement.order_by(participants.c.id).with_for_update(key_share=True)).scalars().all()


def with_paddle(tx: Transaction, sale_id: int, paddle: int) -> Participant | None:
    """Return the participant of a sale with this paddle, not locked."""
    row = tx.execute(_ROWS.where(participants.c.sale_id == sale_id, participants.c.paddle == paddle)).first()
    return None if row is None else _participant(tx, row)


def find(tx: Transaction, sale_id: int, user_id: int) -> Participant | None:
    """Return a user's participant in a sale, not locked."""
    return of_pairs(tx, [(sale_id, user_id)], locked=False).get((sale_id, user_id))


def page(tx: Transaction, sale_id: int, text: str, limit: int, before: int | None = None) -> list[Participant]:
    """Return up to `limit` participants, the newest first, from the number `before` (exclusive) downwards.

    With a `text` those whose paddle it is, or whose name or username begins with it.
    """
    found = _ROWS.where(participants.c.sale_id == sale_id).order_by(participants.c.id.desc()).limit(limit)
    if text:
        begins = [
            func.lower(one).startswith(text.lower(), autoescape=True) for one in (users.c.username, participants.c.name)
        ]
        number = text.removeprefix("#")
        paddle = (
            [participants.c.paddle == int(number)] if number.isascii() and number.isdigit() and len(number) <= 5 else []
        )
        found = found.where(or_(*begins, *paddle))
    if before is not None:
        found = found.where(participants.c.id < before)
    return [_participant(tx, row) for row in tx.execute(found)]


def with_paddles(tx: Transaction, sale_id: int) -> list[Participant]:
    """Return all participants of a sale that have a paddle, in the order of these."""
    found = _ROWS.where(participants.c.sale_id == sale_id, participants.c.paddle.is_not(None))
    return [_participant(tx, row) for row in tx.execute(found.order_by(participants.c.paddle))]


def count(tx: Transaction, sale_id: int) -> int:
    """Return the number of participants of a sale."""
    return int(tx.execute(select(func.count()).where(participants.c.sale_id == sale_id)).scalar_one())


def paddles(tx: Transaction, sale_id: int, but: int | None = None) -> set[int]:
    """Return the paddles of a sale, without that of the participant with the number `but`."""
    found = select(participants.c.paddle).where(participants.c.sale_id == sale_id, participants.c.paddle.is_not(None))
    return set(tx.execute(found if but is None else found.where(participants.c.id != but)).scalars())


def commitments(
    tx: Transaction, sale_ids: Collection[int], user_ids: Collection[int]
) -> dict[tuple[int, int], dict[int, Decimal]]:
    """Return what users owe and may come to owe in sales, by the numbers of sale and user, and then by that of the lot.

    A lot counts by the number of its auction, a fund-a-need by its own one, negative.
    """
    a, runs = auctions.c, auctions.c.status.in_((Status.SCHEDULED, Status.OPEN))
    amount = case((runs, a.maximum), (a.outcome.in_(_OWED), a.current_bid)).label("amount")
    led = select(a.sale_id, a.current_bidder_id.label("user_id"), a.id.label("lot"), amount, literal(1).label("times"))
    led = led.where(a.sale_id.is_not(None), among(tx, a.sale_id, sale_ids), among(tx, a.current_bidder_id, user_ids))
    promised = select(lots.c.sale_id, pledges.c.user_id, -lots.c.id, pledges.c.amount, func.count())
    promised = promised.join_from(pledges, lots, lots.c.id == pledges.c.lot_id).where(
        pledges.c.undone_at.is_(None), among(tx, pledges.c.user_id, user_ids), among(tx, lots.c.sale_id, sale_ids)
    )
    promised = promised.group_by(lots.c.sale_id, pledges.c.user_id, lots.c.id, pledges.c.amount)
    found: dict[tuple[int, int], dict[int, Decimal]] = {}
    for row in tx.execute(union_all(led, promised)):
        if row.amount is not None:
            by_lot = found.setdefault((row.sale_id, row.user_id), {})
            by_lot[row.lot] = by_lot.get(row.lot, ZERO) + row.amount * row.times
    return found


def consigned(tx: Transaction, auction_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return which of these lots were brought by users, by the numbers of the auction and the user."""
    brought = select(lots.c.auction_id, consignors.c.user_id).join_from(
        lots, consignors, consignors.c.id == lots.c.consignor_id
    )
    rows = tx.execute(brought.where(among(tx, lots.c.auction_id, auction_ids), consignors.c.user_id.is_not(None)))
    return {(row.auction_id, row.user_id) for row in rows}


def brought(tx: Transaction, sale_id: int, user_id: int) -> list[str]:
    """Return the gids of the auctions of a sale whose lots a user has brought."""
    theirs = select(auctions.c.gid).join_from(auctions, lots, lots.c.auction_id == auctions.c.id)
    found = theirs.join(consignors, consignors.c.id == lots.c.consignor_id)
    return [*tx.execute(found.where(lots.c.sale_id == sale_id, consignors.c.user_id == user_id)).scalars()]


def _columns(one: Participant) -> dict[str, Any]:
    """Return the columns that can change, by name."""
    return {
        "paddle": one.paddle,
        "status": one.standing.value,
        "reason": one.reason,
        "bid_limit": one.limit,
        "channel": one.channel.value,
        "name": one.name,
        "contact": one.contact,
        "checked_in_at": one.checked_in_at,
    }


def _barred_for(tx: Transaction, row: Row[Any]) -> str | None:
    is_barred = row.barred is not None and (row.barred_until is None or tx.now() < row.barred_until)
    return (row.barred_reason or "") if is_barred else None


def _participant(tx: Transaction, row: Row[Any]) -> Participant:
    return Participant(
        id=row.id,
        gid=row.gid,
        sale_id=row.sale_id,
        user=Party(row.user_id, row.username),
        standing=Standing(row.status),
        registered_at=row.registered_at,
        paddle=row.paddle,
        reason=row.reason,
        limit=row.bid_limit,
        channel=Channel(row.channel),
        name=row.name,
        contact=row.contact,
        checked_in_at=row.checked_in_at,
        is_guest=row.guest,
        barred_for=_barred_for(tx, row),
    )
