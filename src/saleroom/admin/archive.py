"""`saleroom archive`: the events of old lots go from their table into files that verify (docs/backup.md).

Nothing is removed before both files of a lot are on the disk, were read back, and are the rows to the last byte. First a row
says that the lot is archived; then the events go, some of them in each transaction, the first ones first. The rest of
them is the end of the log, so that a reader knows what the files have to add. The last event stays.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct, field
from sqlalchemy import delete, exists, func, insert, select

from saleroom.admin.transfers import freeze_newest
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.block_events import BidderNamed
from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.storage import archive, auctions
from saleroom.bidding.storage.archive import ArchivedRow, ArchiveMissing, Files
from saleroom.bidding.storage.tables import ENDS, archived, events
from saleroom.bidding.storage.tables import auctions as auction_rows
from saleroom.feed.feed import LOOK_BACK
from saleroom.kernel.errors import Refusal
from saleroom.opening import refuse_missing, run
from saleroom.sales.storage import lots as sale_lots
from saleroom.sales.storage import sales
from saleroom.settings import Settings
from saleroom.settlement.domain.journal import Book, balances
from saleroom.settlement.storage import journal
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.files import beside, publish
from saleroom.storage.turns import Rank
from saleroom.tools.progress import Progress
from saleroom.tools.verify import reading

AGE_MIN = timedelta(days=30)
"""Younger lots are still looked at, paid and talked about, and brokers retain their states."""
PAGE = 200
CHUNK = 500
"""Events that are removed in one transaction: a few milliseconds, for which bids wait on SQLite."""
PAUSE_SECONDS = 0.02
"""Between these transactions others have the database."""
FAULTS_CODE = 1


class LotToArchive(Struct, frozen=True):
    """A lot that is over, and has events to archive or to remove."""

    id: int
    gid: str
    seed: str
    position: int
    head: str
    sale_id: int | None
    is_written: bool
    owes: bool
    """Whether the broker has still to get one of its events, or to let go of its state."""


class LotStays(Exception):
    """A lot stays in the tables; the message says why."""


class ArchiveSummary(Struct):
    """What a run has done: counts, and why lots were left."""

    lots: int = 0
    events: int = 0
    left: Counter[str] = field(default_factory=Counter)
    faults: list[str] = []


def archive_lots(
    settings: Settings,
    before: datetime | timedelta,
    *,
    dry_run: bool,
    say: Callable[[str], None],
    keep_newest: int = LOOK_BACK,
) -> int:
    """Archive the lots whose last event is from before an instant, or older, and return the exit code.

    Raises Refusal, OSError.

    Lots with one of the newest `keep_newest` events stay: processes that follow the log compare what they know with these.
    """
    folder = folder_of(settings)
    refuse_missing(settings)
    has_broker = settings.mqtt != "off"
    found = run(
        settings,
        lambda database: _archive(database, folder, before, keep_newest, has_broker=has_broker, dry_run=dry_run),
    )
    verb = "Would archive" if dry_run else "Archived"
    say(f"{verb} {found.lots} lots, {found.events} events.")
    for reason, count in sorted(found.left.items()):
        say(f"Left {count} lots: {reason}.")
    for fault in found.faults:
        say(fault)
    return FAULTS_CODE if found.faults else 0


def folder_of(settings: Settings) -> Path:
    """Return the folder of the files. Raises Refusal if no setting names it, or it is not there."""
    folder = settings.archive_folder
    if not folder:
        raise Refusal("name the folder of the files first, as the setting archive_folder (docs/backup.md)")
    if not folder.is_dir():
        raise Refusal(f"there is no folder {folder}: make it, for the user of the house alone")
    return folder


async def _archive(
    database: Database, folder: Path, limit: datetime | timedelta, keep_newest: int, *, has_broker: bool, dry_run: bool
) -> ArchiveSummary:
    found, after, sales_asked = ArchiveSummary(), 0, dict[int, str | None]()
    before, total = await database.read(_prepared, limit)
    seen = 0
    with Progress() as progress:
        while lots := await database.read(_lots, after, before, keep_newest):
            after = lots[-1].id
            for lot in lots:
                seen += 1
                progress.report("archiving", seen, total)
                try:
                    if lot.sale_id and lot.sale_id not in sales_asked:
                        sales_asked[lot.sale_id] = await database.read(_open_sale, lot.sale_id)
                    _refuse(lot, sales_asked.get(lot.sale_id or 0), has_broker=has_broker)
                    if not dry_run:
                        await _one(database, folder, lot)
                except LotStays as reason:
                    found.left[str(reason)] += 1
                except (reading.Breakage, ArchiveMissing) as fault:
                    found.faults.append(f"lot {lot.gid} stays in the tables: {fault}")
                else:
                    found.lots, found.events = found.lots + 1, found.events + lot.position
    return found


def _refuse(lot: LotToArchive, of_sale: str | None, *, has_broker: bool) -> None:
    """Raise LotStays if a lot has to stay: for its sale, as `of_sale` says, unless its files are written; or for the broker."""
    if of_sale and not lot.is_written:
        raise LotStays(of_sale)
    if has_broker and lot.owes:
        raise LotStays("the MQTT broker has still to get their events, or to let go of their states")


async def _one(database: Database, folder: Path, lot: LotToArchive) -> None:
    """Write the files of a lot, note it, and remove its rows. Raises LotStays, Breakage, ArchiveMissing, OSError."""
    if lot.is_written:
        await database.read(_check_again, folder, lot)
    else:
        digest = await database.read(_write, folder, lot)
        await database.write(_note, lot, digest)
    more = True
    while more:
        more = await database.write(_remove, lot)
        await asyncio.sleep(PAUSE_SECONDS)


def _prepared(tx: Transaction, limit: datetime | timedelta) -> tuple[datetime, int]:
    """Return the instant before which lots are archived, and how many lots there are at most.

    Raises Refusal for tables of another version, or an instant too near.
    """
    freeze_newest(tx)
    before = tx.now() - limit if isinstance(limit, timedelta) else limit
    if before > tx.now() - AGE_MIN:
        raise Refusal(f"lots stay in the tables for {AGE_MIN.days} days at least: name an earlier date")
    over = select(func.count()).where(auction_rows.c.status.in_([Status.CLOSED, Status.CANCELLED]))
    return before, int(tx.execute(over.select_from(auction_rows)).scalar_one())


@ranked(Rank.COSTLY)
def _lots(tx: Transaction, after: int, before: datetime, keep_newest: int) -> list[LotToArchive]:
    """Return a page of the lots that are over since before an instant, and have events besides the last one."""
    c, last, other = auction_rows.c, events.alias("last"), events.alias("other")
    of_lot = other.c.auction_id == c.id
    newest = tx.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
    kept = (other.c.delivered_at.is_(None) & other.c.version.is_not(None)) | (
        other.c.type.in_(ENDS) & other.c.cleared_at.is_(None)
    )
    owes = exists().where(of_lot, kept).label("owes")
    found = (
        select(c.id, c.gid, c.seed, c.position, c.head, c.sale_id, archived.c.auction_id.label("written"), owes)
        .join_from(auction_rows, last, (last.c.auction_id == c.id) & (last.c.position == c.position))
        .outerjoin(archived, archived.c.auction_id == c.id)
        .where(c.id > after, c.status.in_([Status.CLOSED, Status.CANCELLED]), c.due_at.is_(None))
        .where(last.c.at < before, last.c.id <= newest - keep_newest)
        # What was appended to an archived lot stays in the table.
        .where(archived.c.events.is_(None) | (archived.c.events == c.position))
        .where(exists().where(of_lot, other.c.position < c.position))
        .where(~exists().where(of_lot, other.c.type == BidderNamed.TYPE))
        .order_by(c.id)
        .limit(PAGE)
    )
    return [
        LotToArchive(r.id, r.gid, r.seed, r.position, r.head, r.sale_id, r.written is not None, bool(r.owes))
        for r in tx.execute(found)
    ]


def _open_sale(tx: Transaction, sale_id: int) -> str | None:
    """Return why the lots of a sale stay in the tables, None if they need not."""
    sale = sales.by_ids(tx, [sale_id]).get(sale_id)
    if sale is not None and not sale.over:
        return "their sale is not over"
    # The journal has a sold lot only once somebody settles the sale.
    posted = journal.standing(tx, sale_id)
    sold = (one.lot.id for one in sale_lots.offered(tx, sale_id) if one.auction and one.auction.outcome is Outcome.SOLD)
    if not posted.keys() >= {*sold}:
        return "nobody has settled their sale yet"
    owed = balances(one.posting for one in journal.moved(tx, sale_id))
    if any(amount for account, amount in owed.items() if account.book in {Book.BUYERS, Book.CONSIGNORS}):
        return "somebody still owes money for their sale, or gets some"
    return None


@ranked(Rank.COSTLY)
def _write(tx: Transaction, folder: Path, lot: LotToArchive) -> str:
    """Write both files of a lot, read them back, and return the digest to note. Raises Breakage, ArchiveMissing, OSError."""
    files = Files.of(folder, lot.gid)
    files.ledger.parent.mkdir(mode=0o700, exist_ok=True)
    _sync(folder)
    with beside(files.ledger) as ledger, beside(files.rows) as rows:
        with ledger.open("wb") as ledger_file, rows.open("wb") as rows_file:
            archive.Writer(ledger_file, rows_file, lot.seed).add(_rows(tx, lot))
        publish(rows, files.rows, force=True)
        publish(ledger, files.ledger, force=True)
    _check(tx, files, lot)
    return archive.digest(files)


def _check(tx: Transaction, files: Files, lot: LotToArchive) -> None:
    """Read the files back: the ledger verifies, and all rows are as the table has them. Raises Breakage, ArchiveMissing."""
    _check_ledger(files, lot)
    restored = archive.restored(tx, archive.read(files, lot.gid), lot.id)
    for number, (row, read_back) in enumerate(zip_longest(_rows(tx, lot), restored), 1):
        if row != read_back:
            raise ArchiveMissing(f"event {number} cannot be read back as it was")


def _check_ledger(files: Files, lot: LotToArchive) -> None:
    with files.ledger.open("rb") as file:
        ledger = reading.read(file)
    if (ledger.gid, ledger.head, ledger.opened) != (lot.gid, lot.head, True):
        raise reading.Breakage(len(ledger.hashes), "the ledger in the file is not that of the lot")


def _check_again(tx: Transaction, folder: Path, lot: LotToArchive) -> None:
    """Refuse to remove rows if the files of an interrupted run are not what was noted. Raises Breakage, ArchiveMissing."""
    files = Files.of(folder, lot.gid)
    fault = archive.fault(tx, lot.id)
    if fault is not None:
        raise ArchiveMissing(fault)
    _check_ledger(files, lot)


def _rows(tx: Transaction, lot: LotToArchive) -> Iterator[ArchivedRow]:
    """Yield the rows of a lot's events in order, a page of them in memory."""
    names = [column for column in events.columns if column.name != archive.OF_DATABASE]
    asked = select(*names).where(events.c.auction_id == lot.id).order_by(events.c.position).limit(CHUNK)
    after = 0
    while page := tx.execute(asked.where(events.c.position > after)).mappings().all():
        for row in page:
            yield ArchivedRow(gid=lot.gid, **row)
        after = page[-1]["position"]


def _note(tx: Transaction, lot: LotToArchive, digest: str) -> None:
    """Note that a lot is archived. Raises LotStays if it is another than was written."""
    found = auctions.lock(tx, [lot.gid]).get(lot.gid)
    is_as_written = found and found.over and found.position == lot.position and found.chain.head == lot.head
    if not is_as_written:
        raise LotStays("they changed meanwhile")
    noted_by_another_run = tx.execute(select(archived).where(archived.c.auction_id == lot.id)).first()
    if not noted_by_another_run:
        row = {"auction_id": lot.id, "events": lot.position, "digest": digest, "archived_at": tx.now()}
        tx.execute(insert(archived), row)


def _remove(tx: Transaction, lot: LotToArchive) -> bool:
    """Remove the next events of a lot that is archived, and return whether more may follow. Raises LotStays."""
    auctions.lock(tx, [lot.gid])
    if not archive.is_archived(tx, lot.id):
        raise LotStays("saleroom unarchive brings them back just now")
    reached = archive.first_row(tx, lot.id) + CHUNK
    which = (events.c.auction_id == lot.id, events.c.position < min(reached, lot.position))
    tx.execute(delete(events).where(*which))
    return reached < lot.position


def _sync(folder: Path) -> None:
    """Have the name of a new folder on the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
