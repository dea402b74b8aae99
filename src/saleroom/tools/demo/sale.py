"""The sale: lots with photos are put up, and a new one follows each that closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any

from saleroom.tools.demo.bidders import tidy
from saleroom.tools.demo.catalogue import VIEWS, Piece
from saleroom.tools.demo.client import DemoClient, HouseRefusal
from saleroom.tools.demo.market import Market

SELLERS = ("atelier.nord", "castellan", "hollerbach")
FIRST_SECONDS, EVERY_SECONDS = 45.0, 60.0
"""When the first lot closes, and the time between two closes."""
AFTER_ALL = 0.0
"""As the end in `PieceTerms`: to close after all other lots."""
SOFT_SECONDS, SOFT_SECONDS_MAX = 15, 90
"""The soft close, and how far it can move an end."""
AT_ONCE = 3
COMPLETE = 2
"""How many lots, of those that close first, get all of their photos at once. The others get them later."""


@dataclass(frozen=True)
class PieceTerms:
    """The terms of a lot. It opens and ends after so many seconds; None opens it at once, and gives it no end."""

    opens: float | None = None
    ends: float | None = None
    reserve: bool = False
    buy_now: bool = False


def terms_of(number: int, lots: int) -> PieceTerms:
    """Return the terms of one of the first `lots`: most close one after the other, some are special."""
    special = {
        lots - 1: PieceTerms(ends=86_400.0),
        lots - 2: PieceTerms(),
        lots - 3: PieceTerms(opens=80.0, ends=1800.0),
        lots - 4: PieceTerms(ends=7200.0, buy_now=True),
        lots - 5: PieceTerms(opens=200.0, ends=2400.0),
    }
    if lots > 2 * len(special) and number in special:
        return special[number]
    return PieceTerms(ends=FIRST_SECONDS + EVERY_SECONDS * number, reserve=number % 3 == 1, buy_now=number % 5 == 4)


def views(number: int) -> int:
    """Return how many photos the lot `number` gets at first."""
    return len(VIEWS) if number < COMPLETE else 1


class DemoSale:
    """Lots from one catalogue, put up by their sellers (name to token)."""

    def __init__(
        self,
        client: DemoClient,
        market: Market,
        pieces: Iterator[Piece],
        sellers: dict[str, str],
        seed: int,
        speed: float,
    ) -> None:
        self._client = client
        self._market = market
        self._pieces = pieces
        self._sellers = sellers
        self._speed = speed
        self._chance = Random(seed)
        self._last_end: datetime | None = None
        self._incomplete: list[tuple[str, str, Piece, list[str]]] = []

    async def furnish(self, lots: int, progress: Callable[[int], None]) -> None:
        """Put up the first lots in the order in which they close; `progress` is called with their count."""
        turns = asyncio.Semaphore(AT_ONCE)
        ready = 0

        async def put_up(number: int, piece: Piece) -> None:
            nonlocal ready
            async with turns:
                await self.put_up(piece, terms_of(number, lots), views(number))
            ready += 1
            progress(ready)

        async with asyncio.TaskGroup() as tasks:
            for number, piece in enumerate(islice(self._pieces, lots)):
                tasks.create_task(put_up(number, piece))

    async def complete(self) -> None:
        """Add the missing photos to the lots, and let people bid on them."""
        while self._incomplete:
            gid, token, piece, photos = self._incomplete.pop(0)
            photos += [await self._photo(token, piece, view) for view in range(1, len(VIEWS))]
            try:
                await self._client.ask("PUT", f"/auctions/{gid}/photos", token, {"photos": photos})
            except HouseRefusal as refusal:
                if refusal.code not in ("has_bids", "auction_closed"):
                    raise
            if gid in self._market.lots:
                self._market.lots[gid].ready = True

    async def renew(self) -> str:
        """Put up one more lot, to close after all others, and return its name."""
        piece = next(self._pieces)
        kind = self._chance.random()
        terms = PieceTerms(ends=AFTER_ALL, reserve=kind < 0.4, buy_now=0.3 < kind < 0.5)
        if kind > 0.85:
            terms = PieceTerms(opens=60.0, ends=AFTER_ALL)
        await self.put_up(piece, terms)
        return piece.name

    async def put_up(self, piece: Piece, terms: PieceTerms, photos: int = len(VIEWS)) -> str:
        """Create a lot with its first `photos`, and return its gid."""
        token = self._sellers[self._chance.choice(SELLERS)]
        ids = [await self._photo(token, piece, view) for view in range(photos)]
        made = await self._client.ask("POST", "/auctions", token, self._draft(piece, terms))
        gid = str(made["gid"])
        await self._client.ask("PUT", f"/auctions/{gid}/photos", token, {"photos": ids})
        low, high = piece.estimate
        await self._market.add(gid, (Decimal(low), Decimal(high)), ready=photos == len(VIEWS))
        if photos < len(VIEWS):
            self._incomplete.append((gid, token, piece, ids))
        return gid

    async def _photo(self, token: str, piece: Piece, view: int) -> str:
        """Upload a picture, and return the photo's id."""
        return str((await self._client.ask("POST", "/photos", token, piece.picture(view)))["id"])

    def _draft(self, piece: Piece, terms: PieceTerms) -> dict[str, Any]:
        """Return the body of a request for a lot."""
        low, high = map(Decimal, piece.estimate)
        starting = tidy(low * Decimal(self._chance.randrange(30, 55)) / 100)
        draft: dict[str, Any] = {"name": piece.name, "description": piece.description, "startingPrice": f"{starting}"}
        now = self._client.now()
        if terms.opens is not None:
            draft["startsAt"] = (now + timedelta(seconds=terms.opens / self._speed)).isoformat()
        if terms.ends is not None:
            end = now + timedelta(seconds=terms.ends / self._speed)
            step = timedelta(seconds=EVERY_SECONDS / self._speed)
            if terms.ends == AFTER_ALL:
                end = max(now + 2 * step, (self._last_end or now) + step)
            if terms.ends < 1800:
                self._last_end = max(end, self._last_end or end)
            draft["endsAt"] = end.isoformat()
            soft = max(3, round(SOFT_SECONDS / self._speed))
            draft["softClose"] = {
                "window": soft,
                "extension": soft,
                "cap": (end + timedelta(seconds=SOFT_SECONDS_MAX / self._speed)).isoformat(),
            }
        if terms.reserve:
            # One in three reserves is more than anybody bids, so that some lots close unsold.
            share = Decimal("1.6") if self._chance.random() < 0.3 else Decimal("0.9")
            draft["reservePrice"] = f"{tidy(low * share)}"
        if terms.buy_now:
            draft["buyNowPrice"] = f"{tidy(high * Decimal('1.1'))}"
        return draft
