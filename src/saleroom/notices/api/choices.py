"""Choices: what the user gets by mail and on browsers, in which language, and when nothing is sent."""

from __future__ import annotations

import re
from datetime import time
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked, read_fields
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.instants import instant
from saleroom.notices.domain.choices import NO_HOURS, QuietHours, parse_time, parse_zone
from saleroom.notices.domain.kinds import KINDS, MUST_BE_MAILED
from saleroom.notices.service import choosing
from saleroom.notices.service.choosing import ChoiceChange, Chosen
from saleroom.notices.services import NoticeServices
from saleroom.outbox.message import MAIL, PUSH

PRIVATE = {"Cache-Control": "no-store"}
LANGUAGE = Fault("not_a_choice", "must be one of the languages of the house")
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}")
_TIME_SCHEMA = {"type": "string", "pattern": "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$", "examples": ["22:30"]}


class QuietHoursView(Struct, frozen=True):
    """The hours in which nothing is sent, by the clock of a time zone."""

    begins: str
    ends: str
    zone: str


class NoticeChoicesView(Struct, frozen=True, rename="camel"):
    """What the user gets: the mail address, when it was verified, the language of mails, and each kind of word by channel."""

    mail_address: str | None
    verified_at: str | None
    language: str | None
    mail: dict[str, bool]
    push: dict[str, bool]
    quiet_hours: QuietHoursView | None


_QUIET = (
    Field(name="begins", to="begins", parse=checked(parse_time), schema=_TIME_SCHEMA, required=True),
    Field(name="ends", to="ends", parse=checked(parse_time), schema=_TIME_SCHEMA, required=True),
    Field(name="zone", to="zone", parse=checked(parse_zone), schema={"type": "string"}, required=True),
)


def _bools(raw: bytes) -> dict[str, bool] | Fault:
    """Return whether kinds of words are wanted, or the fault."""
    wrong = Fault("not_an_object", f"must be an object with true or false for some of: {', '.join(KINDS)}")
    try:
        found = msgspec.json.decode(raw, type=dict[str, bool])
    except (msgspec.ValidationError, ValueError):
        return wrong
    return found if found.keys() <= KINDS.keys() else wrong


def _mails(raw: bytes) -> dict[str, bool] | Fault:
    """Return whether kinds of words are wanted by mail, or the fault."""
    found = _bools(raw)
    if isinstance(found, Fault) or all(found.get(kind, True) for kind in MUST_BE_MAILED):
        return found
    return Fault(
        "must_be_mailed", f"must not be false for {', '.join(MUST_BE_MAILED)}: its mails cannot be switched off"
    )


def _limits(channel: str, kind: str) -> dict[str, Any]:
    """Return the part of a schema that says of a word which must be mailed: it cannot be switched off."""
    if channel == MAIL and kind in MUST_BE_MAILED:
        return {"enum": [True]}
    return {}


def _quiet(raw: bytes) -> QuietHours | Fault | list[Fault]:
    try:
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        values = read_fields(_QUIET, {name: bytes(value) for name, value in members.items()}, strict=True)
    except (msgspec.ValidationError, ValueError):
        return Fault("not_an_object", "must be an object with begins, ends and zone")
    except Invalid as refused:
        return [Fault(one.code, f"{name} {one.message}") for name, faults in refused.faults.items() for one in faults]
    begins: time = values["begins"]
    if begins == values["ends"]:
        return NO_HOURS
    return QuietHours(begins, values["ends"], values["zone"])


_CHANGE = Form(
    name="NoticeChoicesChange",
    example={
        "mail": {"outbid": True, "ending": False},
        "push": {"outbid": True, "not_won": False},
        "language": "en",
        "quietHours": {"begins": "22:00", "ends": "07:00", "zone": "Europe/Berlin"},
    },
    members_min=0,
    fields=(
        *(
            Field(
                name=channel,
                to=channel,
                parse=parse,
                schema={
                    "type": "object",
                    "properties": {name: {"type": "boolean", **_limits(channel, name)} for name in KINDS},
                    "additionalProperties": False,
                },
                about=about,
            )
            for channel, parse, about in (
                (
                    MAIL,
                    _mails,
                    "For each kind of word whether to send it by mail; what is left out stays. `overdue` cannot be false.",
                ),
                (
                    PUSH,
                    _bools,
                    "For each kind of word whether to show it on the browsers of `GET /me/browsers`, likewise.",
                ),
            )
        ),
        Field(
            name="language",
            to="language",
            parse=checked(lambda text: text if LANGUAGE_TAG.fullmatch(text) else LANGUAGE),
            schema={"type": "string", "examples": ["de"]},
            about="The language of mails.",
        ),
        Field(
            name="quietHours",
            to="quiet",
            parse=_quiet,
            nullable=True,
            schema={
                "type": "object",
                "properties": {
                    "begins": _TIME_SCHEMA,
                    "ends": _TIME_SCHEMA,
                    "zone": {"type": "string", "examples": ["Europe/Berlin"]},
                },
                "required": ["begins", "ends", "zone"],
                "additionalProperties": False,
            },
            about="The hours in which nothing is sent; null for none.",
        ),
    ),
)


async def show(call: Call[NoticeServices]) -> Response:
    """GET /me/notices."""
    found = await call.services.database.read(choosing.chosen, call.token)
    return json_response(_view(found), 200, PRIVATE)


async def change(call: Call[NoticeServices]) -> Response:
    """PATCH /me/notices."""
    values: dict[str, Any] = call.values
    language = values.get("language")
    if language is not None and language not in call.services.languages:
        raise Invalid({"language": [LANGUAGE]})
    wanted = ChoiceChange(
        mail=values.get("mail", {}),
        push=values.get("push", {}),
        language=language,
        quiet=(values["quiet"],) if "quiet" in values else None,
    )
    found = await call.services.tokens.write(choosing.choose, call.token, wanted)
    return json_response(_view(found), 200, PRIVATE)


def _view(found: Chosen) -> NoticeChoicesView:
    address, quiet = found.address, found.choices.quiet
    verified = None if address is None else address.verified_at
    shown = None if found.is_private else address
    return NoticeChoicesView(
        mail_address=None if shown is None else shown.address,
        verified_at=None if verified is None else instant(verified),
        language=None if address is None else address.language,
        mail=found.choices.by(MAIL),
        push=found.choices.by(PUSH),
        quiet_hours=None
        if quiet is None
        else QuietHoursView(quiet.begins.isoformat("minutes"), quiet.ends.isoformat("minutes"), quiet.zone),
    )


ENDPOINTS: tuple[Endpoint[NoticeServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/notices",
        name="myNotices",
        summary="Show what I get by mail and on my browsers, and when nothing is sent",
        handler=show,
        tag="accounts",
        access=Access.TOKEN,
        answer=NoticeChoicesView,
        about="Mails go to a verified address only. `mailAddress` is null for an access token, which may not read it.",
    ),
    Endpoint(
        method="PATCH",
        path="/me/notices",
        name="chooseNotices",
        summary="Choose what I get by mail and on my browsers, and when nothing is sent",
        handler=change,
        tag="accounts",
        access=Access.TOKEN,
        form=_CHANGE,
        answer=NoticeChoicesView,
        about="What is left out stays. Mails about the account itself are always sent.",
    ),
)
