"""`saleroom unarchive`: the events of archived lots go from their files back into their table (docs/backup.md).

Before the first row of a lot goes back, its whole log is read from the files and the table and decided again, as by `saleroom
verify --database`. The last events of those that are missing go back first: so the table has the end of the log at any
time, and readers get the rest from the files. The files stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import delete, select

from saleroom.admin import ledger_check
from saleroom.admin.archive import CHUNK, FAULTS_CODE, PAUSE_SECONDS, folder_of
from saleroom.admin.transfers import freeze_newest
from saleroom.bidding.storage import archive, auctions
from saleroom.bidding.storage.archive import ArchivedRow
from saleroom.bidding.storage.tables import ENDS, archived, events
from saleroom.bidding.storage.tables import auctions as auction_rows
from saleroom.kernel.errors import Refusal
from saleroom.opening import refuse_missing, run
from saleroom.settings import Settings
from saleroom.storage import bulk, transfer
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.turns import Rank
from saleroom.tools.progress import Progress


class ArchivedLot(Struct, frozen=True):
    """An archived lot; its files have `events` events."""

    id: int
    gid: str
    events: int


class UnarchiveSummary(Struct):
    """What a run has done: counts, and in words which lots stay archived."""

    lots: int = 0
    events: int = 0
    faults: list[str] = []


def unarchive_lots(
    settings: Settings, gids: Collection[str] | None, *, dry_run: bool, say: Callable[[str], None]
) -> int:
    """Put the events of these lots back into their table, or of all archived ones for None, and return the exit code.

    Raises Refusal, which also names gids that are not those of archived lots; nothing has happened then.
    """
    folder_of(settings)
    refuse_missing(settings)
    has_broker = settings.mqtt != "off"
    found = run(settings, lambda database: _unarchive(database, gids, has_broker=has_broker, dry_run=dry_run))
    verb = "Would bring back" if dry_run else "Brought back"
    say(f"{verb} {found.lots} lots, {found.events} events.")
    for fault in found.faults:
        say(fault)
    return FAULTS_CODE if found.faults else 0


async def _unarchive(
    database: Database, gids: Collection[str] | None, *, has_broker: bool, dry_run: bool
) -> UnarchiveSummary:
    found = UnarchiveSummary()
    lots = await database.read(_lots, gids)
    with Progress() as progress:
        for done, lot in enumerate(lots):
            progress.report("bringing back", done, len(lots))
            missing = await database.read(archive.first_row, lot.id) - 1
            faults = await database.read(_faults, lot)
            if faults:
                found.faults.append(f"lot {lot.gid} stays archived: {faults[0]}")
                continue
            if not dry_run:
                await _one(database, lot, has_broker=has_broker)
            found.lots, found.events = found.lots + 1, found.events + missing
    return found


async def _one(database: Database, lot: ArchivedLot, *, has_broker: bool) -> None:
    """Put the events of a lot back, some of them in each transaction. Raises DatabaseUnavailable."""
    rows = await database.read(_in_files, lot)
    more = True
    while more:
        more = await database.write(_put_back, lot, rows, has_broker=has_broker)
        await asyncio.sleep(PAUSE_SECONDS)


@ranked(Rank.COSTLY)
def _lots(tx: Transaction, gids: Collection[str] | None) -> list[ArchivedLot]:
    """Return the archived lots, or those with these gids. Raises Refusal for a gid of no archived lot."""
    freeze_newest(tx)
    c = auction_rows.c
    asked = select(c.id, c.gid, archived.c.events).join_from(archived, auction_rows).order_by(c.id)
    if gids is not None:
        asked = asked.where(bulk.among(tx, c.gid, sorted(gids)))
    lots = [ArchivedLot(row.id, row.gid, row.events) for row in tx.execute(asked)]
    unknown = sorted(set(gids or ()) - {lot.gid for lot in lots})
    if unknown:
        raise Refusal(f"no archived lot has the gid {unknown[0]}: nothing was brought back")
    return lots


@ranked(Rank.COSTLY)
def _faults(tx: Transaction, lot: ArchivedLot) -> list[str]:
    transfer.freeze(tx)
    return ledger_check.faults_of_lot(tx, lot.id)


@ranked(Rank.COSTLY)
def _in_files(tx: Transaction, lot: ArchivedLot) -> Sequence[ArchivedRow]:
    """Return the rows of a lot in its files, with pseudonyms in place of names."""
    return list(archive.in_files(tx, lot.gid))


def _put_back(tx: Transaction, lot: ArchivedLot, rows: Sequence[ArchivedRow], *, has_broker: bool) -> bool:
    """Put the last of the missing events back, and return whether more are missing.

    The lot is locked before names are put into its events. So an erasure comes before this, and the name is not known any
    more, or after it, and takes the name out of the rows.
    """
    auctions.lock(tx, [lot.gid])
    if not archive.is_archived(tx, lot.id):
        return False  # another run has done it
    first = archive.first_row(tx, lot.id)
    after = max(first - 1 - CHUNK, 0)
    back = archive.restored(tx, rows, lot.id, after, first)
    bulk.insert(tx, events, [_columns(row, tx, has_broker=has_broker) for row in back])
    if after == 0:
        tx.execute(delete(archived).where(archived.c.auction_id == lot.id))
    return after > 0


def _columns(row: ArchivedRow, tx: Transaction, *, has_broker: bool) -> dict[str, Any]:
    """Return the columns of an event, none of which the broker gets: it has them, or was off when the lot was archived."""
    columns = row.columns()
    if has_broker and row.delivered_at is None:
        columns["delivered_at"] = tx.now()
    if has_broker and row.cleared_at is None and row.type in ENDS:
        columns["cleared_at"] = tx.now()
    return columns
