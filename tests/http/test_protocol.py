"""The end of a connection, and readers that are too slow."""

import asyncio

import pytest

from saleroom.http import client_connection
from saleroom.http.client_connection import AnswerTransport
from tests.patience import until


class RecordingTransport(asyncio.Transport):
    """A transport that records what is sent."""

    def __init__(self) -> None:
        super().__init__({"peername": ("198.51.100.7", 4000)})
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed, "nothing may be written any more"
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    waiting = 0

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.waiting = 0
        self.sent.append(b"aborted")


async def test_a_reader_must_make_headway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes enough in each interval may go on. A slower reader is cut off."""
    monkeypatch.setattr(client_connection, "STALL_SECONDS", 0.01)
    wire = RecordingTransport()
    wire.waiting = 10 * client_connection.STALL_BYTES_MIN
    joined = AnswerTransport(wire)
    joined.watch_reader()
    for _ in range(5):
        wire.waiting -= client_connection.STALL_BYTES_MIN
        before = wire.waiting
        joined._look(before + client_connection.STALL_BYTES_MIN)
        assert [] == wire.sent
    await until(lambda: bool(wire.sent), "the slower reader is cut off")
    assert [b"aborted"] == wire.sent


async def test_a_reader_who_has_taken_everything_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is not watched while nothing waits for it."""
    monkeypatch.setattr(client_connection, "STALL_SECONDS", 0.01)
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.watch_reader()
    wire.waiting = 5
    joined.watch_reader()
    joined.stop_watching_reader()
    await asyncio.sleep(0.05)
    assert [] == wire.sent
