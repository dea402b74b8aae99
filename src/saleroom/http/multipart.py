"""Forms with files (multipart/form-data): how large, how slow and how long they may be."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope

from saleroom.http.internals import MultiPartParser
from saleroom.http.problems import BodyTimeout, BodyTooLarge
from saleroom.http.requests import header, refuse_declared
from saleroom.kernel.errors import Invalid

FORM_WITH_FILES = "multipart/form-data"
UPLOAD_SECONDS_MAX = 300.0
"""How long a body with files may take: a photo of 8 MB on a slow phone takes minutes."""
PACE_SECONDS, PACE_BYTES = 20.0, 40 * 1024
"""In each such time a client must send so many bytes, 2 KiB a second. Otherwise a trickle would hold its place for minutes."""
FILES_MAX, FIELDS_MAX, FIELD_BYTES_MAX = 50, 200, 64 * 1024
TEXT_CHARACTERS_MAX = 32 * 1024
"""The longest text of all other fields together, as a refused form is shown again with them."""
_BOUNDARY = re.compile(
    r"""multipart/form-data\s*;\s*boundary=(?:"([A-Za-z0-9'()+_,./:=?-]{1,70})"|([A-Za-z0-9'+_.-]{1,70}))\s*""",
    re.IGNORECASE,
)


def boundary(scope: Scope) -> bytes:
    """Return the boundary between the parts of a form with files. Raises Invalid if the header does not name it."""
    found = _BOUNDARY.fullmatch(header(scope, b"content-type") or "")
    if found is None:
        message = "must be a form with files, as browsers and curl -F send it (multipart/form-data with its boundary)"
        raise Invalid.one("body", "malformed_form", message)
    return (found[1] or found[2]).encode()


async def multipart(request: Request, bytes_max: int) -> FormData:
    """Return a form with files of at most `bytes_max` together. The caller closes it, and its temporary files with it.

    Raises BodyTooLarge (and reads no further), BodyTimeout, Invalid if the body is no such form, or ClientDisconnect.
    """
    refuse_declared(request.scope, bytes_max)
    parser = _MultipartParser(
        Headers({"Content-Type": f'{FORM_WITH_FILES}; boundary="{boundary(request.scope).decode()}"'}),
        _pieces(paced(request.receive), bytes_max),
        max_files=FILES_MAX,
        max_fields=FIELDS_MAX,
        max_part_size=FIELD_BYTES_MAX,
    )
    try:
        async with asyncio.timeout(UPLOAD_SECONDS_MAX):
            form = await parser.parse()
    except TimeoutError:
        raise BodyTimeout from None
    except MultiPartException as error:
        raise Invalid.one("body", "malformed_form", "is not a form as a browser sends it") from error
    if not parser.ended:
        parser.close()
        raise Invalid.one("body", "malformed_form", "has no end")
    if sum(len(text) for _, text in form.multi_items() if isinstance(text, str)) > TEXT_CHARACTERS_MAX:
        await form.close()
        raise BodyTooLarge(limit=TEXT_CHARACTERS_MAX)
    return form


class _MultipartParser(MultiPartParser):
    """Starlette's parser. Alone it accepts a form without an end, and leaves an unfinished file open."""

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


def paced(receive: Receive) -> Receive:
    """Return a `receive` that raises BodyTimeout if a client sends less than PACE_BYTES in PACE_SECONDS."""
    loop = asyncio.get_running_loop()
    ends, came = loop.time() + PACE_SECONDS, 0

    async def receive_paced() -> Message:
        nonlocal ends, came
        while True:
            message: Message | None = None
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
                    came += len(message.get("body", b""))
            except TimeoutError:
                if came < PACE_BYTES:
                    raise BodyTimeout from None
            if loop.time() >= ends:
                ends, came = loop.time() + PACE_SECONDS, 0
            if message is not None:
                return message

    return receive_paced
