"""Storms: bidders who bid all the time, alone and while others send costly requests, and how long their bids take.

A storm runs in a separate process, so that it does not distort the times of the bidders.
"""

import asyncio
import multiprocessing
import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from tests.attacks.target import Target, TargetUser, request

BIDDERS = 32
"""Bidders, each on a separate lot, each sending the next bid once the last one is answered."""
ALONE_SECONDS, STORM_SECONDS, BEGIN_SECONDS = 4.0, 8.0, 1.5
ANSWER_SECONDS_MAX = 30.0
TIMES_MAX = 2.0
"""How many times slower a bid may be in a storm, at the median and at the 99th percentile."""
LOTS = 10_000
SELLERS = 50
WORDS = ("walnut", "longcase", "clock", "painted", "dial", "brass", "movement", "striking", "bell", "Georgian", "maker")


@dataclass(frozen=True)
class StormTarget:
    """The port, people, lots and cursor that a storm's requests use."""

    port: int
    people: tuple[TargetUser, ...]
    gids: tuple[str, ...]
    cursor: str


Requests = Callable[[StormTarget, int], Iterator[bytes]]
"""The requests of one connection, in order, by the number of the connection."""


@dataclass(frozen=True)
class Storm:
    """A storm over so many connections; each hangs up after `hangs_up` seconds without an answer, if that is set."""

    row: str
    name: str
    connections: int
    requests: Requests
    hangs_up: float | None = None


@dataclass(frozen=True)
class Bids:
    """How long bids took, in milliseconds, how many were not taken, and how long people waited for their own `/me`."""

    p50: float
    p99: float
    taken: int
    refused: int
    me_p99: float


def searches(known: StormTarget, number: int) -> Iterator[bytes]:
    """Search for words that match no lot or every lot."""
    chance = random.Random(number)
    while True:
        word = chance.choice([*WORDS, "nothing is called so", "e", "clock painted", "xylophone"])
        yield request("GET", f"/auctions?limit=100&q={word.replace(' ', '%20')}")


def home_searches(known: StormTarget, number: int) -> Iterator[bytes]:
    """Search on the home page."""
    chance = random.Random(number)
    while True:
        yield request("GET", f"/?q={chance.choice(WORDS)}{chance.randrange(100)}")


def deep_pages(known: StormTarget, number: int) -> Iterator[bytes]:
    """Turn to a page far down a list by price."""
    while True:
        yield request("GET", f"/auctions?sort=price&limit=100&cursor={known.cursor}")


def codes(known: StormTarget, number: int) -> Iterator[bytes]:
    """Ask for the code of a lot, under a short name of the house."""
    while True:
        yield request("GET", f"/lots/{known.gids[number % len(known.gids)]}/qr.svg")


def long_codes(known: StormTarget, number: int) -> Iterator[bytes]:
    """Ask for codes under long names, a new one each time."""
    while True:
        host = ".".join(secrets.token_hex(25) for _ in range(4))
        sent = request("GET", f"/lots/{known.gids[number % len(known.gids)]}/qr.svg")
        yield sent.replace(b"Host: 127.0.0.1", f"Host: {host}".encode())


def dead_tokens(known: StormTarget, number: int) -> Iterator[bytes]:
    """Ask for changes with a token that nobody has."""
    while True:
        gid = known.gids[number % len(known.gids)]
        yield request("PUT", f"/auctions/{gid}/watch", "bm90YXRva2VuYXRhbGw=")


def toggled(known: StormTarget, number: int) -> Iterator[bytes]:
    """Put a star on a lot and take it off again, all by one person."""
    while True:
        gid = known.gids[number % len(known.gids)]
        yield request("PUT", f"/auctions/{gid}/watch", known.people[0].token)
        yield request("DELETE", f"/auctions/{gid}/watch", known.people[0].token)


def forged_bids(known: StormTarget, number: int) -> Iterator[bytes]:
    """Bid with made-up tokens on made-up lots."""
    while True:
        gid, token = secrets.token_urlsafe(9), secrets.token_urlsafe(12)
        yield request("POST", f"/auctions/{gid}/bids", token, {"amount": "100"})


def faulty_bodies(known: StormTarget, number: int) -> Iterator[bytes]:
    """Send large bodies full of faults."""
    body = ("{" + ", ".join(f'"a{n}": 1' for n in range(5500)) + "}").encode()
    while True:
        yield request("POST", "/auctions", known.people[0].token, body)


STORMS = (
    Storm("4", "searches", 12, searches),
    Storm("4", "searches on the home page", 12, home_searches),
    Storm("4", "searches of clients that hang up", 12, searches, hangs_up=0.2),
    Storm("4", "deep pages by price", 12, deep_pages),
    Storm("5", "codes", 10, codes),
    Storm("5", "codes under long names", 40, long_codes),
    Storm("9", "changes with a dead token", 200, dead_tokens),
    Storm("9", "one person's star, put on and taken off", 200, toggled),
    Storm("20", "large bodies full of faults", 10, faulty_bodies),
    Storm("22", "forged bids", 200, forged_bids),
)


def furnish(target: Target, lots: int = LOTS) -> StormTarget:
    """Put `lots` with long descriptions up for sale, and return their names for a storm."""
    people = target.enter(SELLERS + 1)
    gids = asyncio.run(_furnish(target.port, people[1:], lots))
    with target.client() as http:
        cursor = ""
        for _ in range(max(1, lots // 200)):
            page = http.get(
                "/auctions", params={"sort": "price", "limit": 100, **({"cursor": cursor} if cursor else {})}
            )
            cursor = page.json()["next"] or cursor
    return StormTarget(target.port, tuple(people), tuple(gids), cursor)


async def _furnish(port: int, sellers: list[TargetUser], lots: int) -> list[str]:
    chance = random.Random(1)
    waiting = iter(range(lots))
    gids: list[str] = []

    async def sell(seller: TargetUser) -> None:
        line = await StormConnection.open(port)
        for number in waiting:
            text = " ".join(chance.choices(WORDS, k=1500))[:9_000]
            draft = {"name": f"Lot {number} {chance.choice(WORDS)}", "startingPrice": str(1 + number % 997)}
            status, body = await line.ask(request("POST", "/auctions", seller.token, {**draft, "description": text}))
            assert status == 201, body
            gids.append(body.partition(b'"gid":"')[2].partition(b'"')[0].decode())
        line.close()

    await asyncio.gather(*(sell(one) for one in sellers[:16]))
    return gids


class StormConnection:
    """One connection that sends one request after the other, as cheaply as possible."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "StormConnection":
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=2**20))

    async def ask(self, sent: bytes) -> tuple[int, bytes]:
        """Return the status and body of the answer. Raises ConnectionError if the house hangs up."""
        self._writer.write(sent)
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
            body = await self._reader.readexactly(int(length or 0))
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError from error
        return int(head[9:12]), body

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def measure(target: Target, known: StormTarget, storm: Storm | None) -> Bids:
    """Return how long bids take during a storm, or alone."""
    people = target.enter(3)
    lots = [target.lot(people[0]) for _ in range(BIDDERS)]
    if storm is None:
        return asyncio.run(_bid(target.port, lots, people[1:], ALONE_SECONDS))
    context = multiprocessing.get_context("spawn")
    seconds = BEGIN_SECONDS + STORM_SECONDS + 30
    process = context.Process(target=_rage, args=(known, storm, seconds), daemon=True)
    process.start()
    try:
        time.sleep(BEGIN_SECONDS)
        return asyncio.run(_bid(target.port, lots, people[1:], STORM_SECONDS))
    finally:
        process.kill()
        process.join()


async def _bid(port: int, lots: list[str], people: list[TargetUser], seconds: float) -> Bids:
    took: list[float] = []
    waited: list[float] = []
    refused = 0
    until = time.monotonic() + seconds

    async def bid(gid: str) -> None:
        nonlocal refused
        line, amount = await StormConnection.open(port), 10
        while time.monotonic() < until:
            sent = request("POST", f"/auctions/{gid}/bids", people[amount % 2].token, {"amount": str(amount)})
            status, milliseconds = await _timed(line, sent)
            took.append(milliseconds)
            if status == 201:
                amount += 1
            else:
                refused += 1
                line = await StormConnection.open(port)
        line.close()

    async def look() -> None:
        line = await StormConnection.open(port)
        while time.monotonic() < until:
            status, milliseconds = await _timed(line, request("GET", "/me", people[0].token))
            waited.append(milliseconds)
            if status != 200:
                line = await StormConnection.open(port)
            await asyncio.sleep(0.05)
        line.close()

    await asyncio.gather(look(), *(bid(gid) for gid in lots))
    return Bids(_part(took, 0.5), _part(took, 0.99), len(took) - refused, refused, _part(waited, 0.99))


async def _timed(line: StormConnection, sent: bytes) -> tuple[int, float]:
    """Return the status of an answer, 0 if none came, and after how many milliseconds."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            status, _ = await line.ask(sent)
    except (ConnectionError, TimeoutError):
        status = 0
    return status, 1000 * (time.perf_counter() - began)


def _part(took: list[float], part: float) -> float:
    return sorted(took)[min(len(took) - 1, int(part * len(took)))]


def _rage(known: StormTarget, storm: Storm, seconds: float) -> None:
    """Send the storm's requests, for so many seconds at most."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_storm(known, storm, seconds))


async def _storm(known: StormTarget, storm: Storm, seconds: float) -> None:
    async def one(number: int) -> None:
        requests = storm.requests(known, number)
        while True:
            with suppress(OSError, TimeoutError):
                line = await StormConnection.open(known.port)
                try:
                    for sent in requests:
                        async with asyncio.timeout(storm.hangs_up or 60):
                            await line.ask(sent)
                finally:
                    line.close()
            await asyncio.sleep(0.01)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(one(number) for number in range(storm.connections)))
