"""The messages of sales over MQTT and in their streams: a schema and an example of each, for the AsyncAPI document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from inspect import getdoc
from typing import Any, cast

import msgspec
from msgspec import inspect

from saleroom.bidding.api.happenings import GID
from saleroom.bidding.api.messages import EVENT_ID, value_schema
from saleroom.http.schemas import GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.kernel import identifiers
from saleroom.kernel.parties import Party
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.labels import LABEL_PATTERN
from saleroom.sales.domain.sale import Kind, Registration, Sale, SaleTerms
from saleroom.sales.domain.views import sale_view, wire_event

SALE_GID = "Nq7_sT3wXy0Z"
"""The gid of the sale in all examples."""
_AT = datetime(2026, 11, 27, 19, 30, tzinfo=UTC)
_ENVELOPE: dict[str, tuple[Schema, str]] = {
    "specversion": ({"const": "1.0"}, "CloudEvents 1.0."),
    "id": ({"type": "string", "pattern": f"^{EVENT_ID}$"}, "The gid, a slash, and `sequence`."),
    "source": (
        {"type": "string", "pattern": f"^/sales/{identifiers.GID.pattern}$"},
        "The sale's address in the API.",
    ),
    "type": ({}, "What happened."),
    "time": (INSTANT, "When it was decided."),
    "datacontenttype": ({"const": "application/json"}, "What `data` is."),
    "sequence": ({"type": "integer", "minimum": 1}, "Numbers the sale's events from 1, without gaps."),
    "data": ({}, "The facts."),
}
_FIELDS: dict[str, tuple[Schema, str, Any]] = {
    "amount": (MONEY, "The level, or the amount of the pledge.", "500.000"),
    "description": ({}, "What the sale is about.", "Clocks and instruments from two estates."),
    "kind": ({"enum": list(Kind)}, "Whether clocks or an auctioneer close the lots.", "live"),
    "label": ({"pattern": f"^{LABEL_PATTERN}$"}, "The number of the lot in the catalogue.", "12A"),
    "labels": ({}, "The numbers of all lots, in the order of calling.", ("1", "2", "12A", "12")),
    "lot": ({"pattern": GID_PATTERN}, "The gid of the auction of the lot.", GID),
    "lots": ({"minimum": 1}, "How many lots there are.", 42),
    "opensAt": ({}, "When bidding opens; null for at publication.", None),
    "outcome": ({}, "How it ended.", "sold"),
    "pledge": ({"minimum": 1}, "The number of the pledge.", 17),
    "pledges": ({"minimum": 0}, "How many pledges stand on the lot.", 16),
    "price": (MONEY, "The hammer price; null if it was not sold. The total of a fund-a-need.", "120.000"),
    "reason": ({}, "Why; null if nobody has said.", "The wrong paddle was written down."),
    "registration": ({"enum": list(Registration)}, "Who may bid.", "open"),
    "renumbered": ({}, "Whether lots got other numbers.", False),
    "startsAt": ({}, "When a live sale begins, and the first lot of a timed one ends.", _AT),
    "title": ({}, "The title.", "Autumn evening"),
    "total": (MONEY, "The sum of the pledges that stand on the lot.", "21500.000"),
    "venue": ({}, "Where it takes place; empty if that is not said.", "Town hall"),
}
"""The members of events' `data`: the schema beyond their type, their meaning, and an example."""


def event_schema(kind: type[SaleEvent]) -> Schema:
    """Return the schema of an event's wire form. It allows further members, as later versions may add some."""
    members = {field.encode_name: _member(field) for field in _members(kind)}
    own: dict[str, Schema] = {
        "type": {"const": kind.TYPE},
        "data": {"type": "object", "properties": members, "required": list(members)},
    }
    properties = {
        name: {**form, **own.get(name, {}), "description": about} for name, (form, about) in _ENVELOPE.items()
    }
    return {"title": kind.TYPE, "type": "object", "properties": properties, "required": list(properties)}


def event_example(kind: type[SaleEvent]) -> Any:
    """Return an event of this kind as it is sent."""
    event = kind(at=_AT, **{field.name: _FIELDS[field.encode_name][2] for field in _members(kind)})
    return msgspec.json.decode(msgspec.json.encode(wire_event(_sale().after(event), event)))


def summary(kind: type[SaleEvent]) -> str:
    """Return what an event says, in one line."""
    return " ".join((getdoc(kind) or "").split())


def state_example() -> Any:
    """Return the state of a sale."""
    return msgspec.to_builtins(sale_view(_sale()))


def _sale() -> Sale:
    terms = SaleTerms(title="Autumn evening", kind=Kind.LIVE, starts_at=_AT, venue="Town hall")
    made = _AT - timedelta(days=14)
    return Sale(id=1, gid=SALE_GID, owner=Party(1, "ada"), terms=terms, created_at=made, version=6)


def _members(kind: type[SaleEvent]) -> list[inspect.Field]:
    """Return the members of an event's `data`."""
    return [field for field in cast("inspect.StructType", inspect.type_info(kind)).fields if field.name != "at"]


def _member(field: inspect.Field) -> Schema:
    form, about, _ = _FIELDS[field.encode_name]
    schema = value_schema(field.type)
    if "anyOf" in schema:
        schema = {"anyOf": [one if one == {"type": "null"} else one | form for one in schema["anyOf"]]}
        return {**schema, "description": about}
    return schema | form | {"description": about}
