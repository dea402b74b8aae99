"""One answer, one packet: all writes within a turn of the event loop are sent in one piece."""

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


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


def test_an_answer_goes_out_in_one_piece() -> None:
    """A head waits for the first piece of its body. Later pieces are sent at once, and so is the next answer."""
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.write(HEAD)
    assert [] == wire.sent
    joined.write(b"bo")
    joined.write(b"dy")
    joined.write(HEAD)
    joined.write(b"")
    assert [HEAD + b"bo", b"dy", HEAD] == wire.sent


def test_a_head_alone_is_sent_when_the_answer_is_complete() -> None:
    """Nothing follows the head of an answer to HEAD."""
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.write(HEAD)
    joined.flush()
    joined.flush()
    assert [HEAD] == wire.sent


def test_closing_loses_nothing() -> None:
    """Bytes written before the close are sent before it, once."""
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.write(HEAD)
    joined.close()
    assert wire.closed
    assert [HEAD] == wire.sent


def test_a_client_that_has_gone_is_sent_nothing() -> None:
    """If the connection is lost after the head, nothing is written to it."""
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.write(HEAD)
    wire.close()
    joined.flush()
    assert [] == wire.sent


def test_all_else_is_the_transports_own() -> None:
    """Everything but writing goes to the transport below."""
    assert ("198.51.100.7", 4000) == AnswerTransport(RecordingTransport()).get_extra_info("peername")


async def test_a_reader_must_make_headway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes enough in each interval may go on. A slower reader is cut off."""
    monkeypatch.setattr(client_connection, "STALL_SECONDS", 0.01)
    wire = RecordingTransport()
    wire.waiting = 10 * client_connection.STALL_BYTES_MIN
    joined = AnswerTransport(wire)
    joined.watch()
    for _ in range(5):
        wire.waiting -= client_connection.STALL_BYTES_MIN
        before = wire.waiting
        joined._look(before + client_connection.STALL_BYTES_MIN)
        assert [] == wire.sent
    await until(lambda: bool(wire.sent), "the slower reader is cut off")
    assert [b"aborted"] == wire.sent


async def test_who_has_read_all_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is not watched while nothing waits for it."""
    monkeypatch.setattr(client_connection, "STALL_SECONDS", 0.01)
    wire = RecordingTransport()
    joined = AnswerTransport(wire)
    joined.watch()
    wire.waiting = 5
    joined.watch()
    joined.unwatch()
    await asyncio.sleep(0.05)
    assert [] == wire.sent
