"""The parts that all measurements of a run share: a folder, the servers, the templates. They are made on first use."""

from __future__ import annotations

import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from bench import data
from bench.servers import Mosquitto, Postgresql

OPEN_FILES = 16_384
_PRICE_STEP = 10**9
"""Thousandths between the first amounts of two loads: more than the number of bids in a load."""


class Filler(Protocol):
    """What fills the templates: `bench/data.py` of this checkout, or of another revision."""

    def fill_sqlite(self, file: Path, folder: Path) -> None:
        """Make the SQLite template, and `tokens.txt` and `gids.txt` in `folder`."""

    def fill_postgresql(self, url: str, file: Path) -> None:
        """Copy the SQLite template to the database at `url`."""


class Stage:
    """The setting of one run. `seconds` is the length of an interval, `say` prints the work under way.

    `memory_bids` is how many bids the row `memory` waits for.
    """

    def __init__(
        self,
        seconds: float,
        say: Callable[[str], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
        memory_bids: int = 1_000_000,
        filler: Filler = data,
    ) -> None:
        self.seconds = seconds
        self.say = say
        self.warn = warn
        self.memory_bids = memory_bids
        self._filler = filler
        self._lasting = ExitStack()
        self._kept: dict[str, str] = {}
        self._prices = count(1)
        self._names = count(1)

    def __enter__(self) -> Self:
        # The files of SQLite and PostgreSQL must be on the same disk; /tmp may be memory.
        self.folder = Path(tempfile.mkdtemp(prefix="saleroom-bench-", dir="/var/tmp"))  # mkdtemp creates it privately
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        made = vars(self)
        try:
            self._lasting.close()
            if "mosquitto" in made:
                self.mosquitto.stop()
            if "postgresql" in made:
                self.postgresql.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def postgresql(self) -> Postgresql:
        """The PostgreSQL server of the run."""
        self.say("starting PostgreSQL")
        return Postgresql()

    @cached_property
    def mosquitto(self) -> Mosquitto:
        """The broker. Raises BenchError if Mosquitto is missing and cannot be installed."""
        return Mosquitto(self.folder)

    @cached_property
    def sqlite_template(self) -> Path:
        """The file with bidders and auctions."""
        self.say("making 10,000 bidders and 10,000 auctions")
        file = self.folder / "template.db"
        self._filler.fill_sqlite(file, self.folder)
        return file

    @cached_property
    def postgresql_template(self) -> str:
        """The name of the database with the same rows."""
        file = self.sqlite_template
        self.say("copying them to PostgreSQL")
        self._filler.fill_postgresql(self.postgresql.create("bench_template"), file)
        return "bench_template"

    @property
    def tokens(self) -> Path:
        """The bidders' tokens, a line each."""
        return self.sqlite_template.with_name("tokens.txt")

    def gids(self, auctions: int = data.AUCTIONS) -> Path:
        """The gids of the first `auctions`, a line each."""
        lines = self.sqlite_template.with_name("gids.txt").read_text().splitlines(keepends=True)
        file = self.folder / f"gids-{auctions}.txt"
        file.write_text("".join(lines[:auctions]))
        return file

    def first_amount(self) -> int:
        """Return an amount in thousandths above all bids so far in this run."""
        return next(self._prices) * _PRICE_STEP

    def server_pid(self, kind: str) -> int | None:
        """Return the process of the database's server, None for SQLite."""
        return self.postgresql.pid if kind == "postgresql" else None

    def wal_bytes(self, kind: str) -> int:
        """Return how much PostgreSQL has written to its log since it was made; 0 for SQLite."""
        return int(self.postgresql.ask("SELECT pg_current_wal_lsn() - '0/0'")) if kind == "postgresql" else 0

    def free_bytes(self) -> int:
        """Return the free bytes on the disk of the databases."""
        return shutil.disk_usage(self.folder).free

    def has(self, name: str) -> bool:
        """Return whether `kept` has created the database of this name."""
        return name in self._kept

    def kept(self, name: str, kind: str, fill: Callable[[str], None]) -> str:
        """Return the URL of a database of `kind` that lasts until the end of the run; `fill` fills it the first time."""
        if name not in self._kept:
            url = self._lasting.enter_context(self.database(kind))
            fill(url)
            self._kept[name] = url
        return self._kept[name]

    def template(self, kind: str) -> str:
        """Return the template of `kind`: the name of a database on PostgreSQL, otherwise the path of a file."""
        return self.postgresql_template if kind == "postgresql" else str(self.sqlite_template)

    def copied_template(self, kind: str, migrate: Callable[[str], None]) -> str:
        """Return another template: a copy of the first one after `migrate` has worked on the database at its URL."""
        name = f"bench_template_{next(self._names)}"
        if kind == "postgresql":
            migrate(self.postgresql.create(name, self.template(kind)))
            self.postgresql.order("VACUUM ANALYZE", database=name)
            return name
        file = self.folder / f"{name}.db"
        shutil.copyfile(self.template(kind), file)
        migrate(f"sqlite:///{file}")
        data.gather(file)
        return str(file)

    @contextmanager
    def database(self, kind: str, template: str | None = None) -> Iterator[str]:
        """Yield the URL of a copy of the template, or of another `template`, which is removed afterwards."""
        template = template or self.template(kind)
        if kind == "postgresql":
            name = f"bench_{next(self._names)}"
            url = self.postgresql.create(name, template)
            try:
                yield url
            finally:
                self.postgresql.drop(name)
            return
        file = self.folder / f"house-{next(self._names)}.db"
        shutil.copyfile(template, file)
        try:
            yield f"sqlite:///{file}"
        finally:
            for leftover in self.folder.glob(f"{file.name}*"):
                leftover.unlink()
