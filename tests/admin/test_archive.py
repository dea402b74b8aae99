"""Old lots in files: everything reads as before, whatever happens in between."""

import asyncio
import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from sqlalchemy import func, select, update

from saleroom.accounts.service import erasures
from saleroom.admin import archive, ledger_check
from saleroom.areas import forget
from saleroom.bidding.domain.ledger import LedgerEvent
from saleroom.bidding.service import ledgers, receipts
from saleroom.bidding.service.lookup import get_one
from saleroom.bidding.service.reading import shown_history
from saleroom.bidding.storage import archive as files_of_lots
from saleroom.bidding.storage import event_log
from saleroom.bidding.storage.tables import archived, auctions, bids, events
from saleroom.cli import main
from saleroom.kernel.errors import Refusal
from saleroom.sales.service import results
from saleroom.sales.service.results import ResultLine
from saleroom.settings import Settings, load
from saleroom.settlement.service import desk
from saleroom.storage import files
from saleroom.storage.database import Database, Transaction
from saleroom.tools.verify import reading
from tests.admin.test_ledger_check import sale
from tests.fixtures_database import FakeClock
from tests.sales.service.evenings import Evening, evening
from tests.settlement.settled_sales import closed
from tests.settlement.sold_sales import sold

R = TypeVar("R")
FAR = datetime(2100, 1, 1, tzinfo=UTC)
Say = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the files."""
    made = tmp_path / "archive"
    made.mkdir()
    return made


@pytest.fixture
def old(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a house with lots of each kind, all of which count as old; events go one by one."""
    monkeypatch.setattr(archive, "AGE_MIN", timedelta(days=-100_000))
    monkeypatch.setattr(archive, "CHUNK", 1)
    monkeypatch.setattr(archive, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(files_of_lots, "INDEX_ROWS", 2)

    async def work() -> None:
        clock = FakeClock()
        database = Database(database_url, clock=clock)
        await sale(database, clock)
        await database.close()

    asyncio.run(work())
    return database_url


def settings(url: str, folder: Path | None, mqtt: str = "off") -> Settings:
    """Return the settings of a house."""
    return load({"database": url, "archive_folder": folder, "mqtt": mqtt}, {})


def run(url: str, folder: Path | None, *, dry_run: bool = False, say: Callable[[str], None] = lambda _: None) -> int:
    """Archive all lots that are over."""
    return archive.archive_lots(settings(url, folder), FAR, dry_run=dry_run, say=say, keep_newest=0)


def reads(url: str, folder: Path | None, use_case: Callable[[Transaction], R]) -> R:
    """Return the answer of a use case of a house with this folder."""

    async def work() -> R:
        database = Database(url)
        if folder is not None:
            database.provide(files_of_lots.FOLDER, folder)
        try:
            return await database.read(use_case)
        finally:
            await database.close()

    return asyncio.run(work())


def shown(url: str, folder: Path) -> dict[str, Any]:
    """Return all that a house shows of its lots' logs: ledgers, events, streams from each place, receipts."""

    async def work() -> dict[str, Any]:
        database = Database(url)
        database.provide(files_of_lots.FOLDER, folder)
        found: dict[str, Any] = {}
        gids = await database.read(lambda tx: list(tx.execute(select(auctions.c.gid)).scalars()))
        for gid in sorted(gids):
            lot = await database.read(get_one, gid)
            found[f"{gid} ledger"] = b"".join([page async for page in ledgers.lines(database, lot)])
            found[f"{gid} events"] = await database.read(event_log.read, lot.id)
            found[f"{gid} all"] = (await database.read(event_log.read_all, [lot.id]))[lot.id]
            found[f"{gid} from 2"] = await database.read(event_log.logged, lot.id, 1, 3)
            found[f"{gid} public"] = await database.read(event_log.published, lot.id, 1, lot.version)
            for before in (None, 3):
                page = await database.read(shown_history, gid, None, 2, before)
                found[f"{gid} bids before {before}"] = page
            for after in range(lot.version + 1):
                [backlog] = await database.read(event_log.LOG.backlogs, [(gid, after)])
                found[f"{gid} after {after}"] = backlog
            for name in ("ada", "bob", "cyd"):
                found[f"{gid} {name}"] = await receipts.find(database, lot, name)
        await database.close()
        return found

    return asyncio.run(work())


def events_left(url: str) -> int:
    """Return how many rows of events there are."""
    return reads(url, None, lambda tx: int(tx.execute(select(func.count()).select_from(events)).scalar_one()))


def archived_gids(url: str) -> list[str]:
    """Return the gids of the archived lots."""
    found = select(auctions.c.gid).join_from(archived, auctions).order_by(auctions.c.gid)
    return reads(url, None, lambda tx: list(tx.execute(found).scalars()))


def test_everything_reads_as_before(old: str, folder: Path, capfd: Say) -> None:
    """Ledgers, streams, receipts and the check of the database are the same; each file verifies; few rows are left."""
    before, digest, count = shown(old, folder), reads(old, folder, ledger_check.check), events_left(old)
    assert [] == digest.faults
    said: list[str] = []
    assert 0 == run(old, folder, dry_run=True, say=said.append)
    assert (count, []) == (events_left(old), list(folder.iterdir()))
    assert 0 == run(old, folder, say=said.append)
    assert said[0].replace("Would archive", "Archived") == said[1]
    gids = archived_gids(old)
    assert len(gids) == 4, "sold, bought, cancelled, reserve not met"
    assert before == shown(old, folder)
    assert digest == reads(old, folder, ledger_check.check)
    over = reads(old, folder, lambda tx: sum(get_one(tx, gid).position - 1 for gid in gids))
    assert count - over == events_left(old)
    capfd.readouterr()
    for gid in gids:
        assert 0 == main(["verify", str(folder / gid[:2] / f"{gid}.ndjson")])
    assert 0 == run(old, folder, say=said.append)
    assert "Archived 0 lots, 0 events." == said[-1]


def test_lots_of_a_sale_wait_for_its_money(old: str, folder: Path) -> None:
    """A sale that runs, one that nobody has settled and one with debts stay; one that sold nothing goes."""
    said: list[str] = []

    async def work(act: Callable[[Database], Any]) -> Any:
        database = Database(old)
        try:
            return await act(database)
        finally:
            await database.close()

    def left(sale: Evening) -> bool:
        said.clear()
        assert 0 == run(old, folder, say=said.append)
        return not set(sale.lots) & set(archived_gids(old))

    sale = asyncio.run(work(lambda database: sold(database, Random(3), 5, "EUR")))
    unsold = asyncio.run(work(lambda database: evening(database, 2)))
    assert left(sale.on)
    assert "Left 5 lots: their sale is not over." in said
    asyncio.run(work(lambda database: database.write(closed, sale.gid)))
    assert left(sale.on)
    assert "Left 5 lots: nobody has settled their sale yet." in said
    asyncio.run(work(lambda database: database.write(desk.begin, sale.token, sale.gid, sale.places)))
    assert left(sale.on)
    assert "Left 5 lots: somebody still owes money for their sale, or gets some." in said

    line = ResultLine(labels=["1", "2"], price=None, paddle=None, is_sure=True)
    asyncio.run(work(lambda database: database.write(results.enter, unsold.clerk.token, unsold.sale.gid, line)))
    asyncio.run(work(lambda database: database.write(closed, unsold.sale.gid)))
    before = shown(old, folder)
    assert not left(unsold)
    assert before == shown(old, folder)


@pytest.mark.parametrize("suffix", [".ndjson", ".rows.ndjson"])
def test_nothing_goes_if_a_file_is_wrong(old: str, folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a disk writes other bytes than it was given, the lot stays in the tables, and the command says so."""
    count, said = events_left(old), list[str]()

    def publish(part: Path, file: Path, *, force: bool = False) -> None:
        raw = part.read_bytes()
        if file.name.endswith(suffix) and (suffix != ".ndjson" or ".rows." not in file.name):
            at = raw.index(b'"type":"auction.created"') + 10 if suffix == ".ndjson" else raw.index(b'"price":"') + 9
            part.write_bytes(raw[:at] + b"9" + raw[at + 1 :])
        files.publish(part, file, force=force)

    monkeypatch.setattr(archive, "publish", publish)
    assert 1 == run(old, folder, say=said.append)
    assert (count, []) == (events_left(old), archived_gids(old))
    assert "Archived 0 lots, 0 events." == said[0]
    assert 4 == sum("stays in the tables" in line for line in said)


def test_a_lost_or_changed_file_is_found(old: str, folder: Path) -> None:
    """`saleroom verify --database` names each lot whose files are gone or changed, and nothing else breaks."""
    assert 0 == run(old, folder)
    first, second, third, _ = archived_gids(old)
    (folder / first[:2] / f"{first}.ndjson").unlink()
    changed = folder / second[:2] / f"{second}.rows.ndjson"
    changed.write_bytes(changed.read_bytes().replace(b'"cleared_at":null', b'"cleared_at": null', 1))
    ledger = folder / third[:2] / f"{third}.ndjson"
    ledger.write_bytes(ledger.read_bytes().replace(b"100.000", b"100.001"))
    faults = reads(old, folder, ledger_check.faults_of)
    assert [True, True, True] == [any(gid in fault for fault in faults) for gid in (first, second, third)]
    assert 3 == len(faults)
    assert 4 == len(reads(old, None, ledger_check.faults_of)), "a house without the folder misses all of them"


@pytest.mark.databases("sqlite")
def test_a_page_is_read_from_its_place(old: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page of events, of the ledger and of bids reads what it shows and a few rows before, not the whole file."""
    assert 0 == run(old, folder)
    made: list[int] = []
    read = files_of_lots.read

    def counted(*given: Any) -> Iterator[files_of_lots.ArchivedRow]:
        for row in read(*given):
            made.append(row.position)
            yield row

    monkeypatch.setattr(files_of_lots, "read", counted)

    def rows_of_pages(tx: Transaction) -> None:
        for gid in archived_gids(old):
            lot = get_one(tx, gid)
            most = files_of_lots.INDEX_ROWS + 1 + lot.position - lot.version  # hidden events stand between public ones
            for after in range(lot.version - 1):
                for page in (event_log.published, event_log.logged):
                    made.clear()
                    assert 1 == len(page(tx, lot.id, after, after + 1))
                    assert len(made) <= most
            for number in range(1, lot.bid_count + 1):
                made.clear()
                assert [number] == [*event_log.bid_versions(tx, lot.id, number, 1)]
                assert len(made) <= most + 1

    reads(old, folder, rows_of_pages)


@pytest.mark.databases("sqlite")
def test_bids_that_are_somebody_else_s_now(old: str, folder: Path) -> None:
    """A merger moves the rows of bids after the archive: whatever is read of the files, from any place, has the new number."""
    assert 0 == run(old, folder)

    def move(tx: Transaction) -> None:
        tx.execute(update(bids).where(bids.c.bidder_id == 2).values(bidder_id=3))

    async def merge() -> None:
        database = Database(old)
        await database.write(move)
        await database.close()

    def numbers(found: list[LedgerEvent]) -> list[int]:
        return [number for one in found for name in files_of_lots.NUMBERS if (number := one.private.get(name))]

    gids = archived_gids(old)
    lots = reads(old, folder, lambda tx: [get_one(tx, gid) for gid in gids])
    places = [(lot.id, after, lot.position) for lot in lots for after in range(lot.position - 1)]

    def all_numbers(tx: Transaction) -> list[list[int]]:
        return [numbers(event_log.logged(tx, number, after, until - 1)) for number, after, until in places]

    before = reads(old, folder, all_numbers)
    assert any(2 in found for found in before)
    asyncio.run(merge())
    assert [[3 if one == 2 else one for one in found] for found in before] == reads(old, folder, all_numbers)


def test_somebody_who_is_erased_is_gone_from_files_too(old: str, folder: Path, database_url: str) -> None:
    """No file has a name in it, so none has to change; the house puts back the names that it knows, and no others."""
    assert 0 == run(old, folder)
    raw = b"".join(file.read_bytes() for file in folder.glob("*/*"))
    assert not [name for name in (b'"ada"', b'"bob"', b'"cyd"') if name in raw]
    gids = archived_gids(old)
    before = shown(old, folder)
    assert any(b'"cyd"' in before[f"{gid} ledger"] for gid in gids)

    async def erase() -> None:
        database = Database(database_url)
        await database.write(erasures.erase_by_house, "cyd", "", forget)
        await database.close()

    asyncio.run(erase())
    after = shown(old, folder)
    assert not any(b'"cyd"' in after[f"{gid} ledger"] for gid in gids)
    assert any(b'"bob"' in after[f"{gid} ledger"] for gid in gids)
    assert [] == reads(old, folder, ledger_check.faults_of)
    assert [] == [gid for gid in gids if not verifies(after[f"{gid} ledger"])]


def verifies(ledger: bytes) -> bool:
    """Whether a ledger verifies."""
    return reading.read(io.BytesIO(ledger)).opened


def test_copies_of_a_house_with_archived_lots(
    old: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Say
) -> None:
    """A backup and an export are checked with the files, and the house they make reads as before."""
    assert 0 == run(old, folder)
    before = shown(old, folder)
    with_folder = f"archive_folder = '{folder}'\n"
    config, copy = tmp_path / "house.toml", f"sqlite:///{tmp_path}/copy.db"
    config.write_text(with_folder)
    options = ["--config", str(config), "--database"]
    assert 0 == main(["export", str(tmp_path / "house.ndjson"), *options, old])
    assert 0 == main(["import", str(tmp_path / "house.ndjson"), *options, copy])
    assert before == shown(copy, folder)
    assert 0 == main(["backup", str(tmp_path / "monday.db"), *options, copy])
    assert 0 == main(["verify", "--database", copy, "--config", str(config)])
    config.write_text("")
    assert 1 == main(["export", str(tmp_path / "lost.ndjson"), *options, old])
    assert "archive_folder names no folder" in capfd.readouterr().err


def test_lots_that_must_stay(old: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is archived without a folder, of the last 30 days, or among the newest events."""
    with pytest.raises(Refusal, match="archive_folder"):
        run(old, None)
    with pytest.raises(Refusal, match="there is no folder"):
        run(old, folder / "none")
    with pytest.raises(Refusal, match=r"none\.db"):
        run(f"sqlite:///{folder}/none.db", folder)
    said: list[str] = []
    assert 0 == archive.archive_lots(settings(old, folder), FAR, dry_run=False, say=said.append)
    assert "Archived 0 lots, 0 events." == said[-1], "all are among the newest 10,000 events"
    with_broker = settings(old, folder, mqtt="mqtt://127.0.0.1:1")
    assert 0 == archive.archive_lots(with_broker, FAR, dry_run=False, say=said.append, keep_newest=0)
    assert "Left 4 lots: the MQTT broker has still to get their events, or to let go of their states." == said[-1]
    monkeypatch.setattr(archive, "AGE_MIN", timedelta(days=30))
    with pytest.raises(Refusal, match="30 days"):
        run(old, folder)
