"""Photos: send one, put them on an auction, list those of an auction."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.bidding.api.conditions import seen
from saleroom.bidding.api.wire import PhotoFileView, PhotosView, PhotoView
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.service import photos
from saleroom.bidding.service.photos import LotPhotos
from saleroom.bidding.services import BiddingServices
from saleroom.http import uploads
from saleroom.http.endpoints import Call
from saleroom.http.guard import client_address, media_type
from saleroom.http.problems import NotAnImage
from saleroom.http.responses import json_response

OCTETS = "application/octet-stream"
"""The only type by which many generated clients send bytes."""


async def upload(call: Call[BiddingServices]) -> Response:
    """POST /photos. Who may send one is asked before it is read; what it is, its bytes tell."""
    kind = media_type(call.request.scope)
    if not kind.startswith("image/") and kind != OCTETS:
        raise NotAnImage
    photo = await uploads.picture(call.request, call.services.photos, call.token, client_address(call.request))
    return json_response(_view(photo), 201, {"Location": photo.url(photo.width)})


async def of_auction(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/photos."""
    return _list(await call.services.shared_reads.ask((photos.shown, call.identifier)))


async def arrange(call: Call[BiddingServices]) -> Response:
    """PUT /auctions/{gid}/photos."""
    ids = call.values["photos"]
    return _list(await call.services.tokens.write(photos.arrange, call.token, call.identifier, ids, seen(call)))


def _list(found: LotPhotos) -> Response:
    return json_response(PhotosView([_view(one) for one in found.photos]), headers={"ETag": f'"{found.tag}"'})


def _view(one: Photo) -> PhotoView:
    files = [PhotoFileView(width, one.url(width)) for width in one.widths]
    return PhotoView(one.id, one.width, one.height, files)
