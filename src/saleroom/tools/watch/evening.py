"""A sale of many lots watched over HTTP: its own stream, and beside it the stream of the house for its lots."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from saleroom.kernel.identifiers import GID
from saleroom.tools.watch import messages
from saleroom.tools.watch.channel import WatchOptions
from saleroom.tools.watch.http import HttpWatch
from saleroom.tools.watch.sale import Sale

LOTS_PAGES_MAX = 100
"""Pages of 100 lots read at the start."""
LAST_SECONDS = 1.0
"""How long after the end of the sale the last events of its lots may come."""


class EveningWatch:
    """Fills a sale with the lots of one sale of many. Each of its two streams is resumed after its own last event."""

    def __init__(self, options: WatchOptions, sale: Sale) -> None:
        self._own, self._lots = _OwnStream(options, sale), _LotsStream(options, sale)

    async def run(self) -> None:
        """Watch until the sale is over. Raises ToolError."""
        own, lots = asyncio.ensure_future(self._own.run()), asyncio.ensure_future(self._run_lots())
        try:
            await asyncio.wait((own, lots), return_when=asyncio.FIRST_COMPLETED)
            if own.done() and own.exception() is None:
                await asyncio.wait((lots,), timeout=LAST_SECONDS)
            for duty in (own, lots):
                if duty.done():
                    duty.result()
        finally:
            for duty in (own, lots):
                duty.cancel()
            await asyncio.gather(own, lots, return_exceptions=True)

    async def _run_lots(self) -> None:
        """Watch the lots once the sale is known: of one that does not exist there is nothing to say but that."""
        await self._own.known.wait()
        await self._lots.run()


class _OwnStream(HttpWatch):
    """The events of the sale itself."""

    WHAT = "sale"

    def __init__(self, options: WatchOptions, sale: Sale) -> None:
        super().__init__(options, sale)
        self._gid = options.evening
        self._stream = f"/sales/{options.evening}/events"
        self.known = asyncio.Event()
        """Set once the sale has been read."""

    async def _look(self, gid: str) -> None:
        """Read the sale."""
        self._sale.of_evening(await self._get(f"/sales/{gid}", messages.read_sale))
        self.known.set()

    async def _wants(self, event: messages.LotEvent) -> bool:
        """Return that every event of the sale is to be shown; a lot that it adds is read first."""
        lot = event.data.get("lot")
        if event.type == "lot.added" and isinstance(lot, str) and GID.fullmatch(lot):
            self._sale.state(await self._get(f"/auctions/{lot}", messages.read_lot))
        return True


class _LotsStream(HttpWatch):
    """The events of all lots of the house, of which those of the sale are taken."""

    WHAT = "sale"

    def __init__(self, options: WatchOptions, sale: Sale) -> None:
        super().__init__(options, sale)
        self._asked = True  # the other stream asks for the currency

    async def _wants(self, event: messages.LotEvent) -> bool:
        """Return whether an event is about a lot of the sale."""
        return event.gid in self._sale.labels

    async def _look_around(self) -> None:
        """Read the lots of the sale."""
        self._looked = True
        first = f"/sales/{self._options.evening}/lots?limit=100"
        path: str | None = first
        for _ in range(LOTS_PAGES_MAX):
            if path is None:
                return
            page = await self._get(path, messages.read_lots)
            for lot in page.lots:
                self._sale.labels[lot.gid] = lot.label
                if lot.auction is not None:
                    self._sale.state(lot.auction)
                    if lot.auction.stage is not None:
                        self._sale.called(lot.gid, lot.label)
            path = page.next and f"{first}&cursor={quote(page.next, safe='')}"
