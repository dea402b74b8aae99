"""The command: a furnished house, shown until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Console
from rich.markup import escape

from saleroom.kernel.terminal import plain
from saleroom.tools.console import ToolConsole
from saleroom.tools.demo.bidders import PEOPLE, DemoBidder
from saleroom.tools.demo.catalogue import pieces
from saleroom.tools.demo.client import DemoClient, HouseRefusal
from saleroom.tools.demo.evening import LOTS, Evening, EveningMaker
from saleroom.tools.demo.market import DemoLot, LotResult, Market
from saleroom.tools.demo.rostrum import MONEY, ROSTRUM, Crowd, Rostrum
from saleroom.tools.demo.sale import SELLERS, DemoSale
from saleroom.tools.demo.server import DemoHouse, served
from saleroom.tools.errors import ToolError
from saleroom.tools.program import program
from saleroom.tools.progress import Progress

GUEST, OWNER, STAFF = "guest", "owner", ("auctioneer", "clerk")
"""The accounts whose password is shown. Those of the staff are called as their roles."""
_WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "indigo",
    "juniper",
    "lagoon",
    "maple",
]
_FIRST_BID_SECONDS_MAX = 5.0
_BREAK_SECONDS = 20.0
"""The break between two live sales."""
_COLOURS = {"sold": "green", "unsold": "yellow", "new": "cyan", "hammer": "green", "passed": "yellow"}
_COLOURS |= {"skipped": "yellow", "yours": "magenta", "sale": "cyan"}
_NOTICE_SECONDS = 6.0
"""How long nobody bids on a visitor's lot, so that the visitor can still change it."""


@dataclass(frozen=True)
class DemoOptions:
    """The demo's size and pace. `port` None takes the usual port, or a free one if that is taken."""

    host: str = "127.0.0.1"
    port: int | None = None
    lots: int = 20
    speed: float = 1.0
    seed: int = 1


def run(options: DemoOptions) -> int:
    """Furnish a house and keep it going until SIGINT or SIGTERM; return the exit code. Raises ToolError."""
    asyncio.run(_until_stopped(options, ToolConsole(highlight=False)))
    return 0


async def _until_stopped(options: DemoOptions, console: Console) -> None:
    work = asyncio.create_task(_Demo(options, console).run())

    def stop() -> None:
        """Start to clean up, once: a second Ctrl-C would interrupt the clean-up."""
        if not work.cancelling():
            work.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await work
    except asyncio.CancelledError:
        console.print("The house is closed, and its folder is gone.")
    except BaseExceptionGroup as group:
        # Several tasks may have failed for the same reason, so the first error is enough.
        failed, other = group.split(ToolError)
        if other is not None or failed is None:
            raise
        raise _first(failed) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


@contextmanager
def _each_line(told: Callable[[], None]) -> Iterator[None]:
    """Call `told` at each line on the standard input, if somebody can type one."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if os.read(0, 4096):
            told()
        else:
            loop.remove_reader(0)

    try:
        loop.add_reader(0, read)
    except OSError:  # a file or nothing at all, which nobody waits for
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(0)


class _Demo:
    """One demo, from its first line to its last."""

    def __init__(self, options: DemoOptions, console: Console) -> None:
        self._options = options
        self._console = console
        self._password = f"{secrets.choice(_WORDS)}-{secrets.choice(_WORDS)}-{secrets.randbelow(9000) + 1000}"
        self._results: asyncio.Queue[LotResult] = asyncio.Queue()
        self._newcomers: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Serve and furnish a house, and continue the sale without end. Raises ToolError."""
        self._console.print("Opening a house to look at (Ctrl-C ends it)")
        async with served(self._options.host, self._options.port) as house, DemoClient(house.url) as client:
            show, ended = asyncio.create_task(self._show(house, client)), house.ended
            try:
                await asyncio.wait((show, ended), return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    await show
            finally:
                show.cancel()
                await asyncio.gather(show, return_exceptions=True)
            raise ToolError(await ended)

    async def _show(self, house: DemoHouse, client: DemoClient) -> None:
        market = Market(client, self._created, self._results.put_nowait)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(market.follow())
            await client.clock_set.wait()
            hiring = tasks.create_task(self._hire(house, client))
            tokens = await self._register(client, [*SELLERS, GUEST])
            sale = DemoSale(client, market, pieces(self._options.seed), tokens, self._options.seed, self._options.speed)
            entering = tasks.create_task(self._register(client, [name for name, _ in PEOPLE]))
            await self._furnish(sale)
            people = await entering
            for bidder in self._bidders(client, market, people):
                tasks.create_task(bidder.run())
            await self._first_bid(market)
            owner, rostrum = await hiring
            self._say_where(client.url, market)
            tasks.create_task(self._hold_evenings(client, owner, rostrum, people, tokens[GUEST]))
            tasks.create_task(self._greet(market))
            await self._play_guest(client, market, tokens[GUEST])
            await sale.complete()
            await self._go_on(sale)

    async def _register(self, client: DemoClient, names: list[str]) -> dict[str, str]:
        """Return a token for each name. Only the guest's password is shown, the others are random."""
        passwords = {name: self._password if name == GUEST else secrets.token_urlsafe(16) for name in names}
        found = await asyncio.gather(*(client.register(name, password) for name, password in passwords.items()))
        return dict(zip(names, found, strict=True))

    async def _hire(self, house: DemoHouse, client: DemoClient) -> tuple[str, str]:
        """Make an owner by the command line, as nobody else can, and have the owner give the others their roles.

        Returns the tokens of the owner and of the demo's own auctioneer.
        """
        await house.command("users", "add", OWNER, "--role", OWNER, typed=self._password)
        token = await client.log_in(OWNER, self._password)
        for name in STAFF:
            await client.register(name, self._password)
            await client.ask("PUT", f"/staff/users/{name}/role", token, {"role": name})
        rostrum = await client.register(ROSTRUM, secrets.token_urlsafe(16))
        await client.ask("PUT", f"/staff/users/{ROSTRUM}/role", token, {"role": "auctioneer"})
        return token, rostrum

    async def _hold_evenings(
        self, client: DemoClient, owner: str, token: str, people: dict[str, str], guest: str
    ) -> None:
        """Sell one live sale after the other, without end; the guest is registered for each."""
        options = self._options
        maker = EveningMaker(client, token, pieces(options.seed + 1), options.seed, min(LOTS, options.lots))
        rostrum = Rostrum(client, token, owner, options.seed, options.speed, self._report)
        crowd = Crowd(client, people, options.seed, options.speed)
        with _each_line(rostrum.come_back):
            while True:
                evening = await maker.begin([*people.values(), guest])
                self._say_evening(client.url, evening)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(maker.complete(evening))
                    tasks.create_task(rostrum.sell(evening))
                    tasks.create_task(crowd.bid(evening))
                await asyncio.sleep(_BREAK_SECONDS / options.speed)

    def _say_evening(self, url: str, evening: Evening) -> None:
        here = f"{url}/sales/{evening.gid}"
        self._say(
            "An auctioneer sells a live sale",
            ("the hall screen", f"{here}/screen"),
            ("the bidder's page", f"{here}/live  as {GUEST}"),
            ("the console, to take over", f"{here}/console  as {STAFF[1]} or {STAFF[0]}, with the same password"),
            ("the absentee bids", f"{url}/admin/sales/{evening.gid}/book"),
        )

    async def _furnish(self, sale: DemoSale) -> None:
        lots = self._options.lots
        with Progress(self._console, quiet_seconds=0) as progress:
            await sale.furnish(lots, lambda ready: progress.report("Putting up lots with their pictures", ready, lots))

    def _bidders(self, client: DemoClient, market: Market, tokens: dict[str, str]) -> list[DemoBidder]:
        options = self._options
        return [
            DemoBidder(name, kind, tokens[name], client, market, options.seed, options.speed) for name, kind in PEOPLE
        ]

    async def _first_bid(self, market: Market) -> None:
        """Wait a moment for a bid, so that a visitor sees one on the page."""
        with suppress(TimeoutError):
            await asyncio.wait_for(market.bid.wait(), _FIRST_BID_SECONDS_MAX)

    def _say_where(self, url: str, market: Market) -> None:
        first = min(market.lots.values(), key=lambda lot: (lot.ends_at is None, lot.ends_at))
        rows = (
            ("home", f"{url}/"),
            ("the lot that closes first", f"{url}/lots/{first.gid}"),
            ("the hall screen", f"{url}/lots/{first.gid}/screen"),
            ("log in and bid", f"{url}/login  as {GUEST}, password {self._password}"),
            ("run the house", f"{url}/admin  as {OWNER}, {' or '.join(STAFF)}, with the same password"),
            ("in another terminal", f"{program()} watch {url}"),
        )
        self._say("The sale is on. Look at", *rows)

    def _say(self, heading: str, *rows: tuple[str, str]) -> None:
        self._console.print(f"\n{heading}")
        for name, value in rows:
            self._console.print(f"  {name:<26}{value}", soft_wrap=True, markup=False)
        self._console.print("")

    def _created(self, gid: str, author: str) -> None:
        if author not in (*SELLERS, ROSTRUM):
            self._newcomers.put_nowait(gid)

    async def _greet(self, market: Market) -> None:
        """Have people bid on the lots that visitors put up."""
        while True:
            gid = await self._newcomers.get()
            if gid in market.lots:
                continue
            await asyncio.sleep(_NOTICE_SECONDS / self._options.speed)
            lot = await market.add(gid)
            base = max(lot.starting_price, Decimal(1))
            lot.estimate = (base * Decimal("1.1"), base * Decimal("2.2"))
            self._report("new", lot.name)

    async def _play_guest(self, client: DemoClient, market: Market, token: str) -> None:
        """Fill the guest's own page: with a lot that the guest leads, lots that others will bid on, and watched lots."""
        lots = sorted(
            (lot for lot in market.lots.values() if lot.open and lot.ends_at is not None and lot.minimum is not None),
            key=lambda lot: str(lot.ends_at),
        )
        for lot, generous in zip(lots[1:4], (False, False, True), strict=False):
            await self._bid_as_guest(client, lot, token, generous=generous)
        for lot in lots[2:5]:
            await client.ask("PUT", f"/auctions/{lot.gid}/watch", token)

    async def _bid_as_guest(self, client: DemoClient, lot: DemoLot, token: str, *, generous: bool) -> None:
        assert lot.minimum is not None, "the caller looks for one"
        high = lot.minimum if lot.estimate is None else lot.estimate[1]
        bid = {"maximum": f"{max(high, lot.minimum)}"} if generous else {"amount": f"{lot.minimum}"}
        try:
            await client.ask("POST", f"/auctions/{lot.gid}/bids", token, bid)
        except HouseRefusal as refusal:
            if refusal.code not in ("bid_too_low", "auction_closed"):
                raise

    async def _go_on(self, sale: DemoSale) -> None:
        """Report how each lot ended, and put up another one, without end."""
        while True:
            result = await self._results.get()
            if result.winner is not None:
                self._report("sold", f"{result.lot.name}, to {result.winner} for {MONEY(result.price or '')}")
            else:
                reason = "nobody bid" if result.outcome == "no_bids" else "the reserve was not met"
                self._report("unsold", f"{result.lot.name}: {reason}")
            self._report("new", await sale.renew())

    def _report(self, kind: str, text: str) -> None:
        self._console.print(f"  [{_COLOURS[kind]}]{kind:<7}[/] {escape(plain(text))}", soft_wrap=True)
