"""Results of lots that were sold by outcry: enter one, take one back."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api import terms as auction_terms
from saleroom.bidding.api.fields import money_field
from saleroom.bidding.domain import errors as lots
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import POSITIVE_SCHEMA, Field, Form, Value, boolean, one_of, positive
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault
from saleroom.sales.api.fields import LABEL_SCHEMA, REASON_MAX, SALE, paddle_field, words_field
from saleroom.sales.api.forms import labels
from saleroom.sales.domain import errors as sales
from saleroom.sales.domain.result_views import ResultView
from saleroom.sales.domain.results import LINE_LOTS_MAX, Below
from saleroom.sales.service import results
from saleroom.sales.service.results import ResultLine
from saleroom.sales.services import SaleServices

TAG_MAX = 100
_decode_texts = msgspec.json.Decoder(list[str]).decode


def _lots(raw: bytes) -> list[str] | Fault:
    """Read the lots of a line, each once."""
    found = labels(raw)
    if isinstance(found, Fault):
        return found
    if not 1 <= len(found) <= LINE_LOTS_MAX:
        return Fault("too_many_of_line", f"must be 1 to {LINE_LOTS_MAX}", most=LINE_LOTS_MAX)
    return Fault("lot_twice", "must name each lot once") if len(set(found)) < len(found) else found


def _texts(raw: bytes) -> list[str] | Fault:
    try:
        found = _decode_texts(raw)
    except msgspec.MsgspecError:
        return Fault("not_a_list_of_tags", "must be a list of texts")
    short = len(found) <= LINE_LOTS_MAX and all(1 <= len(one) <= TAG_MAX for one in found)
    return found if short else Fault("too_many_tags", f"must be at most {LINE_LOTS_MAX} tags", most=LINE_LOTS_MAX)


def _whole(values: dict[str, Value]) -> dict[str, list[Fault]]:
    """Return the faults of a result that is not whole."""
    faults: dict[str, list[Fault]] = {}
    if ("labels" in values) == ("name" in values):
        faults["labels"] = [Fault("lots_or_name", "are needed, or the name of a new lot, and not both")]
    for one, other in (("price", "paddle"), ("paddle", "price")):
        if one in values and other not in values:
            faults[other] = [Fault("price_and_paddle", "is needed; send neither for a lot that was passed")]
    if "name" in values and "price" not in values:
        faults["price"] = [Fault("price_of_new", "is needed of a lot that is made on the spot")]
    return faults | _seen(values)


def _seen(values: dict[str, Value]) -> dict[str, list[Fault]]:
    tags: Any = values.get("seen")
    named: Any = values.get("labels", ())
    if tags is not None and len(tags) != len(named):
        return {"seen": [Fault("one_tag_each", "must be one tag for each of the lots, in their order")]}
    return {}


_LABELS = Field(
    name="labels",
    to="labels",
    parse=_lots,
    schema={"type": "array", "items": LABEL_SCHEMA, "minItems": 1, "maxItems": LINE_LOTS_MAX, "uniqueItems": True},
    about="The lots: each is sold at the price. All of them or none.",
)
_SEEN = Field(
    name="seen",
    to="seen",
    parse=_texts,
    schema={
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": TAG_MAX},
        "maxItems": LINE_LOTS_MAX,
    },
    about="The tags of the lots, in their order, as you have seen them.",
)
RESULT = Form(
    name="Result",
    example={"labels": ["12"], "price": "340", "paddle": 57},
    fields=(
        _LABELS,
        words_field(
            "name",
            "name",
            auction_terms.NAME_MAX,
            "The name of a lot that is made on the spot, with the next free number.",
            least=1,
        ),
        Field(name="price", to="price", parse=positive, schema=POSITIVE_SCHEMA, about="The hammer price of each lot."),
        paddle_field("The paddle of the buyer. Without price and paddle the lots were passed."),
        Field(
            name="below",
            to="below",
            parse=one_of(tuple(Below)),
            schema={"type": "string", "enum": list(Below)},
            about="What happens below the reserve: the seller decides, or the lot is passed. Without it you are asked.",
        ),
        Field(
            name="isSure",
            to="is_sure",
            parse=boolean,
            schema={"type": "boolean"},
            about="Whether the price is right, although it is ten times the estimate or starting price, or more.",
        ),
        money_field("against", "against", "The maximum of a bid that stands against the result and does not count."),
        _SEEN,
        words_field(
            "reason", "reason", REASON_MAX, "Why a result is replaced. Everybody can read it, for good.", least=1
        ),
    ),
    check=_whole,
)
TAKEN_BACK = Form(
    name="ResultTakenBack",
    example={"labels": ["12"], "seen": ["9-0123456789abcdef"], "reason": "Another paddle was meant."},
    fields=(
        msgspec.structs.replace(
            _LABELS, required=True, about="The lots whose results are taken back. All of them or none."
        ),
        msgspec.structs.replace(_SEEN, required=True),
        words_field(
            "reason",
            "reason",
            REASON_MAX,
            "Why. Everybody can read it, for good. The lot that was called last needs none.",
            least=1,
        ),
    ),
    check=_seen,
)


async def enter(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/results."""
    return json_response(
        await call.services.tokens.write(results.enter, call.token, call.identifier, read(call.values), call.key)
    )


async def take_back(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/results/undo."""
    write = call.services.tokens.write
    return json_response(await write(results.take_back, call.token, call.identifier, read(call.values), call.key))


def read(values: dict[str, Value]) -> ResultLine:
    """Return the line of a form's values."""
    said: dict[str, Any] = dict(values)
    if "below" in said:
        said["below"] = Below(said["below"])
    return ResultLine(**said)


_ALWAYS = (
    sales.UnknownSale,
    sales.UnknownLot,
    sales.NotLive,
    sales.NotPublished,
    sales.SaleOver,
    sales.StandsStill,
    sales.LotOnBlock,
    sales.LotGone,
    sales.OfAuctions,
    lots.TakenDown,
    lots.Paused,
)
REFUSED = (
    *_ALWAYS,
    sales.UnknownPaddle,
    sales.WithdrawnAlready,
    sales.TooManyLots,
    sales.AlreadyDecided,
    sales.UnusualPrice,
    sales.PriceBelowReserve,
    sales.AbsenteeBidStands,
    lots.AuctionOver,
    lots.AuctionNotStarted,
    lots.NothingToUndo,
    lots.BidTooLow,
    lots.OwnAuction,
    lots.NotRegistered,
    lots.RegistrationPending,
    lots.RegistrationDeclined,
    lots.BeyondLimit,
)
"""Why a result is not entered."""
ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="POST",
        path="/sales/{gid}/results",
        name="enterResult",
        summary="Enter how lots were sold by outcry: the price and the paddle, or that they were passed",
        handler=enter,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=RESULT,
        answer=ResultView,
        errors=(*REFUSED, IdempotencyMismatch),
        once=True,
        about="Needs the right `run_sale`. It is one transaction; each lot is called, bid on and closed. A result that the "
        "lots have already changes nothing. To replace another one, send the tags of the lots as `seen`, and a `reason`; "
        "that needs `reopen_lots`, but for the lot that was called last. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/results/undo",
        name="takeResultBack",
        summary="Take back the results of lots: they are open again, and the bids of before stand",
        handler=take_back,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=TAKEN_BACK,
        answer=ResultView,
        errors=(*_ALWAYS, sales.ResultChanged, lots.NothingToUndo, IdempotencyMismatch),
        once=True,
        about="Needs the right `run_sale` for the lot that was called last; for others `reopen_lots`, and a `reason`. The "
        "audit log notes it.",
    ),
)
