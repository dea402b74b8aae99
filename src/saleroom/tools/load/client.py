"""A client of a house for the load test: every request timed, every answer decoded and recorded."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from saleroom.tools.errors import NoAnswer, ToolError
from saleroom.tools.http_client import HttpClient
from saleroom.tools.load import answers
from saleroom.tools.load.answers import ANSWERS, AuctionAnswer, PlacedAnswer, RefusalAnswer
from saleroom.tools.load.checking import money
from saleroom.tools.load.figures import Figures
from saleroom.tools.load.record import ACCEPTED, LOST, PASSING, Attempt, BidReply, LotView, Observation, Record

T = TypeVar("T")

REQUEST_SECONDS_MAX = 30.0
INSIST_SECONDS_MAX = 20.0
"""How long a request that the test needs is repeated."""
PAUSE_SECONDS_MAX = 2.0


class TimedAnswer(Struct, frozen=True):
    """One answer, timed by the client's monotonic clock. Without one `status` is LOST and `error` says why."""

    sent: float
    received: float
    status: int
    body: bytes = b""
    error: NoAnswer | None = None
    retry_after: float | None = None


class LoadClient(HttpClient):
    """The connections of all bidders. Answers go into `record`, counts and latencies into `figures`."""

    def __init__(self, url: str, connections: int, record: Record, figures: Figures) -> None:
        super().__init__(
            url,
            "saleroom load",
            total_seconds_max=REQUEST_SECONDS_MAX,
            connect_seconds_max=REQUEST_SECONDS_MAX,
            connections_max=connections,
            follow_redirects=False,
        )
        self.record = record
        self.figures = figures

    async def ask(
        self, method: str, path: str, token: str | None = None, body: Any = None, key: str | None = None
    ) -> TimedAnswer:
        """Send one request and return its answer, or why there is none. Raises nothing."""
        self.figures.in_flight += 1
        sent = time.monotonic()
        try:
            answer = await self.send(method, path, token, body, key)
            return TimedAnswer(sent, time.monotonic(), answer.status, answer.body, None, answer.retry_after)
        except NoAnswer as error:
            return TimedAnswer(sent, time.monotonic(), LOST, b"", error)
        finally:
            self.figures.in_flight -= 1

    async def insist(
        self, kind: type[T], method: str, path: str, token: str | None = None, body: Any = None, key: str | None = None
    ) -> tuple[T, TimedAnswer]:
        """Return an answer decoded as a `kind`, and ask again while the house is busy. Raises ToolError."""
        deadline = time.monotonic() + INSIST_SECONDS_MAX
        pause = 0.1
        while True:
            answer = await self.ask(method, path, token, body, key)
            if answer.status in (200, 201):
                with suppress(msgspec.DecodeError):
                    decoded: T = ANSWERS[kind].decode(answer.body)
                    return decoded, answer
            if answer.status not in PASSING or time.monotonic() > deadline:
                raise ToolError(f"{method} {path}: {in_words(answer)}")
            await asyncio.sleep(min(answer.retry_after or pause, PAUSE_SECONDS_MAX))
            pause *= 2

    async def look(self, gid: str, token: str | None = None) -> LotView | None:
        """Return the state of a lot, None if the house does not tell it."""
        answer = await self.ask("GET", f"/auctions/{gid}", token)
        self.figures.count_look(answer.received - answer.sent, answer.status, answer.error)
        if answer.status in PASSING:
            return None
        decoded = self._decoded(AuctionAnswer, answer, f"GET /auctions/{gid}", 200)
        if decoded is None:
            return None
        view = answers.view(decoded, self.record.malformed)
        self.record.observations.append(Observation(gid, answer.sent, answer.received, view))
        return view

    async def bid(self, attempt: Attempt, token: str, waited: float = 0.0) -> BidReply:
        """Send a bid once, record the answer, and return it. `waited` seconds count as part of the latency."""
        body: dict[str, Any] = {
            name: money(amount)
            for name, amount in (("amount", attempt.amount), ("maximum", attempt.maximum))
            if amount is not None
        }
        if attempt.seen is not None:
            body["seenVersion"] = attempt.seen
        answer = await self.ask("POST", f"/auctions/{attempt.gid}/bids", token, body, attempt.key)
        reply = self._reply(attempt.gid, answer)
        self.figures.count_bid(answer.received - answer.sent + waited, reply.status, reply.code, answer.error)
        attempt.replies.append(reply)
        if reply.passing:
            await asyncio.sleep(min(answer.retry_after or 0.2, PAUSE_SECONDS_MAX))
        return reply

    def _reply(self, gid: str, answer: TimedAnswer) -> BidReply:
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
        return BidReply(body=hash(answer.body), **facts)

    def _decoded(self, kind: type[T], answer: TimedAnswer, where: str, status: int) -> T | None:
        """Decode an answer that must be a `kind` with this status; otherwise record it as unexpected and return None."""
        if answer.status == status:
            with suppress(msgspec.DecodeError):
                decoded: T = ANSWERS[kind].decode(answer.body)
                return decoded
        self.record.unexpected.append(f"{where}: {in_words(answer)}")
        return None


def in_words(answer: TimedAnswer) -> str:
    """Return an answer in a few words."""
    if answer.error is not None:
        return f"no answer ({answer.error})"
    return f"{answer.status} {answer.body[:200].decode(errors='replace')}".strip()
