"""The bidders: people with a name, a budget and a temperament. They know only what anyone can see."""

from __future__ import annotations

import asyncio
import math
from decimal import Decimal
from enum import Enum
from random import Random

import structlog

from saleroom.tools.demo.client import DemoClient, HouseRefusal
from saleroom.tools.demo.market import DemoLot, Market
from saleroom.tools.errors import ToolError

log = structlog.get_logger()


class Temperament(Enum):
    """The way in which a person bids."""

    EARLY = "sets a maximum soon, and lets the house bid"
    STEADY = "answers each rival with the least next bid, up to a limit"
    LATE = "comes in the last seconds"


PEOPLE = (
    ("marta.k", Temperament.STEADY), ("lindqvist", Temperament.EARLY), ("j.okafor", Temperament.STEADY),
    ("b.moreau", Temperament.LATE), ("yuki.t", Temperament.STEADY), ("tomasz", Temperament.EARLY),
    ("amira", Temperament.STEADY), ("rosalind", Temperament.LATE), ("karl-heinz", Temperament.STEADY),
    ("p.nair", Temperament.EARLY), ("o.brien", Temperament.LATE), ("falk", Temperament.STEADY),
)  # fmt: skip
_PAUSES = {Temperament.EARLY: 9.0, Temperament.STEADY: 5.0, Temperament.LATE: 2.5}
"""The average seconds between two looks at the market."""
_LATE_SECONDS = 14.0
_SHARES = ((25.0, 1.0), (60.0, 0.85), (180.0, 0.7), (math.inf, 0.5))
"""The share of its worth that people bid within so many seconds of the end: most bids come in the last minute."""
_KEEN = 1.15
"""The factor by which people that wait for the end value a lot higher."""
_PASSING = frozenset(
    {
        "bid_too_low",
        "already_leading",
        "auction_closed",
        "auction_not_started",
        "buy_now_unavailable",
        "terms_changed",
        "unknown_auction",
        "busy",
        "unavailable",
    }
)
"""The refusals of a bid that was a moment too late, or came while the house was busy."""


class DemoBidder:
    """A person who bids as long as the demo runs, `speed` times as often as real people."""

    def __init__(
        self,
        name: str,
        temperament: Temperament,
        token: str,
        client: DemoClient,
        market: Market,
        seed: int,
        speed: float,
    ) -> None:
        self.name = name
        self._temperament = temperament
        self._token = token
        self._client = client
        self._market = market
        self._seed = seed
        self._speed = speed
        self._keenness = _KEEN if temperament is Temperament.LATE else 1.0
        self._chance = Random(f"{name} {seed}")
        self._limits: dict[str, float] = {}
        """The share of its worth at which the maximum on a lot was set, by gid."""

    async def run(self) -> None:
        """Look at the market, bid and wait, without end. Raises HouseRefusal for a refusal that no bidder should get."""
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / _PAUSES[self._temperament]) / self._speed)
            wanted = [(lot, limit) for lot in self._market.lots.values() if (limit := self._limit(lot)) is not None]
            if not wanted:
                continue
            weights = [1 / (20 + min(self._left(lot), 3600)) for lot, _ in wanted]
            [(lot, limit)] = self._chance.choices(wanted, weights)
            try:
                await self._bid(lot, limit)
            except HouseRefusal as refusal:
                if refusal.code not in _PASSING:
                    raise
            except ToolError as error:
                # A lost answer costs one bid. The demo itself notices if the house is gone.
                log.info("a bid had no answer", bidder=self.name, error=str(error))

    def worth(self, lot: DemoLot) -> Decimal | None:
        """Return what a lot is worth to this person, the same each time; None if they do not want it."""
        chance = Random(f"{self.name} {lot.name} {self._seed}")
        if lot.estimate is None or chance.random() < 0.4:
            return None
        low, high = lot.estimate
        share = Decimal(str(round(chance.triangular(0.0, 1.25, 0.55) * self._keenness, 3)))
        return tidy(low + (high - low) * share)

    def _limit(self, lot: DemoLot) -> Decimal | None:
        """Return how much this person would bid on a lot now, None for no bid."""
        worth = self.worth(lot)
        if (
            worth is None
            or lot.minimum is None
            or not (lot.open and lot.ready)
            or self.name in (lot.leader, lot.author)
        ):
            return None
        left = self._left(lot)
        share = next(share for until, share in _SHARES if left <= until)
        match self._temperament:
            case Temperament.EARLY if lot.gid in self._limits and not self._limits[lot.gid] < share == 1:
                return None
            case Temperament.LATE if lot.gid in self._limits or left > _LATE_SECONDS:
                return None
            case _:
                limit = tidy(worth * Decimal(str(share)))
        return limit if limit >= lot.minimum else None

    async def _bid(self, lot: DemoLot, limit: Decimal) -> None:
        assert lot.minimum is not None, "_limit returns None without a minimum"
        if lot.buy_now is not None and lot.buy_now <= limit and self._chance.random() < 0.1:
            body = {"price": f"{lot.buy_now}", "seenVersion": lot.version}
            await self._client.ask("POST", f"/auctions/{lot.gid}/buy", self._token, body)
        elif self._temperament is Temperament.STEADY:
            await self._ask(lot, {"amount": f"{lot.minimum}"})
        else:
            self._limits[lot.gid] = next(share for until, share in _SHARES if self._left(lot) <= until)
            await self._ask(lot, {"maximum": f"{limit}"})

    async def _ask(self, lot: DemoLot, bid: dict[str, str]) -> None:
        await self._client.ask("POST", f"/auctions/{lot.gid}/bids", self._token, {**bid, "seenVersion": lot.version})

    def _left(self, lot: DemoLot) -> float:
        left = lot.left(self._client.now())
        return 3600 if left is None else max(0.0, left) * self._speed


def tidy(amount: Decimal) -> Decimal:
    """Return a round amount: a multiple of 1, 5, 10 or 50, by its size."""
    for below, step in ((50, 1), (200, 5), (1000, 10)):
        if amount < below:
            return amount // step * step
    return amount // 50 * 50
