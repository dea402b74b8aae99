"""Automatic reminders: the house does the steps of the calendar by itself, as far as a setting says.

Every process looks. Nothing depends on that: a step is done under the lock of its sale, and the database takes each step once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from saleroom.accounts.service import sanctions
from saleroom.accounts.storage import mail_addresses
from saleroom.accounts.storage import sanctions as sanction_rows
from saleroom.outbox import store
from saleroom.outbox.message import MAIL
from saleroom.sales.storage import sales
from saleroom.settlement.domain.reminders.reminding import Calendar, is_by_house
from saleroom.settlement.service.documents.overdue import Overdue, Pair, lift_if_paid, overdue
from saleroom.settlement.service.journal import bring_up_to_date
from saleroom.settlement.service.reminders.reminding import do_step
from saleroom.settlement.storage import documents
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

LOOK_SECONDS = 600.0

_log = structlog.get_logger()


def due_sales(tx: Transaction, calendar: Calendar) -> dict[int, list[Pair]]:
    """Return the buyers for whom the house has a step to do by itself, by the number of their sale."""
    found: dict[int, list[Pair]] = {}
    for one in _due(tx, None, calendar):
        found.setdefault(one.issued.owner.sale_id, []).append((one.issued.owner.sale_id, one.user_id))
    return found


def do_due(tx: Transaction, sale_id: int, pairs: list[Pair], calendar: Calendar, places: int) -> int:
    """Do the steps about buyers of a sale whose day has come, and return how many there were.

    The journal is brought up to date in the name of the user who made the sale: what a reminder says must be what is owed now.
    """
    sale = sales.lock(tx, sales.by_id(tx, sale_id).gid)
    if sale is None:
        return 0
    bring_up_to_date(tx, sale, sale.owner.id, places)
    due = _due(tx, pairs, calendar)
    for one in due:
        if one.step is not None:
            do_step(tx, one, one.step, calendar, None)
    return len(due)


def barred_buyers(tx: Transaction) -> list[int]:
    """Return the numbers of the users who are banned for strikes."""
    return sanction_rows.barred_for(tx, sanctions.STRIKES)


def lift_due(tx: Transaction, user_id: int, places: int) -> None:
    """Lift the ban of a user if nothing is open any more of the invoices that it rests on, by the journal up to date.

    An invoice that does not fit any more needs no act of anybody at the desk for that.
    """
    struck = documents.find_all(tx, sanction_rows.struck(tx, user_id))
    for sale_id in sorted({one.owner.sale_id for one in struck.values()}):
        sale = sales.lock(tx, sales.by_id(tx, sale_id).gid)
        if sale is not None:
            bring_up_to_date(tx, sale, sale.owner.id, places)
    lift_if_paid(tx, user_id, None)


def _due(tx: Transaction, pairs: list[Pair] | None, calendar: Calendar) -> list[Overdue]:
    """Return what the house does by itself now. A reminder that would reach nobody by mail is left for a person."""
    today = calendar.day(tx.now())
    found = [
        one for one in overdue(tx, pairs, calendar) if one.step is not None and is_by_house(one.step, today, calendar)
    ]
    if not found or not tx.is_on(store.SENT_BY[MAIL]):
        return []
    reached = mail_addresses.verified(tx, {one.user_id for one in found})
    return [one for one in found if one.user_id in reached]


async def look(database: Database, calendar: Calendar, places: int) -> int:
    """Do all that is due, one sale in a transaction, lift bans, and return how many steps were done.

    Raises DatabaseUnavailable.
    """
    done = 0
    for sale_id, pairs in (await database.read(due_sales, calendar)).items():
        done += await database.write(do_due, sale_id, pairs, calendar, places)
    for user_id in await database.read(barred_buyers):
        await database.write(lift_due, user_id, places)
    return done


async def run(database: Database, calendar: Calendar, places: int) -> None:
    """Look now and every ten minutes until cancelled. Without the database, the next time comes."""
    while True:
        with suppress(DatabaseUnavailable):
            done = await look(database, calendar, places)
            if done:
                _log.info("overdue invoices were reminded of", steps=done)
        await asyncio.sleep(LOOK_SECONDS)
