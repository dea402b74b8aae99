"""The words of the API's document that are about sales."""

from __future__ import annotations

from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, MONEY, Schema, Vocabulary
from saleroom.sales.api import import_words
from saleroom.sales.api.results import REFUSED
from saleroom.sales.domain.consignors import CODE_PATTERN
from saleroom.sales.domain.errors import (
    AbsenteeBidStands,
    AlreadyDecided,
    BegunAlready,
    BidOnLots,
    BidsUncalled,
    BlockChanged,
    ConsignorBids,
    LabelTaken,
    LevelChanged,
    LotGone,
    LotOnBlock,
    PledgedAlready,
    PledgeUndoneAlready,
    PriceBelowReserve,
    PublishedAlready,
    ResultChanged,
    SaleNotPaused,
    SaleNotRunning,
    SaleOver,
    TooManyLots,
    TooManyPledges,
    UnknownPaddle,
    UnusualPrice,
    WithdrawnAlready,
)
from saleroom.sales.domain.labels import LABEL_PATTERN
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.domain.needs import Stage
from saleroom.sales.domain.paper import DIGEST_PATTERN
from saleroom.sales.domain.result_views import STATES
from saleroom.sales.domain.sale import Kind, Names, Registration, SaleStatus

_LABEL: Schema = {"pattern": f"^{LABEL_PATTERN}$"}
_CODE: Schema = {"pattern": f"^{CODE_PATTERN}$"}
_STATUS: dict[str, Schema] = {
    "status": {"type": "string", "enum": list(SaleStatus), "description": "The state of the sale."}
}
_WHICH: dict[str, Schema] = {"label": {"type": "string", **_LABEL, "description": "The number of the lot."}}
_TAG: dict[str, Schema] = {"tag": {"type": "string", "description": "The identifier of the lot's present state."}}


def _maybe(form: Schema, about: str) -> Schema:
    """Return the form of a fact that may be null."""
    return {"anyOf": [form, {"type": "null"}], "description": about}


VOCABULARY = Vocabulary(
    members={
        **import_words.MEMBERS,
        "byLevel": ({}, "How many pledges stand at each amount, from high to low."),
        "channel": ({}, "How it came."),
        "asked": ({}, "The lots that wait for the user, the latest sale first."),
        "called": ({"pattern": GID_PATTERN}, "The lot that was called last in a live sale; null before the first."),
        "consignor": (_CODE, "The code of the one who brings it; for staff."),
        "consignors": ({}, "The consignors, by code."),
        "contact": ({}, "How to reach somebody; empty if that is not known."),
        "estimateFrom": (MONEY, "The lower end of the estimate; null without one."),
        "estimateTo": (MONEY, "The upper end of the estimate; null if it is one amount, or without one."),
        "following": ({}, "Whether a soft close moves the ends of all later lots too."),
        "given": ({}, "The pledges."),
        "goal": (MONEY, "What it is to raise; null if nobody has said."),
        "lastPledges": ({}, "The newest pledges, the newest first; for staff those too that were undone."),
        "level": (MONEY, "The present level; null before the first call."),
        "levels": ({}, "The levels, from high to low."),
        "need": ({}, "What a fund-a-need asks for and has come to; null for an auction."),
        "digest": ({"pattern": f"^{DIGEST_PATTERN}$"}, "The digest of what the label shows."),
        "isChanged": ({}, "Whether the label shows something else than when it was last printed, or never was."),
        "labels": ({}, "The numbers of all lots, in the order of calling."),
        "limitDefault": (MONEY, "The limit of those who register; null for none. For staff."),
        "lotLabels": ({}, "The labels to print, in the order of calling."),
        "lots": ({}, "The lots of this page, in the order of calling."),
        "lastLot": ({}, "The lot that left the block last; null while one is on it, or before the first."),
        "lotsLeft": ({"minimum": 0}, "How many lots are not over, without the one on the block."),
        "names": ({"enum": list(Names)}, "Whether others see bidders by their usernames or by their paddles."),
        "nextLots": ({}, "The next lots, in the order of calling."),
        "onBlock": ({}, "The lot on the block; null if none is."),
        "opensAt": (INSTANT, "When bidding opens; null for at publication."),
        "pledge": ({"minimum": 1}, "The number of the pledge on its lot, from 1."),
        "pledges": (COUNT, "How many pledges stand."),
        "price": (MONEY, "The hammer price; null unless the lot is sold."),
        "printed": (COUNT, "How many labels were noted as printed."),
        "printedAt": (INSTANT, "When the label was last noted as printed; null if it was not."),
        "rank": ({"minimum": 1}, "The place in the order of calling."),
        "registration": ({"enum": list(Registration)}, "Who may bid."),
        "sale": ({"pattern": GID_PATTERN}, "The sale."),
        "sales": ({}, "The sales of this page."),
        "spacing": ({"minimum": 1}, "Seconds between the ends of two lots of a timed sale."),
        "state": ({}, "What has become of it."),
        "tag": ({}, "The identifier of this state of the block."),
        "taxScheme": ({"enum": list(TaxScheme)}, "How its sale is taxed; null if nobody has said."),
        "title": ({}, "The title."),
        "total": (MONEY, "The sum of the pledges that stand."),
        "undone": ({}, "Whether the clerk has undone it, so that it does not count."),
        "usualBelow": (MONEY, "From this price on, a result is only taken if it is confirmed."),
        "venue": ({}, "Where it takes place; empty if that is not said."),
        "withdrawnFor": ({}, "Why it was withdrawn; null if it was not."),
    },
    forms={
        ("SaleView", "gid"): {"pattern": GID_PATTERN, "description": "The sale's public identifier."},
        ("SaleView", "description"): {"description": "What the sale is about."},
        ("SaleView", "kind"): {"enum": list(Kind), "description": "Whether clocks or an auctioneer close the lots."},
        ("SaleView", "status"): {"enum": list(SaleStatus)},
        ("SaleView", "startsAt"): {
            **INSTANT,
            "description": "When the first lot of a timed sale ends, or a live one begins; null in a draft that does not say.",
        },
        ("SaleView", "softClose"): {"description": "How late bids move the end of a lot; null if they do not."},
        ("SaleView", "cancelledFor"): {"description": "Why it was cancelled; null if it was not."},
        ("SaleView", "version"): {**COUNT, "description": "The number of its latest event; 0 before publication."},
        ("BlockView", "status"): {"enum": list(SaleStatus), "description": "The state of the sale."},
        ("DecisionView", "tag"): {"description": "The identifier of the lot's present state."},
        ("DecisionView", "title"): {"description": "The title of the sale."},
        ("DecisionView", "reservePrice"): {**MONEY, "description": "The reserve; null without one."},
        ("DecisionView", "name"): {"description": "The name of the lot."},
        ("NeedView", "stage"): {
            "enum": list(Stage),
            "description": "Where it is: `waiting`, `on_block`, `closed`, or `never_offered` if it was withdrawn in the draft.",
        },
        ("PledgeView", "at"): {**INSTANT, "description": "When it was noted."},
        ("PledgeView", "channel"): {
            "enum": list(Channel),
            "description": "Whether it came from the hall, by telephone or online.",
        },
        ("PledgeView", "amount"): {**MONEY, "description": "What is promised."},
        ("PledgeView", "bidder"): {"description": "The giver by the name in the sale; null where it is not public."},
        ("LevelView", "amount"): {**MONEY, "description": "The level."},
        ("GivenView", "pledge"): {"description": "The pledge."},
        ("ResultView", "status"): {"enum": list(SaleStatus), "description": "The state of the sale."},
        ("ResultView", "lots"): {"description": "The lots of the result, as they are after it."},
        ("ResultView", "lotsLeft"): {"minimum": 0, "description": "How many lots of the sale are not over."},
        ("SheetLot", "label"): {**_LABEL, "description": "The number in the catalogue."},
        ("SheetLot", "state"): {"enum": list(STATES), "description": "Whether it is open, and how it ended."},
        ("SheetLot", "bidder"): {"description": "Who has bought it, as the lot shows them; null unless it is sold."},
        ("SheetLot", "tag"): {"description": "The identifier of the lot's state."},
        ("SheetLot", "reservePrice"): {**MONEY, "description": "It is not sold below this."},
        ("LotLabelView", "label"): {**_LABEL, "description": "The number of the lot."},
        ("LotView", "label"): {**_LABEL, "description": "The number in the catalogue."},
        ("LotView", "gid"): {"pattern": GID_PATTERN, "description": "The public identifier of its auction."},
        ("LotView", "auction"): {"description": "Its auction; null in a draft."},
        ("LotView", "reservePrice"): {**MONEY, "description": "It is not sold below this; for staff."},
        ("ConsignorView", "code"): {**_CODE, "description": "The short name."},
        ("ConsignorView", "name"): {"description": "The name."},
        ("ConsignorView", "username"): {"description": "Their account; null without one."},
    },
    facts={
        PublishedAlready: _STATUS,
        SaleOver: _STATUS,
        SaleNotRunning: _STATUS,
        SaleNotPaused: _STATUS,
        BegunAlready: _STATUS,
        TooManyLots: {"limit": {"type": "integer", "minimum": 1, "description": "How many lots a sale can have."}},
        LabelTaken: _WHICH,
        WithdrawnAlready: _WHICH,
        BlockChanged: {"tag": {"type": "string", "description": "The identifier of the present state."}},
        LotOnBlock: {"lot": {"type": "string", "pattern": GID_PATTERN, "description": "The lot on the block."}},
        AlreadyDecided: _WHICH
        | _TAG
        | {
            "outcome": {"type": "string", "enum": list(Outcome), "description": "How it ended."},
            "price": _maybe(MONEY, "The hammer price; null unless it is sold."),
            "bidder": _maybe({"type": "string"}, "Who has bought it, as the lot shows them; null unless it is sold."),
        },
        AbsenteeBidStands: _WHICH
        | {
            "bidder": {"type": "string", "description": "Who leads, as the lot shows them."},
            "currentBid": {**MONEY, "description": "The price that their bid has now."},
            "maximum": {**MONEY, "description": "The most that they bid."},
        },
        PriceBelowReserve: _WHICH | {"reservePrice": {**MONEY, "description": "The reserve."}},
        ResultChanged: _WHICH,
        LotGone: _WHICH,
        UnusualPrice: _WHICH | {"limit": {**MONEY, "description": "The price from which on you are asked."}},
        ConsignorBids: {
            "lots": {"type": "string", "description": "The numbers of the lots with a bid of the consignor."}
        },
        BidsUncalled: {"lots": {"type": "string", "description": "The numbers of these lots."}},
        UnknownPaddle: {"paddle": {"type": "integer", "minimum": 1, "description": "The paddle."}},
        LevelChanged: {"level": {**MONEY, "description": "The present level."}},
        PledgedAlready: {"amount": {**MONEY, "description": "What was given already."}},
        PledgeUndoneAlready: {"pledge": {"type": "integer", "minimum": 1, "description": "The number of the pledge."}},
        TooManyPledges: {"limit": {"type": "integer", "minimum": 1, "description": "How many pledges a lot can have."}},
        BidOnLots: {"lots": {"type": "string", "description": "The numbers of these lots."}},
    },
    asides=dict.fromkeys(REFUSED, _WHICH),  # a line is about several lots, and one of them may be the reason
    tags={"sales": "Sales of many lots, and their catalogues."},
)
