"""An application behind the house's own protocol that echoes its requests, to show where each begins and ends."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from starlette import requests
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from saleroom.http.client_connection import CLIENT_CONNECTION, ClientConnection
from saleroom.http.event_loop import EventLoop
from saleroom.http.exchange import APPLICATION, Application
from saleroom.http.protocol import Http
from saleroom.runtime import serving
from tests.patience import SECONDS_MAX
from tests.prompt_server import PromptServer

Request = tuple[str, str, bytes]
"""A method, a path with its query, and a body."""
STREAM, POLLING, UNREAD, LARGE = "/stream", "/polling", "/unread", "/large"
"""STREAM and POLLING answer for as long as the client stays, and POLLING asks now and then whether it does. UNREAD answers
without reading the body, and LARGE with a megabyte."""


class Echo:
    """A server that records its requests in `seen`, in order."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.headers: list[dict[bytes, bytes]] = []
        self.gone = threading.Event()
        """Set once the client of a stream has left."""
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="echo", daemon=True)

    def __enter__(self) -> Self:
        """Serve on a free port."""
        self._socket = serving.listen("127.0.0.1", 0)
        self.port = int(self._socket.getsockname()[1])
        self._thread.start()
        assert self._started.wait(SECONDS_MAX)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.end()
        self._thread.join(SECONDS_MAX)
        self._socket.close()

    def end(self) -> None:
        """Tell the server to end, as a signal does."""
        self._server.end()

    def hold(self) -> threading.Event:
        """Keep the event loop busy until the returned event is set."""
        released = threading.Event()
        self.loop.call_soon_threadsafe(released.wait, SECONDS_MAX)
        return released

    @property
    def connections(self) -> list[Http]:
        """Return the open connections."""
        return [one for one in self._server.server_state.connections.copy() if isinstance(one, Http)]

    def dial(self) -> socket.socket:
        """Connect, and send each piece at once."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def asked(self, *pieces: bytes) -> bytes:
        """Send pieces, each as a packet, over a new connection, and return all it receives until its end.

        The last piece must end the connection.
        """
        with self.dial() as connection:
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    connection.sendall(piece)
            return rest(connection)

    def settle(self) -> None:
        """Wait until every request has run to its end. A broken request is answered before the application has seen it."""
        while self._server.server_state.tasks:
            time.sleep(0.001)

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        """Answer with the request."""
        query = scope["query_string"].decode()
        request = scope["method"], scope["path"] + ("?" + query if query else "")
        self.headers.append(dict(scope["headers"]))
        if scope["path"] == UNREAD:
            self.seen.append((*request, b""))
            return Response(b"unread", 403)
        body = await requests.Request(scope, receive).body()
        self.seen.append((*request, body))
        if scope["path"] == LARGE:
            return Response(bytes(1_000_000))
        if scope["path"] == STREAM:
            return Endless(self._stream)
        if scope["path"] == POLLING:
            return Endless(self._poll)
        return Response(json.dumps([*request, body.decode("latin-1")]).encode())

    async def _stream(self, scope: Scope, _: Receive, send: Send) -> None:
        line: ClientConnection = scope[CLIENT_CONNECTION]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        ended = asyncio.Event()
        line.at_end(ended.set)
        while not ended.is_set():
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 0.5)
        self.gone.set()
        await send({"type": "http.response.body"})

    async def _poll(self, _: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        is_here = True
        while is_here:
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            with contextlib.suppress(TimeoutError):
                is_here = (await asyncio.wait_for(receive(), 0.005))["type"] != "http.disconnect"

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[dict[str, Application]]:
        yield {APPLICATION: Application(self.respond, self._fail)}

    def _fail(self, _: Scope, error: Exception) -> None:
        raise error

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=EventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        app = Router(lifespan=self._lifespan)
        self._server = PromptServer(serving._config(app, Http, 1))
        task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not task.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await task


class Endless(Response):
    """An answer in pieces, which `sending` sends."""

    def __init__(self, sending: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.background = None
        self._sending = sending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sending(scope, receive, send)


def rest(connection: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            answer += part
    return answer


def answers(stream: bytes) -> list[tuple[int, bytes]]:
    """Return the final answers of a connection, each as a status and a body. Each must have a Content-Length."""
    found = []
    while stream.startswith(b"HTTP/1."):
        head, _, stream = stream.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        if status >= 200:
            lengths = [
                line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
            ]
            length = int(lengths[0])
            found.append((status, stream[:length]))
            stream = stream[length:]
    return found


def echoed(stream: bytes) -> list[Any]:
    """Return the requests that the answers of a connection echo, and the status of any other answer."""
    return [json.loads(body) if status == 200 else status for status, body in answers(stream)]
