"""The forms of sales and lots: what those who manage them send."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from saleroom.bidding.api import terms as auction_terms
from saleroom.bidding.api.fields import instant_or_null, money_field
from saleroom.bidding.api.photos import PHOTOS
from saleroom.bidding.domain.categories import CATEGORY_MAX
from saleroom.bidding.domain.events import SOFT_CLOSE_SECONDS_MAX, SoftClose
from saleroom.http.forms import MONEY_SCHEMA, Field, Form, Value, boolean, money, one_of, positive_whole, text
from saleroom.kernel.errors import Fault
from saleroom.sales.api.fields import CODE_FIELD, LABEL, LABEL_SCHEMA, amount_or_null, words_field
from saleroom.sales.domain.labels import LABEL_DIGITS_MAX, parse_label
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.domain.needs import LEVELS_MAX
from saleroom.sales.domain.sale import (
    DESCRIPTION_MAX,
    LOTS_MAX,
    SPACING_DEFAULT,
    SPACING_MAX,
    TITLE_MAX,
    VENUE_MAX,
    Kind,
    Names,
    Registration,
)

FIRST_MAX = 10**LABEL_DIGITS_MAX - 1 - LOTS_MAX


def soft_close(raw: bytes) -> SoftClose | Fault | list[Fault]:
    """Read `{"window": seconds, "extension": seconds}`: the lots of a sale end at different times, so there is no cap."""
    found = auction_terms.soft_close(raw)
    if isinstance(found, SoftClose) and found.cap is not None:
        return Fault("cap_in_sale", "must have no cap in a sale, as its lots end one after the other")
    return found


def labels(raw: bytes) -> list[str] | Fault:
    """Read a list of labels."""
    try:
        sent = _decode_texts(raw)
    except msgspec.MsgspecError:
        return Fault("not_a_list_of_labels", "must be a list of the numbers of lots")
    if len(sent) > LOTS_MAX:
        return Fault("too_many_labels", f"must be at most {LOTS_MAX}", most=LOTS_MAX)
    found = [parse_label(one) for one in sent]
    fault = next((one for one in found if isinstance(one, Fault)), None)
    return fault or [one for one in found if isinstance(one, str)]


def levels(raw: bytes) -> tuple[Decimal, ...] | Fault | list[Fault]:
    """Read the levels of a fund-a-need: amounts; the rules say how many, and in which order."""
    try:
        sent = _decode_raws(raw)
    except msgspec.MsgspecError:
        return Fault("not_a_list_of_amounts", "must be a list of amounts")
    found = [money(bytes(one)) for one in sent[: LEVELS_MAX + 1]]
    fault = next((one for one in found if isinstance(one, Fault)), None)
    return fault or tuple(one for one in found if isinstance(one, Decimal))


def _one_kind(values: dict[str, Value]) -> dict[str, list[Fault]]:
    """Return the faults of a new lot that is neither an auction nor a fund-a-need, or both."""
    if "levels" not in values:
        faults = {} if "starting_price" in values else {"startingPrice": [Fault("required", "is required")]}
        return faults | ({"goal": [_NOT_OF_AUCTIONS]} if values.get("goal") is not None else {})
    named = {"startingPrice": "starting_price", "reservePrice": "reserve_price"}
    return {name: [_OF_AUCTIONS] for name, value in named.items() if values.get(value) is not None}


_OF_AUCTIONS = Fault("of_auctions", "must be left out, as a fund-a-need has levels")
_NOT_OF_AUCTIONS = Fault("of_needs", "must be left out, as only a fund-a-need has a goal; give its levels too")
_decode_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_SECONDS = {"type": "integer", "minimum": 1, "maximum": SOFT_CLOSE_SECONDS_MAX}
_INCREMENT = next(field for field in auction_terms.CREATE.fields if field.name == "increment")


def _choice(name: str, choices: tuple[str, ...], kind: type[Any], about: str) -> Field:
    read = one_of(choices)

    def parse(raw: bytes) -> Any:
        found = read(raw)
        return found if isinstance(found, Fault) else kind(found)

    return Field(name=name, to=name, parse=parse, schema={"type": "string", "enum": [*choices]}, about=about)


def _required(field: Field) -> Field:
    return msgspec.structs.replace(field, required=True)


_TITLE = words_field("title", "title", TITLE_MAX, "The title of the sale.", least=1)
_KIND = _choice("kind", tuple(Kind), Kind, "Whether clocks close the lots (`timed`), or an auctioneer does (`live`).")
_TERMS = (
    words_field("description", "description", DESCRIPTION_MAX, "Line breaks are kept.", lines=True),
    words_field("venue", "venue", VENUE_MAX, "Where it takes place."),
    instant_or_null("opensAt", "opens_at", "When bidding opens; at publication without it."),
    instant_or_null("startsAt", "starts_at", "The first end of a timed sale, or when a live one begins."),
    Field(
        name="spacing",
        to="spacing",
        parse=positive_whole(SPACING_MAX),
        schema={"type": "integer", "minimum": 1, "maximum": SPACING_MAX, "default": SPACING_DEFAULT},
        about="Seconds between the ends of two lots of a timed sale.",
    ),
    Field(
        name="softClose",
        to="soft_close",
        parse=soft_close,
        schema={
            "type": "object",
            "properties": {"window": _SECONDS, "extension": _SECONDS, "cap": {"type": "null"}},
            "required": ["window", "extension"],
            "additionalProperties": False,
        },
        nullable=True,
        about="Late bids move the end of a lot of a timed sale. Null turns that off; the default is 120 and 120 seconds.",
    ),
    Field(
        name="following",
        to="following",
        parse=boolean,
        schema={"type": "boolean", "default": False},
        about="Whether a soft close moves the ends of all later lots too.",
    ),
    msgspec.structs.replace(_INCREMENT, to="ladder"),
    _choice("names", tuple(Names), Names, "Whether others see bidders by their usernames or by their paddles."),
    _choice(
        "registration",
        tuple(Registration),
        Registration,
        "Who may bid: anyone (`none`), those who register (`open`), or those of them whom staff approve (`approval`).",
    ),
    amount_or_null("limitDefault", "limit_default", "The limit of those who register, in the whole sale."),
)
MAKE_SALE = Form(
    name="NewSale",
    example={"title": "An evening in May", "kind": "timed"},
    fields=(_required(_TITLE), _required(_KIND), *_TERMS),
)
CHANGE_SALE = Form(name="SaleChanges", example={"venue": "The town hall"}, fields=(_TITLE, _KIND, *_TERMS))

_LOT = (
    LABEL,
    words_field("name", "name", auction_terms.NAME_MAX, "The name of the lot.", least=1),
    money_field("startingPrice", "starting_price", "The least first bid. Every lot needs it but a fund-a-need."),
    words_field(
        "description", "description", auction_terms.DESCRIPTION_MAX, "What is sold. Line breaks are kept.", lines=True
    ),
    amount_or_null("reservePrice", "reserve_price", "Not sold below this; not shown to others before the end."),
    Field(
        name="category",
        to="category",
        parse=text(1, CATEGORY_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": CATEGORY_MAX},
        nullable=True,
        about="One of the house's categories, by its name.",
    ),
    Field(
        name="levels",
        to="levels",
        parse=levels,
        schema={"type": "array", "items": MONEY_SCHEMA, "minItems": 1, "maxItems": LEVELS_MAX},
        about="The levels of a fund-a-need, from high to low. Such a lot has no auction.",
    ),
    amount_or_null("goal", "goal", "What a fund-a-need is to raise."),
    CODE_FIELD,
    amount_or_null("estimateFrom", "estimate_from", "The lower end of the estimate."),
    amount_or_null("estimateTo", "estimate_to", "The upper end of the estimate."),
    msgspec.structs.replace(
        _choice("taxScheme", tuple(TaxScheme), TaxScheme, "How its sale is taxed."), to="tax_scheme", nullable=True
    ),
    msgspec.structs.replace(
        PHOTOS.fields[0], required=False, about="The ids of all photos of the lot, in their order."
    ),
)
_MUST = frozenset({"name"})
ADD_LOT = Form(
    name="NewLot",
    example={"name": "Longcase clock", "startingPrice": "100", "estimateFrom": "200", "estimateTo": "300"},
    fields=tuple(_required(field) if field.name in _MUST else field for field in _LOT),
    check=_one_kind,
)
CHANGE_LOT = Form(name="LotChanges", example={"estimateTo": "400"}, fields=_LOT)
ORDER = Form(
    name="LotOrder",
    example={"labels": ["2", "1"], "renumberFrom": 1},
    fields=(
        Field(
            name="labels",
            to="labels",
            parse=labels,
            schema={"type": "array", "items": LABEL_SCHEMA, "maxItems": LOTS_MAX},
            about="All lots of the sale in the order of calling; without it, the order that there is.",
        ),
        Field(
            name="renumberFrom",
            to="renumber_from",
            parse=positive_whole(FIRST_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": FIRST_MAX},
            nullable=True,
            about="Renumber the lots in the order of calling, from this number on.",
        ),
    ),
)
