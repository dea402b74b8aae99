"""One answer, one packet: what is written within a turn of the event loop goes out in one piece."""

import asyncio

from saleroom.doors.protocol import JoinedWrites


class Wire(asyncio.Transport):
    """A transport that notes what is sent over it."""

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


async def test_an_answer_goes_out_in_one_piece() -> None:
    """Pieces written without a pause are sent together, in order; those of the next turn by themselves."""
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"head ")
    joined.write(b"body")
    assert [] == wire.sent
    await asyncio.sleep(0)
    assert [b"head body"] == wire.sent
    joined.write(b"next")
    await asyncio.sleep(0)
    assert [b"head body", b"next"] == wire.sent


async def test_closing_loses_nothing() -> None:
    """What has been written before the close is sent before it, once."""
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"last words")
    joined.close()
    assert wire.closed
    await asyncio.sleep(0)
    assert [b"last words"] == wire.sent


async def test_a_client_that_has_gone_is_sent_nothing() -> None:
    """Where the connection is lost before the turn ends, nothing is written to it."""
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"too late")
    wire.close()
    await asyncio.sleep(0)
    assert [] == wire.sent


async def test_all_else_is_the_transports_own() -> None:
    """It answers for its transport wherever it does not write."""
    assert ("198.51.100.7", 4000) == JoinedWrites(Wire()).get_extra_info("peername")
