"""What the command line calls: a furnished house, shown until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import signal
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from saleroom.kernel.terminal import plain
from saleroom.tools.demo.bidders import PEOPLE, Bidder
from saleroom.tools.demo.catalogue import pieces
from saleroom.tools.demo.house import CannotGoOn, House, Refusal, served
from saleroom.tools.demo.market import Closed, Lot, Market
from saleroom.tools.demo.sale import SELLERS, Sale

FAILED = (CannotGoOn, Refusal)
GUEST = "guest"
_WORDS = (
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
)
_FIRST_BID_SECONDS_MAX = 5.0
_NOTICE_SECONDS = 6.0
"""How long a lot of somebody else's is left alone, so that its seller may still change it."""


@dataclass(frozen=True)
class Plan:
    """What is to be shown. `port` None takes the usual one, or any where that is taken."""

    host: str = "127.0.0.1"
    port: int | None = None
    lots: int = 20
    speed: float = 1.0
    seed: int = 1


def run(plan: Plan) -> int:
    """Furnish a house and keep it going until SIGINT or SIGTERM; return the exit code. Raises CannotGoOn or Refusal."""
    asyncio.run(_until_stopped(plan, Console(highlight=False)))
    return 0


async def _until_stopped(plan: Plan, console: Console) -> None:
    work = asyncio.create_task(_Demo(plan, console).run())

    def stop() -> None:
        """Begin to clean up, once: a second Ctrl-C would stop the cleaning."""
        if not work.cancelling():
            work.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await work
    except asyncio.CancelledError:
        console.print("The house is closed, and its folder is gone.")
    except BaseExceptionGroup as group:
        # What several tasks met is one thing: the house is gone, or refuses.
        failed, other = group.split(FAILED)
        if other is not None or failed is None:
            raise
        raise _first(failed) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


class _Demo:
    """One house, from the first line to the last."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._plan = plan
        self._console = console
        self._password = f"{secrets.choice(_WORDS)}-{secrets.choice(_WORDS)}-{secrets.randbelow(9000) + 1000}"
        self._renewals: asyncio.Queue[Closed] = asyncio.Queue()
        self._newcomers: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Serve, furnish, and go on without end. Raises CannotGoOn or Refusal."""
        self._console.print("Opening a house to look at (Ctrl-C ends it)")
        async with served(self._plan.host, self._plan.port) as (url, ended), House(url) as house:
            show = asyncio.create_task(self._show(house))
            try:
                await asyncio.wait((show, ended), return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    await show
            finally:
                show.cancel()
                await asyncio.gather(show, return_exceptions=True)
            raise CannotGoOn(await ended)

    async def _show(self, house: House) -> None:
        market = Market(house, self._created, self._renewals.put_nowait)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(market.follow())
            await house.heard.wait()
            tokens = await self._register(house, [*SELLERS, GUEST])
            sale = Sale(house, market, pieces(self._plan.seed), tokens, self._plan.seed, self._plan.speed)
            entering = tasks.create_task(self._register(house, [name for name, _ in PEOPLE]))
            await self._furnish(sale)
            for bidder in self._bidders(house, market, await entering):
                tasks.create_task(bidder.run())
            await self._first_bid(market)
            self._say_where(house.url, market)
            tasks.create_task(self._greet(market))
            await self._play_guest(house, market, tokens[GUEST])
            await sale.complete()
            await self._go_on(sale)

    async def _register(self, house: House, names: list[str]) -> dict[str, str]:
        """Return a token for each name. All have one password, which nobody is told but for the guest's account."""
        passwords = {name: self._password if name == GUEST else secrets.token_urlsafe(16) for name in names}
        found = await asyncio.gather(*(house.enter(name, password) for name, password in passwords.items()))
        return dict(zip(names, found, strict=True))

    async def _furnish(self, sale: Sale) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
        quiet = not self._console.is_terminal
        with Progress(*columns, console=self._console, transient=True, disable=quiet) as progress:
            task = progress.add_task("Hanging pictures, laying out lots", total=self._plan.lots)
            await sale.furnish(self._plan.lots, lambda number: progress.update(task, completed=number))

    def _bidders(self, house: House, market: Market, tokens: dict[str, str]) -> list[Bidder]:
        plan = self._plan
        return [Bidder(name, kind, tokens[name], house, market, plan.seed, plan.speed) for name, kind in PEOPLE]

    async def _first_bid(self, market: Market) -> None:
        """Wait for a bid, so that whoever opens the page sees one; not for long, as one will come."""
        with suppress(TimeoutError):
            await asyncio.wait_for(market.bid.wait(), _FIRST_BID_SECONDS_MAX)

    def _say_where(self, url: str, market: Market) -> None:
        first = min(market.lots.values(), key=lambda lot: (lot.ends_at is None, lot.ends_at))
        rows = (
            ("home", f"{url}/"),
            ("the lot that closes first", f"{url}/lots/{first.gid}"),
            ("the hall screen", f"{url}/lots/{first.gid}/screen"),
            ("log in and bid", f"{url}/login  as {GUEST}, password {self._password}"),
            ("in another terminal", f"saleroom watch {url}"),
        )
        self._console.print("\nThe sale is on. Look at")
        for what, where in rows:
            self._console.print(f"  {what:<26}{where}", soft_wrap=True, markup=False)
        self._console.print("")

    def _created(self, gid: str, author: str) -> None:
        if author not in SELLERS:
            self._newcomers.put_nowait(gid)

    async def _greet(self, market: Market) -> None:
        """Have people bid on lots that others put up, such as whoever looks at the demo."""
        while True:
            gid = await self._newcomers.get()
            if gid in market.lots:
                continue
            await asyncio.sleep(_NOTICE_SECONDS / self._plan.speed)
            lot = await market.add(gid)
            base = max(lot.starting_price, Decimal(1))
            lot.estimate = (base * Decimal("1.1"), base * Decimal("2.2"))
            self._tell("new", lot.name)

    async def _play_guest(self, house: House, market: Market, token: str) -> None:
        """Give the guest's own page something to show: a lot led, one that others will bid on, two that are watched."""
        lots = sorted(
            (lot for lot in market.lots.values() if lot.open and lot.ends_at is not None and lot.minimum is not None),
            key=lambda lot: str(lot.ends_at),
        )
        for lot, generous in zip(lots[1:4], (False, False, True), strict=False):
            await self._bid_as_guest(house, lot, token, generous=generous)
        for lot in lots[2:5]:
            await house.ask("PUT", f"/auctions/{lot.gid}/watch", token)

    async def _bid_as_guest(self, house: House, lot: Lot, token: str, *, generous: bool) -> None:
        assert lot.minimum is not None, "it was looked at"
        high = lot.minimum if lot.estimate is None else lot.estimate[1]
        bid = {"maximum": f"{max(high, lot.minimum)}"} if generous else {"amount": f"{lot.minimum}"}
        try:
            await house.ask("POST", f"/auctions/{lot.gid}/bids", token, bid)
        except Refusal as refusal:
            if refusal.code not in ("bid_too_low", "auction_closed"):
                raise

    async def _go_on(self, sale: Sale) -> None:
        """Tell how each lot ended, and put up another one, without end."""
        while True:
            closed = await self._renewals.get()
            if closed.winner is not None:
                self._tell("sold", f"{closed.lot.name}, to {closed.winner} for {closed.price:.2f}")
            else:
                reason = "nobody bid" if closed.outcome == "no_bids" else "the reserve was not met"
                self._tell("unsold", f"{closed.lot.name}: {reason}")
            self._tell("new", await sale.renew())

    def _tell(self, kind: str, text: str) -> None:
        colour = {"sold": "green", "unsold": "yellow", "new": "cyan"}[kind]
        self._console.print(f"  [{colour}]{kind:<7}[/] {escape(plain(text))}", soft_wrap=True)
