"""Uploads of photos, as a body or as a form with files, within bounds on their number, size and time.

The sender is known before anything is read. Each upload holds a place (`bidding/service/places.py`) until its photos are
stored, so the memory and the temporary files of all uploads together are bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.places import Sender
from saleroom.http.client_connection import CLIENT_CONNECTION, ClientConnection
from saleroom.http.multipart import UPLOAD_SECONDS_MAX, multipart, paced
from saleroom.http.requests import declared_length, read_body, refuse_declared
from saleroom.kernel.errors import Busy

FORM_PHOTOS_MAX = 6
"""How many photos of the largest size may come with one form; of smaller photos, more may come."""
TEXT_BYTES_MAX = 256 * 1024
"""The most bytes of a form besides photos: a ladder and a description in the longest characters are shorter."""


async def picture(request: Request, house: Photos, token: str, address: str) -> Photo:
    """Return the photo made from the body of a request from this address.

    Before the body is read, raises the refusals of the sender; then BodyTooLarge, BodyTimeout, ClientDisconnect, or as
    `store` does.
    """
    sender = Sender.at(await house.sender_of(token), address)
    with house.receiving(sender):
        async with while_connected(request.scope):
            body = Request(request.scope, paced(request.receive))
            data = await read_body(body, house.bytes_max, UPLOAD_SECONDS_MAX)
        return await store(request, house, token, sender, data)


async def store(request: Request, house: Photos, token: str, sender: Sender, data: bytes) -> Photo:
    """Return the photo made from a file. Raises Unauthenticated, TooManyPhotos, Invalid (field `photo`) or Busy."""
    await house.sender_of(token)
    async with while_connected(request.scope):
        made = await house.decode(sender, data)
    return await house.keep(token, made)


@asynccontextmanager
async def form(request: Request, house: Photos, sender: Sender, *, photos_max: int) -> AsyncIterator[FormData]:
    """Yield a form with files of at most `photos_max` photos. Its temporary files last as long as the block.

    Raises TooManyRequests or Busy before it is read, and then as `multipart` does.
    """
    bytes_max = photos_max * house.bytes_max + TEXT_BYTES_MAX
    refuse_declared(request.scope, bytes_max)
    length = declared_length(request.scope)
    with house.receiving(sender, (bytes_max if length is None else length) - TEXT_BYTES_MAX):
        async with while_connected(request.scope):
            found = await multipart(request, bytes_max)
        try:
            yield found
        finally:
            await found.close()


@asynccontextmanager
async def while_connected(scope: Scope) -> AsyncIterator[None]:
    """Cancel the block when the client hangs up or the server stops. Raises ClientDisconnect or Busy."""
    connection: ClientConnection | None = scope.get(CLIENT_CONNECTION)
    if connection is None:
        yield
        return

    patience = asyncio.timeout(None)

    def end() -> None:
        if not patience.expired():
            patience.reschedule(asyncio.get_running_loop().time())

    try:
        async with patience:
            with connection.until_end(end):
                yield
    except TimeoutError:
        if not patience.expired():
            raise
        if connection.gone:
            raise ClientDisconnect from None
        raise Busy("The house is closing; send the photo again in a moment.") from None
