"""A network between two parties that can be cut, blocked, or left hanging with its connections open."""

import asyncio
import socket
import struct

from tests.mqtt.equipment import free_port

_RESET = struct.pack("ii", 1, 0)


class PortForwarder:
    """Forwards connections to a port of this machine. Nothing passes until `open`."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._far: set[asyncio.StreamWriter] = set()
        self._hanging: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Let connections through."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)

    def block(self) -> None:
        """Reset all connections, and refuse new ones until `open`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.cut()

    def cut(self) -> None:
        """Reset all connections; new ones are let through."""
        for end in self._ends - self._hanging:
            _reset(end)

    def hang(self, *, answers_only: bool = False) -> None:
        """Leave the present connections open with nothing passing on them, for good; new ones are let through.

        What is sent there is taken, and lost, as by a middle-box that has forgotten them. With `answers_only` what the nearer
        side sends still arrives.
        """
        self._hanging |= self._far if answers_only else self._ends

    async def close(self) -> None:
        """End all connections and the link."""
        self._hanging.clear()
        self.block()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "it is a coroutine"
        self._tasks.add(task)
        ends = {near}
        try:
            answers, far = await asyncio.open_connection("127.0.0.1", self._target)
            ends.add(far)
            self._ends |= ends
            self._far.add(far)
            await asyncio.gather(self._pass(reader, near, far), self._pass(answers, far, near))
        except (OSError, asyncio.CancelledError):
            pass  # nobody is there, or the link is ending
        finally:
            self._tasks.discard(task)
            self._ends -= ends
            self._far -= ends
            self._hanging -= ends
            for end in ends:
                _reset(end)

    async def _pass(self, reader: asyncio.StreamReader, one: asyncio.StreamWriter, other: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if one not in self._hanging:
                    other.write(data)
                    await other.drain()
            if one not in self._hanging:
                other.write_eof()
        except OSError:
            if one not in self._hanging:
                _reset(other)
        while one in self._hanging:
            await asyncio.sleep(0.1)


def _reset(end: asyncio.StreamWriter) -> None:
    """Close by a reset, so that the other side gets no orderly end."""
    if not end.transport.is_closing():
        end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    end.transport.abort()
