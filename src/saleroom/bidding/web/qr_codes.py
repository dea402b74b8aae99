"""QR codes: drawn once for each address, by a thread of their own, as one takes as long as many bids."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import segno

from saleroom.kernel.errors import Busy

KEPT_MAX = 512
"""Codes that are kept, a few kilobytes each."""
WAITING_MAX = 8
"""Codes that may wait to be drawn; beyond it whoever asks for another one is told to come again."""
RESTS = 9
"""So many times as long as a code took the thread rests before the next one: drawing holds the interpreter's lock."""
MASK = 3
"""Any of the eight is read by every camera; to choose the best of them takes four times as long as the rest."""
_QUIET_ZONE = 4
"""Modules of light around a code, without which cameras do not find it (ISO/IEC 18004, 6.3.8)."""


class Codes:
    """Draws codes as SVG, dark on light in every colour scheme."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "codes")
        self._drawn: OrderedDict[str, asyncio.Future[bytes]] = OrderedDict()
        self._waiting = 0
        self._rests_until = 0.0

    async def of(self, address: str) -> bytes:
        """Return the code of an address, which is drawn where it is not kept. Raises Busy."""
        drawn = self._drawn.get(address)
        if drawn is None:
            if self._waiting >= WAITING_MAX:
                raise Busy
            self._waiting += 1
            drawn = self._drawn[address] = asyncio.get_running_loop().run_in_executor(self._pool, self._draw, address)
            drawn.add_done_callback(self._done)
            if len(self._drawn) > KEPT_MAX:
                self._drawn.popitem(last=False)
        # Whoever gives up does not take the code from the others who wait for it.
        return await asyncio.shield(drawn)

    def _draw(self, address: str) -> bytes:
        """Draw one code, in the thread."""
        time.sleep(max(0.0, self._rests_until - time.monotonic()))
        began = time.monotonic()
        code = draw(address)
        ended = time.monotonic()
        self._rests_until = ended + RESTS * (ended - began)
        return code

    def _done(self, _: asyncio.Future[bytes]) -> None:
        self._waiting -= 1


def draw(address: str) -> bytes:
    """Return the code of an address."""
    drawn = BytesIO()
    code = segno.make(address, error="m", micro=False, boost_error=False, mask=MASK)
    plain: dict[str, Any] = {"xmldecl": False, "omitsize": True, "svgclass": None, "lineclass": None}
    code.save(drawn, kind="svg", border=_QUIET_ZONE, dark="#000", light="#fff", **plain)
    return drawn.getvalue()
