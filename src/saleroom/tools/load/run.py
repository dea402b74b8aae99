"""One load test, from its users and lots over the bidding to the verdict and the clean-up."""

from __future__ import annotations

import asyncio
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import uvloop
from msgspec import Struct

from saleroom.tools.errors import Stopped, ToolError
from saleroom.tools.load import answers, checking
from saleroom.tools.load.answers import AuctionAnswer, HistoryAnswer, MeAnswer, StandingsAnswer, UserAnswer, UsersAnswer
from saleroom.tools.load.bidders import START, STEP, Floor, LoadBidder, bid_too_late, repeat_unanswered
from saleroom.tools.load.checking import Verdict, money
from saleroom.tools.load.client import LoadClient, TimedAnswer, in_words
from saleroom.tools.load.display import LoadDisplay
from saleroom.tools.load.figures import Figures
from saleroom.tools.load.order import clock_offset
from saleroom.tools.load.record import LOST, ClockReading, LotRecord, Record

USERS_CHUNK = 1000
AT_ONCE = 16
"""How many requests are under way at a time while nobody bids."""
PAGES_MAX = 20_000
"""The most pages of a list that are read: two million bids."""
SOFT_CLOSE_SECONDS, CAP_SECONDS = 1, 3
LOT_SECONDS = 0.01
"""The time allowed for creating each lot before the bidding starts."""


class LoadOptions(Struct, frozen=True, kw_only=True):
    """The size of the test. `rate` is bids per second by all bidders together, None for as fast as answers come."""

    url: str
    bidders: int = 50
    lots: int = 10
    seconds: int = 30
    rate: float | None = None


class LoadResult(Struct):
    """The result of a test. `left` has a line for each thing that it leaves in the house."""

    options: LoadOptions
    figures: Figures
    verdict: Verdict
    left: list[str]


def load(options: LoadOptions, key: str, display: LoadDisplay) -> LoadResult:
    """Run a load test. Raises ToolError, after a clean-up, if it cannot be done or is stopped by SIGINT or SIGTERM."""
    _allow_files(options.bidders + 64)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_stoppable(options, key, display))


async def _stoppable(options: LoadOptions, key: str, display: LoadDisplay) -> LoadResult:
    """Run. The first signal stops the test and cleans up; the second one ends the process at once."""
    loop = asyncio.get_running_loop()
    trial = _Trial(options, key, display)
    work = asyncio.ensure_future(trial.run())
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        work.cancel()
        for one in signals:
            loop.remove_signal_handler(one)

    for one in signals:
        loop.add_signal_handler(one, stop)
    try:
        return await work
    except asyncio.CancelledError:
        raise Stopped("\n".join(["stopped", *trial.left])) from None
    except ToolError as error:
        raise ToolError("\n".join([str(error), *trial.left])) from None


class _Trial:
    """The steps of one test, and the objects to clean up."""

    def __init__(self, options: LoadOptions, key: str, display: LoadDisplay) -> None:
        self._options = options
        self._key = key
        self._display = display
        self._record = Record()
        self._figures = Figures()
        self._random = Random()
        self._users: list[UserAnswer] = []
        self._done = False
        self._logged_in: list[str] = []
        self.left: list[str] = []

    async def run(self) -> LoadResult:
        async with LoadClient(
            self._options.url, self._options.bidders + AT_ONCE, self._record, self._figures
        ) as client:
            with self._display.progress:
                try:
                    return await self._all(client)
                finally:
                    # Also after a cancellation: the clean-up is awaited to its end.
                    await self._clean(client)

    async def _all(self, client: LoadClient) -> LoadResult:
        floor = await self._prepare(client)
        await self._bid(floor)
        self._display.step("settling bids without an answer")
        await repeat_unanswered(floor, self._random)
        await self._collect(client)
        self._display.step("checking")
        verdict = await asyncio.to_thread(checking.check, self._record)
        self._done = True
        return LoadResult(self._options, self._figures, verdict, self.left)

    async def _prepare(self, client: LoadClient) -> Floor:
        options = self._options
        self._display.step(f"creating {options.bidders + 1} test users")
        asked = ClockReading(0.0, 0.0, 0)
        while (missing := options.bidders + 1 - len(self._users)) > 0:
            made, answer = await self._make_users(client, min(USERS_CHUNK, missing))
            self._users += made.users
            asked = ClockReading(answer.sent, answer.received, 0)
        seller, *bidders = self._users[
            ::-1
        ]  # the last user was created just now, so that its age tells the house's clock
        me, _ = await client.insist(MeAnswer, "GET", "/me", seller.token)
        self._record.clock_readings.append(
            ClockReading(asked.sent, asked.received, answers.microseconds(me.created_at))
        )
        self._record.bidders = {user.username for user in bidders}
        self._display.step(f"creating {options.lots} lots")
        ends = await self._create_lots(client, seller.token)
        return Floor(client, {user.username: user.token for user in bidders}, ends, options.rate)

    async def _make_users(self, client: LoadClient, count: int) -> tuple[UsersAnswer, TimedAnswer]:
        answer = await client.ask("POST", "/test-users", self._key, {"count": count})
        if answer.status == LOST:
            raise ToolError(f"{self._options.url} does not answer ({answer.error}): is a house served there?")
        if answer.status == 401:
            raise ToolError("the house refuses the key: its setting load_key has another one")
        if answer.status == 404:
            raise ToolError(
                f"there are no test users at {self._options.url}: the house needs the setting load_key (docs/load.md)"
            )
        if answer.status == 201:
            return answers.ANSWERS[UsersAnswer].decode(answer.body), answer
        return await client.insist(UsersAnswer, "POST", "/test-users", self._key, {"count": count})

    async def _create_lots(self, client: LoadClient, token: str) -> dict[str, int]:
        options = self._options
        clock = clock_offset(self._record) or 0.0
        house_now = datetime.fromtimestamp(time.monotonic() + clock, UTC)
        end = house_now + timedelta(seconds=options.seconds + 1 + options.lots * LOT_SECONDS)
        ends: dict[str, int] = {}

        async def create(number: int) -> None:
            draft = {
                "name": f"Load test lot {number} of {options.lots}, saleroom load",
                "startingPrice": money(START),
                "increment": money(STEP),
                "endsAt": end.isoformat(),
                "softClose": {
                    "window": SOFT_CLOSE_SECONDS,
                    "extension": SOFT_CLOSE_SECONDS,
                    "cap": (end + timedelta(seconds=CAP_SECONDS)).isoformat(),
                },
            }
            made, answer = await client.insist(AuctionAnswer, "POST", "/auctions", token, draft, f"lot-{number}")
            self._record.lots[made.gid] = LotRecord(made.gid, START, STEP)
            self._record.clock_readings.append(
                ClockReading(answer.sent, answer.received, answers.microseconds(made.created_at))
            )
            ends[made.gid] = answers.microseconds(end)

        await _each(create, range(1, options.lots + 1))
        return ends

    async def _bid(self, floor: Floor) -> None:
        clock = clock_offset(self._record) or 0.0
        self._figures.start()
        seeds = Random(self._random.random())
        async with asyncio.TaskGroup() as tasks:
            ticker = tasks.create_task(self._display.show_bidding(self._figures, floor, clock))
            async with asyncio.TaskGroup() as bidding:
                for name in floor.tokens:
                    bidding.create_task(LoadBidder(name, floor, Random(seeds.random())).run())
                bidding.create_task(bid_too_late(floor, clock, self._random))
            self._figures.stop()
            ticker.cancel()

    async def _collect(self, client: LoadClient) -> None:
        self._display.step("reading the lots and their histories")
        await _each(partial(self._read_lot, client), list(self._record.lots.values()))
        self._display.step("reading what the bidders have won")
        await _each(partial(self._read_wins, client), [user for user in self._users if self._bids(user)])
        for lot in self._record.lots.values():
            lot.winners.sort()

    def _bids(self, user: UserAnswer) -> bool:
        return user.username in self._record.bidders

    async def _read_lot(self, client: LoadClient, lot: LotRecord) -> None:
        auction, _ = await client.insist(AuctionAnswer, "GET", f"/auctions/{lot.gid}")
        lot.final = answers.view(auction, self._record.malformed)
        cursor = ""
        for _ in range(PAGES_MAX):
            page, _ = await client.insist(HistoryAnswer, "GET", f"/auctions/{lot.gid}/bids?limit=100{cursor}")
            lot.history += [answers.bid(bid, lot.gid, self._record.malformed) for bid in page.bids]
            if page.next is None:
                break
            cursor = f"&cursor={page.next}"
        lot.history.reverse()

    async def _read_wins(self, client: LoadClient, user: UserAnswer) -> None:
        cursor = ""
        for _ in range(PAGES_MAX):
            page, _ = await client.insist(StandingsAnswer, "GET", f"/me/bids?limit=100{cursor}", user.token)
            for bid in page.bids:
                if bid.standing == "won" and bid.auction.gid in self._record.lots:
                    self._record.lots[bid.auction.gid].winners.append(user.username)
            if page.next is None:
                return
            cursor = f"&cursor={page.next}"

    async def _clean(self, client: LoadClient) -> None:
        """Cancel the lots of a test that was cut short, log all users out, and note the rest."""
        going: list[datetime] = []
        unknown: list[str] = []
        if self._record.lots and not self._done:
            self._display.step("cancelling lots without bids")
            await _each(partial(self._cancel, client, self._users[-1].token, going, unknown), list(self._record.lots))
        if going:
            when = f"{max(going):%Y-%m-%d %H:%M:%S} UTC"
            self.left.append(f"{len(going)} lots have bids; they close by themselves, the last one at {when}")
        if unknown:
            self.left.append(f"{len(unknown)} lots may still be open, such as {unknown[0]}")
        self._display.step("logging the test users out")
        await _each(partial(self._log_out, client), self._users)
        if self._logged_in:
            self.left.append(f"{len(self._logged_in)} test users are not logged out, such as {self._logged_in[0]}")

    async def _cancel(
        self, client: LoadClient, token: str, going: list[datetime], unknown: list[str], gid: str
    ) -> None:
        answer = await client.ask("DELETE", f"/auctions/{gid}", token)
        if answer.status == 204:
            return
        lot = await client.ask("GET", f"/auctions/{gid}")
        if lot.status != 200:
            unknown.append(f"{gid} ({in_words(answer)})")
            return
        auction = answers.ANSWERS[AuctionAnswer].decode(lot.body)
        if auction.status != "closed" and auction.ends_at is not None:
            going.append(auction.ends_at)

    async def _log_out(self, client: LoadClient, user: UserAnswer) -> None:
        answer = await client.ask("DELETE", "/logout", user.token)
        if answer.status != 204:
            self._logged_in.append(f"{user.username} ({in_words(answer)})")


async def _each(work: Callable[[Any], Awaitable[None]], items: Iterable[Any]) -> None:
    """Do `work` for all items, AT_ONCE at a time. Raises the first error after all have ended."""
    some = asyncio.Semaphore(AT_ONCE)

    async def one(item: Any) -> None:
        async with some:
            await work(item)

    for outcome in await asyncio.gather(*(one(item) for item in items), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _allow_files(needed: int) -> None:
    """Allow this process a connection for each bidder, if the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
