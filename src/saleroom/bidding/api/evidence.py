"""What anyone can check the house by: ledgers, the keys of receipts, the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from saleroom import __version__
from saleroom.bidding.api.wire import HouseView, KeyView, TimeView
from saleroom.bidding.service import ledgers, signing
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Call
from saleroom.http.responses import json_response
from saleroom.kernel.instants import instant
from saleroom.storage.database import Transaction

LEDGER_FORMAT = 1
NDJSON = "application/x-ndjson"


async def ledger(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/ledger."""
    auction = await call.services.database.read(ledgers.standing, call.identifier)
    headers = {
        "Cache-Control": "no-cache",
        "Content-Disposition": f'attachment; filename="{auction.gid}.ndjson"',
    }
    lines = _nothing() if call.request.method == "HEAD" else ledgers.lines(call.services.database, auction)
    return StreamingResponse(lines, media_type=NDJSON, headers=headers)


async def time(call: Call[BiddingServices]) -> Response:
    """GET /time: the one clock of the house, which decides."""
    now = await call.services.database.read(Transaction.now)
    return json_response(TimeView(instant(now)), headers={"Cache-Control": "no-store"})


async def well_known(call: Call[BiddingServices]) -> Response:
    """GET /.well-known/saleroom.json."""
    keys = await call.services.database.read(signing.public_keys)
    view = HouseView("saleroom", __version__, LEDGER_FORMAT, [KeyView(**key) for key in keys])
    return json_response(view, headers={"Cache-Control": "public, max-age=300"})


async def _nothing() -> AsyncIterator[bytes]:
    """The body that HEAD leaves out."""
    for nothing in tuple[bytes, ...]():
        yield nothing
