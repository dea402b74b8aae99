"""The forms of settlement: what those who set rates send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec

from saleroom.bidding.api.fields import money_field
from saleroom.bidding.domain.events import Channel
from saleroom.http.forms import (
    MONEY_SCHEMA,
    Field,
    Form,
    Parse,
    boolean,
    money,
    nested_faults,
    object_schema,
    one_of,
    read_fields,
)
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import words_field
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.rates.bills import Bearer, RateCard
from saleroom.settlement.domain.rates.cards import NAME_MAX
from saleroom.settlement.domain.rates.scales import PERCENT_MAX, TIERS_MAX, Scale, Tier, tiers_fault
from saleroom.settlement.domain.rates.tax import Country, Goods

PERCENT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": r"^(?:100(?:\.0{1,3})?|(?:0|[1-9][0-9]?)(?:\.[0-9]{1,3})?)$"},
        {"type": "integer", "minimum": 0, "maximum": 100},
    ],
    "description": "An exact percentage of 0 to 100; a string is safer than a number.",
}


def percent(raw: bytes) -> Decimal | Fault:
    """Return a percentage of 0 to 100."""
    found = money(raw)
    if isinstance(found, Fault) or found <= PERCENT_MAX:
        return found
    return Fault("percent_too_high", "must be at most 100")


def scale(raw: bytes) -> Scale | Fault | list[Fault]:
    """Read `{"tiers": [{"above": ..., "percent": ...}, ...], "cumulative": ..., "minimum": ...}`."""
    members = _object(raw)
    if members is None:
        return Fault("not_an_object", 'must be an object with "tiers", "cumulative" and "minimum"')
    try:
        return Scale(**read_fields(_SCALE, members, strict=True))
    except Invalid as invalid:
        return nested_faults(invalid)


def _tiers(raw: bytes) -> tuple[Tier, ...] | Fault | list[Fault]:
    try:
        rows = _decode_array(raw)
    except (msgspec.ValidationError, ValueError):
        return Fault("not_a_list", 'must be a list of objects with "above" and "percent"')
    if len(rows) > TIERS_MAX:
        return Fault("too_many_tiers", f"must have at most {TIERS_MAX} tiers", most=TIERS_MAX)
    tiers: list[Tier] = []
    faults: list[Fault] = []
    for number, row in enumerate(rows, 1):
        members = _object(bytes(row))
        if members is None:
            faults.append(Fault("not_an_object", f'{number}: must be an object with "above" and "percent"'))
            continue
        try:
            tiers.append(Tier(**read_fields(_TIER, members, strict=True)))
        except Invalid as invalid:
            faults += nested_faults(invalid, f"{number}: ")
    return faults or tiers_fault(tiers) or tuple(tiers)


def _surcharges(raw: bytes) -> dict[Channel, Decimal] | Fault | list[Fault]:
    members = _object(raw)
    if members is None:
        return Fault("not_an_object", "must be an object of percentages by the channel of the bid")
    try:
        found = read_fields(BY_CHANNEL, members, strict=True)
    except Invalid as invalid:
        return nested_faults(invalid)
    return {Channel(name): value for name, value in found.items()}


def _object(raw: bytes) -> Mapping[str, bytes] | None:
    try:
        return {name: bytes(value) for name, value in _decode_object(raw).items()}
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None


_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode

_TIER = (
    Field(name="above", to="above", parse=money, schema=MONEY_SCHEMA, required=True, about="Above this price."),
    Field(name="percent", to="percent", parse=percent, schema=PERCENT_SCHEMA, required=True, about="So many per cent."),
)
_SCALE = (
    Field(
        name="tiers",
        to="tiers",
        parse=_tiers,
        schema={"type": "array", "items": object_schema(_TIER), "maxItems": TIERS_MAX},
        about="They rise, and the first is above 0.",
    ),
    Field(
        name="cumulative",
        to="cumulative",
        parse=boolean,
        schema={"type": "boolean", "default": False},
        about="Whether each percentage is of the part of the price in its tier, or the last one of the whole price.",
    ),
    money_field("minimum", "minimum", "The least that is taken of a lot that is sold."),
)
BY_CHANNEL = tuple(
    Field(name=one.value, to=one.value, parse=percent, schema=PERCENT_SCHEMA, about="Per cent of the hammer price.")
    for one in Channel
)


def _scale_field(name: str, about: str) -> Field:
    return Field(name=name, to=name, parse=scale, schema=object_schema(_SCALE), about=about)


def _member_scale(name: str, to: str, about: str) -> Field:
    return Field(name=name, to=to, parse=scale, schema=object_schema(_SCALE), nullable=True, about=about)


def _percent_field(name: str, about: str) -> Field:
    return Field(name=name, to=name, parse=percent, schema=PERCENT_SCHEMA, about=about)


def choice(name: str, to: str, kind: Iterable[StrEnum], about: str) -> Field:
    """Return a field for one of a few words: all of a kind, or some."""
    schema = {"type": "string", "enum": [one.value for one in kind]}
    return Field(name=name, to=to, parse=_of(kind), schema=schema, about=about)


def _of(kind: Iterable[StrEnum]) -> Parse:
    known = {one.value: one for one in kind}
    read = one_of(tuple(known))

    def parse(raw: bytes) -> Any:
        found = read(raw)
        return found if isinstance(found, Fault) else known[found]

    return parse


def _gid(raw: bytes) -> str | Fault:
    try:
        found = msgspec.json.decode(raw, type=str)
    except (msgspec.ValidationError, ValueError):
        found = ""
    return found if GID.fullmatch(found) else Fault("gid", "must be the identifier of a rate card")


_TERMS = (
    _scale_field("premium", "The buyer's premium."),
    _scale_field("commission", "The seller's commission."),
    _member_scale("memberPremium", "member_premium", "The buyer's premium of members; null for that of all."),
    _member_scale("memberCommission", "member_commission", "The seller's commission of members; null for that of all."),
    Field(
        name="surcharges",
        to="surcharges",
        parse=_surcharges,
        schema=object_schema(BY_CHANNEL),
        about="What is added to the premium, by the channel of the winning bid.",
    ),
    money_field("entryFee", "entry", "The consignor's fee for each lot."),
    money_field("photoFee", "photo", "The consignor's fee for the photos of each lot."),
    money_field("unsoldFee", "unsold", "The consignor's fee for each lot that is not sold."),
    _percent_field("insurance", "Insurance of a lot that is sold, in per cent of the hammer price."),
    _percent_field("donation", "What the consignor donates, in per cent of the hammer price."),
    choice("resaleRight", "resale_right", Bearer, "Who bears the artist's resale right."),
    choice("country", "country", Country, "Whose law taxes the house."),
    choice("goods", "goods", Goods, "What is sold: it decides the rate and the words on paper."),
    choice("taxScheme", "scheme", TaxScheme, "The tax scheme of lots that have none themselves."),
)
_EXAMPLE = {
    "premium": {"tiers": [{"above": "0", "percent": "25"}, {"above": "1000", "percent": "20"}], "cumulative": True},
    "commission": {"tiers": [{"above": "0", "percent": "15"}], "minimum": "5"},
    "country": "DE",
    "taxScheme": "margin",
}
_NAME = words_field("name", "name", NAME_MAX, "By what name the house knows it.", least=1)
MAKE = Form(
    name="NewRateCard",
    example={"name": "Evening sales", **_EXAMPLE},
    fields=(msgspec.structs.replace(_NAME, required=True), *_TERMS),
)
CHANGE = Form(name="RateCardTerms", example=_EXAMPLE, fields=_TERMS)
CHOOSE = Form(
    name="RateChoice",
    example={"card": None},
    fields=(
        Field(
            name="card",
            to="card",
            parse=_gid,
            schema={"type": "string", "pattern": f"^{GID.pattern}$"},
            required=True,
            nullable=True,
            about="The rate card; null for none of its own.",
        ),
    ),
)


TRIAL = (
    money_field("price", "price", "The hammer price; none for a lot that is not sold."),
    choice("channel", "channel", Channel, "The channel of the winning bid."),
    choice("taxScheme", "scheme", TaxScheme, "The tax scheme of the lot."),
)


def card_of(values: Mapping[str, Any]) -> RateCard:
    """Return the terms in a form that was read."""
    return RateCard(**{name: value for name, value in values.items() if name != "name"})
