"""Readers of an edge that read slowly or not at all, in a storm of events: others get everything, memory stays bounded."""

from __future__ import annotations

import asyncio
import re
import socket

import pytest

from saleroom.edge.addresses import Kind
from saleroom.edge.channel import _BOUNDS
from saleroom.feed import follower
from tests.edge.edge import Edge, edge_of
from tests.edge.storm import BATCH, LOT, PATH, StormyHouse, stormy_house
from tests.patience import SECONDS_MAX
from tests.process import wait_until

pytestmark = pytest.mark.databases("sqlite")

QUICK, STALLED = 30, 10
WAITING_MAX = 200
"""Events that wait for one reader here, so that a smaller storm does."""
EVENTS = 3_000
"""More than the buffers of the kernel take."""
_ID = re.compile(f"^id: {LOT}/([0-9]+)\r?$".encode(), re.MULTILINE)


class Reader:
    """A reader of the lot's stream, from behind the event `after`. One with `stalled` takes as little as it can."""

    def __init__(self, edge: Edge, after: int = 0, *, stalled: bool = False) -> None:
        self.after = after
        self._raw = b""
        self._socket = socket.socket()
        if stalled:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(SECONDS_MAX)
        self._socket.connect(("127.0.0.1", int(edge.base.rpartition(":")[2])))
        place = f"{LOT}/{after}" if after else "0"
        self._socket.sendall(f"GET {PATH} HTTP/1.1\r\nHost: x\r\nLast-Event-ID: {place}\r\n\r\n".encode())
        assert b"HTTP/1.1 200" == self._socket.recv(12)
        self._socket.setblocking(False)

    @property
    def versions(self) -> list[int]:
        """The versions of the events that have come whole."""
        return [int(version) for version in _ID.findall(self._raw.rpartition(b"\n\n")[0])]

    async def until(self, version: int) -> None:
        """Read up to an event."""
        end = f"id: {LOT}/{version}\n".encode()
        first = max(len(self._raw) - len(end), 0)
        while self._raw.find(end, first) < 0:
            assert await self._more(), "the stream has ended"

    async def rest(self) -> None:
        """Read to the end of the stream."""
        while await self._more():
            pass

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    async def _more(self) -> bool:
        try:
            async with asyncio.timeout(SECONDS_MAX):
                got = await asyncio.get_running_loop().sock_recv(self._socket, 65_536)
        except ConnectionResetError:
            return False
        self._raw += got
        return bool(got)


def test_slow_readers_are_cut_and_nobody_else_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who read get every event once and in order. Those who do not are cut off, come back, and miss nothing."""
    monkeypatch.setattr(follower, "WAITING_MAX", WAITING_MAX)
    with stormy_house() as house, edge_of(house.url) as edge:
        asyncio.run(_storm(house, edge))
        wait_until(lambda: edge.inside(len) == 0)


async def _storm(house: StormyHouse, edge: Edge) -> None:
    quick = [Reader(edge) for _ in range(QUICK)]
    stalled = [Reader(edge, stalled=True) for _ in range(STALLED)]
    for until in range(BATCH, EVENTS + 1, BATCH):
        house.tell(BATCH)
        await asyncio.gather(*(one.until(until) for one in quick))
        assert edge.inside(lambda hub: hub.memory.size) <= _BOUNDS[Kind.LOG].size
    assert all([*range(1, EVENTS + 1)] == one.versions for one in quick)
    assert QUICK == edge.inside(len), "only those who read are left"
    for one in stalled:
        await one.rest()
        reached = len(one.versions)
        assert [*range(1, reached + 1)] == one.versions
        again = Reader(edge, reached)
        await again.until(EVENTS)
        assert [*range(reached + 1, EVENTS + 1)] == again.versions
        again.close()
    for one in (*quick, *stalled):
        one.close()
