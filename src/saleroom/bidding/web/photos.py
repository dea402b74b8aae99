"""Photos as files: GET /photos/{id}/{width}.webp."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.errors import PhotosUnavailable, UnknownPhoto
from saleroom.bidding.domain.photos import PHOTO_ID
from saleroom.bidding.service import photos
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.photo_store import with_bytes
from saleroom.bidding.storage.photos import PhotoFile
from saleroom.http.entity_tags import is_known
from saleroom.http.requests import bearer_token, session_token
from saleroom.kernel.errors import Busy
from saleroom.site.assets import FOREVER
from saleroom.storage.batching import InFlight
from saleroom.storage.faults import HangUp

KEPT_BYTES_MAX = 16 * 2**20
"""How much of the files that were asked for last a process keeps: the photos of the lots that many look at."""
KEPT_SECONDS = 10.0
"""How long a file is kept, so that one that was deleted is soon gone."""
READER_SECONDS_MAX = 20.0
"""How long a reader waits for a file. The readers of a store that hangs must not line up without end."""
FileKey = tuple[str, int]
"""The id of a photo, and a width."""
_WIDTH = re.compile(r"[1-9][0-9]{0,4}")


class KeptFiles:
    """The files that were read last, `KEPT_BYTES_MAX` of them in bytes, each for `KEPT_SECONDS`."""

    def __init__(self) -> None:
        self._files: OrderedDict[FileKey, tuple[float, PhotoFile]] = OrderedDict()
        self._bytes = 0

    def get(self, key: FileKey) -> PhotoFile | None:
        """Return a file that was read not long ago."""
        until, found = self._files.get(key, (0.0, None))
        return found if time.monotonic() < until else None

    def keep(self, key: FileKey, file: PhotoFile) -> None:
        """Keep a file, and drop those that were read first until there is room."""
        _, before = self._files.pop(key, (0.0, None))
        self._files[key] = (time.monotonic() + KEPT_SECONDS, file)
        self._bytes += len(file.data) - (0 if before is None else len(before.data))
        while self._bytes > KEPT_BYTES_MAX:
            _, (_, oldest) = self._files.popitem(last=False)
            self._bytes -= len(oldest.data)


class PhotoFiles:
    """The files of all photos."""

    def __init__(self, services: BiddingServices) -> None:
        self._services = services
        self._kept = KeptFiles()
        # A stranger whose share of the database is used up must not have others refused.
        self._rows: InFlight[FileKey, PhotoFile] = InFlight(HangUp, Busy)
        self._stored: InFlight[FileKey, PhotoFile] = InFlight()

    async def show(self, request: Request) -> Response:
        """GET and HEAD: a photo in one of its widths; the file never changes. Raises UnknownPhoto or PhotosUnavailable.

        Photos of a lot that staff hide are for its seller and staff alone, a few seconds after the act at the latest.
        """
        photo_id, width = request.path_params["id"], request.path_params["width"]
        if PHOTO_ID.fullmatch(photo_id) is None or _WIDTH.fullmatch(width) is None:
            raise UnknownPhoto
        try:
            async with asyncio.timeout(READER_SECONDS_MAX):
                return await self._answer(request, (photo_id, int(width)))
        except TimeoutError:
            raise PhotosUnavailable from None

    async def _answer(self, request: Request, key: FileKey) -> Response:
        found = self._kept.get(key) or await self._rows.ask(key, partial(self._row, key))
        if found.hidden_on is not None:
            token = bearer_token(request.scope) or session_token(request)
            await self._services.database.read(photos.refuse_hidden, token, found.hidden_on)
        headers = {
            "ETag": f'"{found.digest[:32]}"',
            "Cache-Control": FOREVER if found.hidden_on is None else "no-store",
        }
        if is_known(request.scope, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if found.key:
            found = await self._stored.ask(key, partial(self._bytes, key, found))
        headers |= {"Content-Type": "image/webp", "Content-Disposition": "inline"}
        if request.method == "HEAD":
            return Response(headers=headers | {"Content-Length": str(len(found.data))})
        return Response(found.data, headers=headers)

    async def _row(self, key: FileKey) -> PhotoFile:
        found = await self._services.database.read(photos.file, *key)
        if not found.key:
            self._kept.keep(key, found)
        return found

    async def _bytes(self, key: FileKey, row: PhotoFile) -> PhotoFile:
        found = await with_bytes(self._services.database, row)
        self._kept.keep(key, found)
        return found
