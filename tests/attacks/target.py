"""The house under attack: `saleroom serve` in a separate process, people with tokens, and raw connections to it."""

import asyncio
import json
import re
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Self

import asyncpg
import httpx
import psutil
from sqlalchemy import make_url

from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, ServeProcess

LOAD_KEY = "a-key-for-attacks-only"
ON = ("sqlite", "postgresql")
_numbers = count(1)


@dataclass
class TargetUser:
    """A user with a token."""

    name: str
    token: str


@dataclass(frozen=True)
class Answer:
    """One answer, as received over a connection."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of a header, None if it is missing."""
        found = re.search(rb"(?im)^" + re.escape(name.encode()) + rb": *([^\r\n]*)", self.head)
        return None if found is None else found[1].decode("latin-1")


class RawConnection:
    """One connection, used byte by byte."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
        self._kept = b""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes; a house that has hung up is no error here."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def answer(self, seconds: float = SECONDS_MAX) -> Answer | None:
        """Return the next whole answer, None if none comes in this time or the house hangs up."""
        self.socket.settimeout(seconds)
        try:
            while b"\r\n\r\n" not in self._kept:
                self._read()
            head, _, rest = self._kept.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *([0-9]+)", head)
            wanted = 0 if length is None else int(length[1])
            self._kept = rest
            while len(self._kept) < wanted:
                self._read()
        except (TimeoutError, ConnectionError):
            return None
        body, self._kept = self._kept[:wanted], self._kept[wanted:]
        return Answer(int(head.split(b" ", 2)[1]), head, body)

    def _read(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionResetError
        self._kept += data


_OF = ("events", "bids")


@dataclass(frozen=True)
class AuctionRows:
    """All rows of one auction."""

    auction: dict[str, Any]
    events: list[dict[str, Any]]
    bids: list[dict[str, Any]]


@dataclass
class Target:
    """A served house on one database."""

    on: str
    served: ServeProcess
    database_url: str
    folder: Path
    people: list[TargetUser] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return where it serves."""
        return self.served.url

    @property
    def port(self) -> int:
        """Return its port."""
        return int(self.url.rpartition(":")[2])

    def client(self, person: TargetUser | None = None, **headers: str) -> httpx.Client:
        """Return an HTTP client, with a token if a person is given."""
        sent = {"X-Requested-With": "attack", **headers}
        if person is not None:
            sent["Authorization"] = f"Bearer {person.token}"
        return httpx.Client(base_url=self.url, headers=sent, timeout=SECONDS_MAX)

    def raw(self) -> RawConnection:
        """Return a new connection."""
        return RawConnection(self.port)

    def enter(self, many: int = 1) -> list[TargetUser]:
        """Return new users with tokens."""
        with self.client() as http:
            answer = http.post("/test-users", json={"count": many}, headers={"Authorization": f"Bearer {LOAD_KEY}"})
        assert answer.status_code == 201, answer.text
        return [TargetUser(one["username"], one["token"]) for one in answer.json()["users"]]

    def person(self) -> TargetUser:
        """Return a new user with a token."""
        return self.enter()[0]

    def member(self) -> tuple[TargetUser, str]:
        """Return a user who can also log in, and the password."""
        name, password = f"attack.{time.time_ns()}.{next(_numbers)}"[:32], "correct horse battery"
        with self.client() as http:
            made = http.post("/users", json={"username": name, "password": password})
            assert made.status_code == 201, made.text
            token = http.post("/login", json={"username": name, "password": password}).json()["token"]
        return TargetUser(name, token), password

    def lot(self, seller: TargetUser, **terms: Any) -> str:
        """Return the gid of a new lot that starts at 10 with steps of 1."""
        draft = {"name": "Longcase clock", "startingPrice": "10", "increment": "1", **terms}
        with self.client(seller) as http:
            made = http.post("/auctions", json=draft)
        assert made.status_code == 201, made.text
        return str(made.json()["gid"])

    def bid(self, bidder: TargetUser, gid: str, **asked: str) -> httpx.Response:
        """Bid, and return the answer."""
        with self.client(bidder) as http:
            return http.post(f"/auctions/{gid}/bids", json=asked)

    def memory_bytes(self) -> int:
        """Return how much memory the house and all its processes hold."""
        main = psutil.Process(self.served.process.pid)
        total = 0
        for one in (main, *main.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += one.memory_info().rss
        return total

    def processor_seconds(self) -> float:
        """Return how long the house and all its processes, also those that are gone, have used the processor."""
        total = 0.0
        with suppress(psutil.NoSuchProcess):
            main = psutil.Process(self.served.process.pid)
            total += sum(main.cpu_times()[:4])
            for one in main.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    total += sum(one.cpu_times()[:2])
        return total

    def rows(self, gid: str) -> AuctionRows:
        """Return all rows of an auction, as the database has them."""
        return asyncio.run(self._rows(gid))

    def put_back(self, kept: AuctionRows) -> None:
        """Replace the auction's rows by these, as in an older copy of the database."""
        asyncio.run(self._put_back(kept))

    async def _rows(self, gid: str) -> AuctionRows:
        one = (await self._order("SELECT * FROM auctions WHERE gid = $1", gid))[0]
        events, bids = [await self._order(f"SELECT * FROM {table} WHERE auction_id = $1", one["id"]) for table in _OF]  # noqa: S608  # our own words
        return AuctionRows(one, events, bids)

    async def _put_back(self, kept: AuctionRows) -> None:
        number = kept.auction["id"]
        for table, rows in zip(_OF, (kept.events, kept.bids), strict=True):
            await self._order(f"DELETE FROM {table} WHERE auction_id = $1", number)  # noqa: S608  # our own words
            for row in rows:
                marks = ", ".join(f"${at}" for at in range(1, len(row) + 1))
                await self._order(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())  # noqa: S608  # our own words
        columns = ", ".join(f"{name} = ${at}" for at, name in enumerate(kept.auction, 1))
        await self._order(f"UPDATE auctions SET {columns} WHERE id = {number}", *kept.auction.values())  # noqa: S608  # our own words

    async def _order(self, order: str, *values: Any) -> list[dict[str, Any]]:
        """Run one statement directly on the database, and return its rows."""
        if self.on == "sqlite":
            with _sqlite(self.database_url) as file:
                return [dict(row) for row in file.execute(re.sub(r"\$([0-9]+)", r"?\1", order), values)]
        connection = await asyncpg.connect(self.database_url)
        try:
            return [dict(row) for row in await connection.fetch(order, *values)]
        finally:
            await connection.close()


@contextmanager
def _sqlite(url: str) -> Iterator[Any]:
    file = sqlite3.connect(str(make_url(url).database), timeout=SECONDS_MAX)
    file.row_factory = sqlite3.Row
    try:
        with file:
            yield file
    finally:
        file.close()


@contextmanager
def attacked(on: str, database_url: str, folder: Path, program: Path = PROGRAM, **more: str) -> Iterator[Target]:
    """Serve a house on the database, with `more` settings; `program` is the `saleroom` to run."""

    class TargetProcess(ServeProcess):
        pass

    TargetProcess.program = program
    settings = {
        "database": database_url,
        "load_key": LOAD_KEY,
        "mqtt": "off",
        "registrations_per_hour": "100000",
        "connections_per_address_max": "20000",
        **more,
    }
    served = TargetProcess(folder, **settings)
    try:
        yield Target(on, served, database_url, folder)
    finally:
        served.kill()


def request(method: str, path: str, token: str | None = None, body: Any = None, **headers: str) -> bytes:
    """Return the bytes of a request that keeps its connection."""
    sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "X-Requested-With: attack"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if sent or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(sent)}")
        if "content_type" not in headers:
            lines.append("Content-Type: application/json")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + sent
