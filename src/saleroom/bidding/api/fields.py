"""The fields and forms of the API's requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import TIERS_MAX, Ladder, Tier, fixed, ladder_faults
from saleroom.bidding.domain.photos import PER_LOT_MAX
from saleroom.bidding.storage.listing import Sort
from saleroom.http.cursors import AUCTIONS, BID_ON, BIDS, TEXT, WATCHED, List, Sealed
from saleroom.http.forms import (
    INSTANT_SCHEMA,
    MONEY_SCHEMA,
    POSITIVE_SCHEMA,
    Field,
    Form,
    checked,
    instant,
    json_whole,
    money,
    object_schema,
    one_of,
    positive,
    read_fields,
    string,
    text,
    whole,
)
from saleroom.http.responses import LIMIT_DEFAULT, LIMIT_MAX
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import VERSION_MAX
from saleroom.kernel.money import ZERO

NAME_MAX, DESCRIPTION_MAX, QUERY_MAX = 200, 10_000, 200
SECONDS_MAX = 86_400
"""A day: the longest window and extension of a soft close."""


def _members(raw: bytes) -> Mapping[str, bytes] | None:
    """Return the members of a nested object, or None where it is none, or has names that are no Unicode."""
    try:
        return {name: bytes(value) for name, value in _decode_object(raw).items()}
    except ValueError:
        return None


def _flat(invalid: Invalid, where: str = "") -> list[Fault]:
    """Return the faults of a nested object as faults of the field that holds it."""
    return [
        Fault(fault.code, f"{where}{name} {fault.message}", **fault.facts)
        for name, faults in invalid.faults.items()
        for fault in faults
    ]


def increment(raw: bytes) -> Ladder | Fault | list[Fault]:
    """Read a fixed step, or a ladder `[{"from": ..., "step": ...}, ...]`."""
    if not raw.startswith(b"["):
        step = money(raw)
        if isinstance(step, Fault):
            return step
        return fixed(step) if step > ZERO else Fault("step_not_positive", "must be above 0")
    rows = _decode_array(raw)
    if len(rows) > TIERS_MAX:
        return Fault("ladder_too_long", f"must have at most {TIERS_MAX} tiers", most=TIERS_MAX)
    faults: list[Fault] = []
    tiers = []
    for number, row in enumerate(rows, 1):
        members = _members(bytes(row))
        if members is None:
            faults.append(Fault("not_an_object", f'tier {number}: must be an object with "from" and "step"'))
            continue
        try:
            tiers.append(Tier(**read_fields(_TIER, members, strict=True)))
        except Invalid as invalid:
            faults += _flat(invalid, f"tier {number}: ")
    return faults or ladder_faults(tiers) or Ladder(tuple(tiers))


def soft_close(raw: bytes) -> SoftClose | Fault | list[Fault]:
    """Read `{"window": seconds, "extension": seconds, "cap": instant or null}`."""
    members = _members(raw)
    if members is None:
        return Fault("not_an_object", 'must be an object with "window" and "extension" in seconds, or null')
    try:
        return SoftClose(**read_fields(_SOFT_CLOSE, members, strict=True))
    except Invalid as invalid:
        return _flat(invalid)


def photo_ids(raw: bytes) -> list[str] | Fault:
    """Read a list of the ids of photos; how many they may be is the domain's to say."""
    try:
        ids = _decode_texts(raw)
    except ValueError:
        return Fault("not_a_list", "must be a list of the ids of photos")
    if len(ids) > PHOTO_IDS_MAX:
        return Fault("too_many_photos", f"must be at most {PER_LOT_MAX}", most=PER_LOT_MAX)
    well_formed = all(re.fullmatch(PHOTO_ID_PATTERN, one) for one in ids)
    return ids if well_formed else Fault("photo_id", "must be ids as POST /photos answers them")


def _bid_faults(values: dict[str, Any]) -> Mapping[str, list[Fault]]:
    amount, maximum = values.get("amount"), values.get("maximum")
    if amount is None and maximum is None:
        return {"body": [Fault("required", "must have an amount, a maximum, or both")]}
    if amount is not None and maximum is not None and amount > maximum:
        return {"amount": [Fault("above_maximum", "must be at most the maximum")]}
    return {}


def _money(name: str, to: str, about: str, *, required: bool = False, nullable: bool = False) -> Field:
    return Field(name=name, to=to, parse=money, schema=MONEY_SCHEMA, required=required, nullable=nullable, about=about)


def _seconds(name: str) -> Field:
    schema = {"type": "integer", "minimum": 1, "maximum": SECONDS_MAX}
    return Field(name=name, to=name, parse=json_whole(1, SECONDS_MAX), schema=schema, required=True, about="Seconds.")


def _instant(name: str, to: str, about: str) -> Field:
    return Field(name=name, to=to, parse=instant, schema=INSTANT_SCHEMA, nullable=True, about=about)


_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode

_TIER = (
    _money("from", "start", "The lowest price of the tier.", required=True),
    Field(
        name="step",
        to="step",
        parse=money,
        schema=POSITIVE_SCHEMA,
        required=True,
        about="By how much the next bid is higher.",
    ),
)
_SOFT_CLOSE = (_seconds("window"), _seconds("extension"), _instant("cap", "cap", "The end never moves past this."))


_INCREMENT_SCHEMA = {
    "anyOf": [POSITIVE_SCHEMA, {"type": "array", "minItems": 1, "maxItems": TIERS_MAX, "items": object_schema(_TIER)}]
}
_NAME = Field(
    name="name",
    to="name",
    parse=text(1, NAME_MAX),
    schema={"type": "string", "minLength": 1, "maxLength": NAME_MAX},
    about="The name of the lot.",
)
_TERMS = (
    Field(
        name="description",
        to="description",
        parse=text(0, DESCRIPTION_MAX, lines=True),
        schema={"type": "string", "maxLength": DESCRIPTION_MAX},
        about="What is sold. Line breaks are kept.",
    ),
    _instant("startsAt", "starts_at", "When bidding opens; at once without it."),
    _instant("endsAt", "ends_at", "When it closes by itself; without it its author closes it."),
    _money("reservePrice", "reserve_price", "Not sold below this; not shown to others before the end.", nullable=True),
    Field(
        name="buyNowPrice",
        to="buy_now_price",
        parse=positive,
        schema=POSITIVE_SCHEMA,
        nullable=True,
        about="Sold at once at this price, until the first bid.",
    ),
    Field(
        name="softClose",
        to="soft_close",
        parse=soft_close,
        schema=object_schema(_SOFT_CLOSE),
        nullable=True,
        about="Late bids move the end; null turns it off; 120 and 120 seconds unless given. Without an end it applies once one "
        "is announced.",
    ),
)
_INCREMENT = Field(
    name="increment",
    to="increment",
    parse=increment,
    schema=_INCREMENT_SCHEMA,
    about="One step at every price, or a ladder of tiers: the first from 0, each from a higher price than the one before.",
)
_STARTING_PRICE = "The least first bid."


def command_id(text: str) -> str | Fault:
    """Return the id of a command, or the fault in it: it names the topic on which the answer comes."""
    if len(text) > COMMAND_ID_MAX or re.fullmatch(COMMAND_ID_PATTERN, text) is None:
        return Fault(
            "command_id", f"must have 1 to {COMMAND_ID_MAX} characters of A-Z a-z 0-9 . _ ~ : / -, no part empty"
        )
    return text


def _required(field: Field) -> Field:
    return msgspec.structs.replace(field, required=True)


CREATE = Form(
    name="AuctionDraft",
    fields=(
        _required(_NAME),
        _money("startingPrice", "starting_price", _STARTING_PRICE, required=True),
        _INCREMENT,
        *_TERMS,
    ),
)
AMEND = Form(name="AuctionChanges", fields=(_NAME, _money("startingPrice", "starting_price", _STARTING_PRICE), *_TERMS))
_SEEN_VERSION = Field(
    name="seenVersion",
    to="seen_version",
    parse=json_whole(1, VERSION_MAX),
    schema={"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
    nullable=True,
    about="The `version` of the auction that you have seen: refused where what is offered has changed since.",
)
BID = Form(
    name="BidRequest",
    fields=(
        _money("amount", "amount", "This very price is shown.", nullable=True),
        _money("maximum", "maximum", "The service bids for you as little as needed, up to this.", nullable=True),
        _SEEN_VERSION,
    ),
    check=_bid_faults,
)
BUY = Form(
    name="BuyRequest",
    fields=(
        _money("price", "price", "What you have seen that it costs: refused where it costs anything else."),
        _SEEN_VERSION,
    ),
)
COMMAND_ID_MAX = 128
COMMAND_ID_PATTERN = "[A-Za-z0-9._~:-]+(?:/[A-Za-z0-9._~:-]+)*"
COMMAND = Form(
    name="BidCommand",
    fields=(
        Field(
            name="token",
            to="token",
            parse=string,
            schema={"type": "string"},
            required=True,
            about="What POST /login answered: who bids.",
        ),
        Field(
            name="id",
            to="id",
            parse=checked(command_id),
            schema={"type": "string", "pattern": f"^{COMMAND_ID_PATTERN}$", "maxLength": COMMAND_ID_MAX},
            required=True,
            about="Chosen anew for each bid, at random; the same again for a repeat. It is the Idempotency-Key.",
        ),
        *BID.fields,
    ),
    check=_bid_faults,
)
"""A bid over MQTT: what HTTP has in the headers `Authorization` and `Idempotency-Key` is in the object."""
CLOSE = Form(
    name="CloseRequest", fields=(_instant("endsAt", "ends_at", "Announces the end; without it, it closes now."),)
)
PHOTO_IDS_MAX = 100
"""How many are looked at; a lot has fewer."""
PHOTO_ID_PATTERN = "[A-Za-z0-9_-]{1,64}"
PHOTOS = Form(
    name="PhotoList",
    fields=(
        Field(
            name="photos",
            to="photos",
            parse=photo_ids,
            schema={
                "type": "array",
                "items": {"type": "string", "pattern": f"^{PHOTO_ID_PATTERN}$"},
                "maxItems": PER_LOT_MAX,
                "uniqueItems": True,
            },
            required=True,
            about="The ids of all photos that the auction is to have, in their order.",
        ),
    ),
)

_LIMIT = Field(
    name="limit",
    to="limit",
    parse=whole(1, LIMIT_MAX),
    schema={"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    about="How many to return.",
)


def _paging(of: List) -> tuple[Field, ...]:
    cursor = Field(
        name="cursor",
        to="cursor",
        parse=checked(lambda text: Sealed(of, text)),
        schema={"type": "string", "pattern": f"^{TEXT}$"},
        about="Where the page starts: `next` of the page before. Opaque.",
    )
    return (_LIMIT, cursor)


BY_BID = _paging(BIDS)
BY_BID_ON = _paging(BID_ON)
BY_WATCHED = _paging(WATCHED)
BY_MARK = _paging(AUCTIONS)
LIST = (
    Field(
        name="status",
        to="status",
        parse=one_of(tuple(Status)),
        schema={"type": "string", "enum": list(Status)},
        about="Only auctions in this state.",
    ),
    Field(
        name="author",
        to="author",
        parse=checked(parse_username),
        schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
        about="Only this author's.",
    ),
    Field(
        name="q",
        to="q",
        parse=text(1, QUERY_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": QUERY_MAX},
        about="Only those with this text in name or description, without case and accents.",
    ),
    Field(
        name="sort",
        to="sort",
        parse=one_of(tuple(Sort)),
        schema={"type": "string", "enum": list(Sort), "default": Sort.ENDING.value},
        about="The order: soonest end, newest, or lowest price first.",
    ),
    *BY_MARK,
)
