"""The echo: a bare ASGI callable that reads a bid and answers JSON, to show what HTTP and JSON alone cost in Python."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
from msgspec import Struct

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Bid(Struct, forbid_unknown_fields=True):
    """The body of a bid."""

    amount: str


class Answer(Struct, rename="camel"):
    """An answer as long as that to a bid: some 230 bytes of JSON."""

    amount: str
    auction: str = "k3X9mQ2vTa1_"
    bidder: str = "bidder-04711"
    currency: str = "EUR"
    status: str = "accepted"
    sequence: int = 4711
    placed_at: str = "2026-01-01T12:00:00.000000Z"
    highest: str = "12500.125"
    min_next: str = "12500.126"
    ends_at: str = "2026-12-01T12:00:00.000000Z"


_decode = msgspec.json.Decoder(Bid).decode
_encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")


async def lifespan(receive: Receive, send: Send) -> None:
    """Answer the lifespan messages; there is nothing to do."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Answer every request with 201 and the amount of its body."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    answer = _encode(Answer(_decode(body).amount))
    headers = [_JSON, (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
