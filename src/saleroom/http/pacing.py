"""The pace of requests that change something: few begin at a time, so that a bid waits for few others."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 2
"""Requests that begin in one pass of the event loop. A bid needs about six passes until it is answered."""


class Pace:
    """Lets few requests begin in each pass of the event loop; the others wait, in order.

    Two hundred connections whose requests are refused at once would otherwise all be served in each pass, and a bid would wait
    for all of them six times. The others lose no time, as one pass follows the other. At most as many wait as there are
    connections. Reads are not paced: the more of them begin together, the less each costs.
    """

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._renews = False

    async def begin(self) -> None:
        """Return when a request may begin."""
        self._renew_soon()
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _renew_soon(self) -> None:
        if not self._renews:
            self._renews = True
            asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        self._renews = False
        self._left = AT_ONCE
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._waiting:
            self._renew_soon()
