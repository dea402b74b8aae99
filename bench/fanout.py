"""The fan-out: a bare ASGI callable that sends the body of a POST to all clients of a GET, to show the least cost of that.

One queue and one task per subscriber, no more: nobody is counted, resumed, bounded, or noticed when they leave.
"""

from __future__ import annotations

import asyncio

from bench.echo import Message, Receive, Send, lifespan

_STREAM = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
_queues: list[asyncio.Queue[bytes]] = []


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Answer GET with a stream that does not end, and POST when its body is in every subscriber's queue."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["method"] == "GET":
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        _queues.append(queue)
        await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await send({"type": "http.response.body", "body": b": welcome\n\n", "more_body": True})
        while True:
            await send({"type": "http.response.body", "body": await queue.get(), "more_body": True})
    else:
        body = (await receive())["body"]
        for queue in _queues:
            queue.put_nowait(body)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
