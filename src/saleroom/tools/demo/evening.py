"""An evening: a live sale with lots, consignors, paddles and absentee bids, as staff of the demo prepare it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any

from saleroom.tools.demo.bidders import tidy
from saleroom.tools.demo.catalogue import Piece
from saleroom.tools.demo.client import DemoClient, HouseRefusal

LOTS = 20
FIRST_LOTS = 3
"""How many lots the sale has when it begins. The others follow while the first are sold."""
CONSIGNORS = {"K1": "Estate of a clockmaker", "K2": "M. Albers", "K3": "Museum friends", "K4": "Private collection"}
IN_HALL = ("Ines Vogt", "Peter Lind", "Aisha Bello", "Tom Hardy", "Greta Sand", "Jan Kowal", "Ruth Adler", "Noah Berg")
ABSENT = ("Clara Weiss", "Hugo Marin", "Edith Stein", "Paul Ode")
FIRST_IN_HALL, FIRST_ABSENT = 11, 41
"""The first paddles of each kind."""
TAXES = ("margin", "margin", "standard", "exempt", "resale_right")
TITLES = ("Works of art and curiosities", "The evening sale", "From country houses", "A collector's cabinet")


@dataclass(frozen=True)
class Rank:
    """A lot of the evening, and what the keenest person in the hall would pay for it."""

    label: str
    gid: str
    name: str
    estimate: tuple[Decimal, Decimal]
    hall: Decimal
    skipped_first: bool


@dataclass
class Evening:
    """A live sale that goes on: its lots by gid. `complete` once all of them are there."""

    gid: str
    lots: dict[str, Rank] = field(default_factory=dict)
    complete: bool = False


class EveningMaker:
    """Prepares evenings as the staff with the `token`, from pieces of one catalogue."""

    def __init__(self, client: DemoClient, token: str, pieces: Iterator[Piece], seed: int, lots: int) -> None:
        self._client = client
        self._token = token
        self._pieces = pieces
        self._chance = Random(f"evening {seed}")
        self._lots = lots
        self._count = 0

    async def begin(self, online: list[str]) -> Evening:
        """Publish a sale with its first lots and everybody's paddles; those with the tokens `online` register."""
        if not self._count:
            for code, name in CONSIGNORS.items():
                await self._staff("POST", "/consignors", {"code": code, "name": name})
        sale = {
            "title": TITLES[self._count % len(TITLES)],
            "kind": "live",
            "venue": "The demo's hall",
            "names": "paddles",
            "registration": "open",
            "startsAt": (self._client.now() + timedelta(minutes=5)).isoformat(),
        }
        self._count += 1
        evening = Evening(str((await self._staff("POST", "/sales", sale))["gid"]))
        pieces = [await self._add(evening, piece) for piece in islice(self._pieces, min(FIRST_LOTS, self._lots))]
        await self._staff("POST", f"/sales/{evening.gid}/publish")
        for by, first, names in (("floor", FIRST_IN_HALL, IN_HALL), ("absentee", FIRST_ABSENT, ABSENT)):
            for number, name in enumerate(names, first):
                said = {"personName": name, "paddle": number, "bidsBy": by}
                await self._staff("POST", f"/sales/{evening.gid}/participants", said)
        for token in online:
            await self._client.ask("PUT", f"/sales/{evening.gid}/registration", token)
        for lot in pieces:
            await self._leave_bids(evening, lot)
        return evening

    async def complete(self, evening: Evening) -> None:
        """Add the lots that are missing, while the first ones are sold."""
        for piece in islice(self._pieces, self._lots - len(evening.lots)):
            try:
                await self._leave_bids(evening, await self._add(evening, piece))
            except HouseRefusal as refusal:
                if refusal.code not in ("sale_over", "sale_paused"):
                    raise
        evening.complete = True

    async def _add(self, evening: Evening, piece: Piece) -> Rank:
        photo = await self._staff("POST", "/photos", piece.picture(0))
        low, high = map(Decimal, piece.estimate)
        chance = self._chance
        lot = {
            "name": piece.name,
            "description": piece.description,
            "startingPrice": f"{tidy(low * Decimal(chance.randrange(40, 60)) / 100)}",
            "estimateFrom": f"{low}",
            "estimateTo": f"{high}",
            "consignor": chance.choice(list(CONSIGNORS)),
            "taxScheme": chance.choice(TAXES),
            "photos": [photo["id"]],
        }
        if chance.random() < 0.4:
            lot["reservePrice"] = f"{tidy(low * Decimal('0.9'))}"
        made = await self._staff("POST", f"/sales/{evening.gid}/lots", lot)
        worth = tidy(low * Decimal(chance.randrange(50, 140)) / 100)
        found = Rank(str(made["label"]), str(made["gid"]), piece.name, (low, high), worth, chance.random() < 0.08)
        evening.lots[found.gid] = found
        return found

    async def _leave_bids(self, evening: Evening, lot: Rank) -> None:
        """Enter what absent people have left on a lot; a bid below the one before is not worth its paper."""
        low, high = lot.estimate
        for number in self._chance.sample(range(len(ABSENT)), self._chance.choice((0, 0, 1, 1, 2))):
            maximum = tidy(low + (high - low) * Decimal(self._chance.randrange(-40, 60)) / 100)
            line = {"paddle": FIRST_ABSENT + number, "label": lot.label, "maximum": f"{maximum}"}
            try:
                await self._staff("POST", f"/sales/{evening.gid}/book", line)
            except HouseRefusal as refusal:
                if refusal.code not in ("bid_too_low", "on_the_block", "auction_closed", "sale_over", "auction_paused"):
                    raise

    async def _staff(self, method: str, path: str, body: Any = None) -> Any:
        return await self._client.ask(method, path, self._token, body)
