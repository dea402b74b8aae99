"""The schemas of requests are exactly as strict as the house."""

import json
from functools import partial
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from saleroom.bidding.api.bids import BID
from saleroom.bidding.api.photos import PHOTOS
from saleroom.bidding.api.terms import CREATE
from saleroom.compose import ENDPOINTS
from saleroom.http.endpoints import Endpoint
from saleroom.http.forms import Form
from saleroom.kernel.errors import Fault, Invalid
from tests.contract import DOCUMENT
from tests.fixtures_house import House
from tests.mqtt.test_asyncapi import DOCUMENT as MESSAGES

TOGETHER = {
    *("ladder_start", "ladder_order", "above_maximum", "required_by_act", "first_tier", "tiers_rise"),
    *(
        "of_auctions",
        "of_needs",
        "lots_or_name",
        "lot_twice",
        "price_and_paddle",
        "price_of_new",
        "one_tag_each",
        "sale_or_reason",
    ),
}
"""Faults of values that contradict each other, which no schema can express."""
OF_TEXT = {"holder", "text_characters", "text_length"}
"""Faults that depend on characters: a text is trimmed, must show something, and has nothing that steers a terminal. The holder
of an account has Latin letters, or such as can be written in them."""
OF_FORM = {"country", "vat_id", "mail_address_format", "not_a_choice", "push_keys", "time_zone", "time_format"}
"""Faults of codes of countries and for VAT, of mail addresses, of languages, of keys that are no point of the curve, and of
time zones."""
NULLS = {"required"}
"""A bid with only nulls."""
FORMS = [endpoint for endpoint in ENDPOINTS if endpoint.form is not None]
BODIES_ALONE = {
    **DOCUMENT,
    "paths": {
        f"/{endpoint.name}": {
            "post": {
                name: DOCUMENT["paths"][endpoint.path][endpoint.method.lower()][name]
                for name in ("requestBody", "responses")
            }
        }
        for endpoint in FORMS
    },
}
"""The document with operations that take nothing but their body: to generate the rest took three fifths of the time."""
_OPERATIONS = schemathesis.openapi.from_dict(BODIES_ALONE)


def faults(form: Form, body: Any) -> set[str]:
    """Return the codes of all faults that a form finds in a body."""
    try:
        form.read(json.dumps(body).encode())
    except Invalid as invalid:
        return {fault.code for found in invalid.faults.values() for fault in found}
    return set()


def test_what_is_no_string_is_told_the_form() -> None:
    """A number in place of a string with a form of its own, such as a day, is refused with that form."""
    forms = [endpoint.form for endpoint in FORMS if endpoint.form is not None]
    bare = {
        f"{form.name}.{field.name}"
        for form in forms
        for field in form.fields
        if {"pattern", "format"} & field.schema.keys()
        and any(
            isinstance(found := field.parse(wrong), Fault) and found.code != "text_length" for wrong in (b'""', b'"?"')
        )
        and field.parse(b"7.5") == Fault("not_a_string", "must be a string")
    }
    assert set() == bare


@pytest.mark.parametrize("endpoint", FORMS, ids=lambda endpoint: endpoint.name)
def test_bodies_that_a_schema_allows_are_taken(endpoint: Endpoint[Any]) -> None:
    """The house reads every body generated from the schema, except for faults that a schema cannot express."""
    form = endpoint.form
    assert form is not None
    operation = _OPERATIONS[f"/{endpoint.name}"]["post"]
    strategy = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)

    @given(case=strategy)
    @settings(max_examples=60, database=None, suppress_health_check=list(HealthCheck))
    def holds(case: Any) -> None:
        if isinstance(case.body, dict):
            assert set() == faults(form, case.body) - TOGETHER - OF_TEXT - OF_FORM - NULLS, case.body

    holds()


def allows(schema: dict[str, Any], value: Any) -> bool:
    """Whether a schema of the document allows a value."""
    whole = {**schema, "components": DOCUMENT["components"]}
    found: bool = Draft202012Validator(whole, format_checker=FormatChecker()).is_valid(value)
    return found


def body_schema(name: str) -> dict[str, Any]:
    """Return the schema of a request body."""
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][name]
    return found


AMOUNTS = ["0", "0.0", "0.001", "0.010", "0.1", "1", "12.50", "99999999999999999.999", 0, 1, 10**17 - 1]
NO_AMOUNTS = ["", "-1", "1e2", "1.2345", "01", " 1", "1.", ".5", "1" * 18, 10**17, 1e17, -1, True, None, [], "NaN"]
INSTANTS = [
    *("1971-01-01T00:00:00Z", "2026-11-21T12:00:00.123456+23:59", "2024-02-29T00:00:00-00:30"),
    "2026-11-21t12:00:00z",
]
NO_INSTANTS = [
    *("1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00", "2026-11-21T12:00:00", "2026-13-01T00:00:00Z", 0, ""),
    *("2026-11-21T24:00:00Z", "2026-11-21T12:00:60Z", "2026-11-21 12:00:00Z", "2026-11-21T12:00:00.1234567Z"),
    *("2026-02-30T00:00:00Z", "2026-11-21T12:00:00+24:00", "0001-01-01T00:00:00+01:00"),
]
DRAFT = {"name": "Longcase clock", "startingPrice": "100"}


class Body(NamedTuple):
    """The body of a request, the name of its schema, and whether it is good."""

    schema: str
    form: Form
    value: dict[str, Any]
    good: bool


BID_REQUEST = partial(Body, "BidRequest", BID)
AUCTION_DRAFT = partial(Body, "AuctionDraft", CREATE)
BODIES = [
    *(BID_REQUEST({"maximum": one}, good=True) for one in AMOUNTS),
    *(BID_REQUEST({"maximum": one}, good=False) for one in NO_AMOUNTS if one is not None),
    *(AUCTION_DRAFT({**DRAFT, "startingPrice": one}, good=False) for one in NO_AMOUNTS),
    *(AUCTION_DRAFT({**DRAFT, "buyNowPrice": one}, good=str(one).strip("0.") != "") for one in AMOUNTS),
    *(AUCTION_DRAFT({**DRAFT, "increment": one}, good=str(one).strip("0.") != "") for one in AMOUNTS),
    *(AUCTION_DRAFT({**DRAFT, "endsAt": one}, good=True) for one in INSTANTS),
    *(AUCTION_DRAFT({**DRAFT, "endsAt": one}, good=False) for one in NO_INSTANTS),
    AUCTION_DRAFT({**DRAFT, "increment": [{"from": "0", "step": "0.000"}]}, good=False),
    AUCTION_DRAFT({**DRAFT, "increment": []}, good=False),
    AUCTION_DRAFT({**DRAFT, "softClose": {"window": 0, "extension": 1}}, good=False),
    AUCTION_DRAFT({**DRAFT, "softClose": {"window": 1, "extension": 86_401}}, good=False),
    AUCTION_DRAFT({**DRAFT, "softClose": {"window": 1, "extension": 86_400, "cap": None}}, good=True),
    AUCTION_DRAFT({**DRAFT, "name": ""}, good=False),
    AUCTION_DRAFT({**DRAFT, "name": "x" * 201}, good=False),
    AUCTION_DRAFT({"name": "x"}, good=False),
    AUCTION_DRAFT({**DRAFT, "authorId": 1}, good=False),
    BID_REQUEST({}, good=False),
    Body("PhotoList", PHOTOS, {"photos": ["a b"]}, good=False),
]


@pytest.mark.parametrize("case", BODIES, ids=[f"{one.schema}-{at}" for at, one in enumerate(BODIES)])
def test_house_and_schema_agree_at_the_edges(case: Body) -> None:
    """Schema and reader accept values just inside the bounds, and refuse values just outside."""
    assert case.good == allows(body_schema(case.schema), case.value)
    assert case.good == (faults(case.form, case.value) == set())


@given(st.text("0123456789.", max_size=24))
def test_an_amount_above_zero_is_an_amount(text: str) -> None:
    """The pattern of an amount above 0 is that of an amount, without zero."""
    step = body_schema("AuctionDraft")["properties"]["increment"]["anyOf"][0]
    assert allows(step, text) == (faults(CREATE, {**DRAFT, "increment": text}) == set())


@pytest.mark.parametrize("query", ["cursor=", "limit=0", "limit=101", "q=", "sort=size", "status=sold", "author=a"])
def test_an_empty_or_unknown_parameter_is_refused_by_both(query: str, sqlite_house: House) -> None:
    """If the schema of a list's parameter refuses a value, so does the house."""
    name, _, value = query.partition("=")
    [schema] = [one["schema"] for one in DOCUMENT["paths"]["/auctions"]["get"]["parameters"] if one["name"] == name]
    assert not allows(schema, int(value) if schema["type"] == "integer" else value)
    refused = sqlite_house.anyone.get(f"/auctions?{query}")
    assert (400, {name}) == (refused.status_code, set(refused.json()["message"]))


def test_a_command_without_a_price_is_none() -> None:
    """The schema of a bid over MQTT requires an amount or a maximum, as the house does."""
    schema = MESSAGES["components"]["messages"]["command"]["payload"]
    command = {"token": "Ij9pUEcdhAXWkQ==", "id": "paddle/1"}
    assert [False, True] == [allows(schema, one) for one in (command, {**command, "amount": "1"})]


@pytest.mark.parametrize("close", [{}, {"content": b""}, {"content": b"{}", "headers": {"Content-Type": "text/json"}}])
def test_an_auction_is_closed_without_a_body(close: dict[str, Any], house: House) -> None:
    """`POST .../close` with neither a body nor its type closes now, as an empty object does; with another type it is 415."""
    ada = house.user("ada")
    gid = ada.auction()
    refused = ada.post(f"/auctions/{gid}/close", content=b"{}", headers={"Content-Type": "text/plain"})
    assert 415 == refused.status_code
    answer = ada.post(f"/auctions/{gid}/close", **close)
    assert (200, "closed") == (answer.status_code, answer.json()["status"])


def test_nothing_is_sold_at_once_for_nothing(house: House) -> None:
    """A buy-now price of zero is refused, at the creation and later; a starting price, a reserve and a bid may be zero."""
    ada, bob = house.user("ada"), house.user("bob")
    free = {"name": "Kittens", "startingPrice": "0", "reservePrice": "0"}
    refused = ada.post("/auctions", json={**free, "buyNowPrice": "0.000"})
    assert (400, "not_positive") == (refused.status_code, refused.json()["message"]["buyNowPrice"][0]["code"])
    gid = ada.json("POST", "/auctions", json=free)["gid"]
    assert 400 == ada.http.patch(f"/auctions/{gid}", json={"buyNowPrice": 0}).status_code
    assert 201 == bob.bid(gid, "0").status_code


def test_a_soft_close_waits_for_an_end(house: House) -> None:
    """A soft close for an auction without an end applies once an end is announced."""
    ada = house.user("ada")
    rule = {"window": 60, "extension": 30, "cap": None}
    gid = ada.auction(softClose=rule)
    far = "2099-01-01T00:00:00Z"
    announced = ada.json("POST", f"/auctions/{gid}/close", json={"endsAt": far})
    assert (rule, "2099-01-01T00:00:00.000000Z") == (announced["softClose"], announced["endsAt"])
