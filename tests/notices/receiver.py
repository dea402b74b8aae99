"""A real server of webhooks for tests, with the faults of real ones."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, tzinfo
from typing import Any, Self
from unittest.mock import patch

from standardwebhooks import Webhook
from standardwebhooks import webhooks as library


class Receiver:
    """Keeps what is posted to it, with its headers in lower case.

    `answers` are used up one by one: a status to answer with; `cut` to end the connection, `hang` to never answer, `endless`
    for an answer without an end, `interim` for interim answers without an end, `extensions` for chunks that say much beside
    their size, `garbage` for an answer that is no HTTP. Otherwise it answers 204. `more` are headers of its answers.
    """

    def __init__(self) -> None:
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[str] = []
        self.more = ""
        self.port = 0
        self.under_way = 0
        self.most_under_way = 0
        self.connections = 0
        self.serving: set[asyncio.Task[Any]] = set()

    def url(self, path: str = "/hook", host: str = "127.0.0.1", scheme: str = "http") -> str:
        """The address of the server."""
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was posted."""
        return [json.loads(body) for _, body in self.posts]

    @property
    def types(self) -> list[str]:
        """The kinds of what was posted."""
        return [body["type"] for body in self.bodies]

    def verified(self, secret: str, number: int = -1) -> Any:
        """What was posted, verified by the library that receivers use, at the time of the house."""
        headers, body = self.posts[number]

        class Then(datetime):
            """The clock that the library looks at."""

            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                return cls.fromtimestamp(int(headers["webhook-timestamp"]) + 200, tz)

        with patch.object(library, "datetime", Then):
            return Webhook(secret).verify(body, headers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take requests from a connection."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.close()

    def answer(self) -> str:
        """Return how the latest post is answered."""
        return self.answers.pop(0) if self.answers else "204"

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        body = await reader.readexactly(int(headers["content-length"]))
        self.posts.append((headers, body))
        self.under_way -= 1
        answer = self.answer()
        if answer == "cut":
            return False
        if answer == "hang":
            await reader.read(1)
            return False
        if answer == "garbage":
            writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
            return False
        if answer == "endless":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                await writer.drain()
        if answer == "interim":
            while True:
                writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" * 100)
                await writer.drain()
        if answer == "extensions":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write((b"1;a=" + b"b" * 4000 + b"\r\nx\r\n") * 4)
                await writer.drain()
        writer.write(f"HTTP/1.1 {answer} X\r\n{self.more}Content-Length: 0\r\n\r\n".encode())
        await writer.drain()
        return True


@asynccontextmanager
async def receiving(receiver: Receiver, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Serve on a free port of this machine."""
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in list(receiver.serving):
            task.cancel()
        await asyncio.gather(*receiver.serving, return_exceptions=True)
