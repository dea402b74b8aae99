"""Fields and forms of requests, read so that all faults of all fields are reported at once.

A form is a table of fields; the same table reads requests and draws the OpenAPI document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.money import PATTERN, POSITIVE_PATTERN, ZERO, parse_money
from saleroom.kernel.texts import hidden_fault, shown_fault

T = TypeVar("T")
Value = Any
Parse = Callable[[bytes], Value]
"""From the raw JSON of a member to its value, to a Fault, or to a list of Faults."""

REQUIRED = Fault("required", "is required")
_SHOWN_MAX = 64
UNKNOWN_MAX, FAULTS_MAX = 10, 20
"""How many unknown members, and how many faults of one field, are reported: a body of 60 KB may have thousands."""
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)

_NO_UTF_8 = (
    (b"\xef\xbb\xbf", "it begins with a byte order mark; send UTF-8 without one"),
    (b"\xff\xfe", "it is UTF-16; send UTF-8"),
    (b"\xfe\xff", "it is UTF-16; send UTF-8"),
    (b"\x1f\x8b", "it is compressed; send it as it is"),
)
"""How bodies begin that programs send in place of JSON, and what to do: JSON between systems is UTF-8 (RFC 8259, 8.1)."""


class Field(Struct, frozen=True, kw_only=True):
    """One member of a body or one parameter of a query.

    `name` is the wire's, `to` the domain's. `schema` is the JSON schema of the form that `parse` takes.
    """

    name: str
    to: str
    parse: Parse
    schema: Mapping[str, Any]
    required: bool = False
    nullable: bool = False
    about: str = ""


class Form(Struct, frozen=True, kw_only=True, dict=True):
    """A JSON object: its fields, whether other members are refused, and a check of the fields together.

    `example` is a body to start from. `members_min` is how many members a body must have, as far as a schema can say it.
    """

    name: str
    fields: tuple[Field, ...]
    example: Mapping[str, Any] = {}
    members_min: int = 0
    strict: bool = True
    check: Callable[[dict[str, Value]], Mapping[str, list[Fault]]] | None = None

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of its fields."""
        return frozenset(field.name for field in self.fields)

    def read(self, body: bytes) -> dict[str, Value]:
        """Return the members that were sent, by their domain names. Raises Invalid with every fault."""
        try:
            members = _decode_members(body)
        except RecursionError:
            raise Invalid.one("body", "too_deep", "is nested too deeply") from None
        except msgspec.ValidationError:
            raise Invalid.one("body", "not_an_object", "must be a JSON object") from None
        except ValueError as error:
            said = next((words for start, words in _NO_UTF_8 if body.startswith(start)), str(error))
            raise Invalid.one("body", "malformed_json", f"is not JSON: {said}") from None
        # Unknown members are refused by their names; there may be thousands.
        sent = {name: bytes(raw) if name in self.known else b"" for name, raw in members.items()}
        values = read_fields(self.fields, sent, strict=self.strict)
        if self.check is not None and (faults := self.check(values)):
            raise Invalid(faults)
        return values

    def read_beside(self, body: bytes, faults: Mapping[str, list[Fault]]) -> dict[str, Value]:
        """Return the same, unless other parts of the request have `faults`, which are raised with those of the members."""
        try:
            values = self.read(body)
        except Invalid as invalid:
            raise Invalid({**invalid.faults, **faults}) from None
        if faults:
            raise Invalid(faults)
        return values

    def read_one(self, body: bytes, name: str) -> Value | None:
        """Return the value of one member, even if others are wrong; None if it cannot be read."""
        try:
            raw = _decode_members(body).get(name)
        except (RecursionError, ValueError):
            return None
        value = None if raw is None else next(field for field in self.fields if field.name == name).parse(bytes(raw))
        return None if isinstance(value, Fault) else value


def read_fields(fields: tuple[Field, ...], sent: Mapping[str, bytes], *, strict: bool) -> dict[str, Value]:
    """Return the values of `sent` by their domain names. Raises Invalid with every fault of every field."""
    values: dict[str, Value] = {}
    faults: dict[str, list[Fault]] = {}
    found = 0
    for field in fields:
        raw = sent.get(field.name)
        if raw is None:
            if field.required:
                faults[field.name] = [REQUIRED]
            continue
        found += 1
        if raw == b"null" and field.nullable:
            values[field.to] = None
            continue
        value = field.parse(raw)
        if isinstance(value, Fault):
            faults[field.name] = [value]
        elif isinstance(value, list) and value and isinstance(value[0], Fault):
            faults[field.name] = _first(value)
        else:
            values[field.to] = value
    if strict and found < len(sent):
        names = {field.name for field in fields}
        known = ", ".join(sorted(names)) or "none"
        unknown = [name for name in sent if name not in names]
        for name in unknown[:UNKNOWN_MAX]:
            faults[name[:_SHOWN_MAX]] = [Fault("unknown", f"is not known here; known are: {known}")]
        if (more := len(unknown) - UNKNOWN_MAX) > 0:
            faults["body"] = [Fault("more_faults", f"has {more} more members that are not known here", more=more)]
    if faults:
        raise Invalid(faults)
    return values


def nested_faults(invalid: Invalid, where: str = "") -> list[Fault]:
    """Return the faults of a nested object as faults of the field that contains it; `where` says which object it is."""
    return [
        Fault(fault.code, f"{where}{name} {fault.message}", **fault.facts)
        for name, faults in invalid.faults.items()
        for fault in faults
    ]


def read_rows(
    fields: tuple[Field, ...], rows: Sequence[Mapping[str, bytes | Raw]], make: Callable[..., T]
) -> list[T] | list[Fault]:
    """Return what `make` makes of each row of a list, or the faults of all rows, each with the number of its row."""
    found: list[T] = []
    faults: list[Fault] = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(make(**read_fields(fields, {name: bytes(value) for name, value in row.items()}, strict=True)))
        except Invalid as invalid:
            faults += nested_faults(invalid, f"{number}: ")
    return faults or found


def _first(faults: list[Fault]) -> list[Fault]:
    """Return the first faults, and the number of the others."""
    more = len(faults) - FAULTS_MAX
    if more <= 0:
        return faults
    return [*faults[:FAULTS_MAX], Fault("more_faults", f"has {more} more faults", more=more)]


def object_schema(fields: tuple[Field, ...], *, strict: bool = True) -> dict[str, Any]:
    """Return the JSON schema of an object with these fields."""
    properties: dict[str, Any] = {}
    for field in fields:
        schema = dict(field.schema)
        if field.about:
            schema["description"] = " ".join(filter(None, (field.about, schema.get("description"))))
        properties[field.name] = {"anyOf": [schema, {"type": "null"}]} if field.nullable else schema
    required = [field.name for field in fields if field.required]
    schema = {"type": "object", "properties": properties, "additionalProperties": not strict}
    return schema | ({"required": required} if required else {})


def string(raw: bytes) -> str | Fault:
    """Return a JSON string."""
    try:
        return _decode_string(raw)
    except msgspec.ValidationError:
        return Fault("not_a_string", "must be a string")
    except ValueError:
        return Fault("not_text", "must be valid Unicode text")


def _with_form(fault: Fault, form: Value) -> Fault:
    """Return the fault of what is no string in the words of `form`, which says of a string that it is not as wanted."""
    if fault.code != "not_a_string" or not isinstance(form, Fault):
        return fault
    return Fault(fault.code, f"{form.message}, as a string")


def money(raw: bytes) -> Decimal | Fault:
    """Return an amount, from a JSON string or number, read by its text: no binary float is involved."""
    if raw.startswith(b'"'):
        text = string(raw)
        return text if isinstance(text, Fault) else parse_money(text)
    if raw[:1] in b"-0123456789":
        return parse_money(raw.decode("ascii"))
    return Fault("money_type", 'must be an amount, as a string such as "12.50" or as a number')


def positive(raw: bytes) -> Decimal | Fault:
    """Return an amount above 0."""
    amount = money(raw)
    return Fault("not_positive", "must be above 0") if amount == ZERO else amount


def text(at_least: int, at_most: int, *, lines: bool = False) -> Parse:
    """Return the reader of text for people: trimmed, within a length in characters, without control characters.

    Line breaks and tabs pass if `lines`. Direction overrides never pass: they make a text look like another.
    """

    def parse(raw: bytes) -> str | Fault | list[Fault]:
        sent = string(raw)
        if isinstance(sent, Fault):
            return sent
        value = sent.strip()
        faults = []
        if not at_least <= len(value) <= at_most:
            faults.append(
                Fault("text_length", f"must have {at_least} to {at_most} characters", least=at_least, most=at_most)
            )
        # The rest of a text that is far too long is not examined: its length would set the time that takes.
        found = hidden_fault(value[: at_most + 1], lines=lines) or shown_fault(value[: at_most + 1])
        return [*faults, *([] if found is None else [found])] or value

    return parse


def instant(raw: bytes) -> datetime | Fault:
    """Return an RFC 3339 instant with its offset, to the microsecond, as UTC. Its letters may be small (section 5.6)."""
    wrong = Fault("instant_format", 'must be an instant with its offset, such as "2026-11-21T12:00:00Z"')
    sent = string(raw)
    if isinstance(sent, Fault):
        return _with_form(sent, wrong)
    if _INSTANT.fullmatch(sent) is None:
        return wrong
    try:
        value = datetime.fromisoformat(sent.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return wrong
    return value if value.year >= 1970 else Fault("instant_range", "must not be before 1970")


def whole(at_least: int, at_most: int) -> Parse:
    """Return the reader of a whole number within bounds."""

    def parse(raw: bytes) -> int | Fault:
        if re.fullmatch(rb"[0-9]{1,10}", raw) is None or not at_least <= int(raw) <= at_most:
            message = f"must be a whole number from {at_least} to {at_most}"
            return Fault("out_of_range", message, least=at_least, most=at_most)
        return int(raw)

    return parse


def positive_whole(at_most: int) -> Parse:
    """Return the reader of a whole number from 1 on in JSON; 60.0 counts as one too (JSON Schema, "integer")."""
    read = whole(1, at_most)
    return lambda raw: read(re.sub(rb"\.0{1,9}$", b"", raw))


def one_of(choices: tuple[str, ...]) -> Parse:
    """Return the reader of one of a few words."""

    def parse(raw: bytes) -> str | Fault:
        sent = string(raw)
        return sent if sent in choices else Fault("not_a_choice", f"must be one of: {', '.join(choices)}")

    return parse


def boolean(raw: bytes) -> bool | Fault:
    """Return true or false, as JSON writes them."""
    choices = {b"true": True, b"false": False}
    return choices[raw] if raw in choices else Fault("not_a_choice", "must be one of: true, false")


def checked(check: Callable[[str], Any], form: Value = None) -> Parse:
    """Return the reader of a string that `check` turns into a value or a Fault.

    What is no string is refused in the words of `form`, otherwise of the fault of an empty text.
    """

    def parse(raw: bytes) -> Any:
        sent = string(raw)
        return _with_form(sent, form or check("")) if isinstance(sent, Fault) else check(sent)

    return parse


def _amount(pattern: str, least: int, about: str) -> dict[str, Any]:
    # A schema cannot tell 12.5 from 1.25e1. So it allows whole numbers only, which no program writes with an exponent.
    return {
        "anyOf": [
            {"type": "string", "pattern": f"^{pattern}$"},
            {"type": "integer", "minimum": least, "maximum": 10**17 - 1},
        ],
        "description": f"{about}: up to 17 digits before the point and 3 after it, no sign, no exponent. "
        "A number with decimals is read by its text, too; a string is safer.",
        "examples": ["12.50"],
    }


MONEY_SCHEMA = _amount(PATTERN, 0, "An exact amount")
POSITIVE_SCHEMA = _amount(POSITIVE_PATTERN, 1, "An exact amount above 0")
INSTANT_SCHEMA: dict[str, Any] = {
    "type": "string",
    "format": "date-time",
    "pattern": "^(?:19(?:7[1-9]|[89][0-9])|[2-8][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
    "description": "With its offset from UTC, to the microsecond, not before 1970.",
}


shown_fault("")  # Its first call builds a table; no request should wait for that.
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_string = msgspec.json.Decoder(str).decode
