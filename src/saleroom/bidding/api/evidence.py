"""Evidence against which anyone can check the house: ledgers, the keys of receipts, the time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from saleroom import __version__
from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service import ledgers, lookup, signing
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Call, Endpoint, ResponseHeader
from saleroom.http.responses import json_response
from saleroom.kernel.instants import instant
from saleroom.storage.database import Transaction

LEDGER_FORMAT = 2
NDJSON = "application/x-ndjson"


class TimeView(Struct, frozen=True):
    """The time of the house."""

    time: str


class KeyView(Struct, frozen=True):
    """A public key as a JSON Web Key (RFC 7517, RFC 8037)."""

    kty: str
    crv: str
    alg: str
    use: str
    kid: str
    x: str


class HouseView(Struct, frozen=True, rename="camel"):
    """The name, the version, the currency and the public keys of the house."""

    service: str
    service_version: str
    ledger_format: int
    currency: str
    keys: list[KeyView]


async def ledger(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/ledger."""
    auction = await call.services.database.read(lookup.get_one, call.identifier)
    headers = {
        "Cache-Control": "no-cache",
        "Content-Disposition": f'attachment; filename="{auction.gid}.ndjson"',
    }
    lines = _nothing() if call.request.method == "HEAD" else ledgers.lines(call.services.database, auction)
    return StreamingResponse(lines, media_type=NDJSON, headers=headers)


async def time(call: Call[BiddingServices]) -> Response:
    """GET /time."""
    now = await call.services.database.read(Transaction.now)
    return json_response(TimeView(instant(now)), headers={"Cache-Control": "no-store"})


async def well_known(call: Call[BiddingServices]) -> Response:
    """GET /.well-known/saleroom.json."""
    keys = await call.services.database.read(signing.public_keys)
    view = HouseView("saleroom", __version__, LEDGER_FORMAT, call.services.currency, [KeyView(**key) for key in keys])
    return json_response(view, headers={"Cache-Control": "public, max-age=300"})


async def _nothing() -> AsyncIterator[bytes]:
    """Yield nothing: the body of an answer to HEAD."""
    for nothing in tuple[bytes, ...]():
        yield nothing


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/ledger",
        name="auctionLedger",
        summary="Get the ledger of an auction: its events, chained, for anyone to verify",
        handler=ledger,
        tag="evidence",
        identifier=AUCTION,
        lines=True,
        headers=(ResponseHeader("Content-Disposition", "A name for the file, made of the gid."),),
        errors=(UnknownAuction,),
        about="Maximum bids and the reserve are disclosed once the auction is over.",
    ),
    Endpoint(
        method="GET",
        path="/time",
        name="time",
        summary="Get the time of the house, which decides everything",
        handler=time,
        tag="evidence",
        answer=TimeView,
        about="All instants in answers and events, and the end of each auction, are by this clock.",
    ),
    Endpoint(
        method="GET",
        path="/.well-known/saleroom.json",
        name="wellKnown",
        summary="Get the public keys that receipts are signed with",
        handler=well_known,
        tag="evidence",
        answer=HouseView,
        about="As JSON Web Keys, the newest first. A receipt names its key by `kid`.",
    ),
)
