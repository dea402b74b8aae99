"""Bodies and queries of the API with any content: values, or faults that say what would be right."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saleroom.bidding.api import devices
from saleroom.bidding.api.lists import AUCTIONS, BIDS
from saleroom.bidding.api.terms import CREATE
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import Ladder
from saleroom.bidding.storage.listing import ListPlace
from saleroom.compose import ENDPOINTS
from saleroom.http.cursors import CursorText
from saleroom.http.forms import Field, Form, read_fields
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.instants import instant
from saleroom.kernel.money import LIMIT, ZERO
from tests.fuzz.mangling import any_json, as_bytes, bounded, mangled, mangled_text, nasty
from tests.sealing import cursors, sealed

FAULTS_MAX = 80
"""The limit for all fields together, whatever was sent."""
FORMS = [*(endpoint.form for endpoint in ENDPOINTS if endpoint.form is not None), devices.COMMAND]
QUERIES = {endpoint.name: endpoint.query for endpoint in ENDPOINTS if endpoint.query}

amounts = st.decimals(ZERO, LIMIT, places=3).map(str) | st.sampled_from(["0", "12.5", "100", "0.001"])
instants = st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(instant)  # noqa: DTZ001  # hypothesis wants them naive
tiers = st.fixed_dictionaries({}, optional={"from": amounts, "step": amounts, "x": amounts})
seconds = st.integers(-1, 90_000)
soft_closes = st.fixed_dictionaries(
    {}, optional={"window": seconds, "extension": seconds, "cap": instants | st.none(), "x": seconds}
)
names = st.text("abcdefghijklmnopqrstuvwxyzABC019._-", min_size=3, max_size=32)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(["startingPrice", "reservePrice", "buyNowPrice", "amount", "maximum"], amounts),
    **dict.fromkeys(["startsAt", "endsAt"], instants),
    **dict.fromkeys(["username", "author"], names),
    "increment": amounts | st.lists(tiers, max_size=4),
    "softClose": soft_closes,
    "photos": st.lists(st.text("abc-_19", min_size=1, max_size=20), max_size=14),
    "password": st.text(min_size=8, max_size=20),
    "count": st.integers(0, 1001),
    "limit": st.integers(0, 101),
    "id": st.text("abc/:~", max_size=9),
    "after": st.sampled_from(["0", "k3X9mQ2vTa1_/7", "a/1", "a/0"]),
    "cursor": st.builds(ListPlace, nasty(), st.integers(0, 2**63 - 1), nasty()).map(
        lambda mark: sealed(
            AUCTIONS, [as_bytes(mark.key).decode("latin-1"), mark.id, as_bytes(mark.horizon).decode("latin-1")]
        )
    )
    | st.integers(-(2**63), 2**64 - 1).map(lambda number: sealed(BIDS, number)),
    "status": st.sampled_from(["open", "closed", "Open"]),
    "sort": st.sampled_from(["ending", "newest", "price", ""]),
}


def members(known: tuple[Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with some of the fields, mostly of the right form, and sometimes another."""
    some = {field.name: VALUES.get(field.name, nasty()) | any_json() for field in known}
    right = {field.name: VALUES.get(field.name, names) for field in known}
    extra = st.dictionaries(nasty(), any_json(), max_size=1)
    return st.fixed_dictionaries({}, optional=right) | st.builds(
        lambda found, more: found | more, st.fixed_dictionaries({}, optional=some), extra
    )


def written(value: Any) -> bytes:
    """Return JSON in UTF-8, including lone surrogates."""
    return as_bytes(json.dumps(value, ensure_ascii=False, default=str))


def on_the_wire(value: Any) -> Any:
    """Return a value that was read as its sender would write it."""
    match value:
        case Decimal():
            return str(value)
        case datetime():
            return instant(value)
        case Ladder():
            return [{"from": str(tier.start), "step": str(tier.step)} for tier in value.tiers]
        case SoftClose():
            return {"window": value.window, "extension": value.extension, "cap": on_the_wire(value.cap)}
        case _:
            return value


def checked(refused: Invalid) -> None:
    """Each fault has a code and says what would be right; no field name is long, and all of it can be sent as JSON."""
    assert {} != refused.faults
    assert sum(len(faults) for faults in refused.faults.values()) <= FAULTS_MAX
    for name, faults in refused.faults.items():
        assert len(name) <= 64
        assert faults
        for fault in faults:
            assert fault.code.replace("_", "").isalnum()
            assert 0 < len(fault.message) < 2000
    msgspec.json.encode([refused.message, list(refused.faults)])


BODIES = {form.name: mangled(members(form.fields).map(written)) | any_json().map(written) for form in FORMS}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(data=st.data())
def test_a_body_is_read_or_refused(form: Form, data: st.DataObject) -> None:
    """Any bytes of a body give values or faults, at once; and values that were read can be written and read again."""
    body = data.draw(BODIES[form.name], label="body")
    with bounded():
        try:
            values = form.read(body)
        except Invalid as refused:
            checked(refused)
            return
    back = {field.name: on_the_wire(values[field.to]) for field in form.fields if field.to in values}
    assert values == form.read(msgspec.json.encode(back))


@example(b'{"softClose": {"\xff": 1}}')
@example(b'{"increment": [{"\xff": 1}]}')
@example(b'{"increment": ' + b"[" * 100_000)
@example(b'{"softClose": {"window": ' + b"9" * 5_000 + b"}}")
@given(mangled(members(CREATE.fields).map(written)))
def test_terms_are_read_or_refused(body: bytes) -> None:
    """The form with objects inside objects, where a fault lies deep."""
    with bounded():
        try:
            CREATE.read(body)
        except Invalid as refused:
            checked(refused)


@given(mangled(members(devices.COMMAND.fields).map(written)))
def test_an_id_is_found_or_not(body: bytes) -> None:
    """The id of a command is read from any bytes of a device, as the answer can go nowhere else."""
    with bounded():
        found = devices.COMMAND.read_one(body, "id")
    assert found is None or isinstance(devices.command_id(str(found)), str)


WORDS = {
    field.name: mangled_text(VALUES.get(field.name, nasty()).map(str)) | nasty()
    for fields in QUERIES.values()
    for field in fields
}


@pytest.mark.parametrize("query", QUERIES)
@given(data=st.data())
def test_a_query_is_read_or_refused(query: str, data: st.DataObject) -> None:
    """Any query gives values or faults, even with cursors from elsewhere."""
    known = QUERIES[query]
    sent = {}
    for field in known:
        if data.draw(st.booleans()):
            word = as_bytes(data.draw(WORDS[field.name], label=field.name))
            # As the door hands them over: numbers as they are, all else as JSON, which takes no lone surrogates.
            is_number = field.schema.get("type") == "integer"
            sent[field.name] = word if is_number else msgspec.json.encode(word.decode("utf-8", "replace"))
    with bounded():
        try:
            values = read_fields(known, sent, strict=True)
        except Invalid as refused:
            checked(refused)
            return
        cursor_values = [cursors().read(value) for value in values.values() if isinstance(value, CursorText)]
    assert values.keys() <= {field.to for field in known}
    assert all(isinstance(place, Fault | ListPlace | int) for place in cursor_values)
