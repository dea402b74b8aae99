"""The schemas of the OpenAPI document: the members of each answer and of each error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.http import problems
from saleroom.http.endpoints import Endpoint
from saleroom.http.forms import object_schema
from saleroom.http.responses import FaultView
from saleroom.kernel.errors import Invalid, Refusal, TooManyRequests
from saleroom.kernel.identifiers import GID

Schema = dict[str, Any]

CONTACT = {"name": "Those who run this house"}
_REF = "#/components/schemas/{name}"
MONEY: Schema = {"type": "string", "pattern": r"^(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["12.500"]}
INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$",
    "examples": ["2026-11-21T12:00:00.000000Z"],
}
GID_PATTERN = f"^{GID.pattern}$"
COUNT: Schema = {"minimum": 0}


class Vocabulary(Struct, frozen=True, kw_only=True):
    """The words of the OpenAPI document that an area declares for its endpoints.

    `members` are the members of answers by name, with their form and meaning: a name means the same wherever it stands.
    `forms` are other forms of a member, by the name of the answer and of the member; with a `description` also another
    meaning. `facts` are the facts of each refusal, which are always there; `asides` those that are there for some requests.
    `tags` group the endpoints.
    """

    members: Mapping[str, tuple[Schema, str]]
    forms: Mapping[tuple[str, str], Schema] = {}
    facts: Mapping[type[Refusal], Mapping[str, Schema]] = {}
    asides: Mapping[type[Refusal], Mapping[str, Schema]] = {}
    tags: Mapping[str, str] = {}

    def __or__(self, other: Vocabulary) -> Vocabulary:
        return Vocabulary(
            members={**self.members, **other.members},
            forms={**self.forms, **other.forms},
            facts={**self.facts, **other.facts},
            asides={**self.asides, **other.asides},
            tags={**self.tags, **other.tags},
        )


SECONDS: Schema = {"type": "integer", "minimum": 1, "description": "Seconds to wait; as in the header Retry-After."}
_BYTES: Schema = {"type": "integer", "minimum": 1, "description": "The bytes allowed."}

VOCABULARY = Vocabulary(
    members={
        "code": ({}, "What is wrong, as a stable word for programs."),
        "database": (
            {"enum": ["ok", "unavailable", "commits nothing", "not copied"]},
            "Whether the database answers, commits and is copied.",
        ),
        "message": ({}, "What is wrong and what would be right, for people."),
        "mqtt": ({}, "How the MQTT broker is; `off` where there is none."),
        "next": ({}, "The cursor of the next page; null at the end."),
        "owed": (COUNT, "How many events the broker has not acknowledged yet."),
        "status": ({}, "The state."),
        "time": (INSTANT, "What the clock of the house says."),
    },
    forms={("Health", "status"): {"enum": ["ok"]}, ("Readiness", "status"): {"enum": ["ok", "unavailable"]}},
    facts={
        TooManyRequests: {"retryAfter": SECONDS},
        problems.BodyTooLarge: {"limit": _BYTES},
        problems.HeadersTooLarge: {"limit": _BYTES},
    },
    tags={"service": "How the service is."},
)
"""The words of every house, whatever its areas."""


def fact(member: tuple[Schema, str], *, nullable: bool = True) -> Schema:
    """Return the schema of a fact that is like the member of an answer."""
    schema, about = member
    if not nullable:
        return {**schema, "description": about}
    return {"anyOf": [schema, {"type": "null"}], "description": about}


def components(endpoints: Sequence[Endpoint[Any]], vocabulary: Vocabulary) -> dict[str, Schema]:
    """Return every schema of the document by name: answers, request bodies, errors."""
    answers = [one.answer for one in endpoints if one.answer is not None and one.answer is not dict]
    _, schemas = msgspec.json.schema_components([*answers, FaultView], ref_template=_REF)
    found: dict[str, Schema] = {name: _described(vocabulary, name, schema) for name, schema in schemas.items()}
    for form in (endpoint.form for endpoint in endpoints if endpoint.form is not None):
        body = object_schema(form.fields, strict=form.strict)
        found[form.name] = {"title": form.name, **body}
        if form.members_min:
            found[form.name]["minProperties"] = form.members_min
    for refused in problems.statuses().keys() - {problems.MethodNotAllowed}:  # no operation answers it, but an address
        found[error_name(refused)] = error(refused, vocabulary)
    found[error_name(Invalid, bare=True)] = error(Invalid, vocabulary, bare=True)
    return dict(sorted(found.items()))


def reference(name: str) -> Schema:
    """Return the reference to a schema of the document."""
    return {"$ref": _REF.format(name=name)}


def error_name(refused: type[Refusal], *, bare: bool = False) -> str:
    """Return the name of an error's schema; `bare` is the specification's own shape, with nothing but `message`."""
    name = _RENAMED.get(refused.code, refused.__name__)
    return f"{'Login' if bare else ''}{name.removesuffix('Error')}Error"


_RENAMED = {"auction_closed": "AuctionClosed", "csrf": "ForgeryRefused", "request_timeout": "BodyTimedOut"}
"""Codes of refusals whose class was renamed: the schema keeps its name, as clients are generated from it."""


def _described(vocabulary: Vocabulary, name: str, schema: Schema) -> Schema:
    """Return an answer's schema with the form and the meaning of each member. Others may be added: readers let them pass."""
    if "properties" not in schema:
        return schema
    properties = {member: _member(vocabulary, name, member, found) for member, found in schema["properties"].items()}
    return {**schema, "properties": properties}


def _member(vocabulary: Vocabulary, owner: str, name: str, found: Schema) -> Schema:
    form, about = vocabulary.members[name]
    form = dict(vocabulary.forms.get((owner, name), form))
    about = form.pop("description", about)
    if "anyOf" in found:
        return {
            "anyOf": [one | form if _fits(form, one) else one for one in found["anyOf"]],
            "description": about,
        }
    return found | form | {"description": about}


def _fits(form: Schema, one: Schema) -> bool:
    """Whether `form` applies to this alternative: not if that is null or of another type."""
    kind = one.get("type")
    return kind != "null" and form.get("type", kind) == kind


def error(refused: type[Refusal], vocabulary: Vocabulary, *, bare: bool = False) -> Schema:
    """Return the schema of an error's body, as `problems.body_of` makes it."""
    message: Schema = {"type": "string"}
    if refused is Invalid:
        message = {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "minItems": 1, "items": reference("FaultView")},
            "description": "Field name (`body` for the whole) to all that is wrong with it.",
        }
    elif refused.bare:
        message = {"const": problems.sentence_of(refused)}
    properties = {"message": message}
    if not (bare or refused.bare):
        properties |= {"code": {"const": refused.code}, **vocabulary.facts.get(refused, {})}
    return {
        "title": error_name(refused, bare=bare),
        "description": problems.sentence_of(refused),
        "type": "object",
        "properties": properties if bare or refused.bare else {**vocabulary.asides.get(refused, {}), **properties},
        "required": list(properties),
    }
