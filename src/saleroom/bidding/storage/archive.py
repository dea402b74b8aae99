"""Events of old lots in files, from which the log is read once their rows are gone. `saleroom archive` writes them.

A lot has two files. `GID.ndjson` is its ledger as anyone may have it (docs/ledger.md), with pseudonyms in place of all names
that have salts. So no file has to change when somebody is erased: the house puts a name back as it reads, as long as it knows
it. `GID.rows.ndjson` has the rows of the events without what the ledger says, in the format of an export (docs/backup.md).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw, Struct, structs
from sqlalchemy import func, select

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter
from saleroom.bidding.domain.pseudonyms import pseudonym, with_names, with_pseudonyms
from saleroom.bidding.storage.tables import archived, auctions, bidder_names, bids, events
from saleroom.kernel.chain import canonical, name_salt
from saleroom.storage.database import SharedPart, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.transfer import value_of, written

FOLDER: SharedPart[Path] = SharedPart()
"""The folder of the files, if the setting `archive_folder` names one."""
IN_LEDGER, OF_DATABASE = "payload", "written_by"
"""The column that the ledger holds, and the one that means something in one database only."""
COLUMNS = {str(column.name): column for column in events.columns if column.name not in {IN_LEDGER, OF_DATABASE}}
INDEX_ROWS, INDEXES_MAX = 500, 64
"""How many rows of a lot lie between two places of its index, and the most indexes that a process keeps."""
NUMBERS = ("bidderId", "leaderId")
"""The members of private parts of events that are numbers of bidders."""


class ArchiveMissing(DatabaseUnavailable):
    """The files of a lot are not where they should be, or damaged; the message says what to do."""


class ArchivedRow(Struct, frozen=True, kw_only=True):
    """The row of an event as its table had it, and the gid of its lot."""

    gid: str
    id: int
    auction_id: int
    position: int
    version: int | None
    type: str
    at: datetime
    payload: bytes | None
    private: bytes
    price: Decimal
    ending_rank: int
    delivered_at: datetime | None
    cleared_at: datetime | None

    def columns(self) -> dict[str, Any]:
        """Return the columns of the row by name."""
        return {name: value for name, value in structs.asdict(self).items() if name != "gid"}


class Files(Struct, frozen=True):
    """The two files of a lot."""

    ledger: Path
    rows: Path

    @classmethod
    def of(cls, folder: Path, gid: str) -> Files:
        """Return the files of the lot `gid`, which need not exist."""
        below = folder / gid[:2]
        return cls(below / f"{gid}.ndjson", below / f"{gid}.rows.ndjson")


class Place(Struct, frozen=True):
    """A place in the files of a lot: where a row and the line of the next public event begin, and what stands before them."""

    position: int = 0
    version: int = 0
    bids: int = 0
    row_at: int = 0
    line_at: int = 0


class Index(Struct, frozen=True):
    """Places in the files of a lot in order, and for each bidder how many bids stand before their first."""

    places: list[Place]
    first_bids: dict[int, int]

    def before(self, number: int, key: Callable[[Place], int]) -> Place:
        """Return the last place before which no more stands than `number` of what `key` counts."""
        return self.places[bisect_right(self.places, number, key=key) - 1]


class _LotFiles(Struct, frozen=True):
    """An archived lot with its files and their index."""

    auction_id: int
    gid: str
    files: Files
    index: Index


_BEGINNING = Place()


class Writer:
    """Writes both files of a lot, page by page of its log."""

    def __init__(self, ledger: BinaryIO, rows: BinaryIO, seed: str) -> None:
        self._ledger, self._rows = ledger, rows
        self._lines = LedgerWriter(seed)

    def add(self, page: Iterable[ArchivedRow]) -> None:
        """Write the next rows of the log."""
        for row in page:
            payload = None if row.payload is None else with_pseudonyms(row.payload)
            event = LedgerEvent(row.type, row.at, payload, msgspec.json.decode(row.private))
            self._ledger.writelines(self._lines.of([event]))
            told = {name: written(value) for name, value in row.columns().items() if name != IN_LEDGER}
            self._rows.write(canonical({"row": told, "table": str(events.name)}) + b"\n")


def read(files: Files, gid: str, start: Place = _BEGINNING) -> Iterator[ArchivedRow]:
    """Yield the rows in the files from a place on, with pseudonyms in place of names. Raises ArchiveMissing."""
    with _readable(files, gid), files.rows.open("rb") as rows, files.ledger.open("rb") as ledger:
        rows.seek(start.row_at)
        ledger.seek(start.line_at)
        for line in rows:
            told = msgspec.json.decode(line)["row"]
            row = {name: value_of(column, told[name]) for name, column in COLUMNS.items()}
            payload = _payload(ledger.readline()) if row["version"] is not None else None
            yield ArchivedRow(gid=gid, payload=payload, **row)


def index(files: Files, gid: str) -> Index:
    """Return the index of the files of a lot. It is made again if the files have changed. Raises ArchiveMissing."""
    with _readable(files, gid):
        stamp = [(one.st_ino, one.st_size, one.st_mtime_ns) for one in (files.rows.stat(), files.ledger.stat())]
        return _index(files, tuple(stamp))


@lru_cache(maxsize=INDEXES_MAX)
def _index(files: Files, _stamp: tuple[tuple[int, ...], ...]) -> Index:
    found = Index([], {})
    position = version = bids = row_at = line_at = 0
    with files.rows.open("rb") as rows, files.ledger.open("rb") as ledger:
        for number, line in enumerate(rows):
            if number % INDEX_ROWS == 0:
                found.places.append(Place(position, version, bids, row_at, line_at))
            row = msgspec.json.decode(line)["row"]
            position, row_at = row["position"], row_at + len(line)
            if row["version"] is not None:
                version, line_at = row["version"], line_at + len(ledger.readline())
            if row["type"] == BidPlaced.TYPE:
                private = value_of(COLUMNS["private"], row["private"])
                found.first_bids.setdefault(msgspec.json.decode(private)["bidderId"], bids)
                bids += 1
    return found if found.places else Index([_BEGINNING], {})


@contextmanager
def _readable(files: Files, gid: str) -> Iterator[None]:
    """Raise ArchiveMissing for what the block meets in files that are gone or damaged."""
    try:
        yield
    except FileNotFoundError as error:
        raise ArchiveMissing(f"the archived events of lot {gid} are gone: bring back {error.filename}") from error
    except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        where = f"{files.ledger} or {files.rows.name}"
        raise ArchiveMissing(f"the archived events of lot {gid} cannot be read: bring back {where}") from error


class _Line(Struct):
    event: Raw


def _payload(line: bytes) -> bytes:
    return bytes(msgspec.json.decode(line, type=_Line).event)


def digest(files: Files) -> str:
    """Return the SHA-256 of the file that is not the ledger, in hexadecimal digits. Raises OSError."""
    with files.rows.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fault(tx: Transaction, auction_id: int) -> str | None:
    """Return what is wrong with the files of an archived lot, as far as their rows do not tell; None if nothing is."""
    which = select(auctions.c.gid, archived.c.digest).join_from(archived, auctions)
    found = tx.execute(which.where(archived.c.auction_id == auction_id)).first()
    if found is None:
        return None
    files = Files.of(_folder(tx, found.gid), found.gid)
    try:
        is_same = digest(files) == found.digest
    except OSError:
        is_same = False
    return None if is_same else f"its archived events are not in {files.rows} as they were written"


def rows_of(tx: Transaction, auction_id: int, after: int = 0, before: int | None = None) -> Iterator[ArchivedRow]:
    """Yield the archived events of a lot from behind position `after`, and ahead of `before`, as their rows were.

    There are none of a lot that is not archived. Raises ArchiveMissing.
    """
    gid = _gid(tx, auction_id)
    if gid is not None and not after:  # the index, which reads all, is for pages behind the first
        yield from restored(tx, in_files(tx, gid), auction_id, after, before)
    elif gid is not None:
        opened = _opened(tx, auction_id, gid)
        yield from _from(tx, opened, opened.index.before(after, lambda place: place.position), after, before)


def is_archived(tx: Transaction, auction_id: int) -> bool:
    """Return whether the first events of an auction may be in its files alone."""
    return tx.execute(select(archived).where(archived.c.auction_id == auction_id)).first() is not None


def first_row(tx: Transaction, auction_id: int) -> int:
    """Return the position of the first event of an auction that its table has."""
    first = select(func.min(events.c.position)).where(events.c.auction_id == auction_id)
    return int(tx.execute(first).scalar_one())


def in_files(tx: Transaction, gid: str) -> Iterator[ArchivedRow]:
    """Yield the rows in the files of the lot `gid`, with pseudonyms in place of names. Raises ArchiveMissing."""
    return read(Files.of(_folder(tx, gid), gid), gid)


def _folder(tx: Transaction, gid: str) -> Path:
    folder = tx.provided(FOLDER)
    if folder is None:
        raise ArchiveMissing(f"the events of lot {gid} are archived, and the setting archive_folder names no folder")
    return folder


def restored(
    tx: Transaction, rows: Iterable[ArchivedRow], auction_id: int, after: int = 0, before: int | None = None
) -> Iterator[ArchivedRow]:
    """Yield those of `rows` between two positions with the names and numbers of people that are known now.

    `rows` begin with the first of the lot.
    """
    bidders = _bidders(tx, auction_id)
    moved: dict[int, int] = {}

    def seen() -> Iterator[ArchivedRow]:
        placed = 0
        for row in rows:
            if row.type == BidPlaced.TYPE and placed < len(bidders):
                moved[msgspec.json.decode(row.private)["bidderId"]] = bidders[placed]
                placed += 1
            yield row

    yield from _with_people(tx, seen(), auction_id, moved, after, before)


def _gid(tx: Transaction, auction_id: int) -> str | None:
    """Return the gid of a lot that is archived, otherwise None."""
    which = select(auctions.c.gid).join_from(archived, auctions).where(archived.c.auction_id == auction_id)
    return tx.execute(which).scalar_one_or_none()


def _opened(tx: Transaction, auction_id: int, gid: str) -> _LotFiles:
    """Return the files of an archived lot with their index. Raises ArchiveMissing."""
    files = Files.of(_folder(tx, gid), gid)
    return _LotFiles(auction_id, gid, files, index(files, gid))


def _from(
    tx: Transaction, opened: _LotFiles, place: Place, after: int = 0, before: int | None = None
) -> Iterator[ArchivedRow]:
    """Yield archived events as `restored` does, read from a place on."""
    bidders = _bidders(tx, opened.auction_id)
    moved = {old: bidders[first] for old, first in opened.index.first_bids.items() if first < len(bidders)}
    rows = read(opened.files, opened.gid, place)
    yield from _with_people(tx, rows, opened.auction_id, moved, after, before)


def _with_people(
    tx: Transaction,
    rows: Iterable[ArchivedRow],
    auction_id: int,
    moved: Mapping[int, int],
    after: int,
    before: int | None,
) -> Iterator[ArchivedRow]:
    names = _names(tx, auction_id)
    for row in rows:
        if before is not None and row.position >= before:
            return
        if row.position > after:
            payload = None if row.payload is None else with_names(row.payload, names)
            yield structs.replace(row, payload=payload, private=_with_numbers(row.private, moved))


def _bidders(tx: Transaction, auction_id: int) -> list[int]:
    """Return the number of the user of each bid on a lot, in order."""
    found = select(bids.c.bidder_id).where(bids.c.auction_id == auction_id).order_by(bids.c.number)
    return [*tx.execute(found).scalars()]


def public_of(tx: Transaction, auction_id: int, after: int, before: int) -> Iterator[ArchivedRow]:
    """Yield the archived public events of a lot after version `after` and ahead of version `before`. Raises ArchiveMissing."""
    for row in _from_version(tx, auction_id, after):
        if row.version is not None and row.version >= before:
            return
        if row.version is not None and row.version > after:
            yield row


def _from_version(tx: Transaction, auction_id: int, after: int) -> Iterator[ArchivedRow]:
    gid = _gid(tx, auction_id) if after else None
    if gid is None:
        return rows_of(tx, auction_id)
    opened = _opened(tx, auction_id, gid)
    return _from(tx, opened, opened.index.before(after, lambda place: place.version))


def bid_versions(tx: Transaction, auction_id: int, first: int, last: int) -> list[int]:
    """Return the versions of the archived bids of a lot from number `first` to `last`, in order. Raises ArchiveMissing."""
    gid = _gid(tx, auction_id)
    if gid is None:
        return []
    opened = _opened(tx, auction_id, gid)
    place = opened.index.before(first - 1, lambda place: place.bids)
    found = (row.version for row in _from(tx, opened, place) if row.version is not None and row.type == BidPlaced.TYPE)
    return [*islice(found, first - 1 - place.bids, last - place.bids)]


def _with_numbers(private: bytes, moved: Mapping[int, int]) -> bytes:
    """Give the bids of users who are others now to these, as a merger did with the rows of bids."""
    if all(old == new for old, new in moved.items()):
        return private
    told = msgspec.json.decode(private)
    return msgspec.json.encode({k: moved.get(v, v) if k in NUMBERS else v for k, v in told.items()})


def _names(tx: Transaction, auction_id: int) -> dict[str, tuple[str, str]]:
    """Return the names, each with its salt, of all who offered a lot or bid on it, by pseudonym."""
    lot = tx.execute(
        select(auctions.c.author_id, auctions.c.sale_id, auctions.c.seed).where(auctions.c.id == auction_id)
    ).one()
    people = select(bids.c.bidder_id).where(bids.c.auction_id == auction_id).distinct()
    asked = select(users.c.username).where((users.c.id == lot.author_id) | users.c.id.in_(people))
    known = set(tx.execute(asked).scalars())
    if lot.sale_id is not None:
        of_sale = select(bidder_names.c.name).where(bidder_names.c.sale_id == lot.sale_id)
        known |= set(tx.execute(of_sale.where(bidder_names.c.user_id.in_(people))).scalars())
    salts = {name: name_salt(lot.seed, name) for name in known}
    return {pseudonym(salt, name): (name, salt) for name, salt in salts.items()}
