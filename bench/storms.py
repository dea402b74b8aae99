"""Storms: a house stands still until each of many devices has sent a request, so it finds all of them at once.

So its transactions are as large each time, and no request is counted in part: the next ones are sent after the last answer.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from msgspec import structs

from bench import BenchError, devices
from bench.devices import Bid, HttpDevice
from bench.servers import House
from bench.stage import Stage

CONNECTIONS = 128
SENDING_SECONDS = 0.02
"""Sending to this machine itself takes effect at once; the house need not even run for it."""


class Storms:
    """Devices of one house, each with a connection of its own, which all send a request at once.

    The lots come in an order that is random and the same each time: neighbours share pages of the database.
    """

    def __init__(self, stage: Stage, house: House, auctions: int, first: int, *, path: str = "") -> None:
        """Each device bids on its own share of the first `auctions`, more than `first` thousandths; or it reads `path`."""
        self._house, self._path = house, path
        self._gids = stage.gids(auctions).read_text().split()
        random.Random(auctions).shuffle(self._gids)
        rising = devices.rising(stage.tokens.read_text().split(), first, "")
        self._bids: Iterator[Bid] = (structs.replace(bid, id="") for bid in rising)
        self._devices: list[HttpDevice] = []
        self.answers: Counter[int] = Counter()
        """All answers so far, by their status."""

    async def __aenter__(self) -> Self:
        address = urlsplit(self._house.url)
        loop = asyncio.get_running_loop()
        for number in range(CONNECTIONS):
            own = self._gids[number::CONNECTIONS] or self._gids
            _, device = await loop.create_connection(
                lambda own=own: HttpDevice(address.netloc, *own),  # type: ignore[misc]  # it cannot see the default
                address.hostname or "",
                address.port or 80,
            )
            self._devices.append(device)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for device in self._devices:
            device.close()

    async def storm(self) -> Counter[int]:
        """Send a request by each device, and return the answers by status. Raises BenchError for one that is unexpected."""
        os.kill(self._house.pid, signal.SIGSTOP)
        try:
            asked = [asyncio.ensure_future(self._ask(device)) for device in self._devices]
            await asyncio.sleep(SENDING_SECONDS)
        finally:
            os.kill(self._house.pid, signal.SIGCONT)
        statuses = Counter(await asyncio.gather(*asked))
        if unexpected := set(statuses) - ({200} if self._path else {201, 409}):
            raise BenchError(f"requests are answered {sorted(unexpected)}")
        self.answers += statuses
        return statuses

    async def _ask(self, device: HttpDevice) -> int:
        return await (device.read(self._path) if self._path else device.bid(next(self._bids)))
