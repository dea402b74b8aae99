"""The messages of MQTT and of the streams of events: a schema and an example of each, for the AsyncAPI document.

The schemas are JSON Schema draft 07, as AsyncAPI wants. The examples come from a sale that the rules themselves decide.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct, inspect

from saleroom.accounts.api.vocabulary import USERNAME
from saleroom.accounts.api.vocabulary import VOCABULARY as ACCOUNTS
from saleroom.bidding.api.happenings import GID, happenings
from saleroom.bidding.api.vocabulary import BIDDER, HASH, VOCABULARY
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import BidPlaced, Event
from saleroom.bidding.domain.pseudonyms import NAMING, SALTS
from saleroom.bidding.domain.receipts import receipt_of
from saleroom.bidding.domain.views import BidAnswer, BidView, auction_view
from saleroom.bidding.service.signing import Signer
from saleroom.feed.streams import STARTED, started
from saleroom.http import problems, schemas
from saleroom.http.schemas import GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.kernel import identifiers
from saleroom.kernel.errors import Change, Invalid, Refusal
from saleroom.kernel.identifiers import EventId
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.parties import Party

COMMAND_ID = "paddle-7/0191f3a2"
EVENT_ID = f"{identifiers.GID.pattern}/[1-9][0-9]*"

_ENVELOPE: dict[str, tuple[Schema, str]] = {
    "specversion": ({"const": "1.0"}, "CloudEvents 1.0."),
    "id": ({"type": "string", "pattern": f"^{EVENT_ID}$"}, "The gid, a slash, and `sequence`."),
    "source": (
        {"type": "string", "pattern": f"^/auctions/{identifiers.GID.pattern}$"},
        "The auction's address in the API.",
    ),
    "type": ({}, "What happened."),
    "time": (INSTANT, "When it was decided."),
    "datacontenttype": ({"const": "application/json"}, "What `data` is."),
    "sequence": ({"type": "integer", "minimum": 1}, "Numbers the auction's events from 1, without gaps."),
    "data": ({}, "The facts."),
    "commitment": ({"type": "string"} | HASH, "Commits to what is hidden until the auction is over."),
    "hash": ({"type": "string"} | HASH, "The link of the ledger."),
}

_FIELDS: dict[str, tuple[Schema, str]] = {
    "act": ({}, "The type of the event of the act that was undone."),
    "amount": ({}, "The price that it shows; the auction's price if the bidder leads."),
    "author": (USERNAME, "The seller."),
    "automatic": ({}, "Whether the house bid on behalf of an earlier maximum."),
    "bidder": (BIDDER, "The bidder: a username, or on a lot of a sale perhaps a paddle, such as `#12`."),
    "buyNowPrice": ({}, "The price at which it is sold at once, until the first bid; null if there is none."),
    "cap": ({}, "The end never moves past this; null if nothing bounds it."),
    "channel": (
        {},
        "How the bid came, if staff took it: from the hall, by telephone, or from the book of absentee bids.",
    ),
    "currentBid": ({}, "The price; null if no bid stands."),
    "currentBidAt": ({}, "When the bid was decided that leads; null if no bid stands."),
    "currentBidder": (BIDDER, "The leader; null if no bid stands."),
    "description": ({}, "What is sold."),
    "downSince": ({}, "When the house stopped accepting bids; null unless that is the reason."),
    "endsAt": ({}, "When it closes by itself; null if its author closes it."),
    "extension": ({"minimum": 1}, "Seconds from a late bid to the new end."),
    "files": ({"minItems": 1}, "Its files, the narrowest first."),
    "from": ({}, "The lowest price of the tier."),
    "gid": ({"pattern": GID_PATTERN}, "The auction's public identifier."),
    "id": ({}, "Its public identifier, part of its address."),
    "increment": ({"minItems": 1}, "The ladder, from 0 upwards; it never changes."),
    "leading": ({}, "Whether the bidder leads after this bid."),
    "minimumBid": ({}, "The least next bid, on the block the ask; null once nothing higher can be written."),
    "name": ({}, "The name of the lot."),
    "named": ({"minimum": 1}, "The `sequence` of the bid of the floor."),
    "outcome": ({}, "How it ended."),
    "photos": ({}, "The photos, in their order."),
    "price": ({}, "The hammer price; null if it was not sold."),
    "reason": ({}, "Why: why the end moved, the bid was voided, the lot reopened, or the house cancelled it."),
    "receivedAt": ({}, "When the house had the request; null for an automatic bid."),
    "reserveMet": ({}, "Whether the price has reached the reserve; null if there is none."),
    "retracted": ({"minimum": 1}, "The `sequence` of the bid that was taken back."),
    "sha256": (HASH, "The SHA-256 of its bytes."),
    "softClose": ({}, "How late bids move the end; null if they do not."),
    "stage": ({}, "How far the hammer is; null if the lot is not on the block."),
    "startingPrice": ({}, "The least first bid."),
    "startsAt": ({}, "When bidding opens; null for at once."),
    "status": ({"enum": [Status.SCHEDULED, Status.OPEN]}, "`scheduled` if `startsAt` is in the future."),
    "step": ({}, "By how much the next bid is higher."),
    "undone": ({"minimum": 1}, "The `sequence` of the act that was undone."),
    "voided": ({"minimum": 1}, "The `sequence` of the voided bid."),
    "width": ({"minimum": 1}, "How many pixels it is wide."),
    "window": ({"minimum": 1}, "Seconds before the end in which a bid moves it."),
    "winner": (BIDDER, "The buyer; null if it was not sold."),
}
"""The members of events' `data`: the schema beyond their type, and their meaning. A name means the same everywhere."""
_SALTS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "description": "The salt of each name here, by name. Ledgers of older houses have none.",
}


SUMMARIES = {
    "auction.created": "An auction was created. This is the first event of each auction.",
    "auction.amended": "The author changed the terms or announced the end. All terms are given as they are now.",
    "photos.arranged": "The author chose the photos of the lot. All are given, in their order.",
    "auction.opened": "A scheduled auction reached its start, at `time`.",
    "bid.placed": "A bid was recorded. One request may record two: a rival's and the automatic one that answers it.",
    "reserve.met": "The leader's raised maximum reached the reserve, so the price rose to the reserve without a bid.",
    "bid.voided": "Staff voided a bid. The standing was decided again without it, and is given in full.",
    "auction.extended": "The end moved to later.",
    "auction.paused": "The clock stands still. The auction takes no bids, and neither opens nor ends.",
    "auction.resumed": "The clock goes on, with the time that was left.",
    "auction.closed": "The auction is over. The hammer of a live sale can still be undone, or taken back.",
    "auction.called": "The lot was put on the block of a live sale. From here on bids take the ask.",
    "ask.set": "The auctioneer asks for another price.",
    "auction.warned": "The auctioneer gave fair warning or the final call. A bid takes that back.",
    "bidder.named": "The bid of the floor that leads has a bidder now.",
    "bid.retracted": "The leader took their bid back. No bid stands, and its price is asked for again.",
    "auction.skipped": "The lot left the block, and will be called later.",
    "act.undone": "The last act on the lot was undone, perhaps the hammer. The standing is given in full.",
    "auction.reopened": "The hammer was taken back after another lot was called. The lot will be called again.",
    "auction.decided": "The seller decided on the bid below the reserve.",
    "auction.hidden": "The house took the lot down. It takes no bids while it is hidden.",
    "auction.shown": "The house put the lot back.",
    "auction.cancelled": "The author cancelled the auction before any bid, or the house at any time, with a `reason`.",
}
"""The meaning of each public event, by type."""


def public_kinds() -> list[type[Event]]:
    """Return the kinds of public events."""
    return [kind for kind in EVENTS.values() if kind.PUBLIC]


def event_schema(kind: type[Event]) -> Schema:
    """Return the schema of a public event's wire form. It allows further members, as later versions may add some."""
    data = _object(kind, hidden=kind.PRIVATE | {"at"})
    if kind.TYPE in NAMING:
        data["properties"][SALTS] = _SALTS
    own = {"type": {"const": kind.TYPE}, "data": data}
    properties = {
        name: {**form, **own.get(name, {}), "description": about} for name, (form, about) in _ENVELOPE.items()
    }
    return {"title": kind.TYPE, "type": "object", "properties": properties, "required": list(properties)}


def started_schema() -> Schema:
    """Return the schema of the event at the beginning of a stream: a CloudEvent without facts."""
    own: dict[str, tuple[Schema, str]] = {
        "id": ({"pattern": f"^({EVENT_ID}|0)$"}, "The event after which the stream begins; 0 if there is none."),
        "source": ({"pattern": f"^(/[a-z]+/{identifiers.GID.pattern})?/events$"}, "The address of the stream."),
        "type": ({"const": STARTED}, "What happened."),
        "time": ({}, "The time of the house."),
        "sequence": ({"minimum": 0}, "The number of the event that `id` names."),
        "data": ({"type": "object"}, "Empty."),
    }
    properties = {}
    for name in (name for name in _ENVELOPE if name not in ("commitment", "hash")):
        form, about = own.get(name, ({}, _ENVELOPE[name][1]))
        properties[name] = {**_ENVELOPE[name][0], **form, "description": about}
    return {"title": STARTED, "type": "object", "properties": properties, "required": list(properties)}


def started_example() -> Any:
    """Return the event at the beginning of a stream."""
    auction, _ = _after_first_bid()
    source, origin = f"/auctions/{GID}/events", EventId(GID, auction.version)
    return msgspec.json.decode(started(source, origin, auction.changed_at).rpartition(b"data: ")[2])


def _object(kind: type[Struct], *, hidden: frozenset[str] = frozenset()) -> Schema:
    members = [
        field for field in cast("inspect.StructType", inspect.type_info(kind)).fields if field.name not in hidden
    ]
    properties = {field.encode_name: _member(field) for field in members}
    optional: frozenset[str] = getattr(kind, "OPTIONAL", frozenset())
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _member(field: inspect.Field) -> Schema:
    form, about = _FIELDS[field.encode_name]
    schema = value_schema(field.type)
    if "anyOf" in schema:
        choices = [one if one == {"type": "null"} else one | form for one in schema["anyOf"]]
        return {"anyOf": choices, "description": about}
    return schema | form | {"description": about}


def value_schema(kind: inspect.Type) -> Schema:
    """Return the schema of a value as `views.event_parts` writes it."""
    match kind:
        case inspect.UnionType(types=types):
            return {"anyOf": [value_schema(one) for one in types]}
        case inspect.StructType(cls=cls):
            return _object(cls)
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": value_schema(item)}
        case inspect.EnumType(cls=cls):
            return {"type": "string", "enum": [one.value for one in cls]}
    return _PLAIN[type(kind)]


_PLAIN: dict[type[inspect.Type], Schema] = {
    inspect.DecimalType: MONEY,
    inspect.DateTimeType: INSTANT,
    inspect.StrType: {"type": "string"},
    inspect.IntType: {"type": "integer"},
    inspect.BoolType: {"type": "boolean"},
    inspect.NoneType: {"type": "null"},
}


def reply_schema(answer: Schema, name: str, status: int) -> Schema:
    """Return the schema of a reply to a command: a status, then the members of an answer over HTTP."""
    told = {"const": status, "description": "The status that the answer over HTTP would have."}
    return {
        **answer,
        "title": name,
        "properties": {"status": told, **answer["properties"]},
        "required": ["status", *answer["required"]],
    }


def event_example(kind: type[Event]) -> Any:
    """Return an event of this kind as it is sent."""
    return next(
        msgspec.json.decode(entry.payload) for _, event, entry in happenings() if type(event) is kind and entry.payload
    )


def state_example() -> Any:
    """Return the state of an auction with a bid."""
    return msgspec.to_builtins(auction_view(_after_first_bid()[0]))


def accepted_example() -> Any:
    """Return the reply to a bid that was accepted."""
    auction, bid = _after_first_bid()
    shown = BidView(
        amount=str(bid.amount),
        bidder=bid.bidder,
        received_at=maybe_instant(bid.received_at),
        placed_at=instant(bid.at),
        automatic=bid.automatic,
        sequence=auction.version,
    )
    asked = BidRequest(None, bid.maximum, received_at=bid.received_at)
    [receipt] = _SIGNER.sign_batch([receipt_of(auction, Party(bid.bidder_id, bid.bidder), asked, bid, bid.at)])
    answer = BidAnswer(bid=shown, auction=auction_view(auction), leading=bid.leading, receipt=receipt)
    return {"status": 201, **msgspec.to_builtins(answer)}


_SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(b"an example's key, of 32 bytes..."))


def refused_example(refused: type[Refusal]) -> Any:
    """Return the reply to a command that was refused for this reason."""
    auction, _ = _after_first_bid()
    facts: dict[str, Any] = {
        "minimum_bid": auction.minimum_bid,
        "ends_at": auction.ends_at,
        "closed_at": auction.ends_at,
        "starts_at": auction.starts_at,
        "paused_at": auction.current_bid_at,
        "received_at": auction.current_bid_at,
        "decided_at": auction.current_bid_at,
        "late_microseconds": 153_421,
        "retry_after": 1,
        "right": "bid",
        "needs": None,
        "sanction": "suspension",
        "reason": "Three lots were not paid",
        "until": auction.ends_at,
        "version": auction.version,
        "sale": GID,
        "limit": Decimal("1000.000"),
        "exposure": Decimal("820.000"),
        "asked": Decimal("250.000"),
        "left": Decimal("180.000"),
        "changes": (Change("ends_at", None, auction.ends_at),),
    }
    error = (
        Invalid.one("maximum", "money_decimals", "must have at most 3 decimals")
        if refused is Invalid
        else refused(
            **{
                name: fact
                for name, fact in facts.items()
                if problems.member(name) in (schemas.VOCABULARY | ACCOUNTS | VOCABULARY).facts.get(refused, {})
            }
        )
    )
    return {"status": problems.status_of(error), **problems.body_of(error)}


def _after_first_bid() -> tuple[Auction, BidPlaced]:
    return next((auction, event) for auction, event, _ in happenings() if isinstance(event, BidPlaced))
