"""One load test from the first request to the verdict: users, lots, bidding, the close, the history, and the log-out."""

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

from saleroom.tools.load import answers, checking
from saleroom.tools.load.answers import AuctionAnswer, HistoryAnswer, MeAnswer, StandingsAnswer, UserAnswer, UsersAnswer
from saleroom.tools.load.bidders import START, STEP, Bidder, Floor, settle, watch
from saleroom.tools.load.checking import Verdict, money
from saleroom.tools.load.client import Answer, CannotRun, Client, said
from saleroom.tools.load.display import Display
from saleroom.tools.load.figures import Figures
from saleroom.tools.load.order import clock_offset
from saleroom.tools.load.record import LOST, Lot, Record, Tick

USERS_CHUNK = 1000
AT_ONCE = 16
"""Requests under way while nobody bids: preparing, reading the history, logging out."""
PAGES_MAX = 20_000
"""Pages of a list that are read: two million bids."""
SOFT_CLOSE_SECONDS, CAP_SECONDS = 1, 3
LOT_SECONDS = 0.01
"""What each lot is allowed to take to be created, before the bidding begins."""


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be tried; `rate` is bids a second over all, None as fast as answers come."""

    url: str
    bidders: int = 50
    lots: int = 10
    seconds: int = 30
    rate: float | None = None


class Result(Struct):
    """What came of it. `left` says what is left in the house, a line each."""

    plan: Plan
    figures: Figures
    verdict: Verdict
    left: list[str]


class Stopped(Exception):
    """The run was stopped by Ctrl-C or SIGTERM, and has cleaned up; its text says what is left."""


def load(plan: Plan, key: str, display: Display) -> Result:
    """Run a load test. Raises CannotRun where it cannot be done, and Stopped; both have cleaned up."""
    _allow_files(plan.bidders + 64)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_stoppable(plan, key, display))


async def _stoppable(plan: Plan, key: str, display: Display) -> Result:
    """Run, and at the first signal stop and clean up; the second one ends it on the spot."""
    loop = asyncio.get_running_loop()
    trial = _Trial(plan, key, display)
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
    except CannotRun as error:
        raise CannotRun("\n".join([str(error), *trial.left])) from None


class _Trial:
    """The steps of one run, and what has to be undone."""

    def __init__(self, plan: Plan, key: str, display: Display) -> None:
        self._plan = plan
        self._key = key
        self._display = display
        self._record = Record()
        self._figures = Figures()
        self._random = Random()
        self._users: list[UserAnswer] = []
        self._done = False
        self._logged_in: list[str] = []
        self.left: list[str] = []

    async def run(self) -> Result:
        async with Client(self._plan.url, self._plan.bidders + AT_ONCE, self._record, self._figures) as client:
            with self._display:
                try:
                    return await self._all(client)
                finally:
                    # Also where the work was cancelled: what follows is awaited to its end.
                    await self._clean(client)

    async def _all(self, client: Client) -> Result:
        floor = await self._prepare(client)
        await self._bid(floor)
        self._display.phase("settling bids without an answer")
        await settle(floor, self._random)
        await self._collect(client)
        self._display.phase("checking")
        verdict = await asyncio.to_thread(checking.check, self._record)
        self._done = True
        return Result(self._plan, self._figures, verdict, self.left)

    async def _prepare(self, client: Client) -> Floor:
        plan = self._plan
        self._display.phase(f"making {plan.bidders + 1} test users")
        asked = Tick(0.0, 0.0, 0)
        while (missing := plan.bidders + 1 - len(self._users)) > 0:
            made, answer = await self._make_users(client, min(USERS_CHUNK, missing))
            self._users += made.users
            asked = Tick(answer.sent, answer.received, 0)
        seller, *bidders = self._users[::-1]  # the last one was made just now: its age tells the house's clock
        me, _ = await client.insist(MeAnswer, "GET", "/me", seller.token)
        self._record.ticks.append(Tick(asked.sent, asked.received, answers.microseconds(me.created_at)))
        self._record.bidders = {user.username for user in bidders}
        self._display.phase(f"creating {plan.lots} lots")
        ends = await self._create_lots(client, seller.token)
        return Floor(client, {user.username: user.token for user in bidders}, ends, plan.rate)

    async def _make_users(self, client: Client, count: int) -> tuple[UsersAnswer, Answer]:
        answer = await client.ask("POST", "/test-users", self._key, {"count": count})
        if answer.status == LOST:
            raise CannotRun(f"{self._plan.url} does not answer ({answer.error}): is a house served there?")
        if answer.status == 401:
            raise CannotRun("the house refuses the key: it is not the one of its setting load_key")
        if answer.status == 404:
            raise CannotRun(
                f"there are no test users at {self._plan.url}: the house needs the setting load_key (docs/load.md)"
            )
        if answer.status == 201:
            return answers.ANSWERS[UsersAnswer].decode(answer.body), answer
        return await client.insist(UsersAnswer, "POST", "/test-users", self._key, {"count": count})

    async def _create_lots(self, client: Client, token: str) -> dict[str, int]:
        plan = self._plan
        clock = clock_offset(self._record) or 0.0
        house_now = datetime.fromtimestamp(time.monotonic() + clock, UTC)
        end = house_now + timedelta(seconds=plan.seconds + 1 + plan.lots * LOT_SECONDS)
        ends: dict[str, int] = {}

        async def create(number: int) -> None:
            draft = {
                "name": f"Load test lot {number} of {plan.lots}, saleroom load",
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
            self._record.lots[made.gid] = Lot(made.gid, START, STEP)
            self._record.ticks.append(Tick(answer.sent, answer.received, answers.microseconds(made.created_at)))
            ends[made.gid] = answers.microseconds(end)

        await _each(create, range(1, plan.lots + 1))
        return ends

    async def _bid(self, floor: Floor) -> None:
        clock = clock_offset(self._record) or 0.0
        self._figures.start()
        self._display.bidding(self._figures, floor, clock)
        seeds = Random(self._random.random())
        async with asyncio.TaskGroup() as tasks:
            ticker = tasks.create_task(self._display.run())
            async with asyncio.TaskGroup() as bidding:
                for name in floor.tokens:
                    bidding.create_task(Bidder(name, floor, Random(seeds.random())).run())
                bidding.create_task(watch(floor, clock, self._random))
            self._figures.stop()
            ticker.cancel()

    async def _collect(self, client: Client) -> None:
        self._display.phase("reading the lots and their histories")
        await _each(partial(self._read_lot, client), list(self._record.lots.values()))
        self._display.phase("asking the bidders what they have won")
        await _each(partial(self._read_wins, client), [user for user in self._users if self._bids(user)])
        for lot in self._record.lots.values():
            lot.winners.sort()

    def _bids(self, user: UserAnswer) -> bool:
        return user.username in self._record.bidders

    async def _read_lot(self, client: Client, lot: Lot) -> None:
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

    async def _read_wins(self, client: Client, user: UserAnswer) -> None:
        cursor = ""
        for _ in range(PAGES_MAX):
            page, _ = await client.insist(StandingsAnswer, "GET", f"/me/bids?limit=100{cursor}", user.token)
            for bid in page.bids:
                if bid.standing == "won" and bid.auction.gid in self._record.lots:
                    self._record.lots[bid.auction.gid].winners.append(user.username)
            if page.next is None:
                return
            cursor = f"&cursor={page.next}"

    async def _clean(self, client: Client) -> None:
        """Cancel what can be cancelled where the run was cut short, and log everybody out; say what is left."""
        going: list[datetime] = []
        unknown: list[str] = []
        if self._record.lots and not self._done:
            self._display.phase("cancelling lots without bids")
            await _each(partial(self._cancel, client, self._users[-1].token, going, unknown), list(self._record.lots))
        if going:
            when = f"{max(going):%Y-%m-%d %H:%M:%S} UTC"
            self.left.append(f"{len(going)} lots have bids; they close by themselves, the last one at {when}")
        if unknown:
            self.left.append(f"{len(unknown)} lots may still be open, such as {unknown[0]}")
        self._display.phase("logging the test users out")
        await _each(partial(self._log_out, client), self._users)
        if self._logged_in:
            self.left.append(f"{len(self._logged_in)} test users are not logged out, such as {self._logged_in[0]}")

    async def _cancel(self, client: Client, token: str, going: list[datetime], unknown: list[str], gid: str) -> None:
        answer = await client.ask("DELETE", f"/auctions/{gid}", token)
        if answer.status == 204:
            return
        lot = await client.ask("GET", f"/auctions/{gid}")
        if lot.status != 200:
            unknown.append(f"{gid} ({said(answer)})")
            return
        told = answers.ANSWERS[AuctionAnswer].decode(lot.body)
        if told.status != "closed" and told.ends_at is not None:
            going.append(told.ends_at)

    async def _log_out(self, client: Client, user: UserAnswer) -> None:
        answer = await client.ask("DELETE", "/logout", user.token)
        if answer.status != 204:
            self._logged_in.append(f"{user.username} ({said(answer)})")


async def _each(work: Callable[[Any], Awaitable[None]], items: Iterable[Any]) -> None:
    """Do `work` for all items, a few at once. Raises the first error, when the others have come to their end."""
    some = asyncio.Semaphore(AT_ONCE)

    async def one(item: Any) -> None:
        async with some:
            await work(item)

    done = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome


def _allow_files(needed: int) -> None:
    """Let this process have a connection for each bidder, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
