"""The block of a live sale: show it, and act on it as its clerk."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.fields import money_field
from saleroom.bidding.domain import errors as lots
from saleroom.bidding.domain.events import Channel
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, Value, boolean, one_of, positive_whole
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault
from saleroom.sales.api.fields import LABEL, REASON_MAX, SALE, paddle_field, words_field
from saleroom.sales.domain import errors as sales
from saleroom.sales.domain.block import TAG_MAX, UNSEEN, Act, BlockAct
from saleroom.sales.domain.block_views import BlockView
from saleroom.sales.domain.needs import PLEDGES_MAX
from saleroom.sales.service.live import block
from saleroom.sales.services import SaleServices

_NEEDED: Mapping[Act, tuple[str, ...]] = {
    Act.BID: ("amount",),
    Act.ASK: ("amount",),
    Act.NAME: ("paddle",),
    Act.REOPEN: ("label", "reason"),
    Act.DECIDE: ("label", "accepted"),
    Act.PLEDGE: ("amount", "paddle"),
    Act.UNDO_PLEDGE: ("pledge",),
}
"""The members that an act needs beside `seen`."""


def _missing(values: dict[str, Value]) -> dict[str, list[Fault]]:
    """Return the faults of an act without the members that it needs."""
    act = Act(values["act"])
    needed = (*_NEEDED.get(act, ()), *(() if act in UNSEEN else ("seen",)))
    fault = Fault("required_by_act", f"is needed of the act {act.value}", act=act.value)
    return {name: [fault] for name in needed if name not in values}


ACT = Form(
    name="BlockAct",
    example={"act": "bid", "amount": "120", "paddle": 12},
    fields=(
        Field(
            name="act",
            to="act",
            parse=one_of(tuple(Act)),
            schema={"type": "string", "enum": list(Act)},
            required=True,
            about="What the clerk does.",
        ),
        words_field(
            "seen",
            "seen",
            TAG_MAX,
            "The tag of the block as you see it. All acts need it but `bid`, `pledge`, `undo_pledge`, `pause`, `reopen` and "
            "`decide`.",
            least=1,
        ),
        replace(
            LABEL,
            about="The number of the lot to call, to reopen or to decide on. With it a bid or a pledge is refused unless it is "
            "that of the lot on the block, and the pledge to undo is one of that lot.",
        ),
        money_field(
            "amount",
            "amount",
            "The ask that a floor or telephone bid takes, the next ask, the present level that a pledge is of, or the next "
            "level; without it `level` goes to the next lower one.",
        ),
        paddle_field("The paddle of the bidder. A bid of the floor can do without until the hammer."),
        Field(
            name="channel",
            to="channel",
            parse=one_of((Channel.FLOOR.value, Channel.PHONE.value)),
            schema={"type": "string", "enum": [Channel.FLOOR.value, Channel.PHONE.value], "default": "floor"},
            about="Whether the bid comes from the hall or by telephone.",
        ),
        words_field("reason", "reason", REASON_MAX, "Why a lot is reopened. Everybody can read it, for good.", least=1),
        Field(
            name="accepted",
            to="accepted",
            parse=boolean,
            schema={"type": "boolean"},
            about="Whether the seller accepts the bid below the reserve.",
        ),
        Field(
            name="pledge",
            to="pledge",
            parse=positive_whole(PLEDGES_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": PLEDGES_MAX},
            about="The number of the pledge to undo, of the lot with the `label`, otherwise of the one that was called last.",
        ),
        Field(
            name="again",
            to="again",
            parse=boolean,
            schema={"type": "boolean", "default": False},
            about="Whether the paddle gives this amount once more.",
        ),
    ),
    check=_missing,
)


async def show(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/block."""
    return json_response(await call.services.database.read(block.shown, call.viewer, call.identifier))


async def act(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/block."""
    values = call.values | {"act": Act(call.values["act"])}
    if "channel" in values:
        values["channel"] = Channel(values["channel"])
    return json_response(await call.services.acts.do(call.token, call.identifier, BlockAct(**values), call.key))


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/block",
        name="getBlock",
        summary="Show the block of a live sale: the lot on it, and the next ones",
        handler=show,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN_OPTIONAL,
        answer=BlockView,
        errors=(sales.UnknownSale,),
        about="Staff see reserves and consignors too.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/block",
        name="actOnBlock",
        summary="Act on the block of a live sale: call, bid, ask, warn, sell, pass, skip, undo, pause; levels and pledges",
        handler=act,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=ACT,
        answer=BlockView,
        errors=(
            sales.UnknownSale,
            sales.UnknownLot,
            sales.UnknownPaddle,
            sales.NotLive,
            sales.NotPublished,
            sales.SaleOver,
            sales.StandsStill,
            sales.SaleNotRunning,
            sales.SaleNotPaused,
            sales.BlockChanged,
            sales.NoLotLeft,
            sales.LotOnBlock,
            sales.LotGone,
            sales.NoLotOnBlock,
            sales.BidsUncalled,
            lots.AuctionOver,
            lots.AuctionNotStarted,
            lots.EndsByItself,
            lots.TakenDown,
            lots.Paused,
            lots.OnBlock,
            lots.NotOnBlock,
            lots.AskChanged,
            lots.AskTooLow,
            lots.BidTooLow,
            lots.AlreadyLeading,
            lots.OwnAuction,
            lots.NotRegistered,
            lots.RegistrationPending,
            lots.RegistrationDeclined,
            lots.BeyondLimit,
            lots.NoBidStands,
            lots.NeedsPaddle,
            lots.BelowReserve,
            lots.BidStands,
            lots.NotOfFloor,
            lots.NotLeading,
            lots.NothingToUndo,
            lots.NotConditional,
            lots.NotClosed,
            sales.WithdrawnAlready,
            sales.NeedClosed,
            sales.OfAuctions,
            sales.OfNeeds,
            sales.LevelChanged,
            sales.NoLevelLeft,
            sales.PledgedAlready,
            sales.UnknownPledge,
            sales.PledgeUndoneAlready,
            sales.TooManyPledges,
            IdempotencyMismatch,
        ),
        once=True,
        about="Needs the right `run_sale`; `reopen` and `decide` need `reopen_lots`. It is one transaction. A bid of the floor "
        "needs the present ask, the other acts the present `tag` of the block: of two clerks the second is told what the "
        "first has done. The audit log notes it.",
    ),
)
