"""One house over HTTP: requests over kept connections, when they were sent and answered, and what the answers say."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from saleroom.tools import http_client
from saleroom.tools.load import answers
from saleroom.tools.load.answers import ANSWERS, AuctionAnswer, PlacedAnswer, RefusalAnswer
from saleroom.tools.load.checking import money
from saleroom.tools.load.figures import Figures
from saleroom.tools.load.record import ACCEPTED, LOST, PASSING, Attempt, Read, Record, Reply, View

T = TypeVar("T")

REQUEST_SECONDS_MAX = 30.0
INSIST_SECONDS_MAX = 20.0
"""How long a request that the test cannot do without is tried again."""
PAUSE_SECONDS_MAX = 2.0


class CannotRun(Exception):
    """The run cannot be done; the message says why and what would help."""


class Answer(Struct, frozen=True):
    """An answer as it came. `status` is 0 where none did, and `error` says why."""

    sent: float
    received: float
    status: int
    body: bytes = b""
    error: str = ""
    retry_after: float | None = None


class Client:
    """Everybody's connections to the house. What is seen goes into `record`, what is measured into `figures`."""

    def __init__(self, url: str, connections: int, record: Record, figures: Figures) -> None:
        self._base = URL(url)
        self._urls: dict[str, URL] = {}
        self._connections = connections
        self.record = record
        self.figures = figures

    async def __aenter__(self) -> Self:
        """Open nothing yet: connections come with the first requests."""
        self._http = http_client.session(
            aiohttp.ClientTimeout(total=REQUEST_SECONDS_MAX),
            aiohttp.TCPConnector(limit=self._connections),
            {"X-Requested-With": "saleroom load"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self._http.close()

    async def ask(
        self, method: str, path: str, token: str | None = None, body: Any = None, key: str | None = None
    ) -> Answer:
        """Send one request and return whatever comes of it; nothing is raised."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        self.figures.in_flight += 1
        sent = time.monotonic()
        try:
            async with self._http.request(
                method, self._url(path), headers=headers, data=data, allow_redirects=False
            ) as response:
                content = await http_client.body(response, http_client.LIST_BYTES_MAX)
                return Answer(sent, time.monotonic(), response.status, content, "", http_client.retry_after(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Answer(sent, time.monotonic(), LOST, b"", type(error).__name__)
        finally:
            self.figures.in_flight -= 1

    async def insist(
        self, kind: type[T], method: str, path: str, token: str | None = None, body: Any = None, key: str | None = None
    ) -> tuple[T, Answer]:
        """Return what the house answers, read as a `kind`, trying again while it is busy. Raises CannotRun."""
        deadline = time.monotonic() + INSIST_SECONDS_MAX
        pause = 0.1
        while True:
            answer = await self.ask(method, path, token, body, key)
            if answer.status in (200, 201):
                with suppress(msgspec.DecodeError):
                    decoded: T = ANSWERS[kind].decode(answer.body)
                    return decoded, answer
            if answer.status not in PASSING or time.monotonic() > deadline:
                raise CannotRun(f"{method} {path}: {said(answer)}")
            await asyncio.sleep(min(answer.retry_after or pause, PAUSE_SECONDS_MAX))
            pause *= 2

    async def look(self, gid: str, token: str | None = None) -> View | None:
        """Return a lot as it is; None where the house does not say."""
        answer = await self.ask("GET", f"/auctions/{gid}", token)
        self.figures.read(answer.received - answer.sent, answer.status, answer.error)
        if answer.status in PASSING:
            return None
        decoded = self._decoded(AuctionAnswer, answer, f"GET /auctions/{gid}", 200)
        if decoded is None:
            return None
        view = answers.view(decoded, self.record.malformed)
        self.record.reads.append(Read(gid, answer.sent, answer.received, view))
        return view

    async def bid(self, attempt: Attempt, token: str, waited: float = 0.0) -> Reply:
        """Send a bid once, note the answer, and return it. `waited` seconds count as part of the latency."""
        body: dict[str, Any] = {
            name: money(amount)
            for name, amount in (("amount", attempt.amount), ("maximum", attempt.maximum))
            if amount is not None
        }
        if attempt.seen is not None:
            body["seenVersion"] = attempt.seen
        answer = await self.ask("POST", f"/auctions/{attempt.gid}/bids", token, body, attempt.key)
        reply = self._reply(attempt.gid, answer)
        self.figures.bid(answer.received - answer.sent + waited, reply.status, reply.code, answer.error)
        attempt.replies.append(reply)
        if reply.passing:
            await asyncio.sleep(min(answer.retry_after or 0.2, PAUSE_SECONDS_MAX))
        return reply

    def _reply(self, gid: str, answer: Answer) -> Reply:
        facts: dict[str, Any] = {"sent": answer.sent, "received": answer.received, "status": answer.status}
        where = f"POST /auctions/{gid}/bids"
        malformed = self.record.malformed
        if answer.status == ACCEPTED:
            placed = self._decoded(PlacedAnswer, answer, where, ACCEPTED)
            if placed is not None:
                facts["view"] = answers.view(placed.auction, malformed)
                facts["bid"] = None if placed.bid is None else answers.bid(placed.bid, gid, malformed)
                facts["leading"] = placed.leading
        elif answer.status not in PASSING:
            refusal = self._decoded(RefusalAnswer, answer, where, answer.status)
            if refusal is not None:
                facts["code"] = refusal.code
                facts["minimum"] = answers.amount(refusal.minimum_bid, f"{gid}: minimumBid", malformed)
                facts["ends"] = None if refusal.ends_at is None else answers.microseconds(refusal.ends_at)
        return Reply(body=hash(answer.body), **facts)

    def _decoded(self, kind: type[T], answer: Answer, where: str, status: int) -> T | None:
        """Read an answer that must be a `kind` with this status, or note that it is not."""
        if answer.status == status:
            with suppress(msgspec.DecodeError):
                decoded: T = ANSWERS[kind].decode(answer.body)
                return decoded
        self.record.unexpected.append(f"{where}: {said(answer)}")
        return None

    def _url(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            # Joined by hand: a house may be below a path of its host.
            url = self._urls[path] = URL(f"{str(self._base).rstrip('/')}{path}", encoded=True)
        return url


def said(answer: Answer) -> str:
    """Return what came, in a few words."""
    if answer.status == LOST:
        return f"no answer ({answer.error})"
    return f"{answer.status} {answer.body[:200].decode(errors='replace')}".strip()
