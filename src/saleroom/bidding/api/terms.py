"""The terms of an auction as its author sends them: the forms to create, amend and close one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from saleroom.bidding.api.fields import instant_or_null, money_field
from saleroom.bidding.domain.categories import CATEGORY_MAX
from saleroom.bidding.domain.events import SOFT_CLOSE_SECONDS_MAX, SoftClose
from saleroom.bidding.domain.increments import TIERS_MAX, Ladder, Tier, fixed, ladder_faults
from saleroom.http.forms import (
    POSITIVE_SCHEMA,
    Field,
    Form,
    money,
    nested_faults,
    object_schema,
    positive,
    positive_whole,
    read_fields,
    text,
)
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.money import ZERO

NAME_MAX, DESCRIPTION_MAX = 200, 10_000


def increment(raw: bytes) -> Ladder | Fault | list[Fault]:
    """Read a fixed step, or a ladder `[{"from": ..., "step": ...}, ...]`."""
    if not raw.startswith(b"["):
        step = money(raw)
        if isinstance(step, Fault):
            ladder = ', or a list of tiers with "from" and "step"'
            return Fault(step.code, step.message + ladder) if step.code == "money_type" else step
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
            faults += nested_faults(invalid, f"tier {number}: ")
    return faults or ladder_faults(tiers) or Ladder(tuple(tiers))


def soft_close(raw: bytes) -> SoftClose | Fault | list[Fault]:
    """Read `{"window": seconds, "extension": seconds, "cap": instant or null}`."""
    members = _members(raw)
    if members is None:
        return Fault("not_an_object", 'must be an object with "window" and "extension" in seconds, or null')
    try:
        return SoftClose(**read_fields(_SOFT_CLOSE, members, strict=True))
    except Invalid as invalid:
        return nested_faults(invalid)


def _members(raw: bytes) -> Mapping[str, bytes] | None:
    """Return the members of a nested object, or None if `raw` is not an object or its names are not Unicode."""
    try:
        return {name: bytes(value) for name, value in _decode_object(raw).items()}
    except ValueError:
        return None


def _seconds(name: str) -> Field:
    schema = {"type": "integer", "minimum": 1, "maximum": SOFT_CLOSE_SECONDS_MAX}
    return Field(
        name=name, to=name, parse=positive_whole(SOFT_CLOSE_SECONDS_MAX), schema=schema, required=True, about="Seconds."
    )


_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_TIER = (
    money_field("from", "start", "The lowest price of the tier.", required=True),
    Field(
        name="step",
        to="step",
        parse=money,
        schema=POSITIVE_SCHEMA,
        required=True,
        about="By how much the next bid is higher.",
    ),
)
_SOFT_CLOSE = (
    _seconds("window"),
    _seconds("extension"),
    instant_or_null("cap", "cap", "The end never moves past this."),
)
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
    Field(
        name="category",
        to="category",
        parse=text(1, CATEGORY_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": CATEGORY_MAX},
        nullable=True,
        about="One of the house's categories, by its name.",
    ),
    instant_or_null("startsAt", "starts_at", "When bidding opens; at once without it."),
    instant_or_null("endsAt", "ends_at", "When it closes by itself; without it its author closes it."),
    money_field(
        "reservePrice", "reserve_price", "Not sold below this; not shown to others before the end.", nullable=True
    ),
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
        about="Late bids move the end. Null turns that off; the default is 120 and 120 seconds. In an auction without an end "
        "it applies once an end is announced.",
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


def _required(field: Field) -> Field:
    return msgspec.structs.replace(field, required=True)


CREATE = Form(
    name="AuctionDraft",
    example={"name": "Longcase clock", "startingPrice": "100"},
    fields=(
        _required(_NAME),
        money_field("startingPrice", "starting_price", _STARTING_PRICE, required=True),
        _INCREMENT,
        *_TERMS,
    ),
)
AMEND = Form(
    name="AuctionChanges",
    example={"description": "Walnut, about 1740"},
    fields=(_NAME, money_field("startingPrice", "starting_price", _STARTING_PRICE), *_TERMS),
)
CLOSE = Form(
    name="CloseRequest",
    fields=(instant_or_null("endsAt", "ends_at", "The end to announce; without it, the auction closes now."),),
)
