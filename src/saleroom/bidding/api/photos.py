"""Photos: send one, list those of an auction, choose those of an auction."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.api import uploads
from saleroom.bidding.api.auctions import AUTHOR_REFUSALS
from saleroom.bidding.api.fields import AUCTION, ETAG
from saleroom.bidding.api.preconditions import precondition
from saleroom.bidding.domain.errors import (
    HasBids,
    Paused,
    PhotosUnavailable,
    PreconditionFailed,
    TakenDown,
    TooManyChanges,
    TooManyPhotos,
    UnknownAuction,
)
from saleroom.bidding.domain.photos import PER_LOT_MAX, PHOTO_ID, Photo
from saleroom.bidding.service import photos
from saleroom.bidding.service.lookup import if_shown
from saleroom.bidding.service.photos import LotPhotos
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint, ResponseHeader, Upload
from saleroom.http.forms import Field, Form
from saleroom.http.problems import Problem
from saleroom.http.requests import client_address, media_type
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, Fault, Invalid, TooManyRequests

OCTETS = "application/octet-stream"
"""Many generated clients can send bytes with this type only."""
PHOTO_IDS_MAX = 100
"""A longer list is refused unread; a lot may have far fewer."""
_decode_texts = msgspec.json.Decoder(list[str]).decode


def photo_ids(raw: bytes) -> list[str] | Fault:
    """Read a list of ids of photos. The rules of the domain say how many a lot may have."""
    try:
        ids = _decode_texts(raw)
    except ValueError:
        return Fault("not_a_list", "must be a list of the ids of photos")
    if len(ids) > PHOTO_IDS_MAX:
        return Fault("too_many_photos", f"must be at most {PER_LOT_MAX}", most=PER_LOT_MAX)
    well_formed = all(PHOTO_ID.fullmatch(one) for one in ids)
    return ids if well_formed else Fault("photo_id", "must be ids from the answers of POST /photos")


PHOTOS = Form(
    name="PhotoList",
    example={"photos": []},
    fields=(
        Field(
            name="photos",
            to="photos",
            parse=photo_ids,
            schema={
                "type": "array",
                "items": {"type": "string", "pattern": f"^{PHOTO_ID.pattern}$"},
                "maxItems": PER_LOT_MAX,
                "uniqueItems": True,
            },
            required=True,
            about="The ids of all photos of the auction, in their order.",
        ),
    ),
)


class NotAnImage(Problem):
    """Send the picture itself as the body, with its 'Content-Type', such as image/jpeg."""

    code = "image_expected"
    status = 415


class PhotoFileView(Struct, frozen=True):
    """A photo in one width."""

    width: int
    url: str


class PhotoView(Struct, frozen=True):
    """A photo. Its size is that of the widest file."""

    id: str
    width: int
    height: int
    files: list[PhotoFileView]


class PhotosView(Struct, frozen=True):
    """An auction's photos, in their order. Lists show the first one."""

    photos: list[PhotoView]


async def upload(call: Call[BiddingServices]) -> Response:
    """POST /photos. The sender is checked before the body is read; the format is taken from the bytes alone."""
    kind = media_type(call.request.scope)
    if not kind.startswith("image/") and kind != OCTETS:
        raise NotAnImage
    photo = await uploads.picture(call.request, call.services.photos, call.token, client_address(call.request))
    return json_response(_view(photo), 201, {"Location": photo.url(photo.width)})


async def list_photos(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/photos."""
    return _answer(await call.services.shared_reads.ask(if_shown, call.identifier, photos.shown))


async def arrange(call: Call[BiddingServices]) -> Response:
    """PUT /auctions/{gid}/photos."""
    ids = call.values["photos"]
    return _answer(
        await call.services.tokens.write(photos.arrange, call.token, call.identifier, ids, precondition(call))
    )


def _answer(found: LotPhotos) -> Response:
    return json_response(PhotosView([_view(one) for one in found.photos]), headers={"ETag": f'"{found.tag}"'})


def _view(one: Photo) -> PhotoView:
    files = [PhotoFileView(width, one.url(width)) for width in one.widths]
    return PhotoView(one.id, one.width, one.height, files)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="POST",
        path="/photos",
        name="sendPhoto",
        summary="Send a photo for an auction",
        handler=upload,
        tag="auctions",
        access=Access.TOKEN,
        upload=Upload(
            ("image/*", OCTETS),
            "The bytes of the picture: JPEG, PNG, WebP, GIF (of which the first is taken) or AVIF.",
        ),
        status=201,
        answer=PhotoView,
        headers=(
            ResponseHeader("Location", "The widest file of the new photo.", {"type": "string", "pattern": "^/photos/"}),
        ),
        errors=(Invalid, NotAnImage, TooManyPhotos, TooManyRequests, Busy, PhotosUnavailable),
        about="The house keeps it in three widths as WebP, upright and without the camera's metadata. "
        "A photo that is on no auction is deleted after a day.",
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}/photos",
        name="listPhotos",
        summary="List the photos of an auction, in their order",
        handler=list_photos,
        tag="auctions",
        identifier=AUCTION,
        answer=PhotosView,
        headers=(ETAG,),
        errors=(UnknownAuction, TakenDown),
        about="Each photo comes with its files, the narrowest first.",
    ),
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/photos",
        name="arrangePhotos",
        summary="Choose an auction's photos and their order, before its first bid",
        handler=arrange,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=PHOTOS,
        answer=PhotosView,
        headers=(ETAG,),
        errors=(*AUTHOR_REFUSALS, HasBids, Paused, TooManyPhotos, TooManyChanges),
        match=PreconditionFailed,
        about="A photo that is left out is on no auction from then on. A photo of an auction of yours that is over is "
        "copied, and the answer has the id of the copy.",
    ),
)
