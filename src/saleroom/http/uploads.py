"""Photos that come in, as a body or as a form with files: how many at once, how slowly, and for how long.

The sender is known before anything is read. Each upload holds a place (`bidding/service/places.py`) until its photos are
kept, so memory and temporary files are bounded in sum.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope

from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.places import Sender
from saleroom.http.client_connection import LINE, Line
from saleroom.http.guard import FORM_WITH_FILES, boundary, declared_length, read_body, refuse_declared
from saleroom.http.problems import BodyTimedOut, BodyTooLarge
from saleroom.kernel.errors import Busy, Invalid

UPLOAD_SECONDS_MAX = 300.0
"""How long a body with files may take: a photo of 8 MB on a slow phone takes minutes."""
PACE_SECONDS, PACE_BYTES = 20.0, 40 * 1024
"""In each such time so much must come, 2 KiB a second; otherwise a trickle would keep its place for minutes."""
FORM_PHOTOS_MAX = 6
"""How many photos of the largest size may come with one form; smaller ones are more."""
TEXT_BYTES_MAX = 256 * 1024
"""All of a form that is not photos: a ladder and a description in the longest characters are less."""
FILES_MAX, FIELDS_MAX, FIELD_BYTES_MAX = 50, 200, 64 * 1024
TEXT_CHARACTERS_MAX = 32 * 1024
"""What all fields that are no files may hold: a ladder and a description are less. A form that is refused is shown again."""


async def picture(request: Request, house: Photos, token: str, address: str) -> Photo:
    """Return the photo that a body has become, sent from this address.

    Raises what refuses the sender before the body is read, and then BodyTooLarge, BodyTimedOut, ClientDisconnect or what
    `store` raises.
    """
    sender = Sender.at(await house.check(token), address)
    with house.receiving(sender):
        async with while_there(request.scope):
            paced = Request(request.scope, _paced(request.receive))
            data = await read_body(paced, house.bytes_max, UPLOAD_SECONDS_MAX)
        return await store(request, house, token, sender, data)


async def store(request: Request, house: Photos, token: str, sender: Sender, data: bytes) -> Photo:
    """Return the photo that a file has become. Raises Unauthenticated, TooManyPhotos, Invalid (field `photo`) or Busy."""
    await house.check(token)
    async with while_there(request.scope):
        made = await house.decode(sender, data)
    return await house.keep(token, made)


@asynccontextmanager
async def form(request: Request, house: Photos, sender: Sender, *, photos_max: int) -> AsyncIterator[FormData]:
    """Yield a form with files of so many photos, whose temporary files last as long as the block.

    Raises TooManyRequests or Busy before it is read, and then as `multipart` does.
    """
    bytes_max = photos_max * house.bytes_max + TEXT_BYTES_MAX
    refuse_declared(request.scope, bytes_max)
    length = declared_length(request.scope)
    with house.receiving(sender, (bytes_max if length is None else length) - TEXT_BYTES_MAX):
        async with while_there(request.scope):
            found = await multipart(request, bytes_max)
        try:
            yield found
        finally:
            await found.close()


@asynccontextmanager
async def while_there(scope: Scope) -> AsyncIterator[None]:
    """Give the block up once the client has hung up, or the server stops. Raises ClientDisconnect, or Busy."""
    line: Line | None = scope.get(LINE)
    if line is None:
        yield
        return

    patience = asyncio.timeout(None)

    def end() -> None:
        if not patience.expired():
            patience.reschedule(asyncio.get_running_loop().time())

    try:
        async with patience:
            with line.until_end(end):
                yield
    except TimeoutError:
        if not patience.expired():
            raise
        if line.gone:
            raise ClientDisconnect from None
        raise Busy("The house is closing; send the photo again in a moment.") from None


async def multipart(request: Request, bytes_max: int) -> FormData:
    """Return a form with files, of `bytes_max` altogether; the caller closes it, and its temporary files with it.

    Raises BodyTooLarge (having read no further), BodyTimedOut, Invalid where it is no such form, or ClientDisconnect.
    """
    refuse_declared(request.scope, bytes_max)
    parser = _Parser(
        Headers({"Content-Type": f'{FORM_WITH_FILES}; boundary="{boundary(request.scope).decode()}"'}),
        _pieces(_paced(request.receive), bytes_max),
        max_files=FILES_MAX,
        max_fields=FIELDS_MAX,
        max_part_size=FIELD_BYTES_MAX,
    )
    try:
        async with asyncio.timeout(UPLOAD_SECONDS_MAX):
            found = await parser.parse()
    except TimeoutError:
        raise BodyTimedOut from None
    except MultiPartException as error:
        raise Invalid.one("body", "malformed_form", "is not a form as a browser sends it") from error
    if not parser.ended:
        parser.close()
        raise Invalid.one("body", "malformed_form", "has no end")
    if sum(len(text) for _, text in found.multi_items() if isinstance(text, str)) > TEXT_CHARACTERS_MAX:
        await found.close()
        raise BodyTooLarge(limit=TEXT_CHARACTERS_MAX)
    return found


class _Parser(MultiPartParser):
    """The framework's own, which would take a form without an end, and leave the file in which it breaks off open."""

    ended = False

    def on_end(self) -> None:
        """Note that the last boundary has come."""
        self.ended = True

    def close(self) -> None:
        """Close all temporary files."""
        for file in self._files_to_close_on_error:
            file.close()


async def _pieces(receive: Receive, bytes_max: int) -> AsyncGenerator[bytes, None]:
    """Yield a body as it comes. Raises BodyTooLarge or ClientDisconnect."""
    total = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece = message.get("body", b"")
        total += len(piece)
        if total > bytes_max:
            raise BodyTooLarge(limit=bytes_max)
        yield piece
        more = message.get("more_body", False)


def _paced(receive: Receive) -> Receive:
    """Return a `receive` that raises BodyTimedOut once too little has come in too long a time."""
    loop = asyncio.get_running_loop()
    ends, came = loop.time() + PACE_SECONDS, 0

    async def paced() -> Message:
        nonlocal ends, came
        while True:
            message: Message | None = None
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
                    came += len(message.get("body", b""))
            except TimeoutError:
                if came < PACE_BYTES:
                    raise BodyTimedOut from None
            if loop.time() >= ends:
                ends, came = loop.time() + PACE_SECONDS, 0
            if message is not None:
                return message

    return paced
