"""Photos as files: GET /photos/{id}/{width}.webp."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.errors import UnknownPhoto
from saleroom.bidding.domain.photos import PHOTO_ID
from saleroom.bidding.service import photos
from saleroom.bidding.services import BiddingServices
from saleroom.site.assets import FOREVER, is_known

_WIDTH = re.compile(r"[1-9][0-9]{0,4}")


class PhotoFiles:
    """The files of all photos."""

    def __init__(self, services: BiddingServices) -> None:
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET and HEAD: a photo in one of its widths; the file never changes. Raises UnknownPhoto."""
        photo_id, width = request.path_params["id"], request.path_params["width"]
        if PHOTO_ID.fullmatch(photo_id) is None or _WIDTH.fullmatch(width) is None:
            raise UnknownPhoto
        found = await self._services.database.read(photos.file, photo_id, int(width))
        headers = {"ETag": f'"{found.digest[:32]}"', "Cache-Control": FOREVER}
        if is_known(request.headers.getlist("if-none-match"), headers["ETag"]):
            return Response(status_code=304, headers=headers)
        headers |= {"Content-Type": "image/webp", "Content-Disposition": "inline"}
        if request.method == "HEAD":
            return Response(headers=headers | {"Content-Length": str(len(found.data))})
        return Response(found.data, headers=headers)
