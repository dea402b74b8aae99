"""The market: the lots on sale as anyone can see them, kept up to date by the house's events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from saleroom.tools.demo.client import DemoClient, HouseRefusal


@dataclass
class DemoLot:
    """A lot that is not over. `estimate` is its expected price range; bidders wait until it is `ready`."""

    gid: str
    name: str
    author: str
    minimum: Decimal | None
    buy_now: Decimal | None
    starting_price: Decimal
    ends_at: datetime | None
    open: bool
    leader: str | None = None
    price: Decimal | None = None
    bids: int = 0
    version: int = 0
    estimate: tuple[Decimal, Decimal] | None = None
    ready: bool = True

    def left(self, now: datetime) -> float | None:
        """Return the seconds left, None if the lot has no end."""
        return None if self.ends_at is None else (self.ends_at - now).total_seconds()


@dataclass(frozen=True)
class LotResult:
    """The result of a lot that is over."""

    lot: DemoLot
    outcome: str
    winner: str | None
    price: Decimal | None


class Market:
    """The lots that were added and are not over, by gid.

    `on_created` is called with the gid and the author of each new lot of the house, `on_closed` with each result.
    """

    def __init__(
        self, client: DemoClient, on_created: Callable[[str, str], None], on_closed: Callable[[LotResult], None]
    ) -> None:
        self.lots: dict[str, DemoLot] = {}
        self.bid = asyncio.Event()
        """Set once a bid has come."""
        self._client = client
        self._on_created = on_created
        self._on_closed = on_closed

    async def add(self, gid: str, estimate: tuple[Decimal, Decimal] | None = None, *, ready: bool = True) -> DemoLot:
        """Add a lot as it is now, and return it."""
        answer = await self._client.ask("GET", f"/auctions/{gid}")
        found = DemoLot(
            gid=gid,
            name=answer["name"],
            author=answer["author"],
            minimum=_money(answer["minimumBid"]),
            buy_now=_money(answer["buyNowPrice"]),
            starting_price=Decimal(answer["startingPrice"]),
            ends_at=_instant(answer["endsAt"]),
            open=answer["status"] == "open",
            leader=answer["currentBidder"],
            price=_money(answer["currentBid"]),
            bids=answer["bidCount"],
            version=answer["version"],
            estimate=estimate,
            ready=ready,
        )
        self.lots[gid] = found
        return found

    async def follow(self) -> None:
        """Keep the lots up to date by the events of the house, without end."""
        async for event in self._client.events():
            gid = event["source"].rpartition("/")[2]
            lot = self.lots.get(gid)
            if event["type"] == "auction.created":
                self._on_created(gid, event["data"]["author"])
            elif lot is not None and event["sequence"] > lot.version:
                lot.version = event["sequence"]
                await self._apply(lot, event["type"], event["data"])

    async def _apply(self, lot: DemoLot, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "bid.placed":
                lot.bids += 1
                self.bid.set()
                if data["leading"]:
                    lot.leader, lot.price = data["bidder"], _money(data["amount"])
                lot.minimum, lot.buy_now = _money(data["minimumBid"]), None
            case "auction.extended":
                lot.ends_at = _instant(data["endsAt"])
            case "auction.opened":
                lot.open = True
            case "auction.amended":
                await self._read_again(lot)
            case "auction.closed":
                del self.lots[lot.gid]
                self._on_closed(LotResult(lot, data["outcome"], data["winner"], _money(data["price"])))
            case "auction.cancelled":
                del self.lots[lot.gid]
            case _:
                pass

    async def _read_again(self, lot: DemoLot) -> None:
        """Read a lot whose terms have changed."""
        try:
            await self.add(lot.gid, lot.estimate, ready=lot.ready)
        except HouseRefusal:
            self.lots.pop(lot.gid, None)


def _money(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else msgspec.convert(text, datetime)
