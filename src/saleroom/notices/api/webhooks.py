"""Webhooks of the user: list, make, change, delete, rotate the secret, test, and what became of what was posted."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Field, Form, boolean, checked, one_of
from saleroom.http.paging import paging
from saleroom.http.responses import LIMIT_DEFAULT, json_response, page_response
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.notices.api.choices import PRIVATE
from saleroom.notices.domain.errors import TooManyWebhooks, UnknownWebhook, WebhookOff
from saleroom.notices.domain.webhooks import (
    CHOICES,
    EVERYTHING,
    NO_URL,
    URL_MAX,
    Off,
    Scope,
    Webhook,
    parse_kinds,
    parse_url,
)
from saleroom.notices.service import webhooks
from saleroom.notices.service.webhooks import WebhookChange, WithSecret
from saleroom.notices.services import NoticeServices
from saleroom.outbox.kinds import Sign
from saleroom.outbox.message import State, Word

DELIVERIES = CursorKind("deliveries", int)
_WEBHOOK = path_number(UnknownWebhook, "The webhook.")


class WebhookView(Struct, frozen=True, rename="camel"):
    """A webhook, without its secret."""

    id: int
    endpoint: str
    kinds: list[str]
    scope: Scope
    created_at: str
    on: bool
    off_for: Off | None
    off_since: str | None
    old_secret_until: str | None


class WebhookSecretView(WebhookView, frozen=True, rename="camel"):
    """A webhook with its new secret, which is shown only once."""

    signing_secret: str


class WebhooksView(Struct, frozen=True, rename="camel"):
    """The user's webhooks, the oldest first."""

    webhooks: list[WebhookView]


class DeliveryView(Struct, frozen=True, rename="camel"):
    """Something that was posted to a webhook, or waits for it."""

    id: int
    kind: str
    about: str | None
    state: State
    posted_at: str
    due_at: str
    settled_at: str | None
    tries: int
    last_error: str | None


class DeliveriesPage(Struct, frozen=True, rename="camel"):
    """A page of what was posted to a webhook, the latest first."""

    deliveries: list[DeliveryView]
    next: str | None


def _kinds(raw: bytes) -> Any:
    try:
        return parse_kinds(msgspec.json.decode(raw, type=list[str]))
    except msgspec.DecodeError:
        return Fault("not_a_list", "must be a list of kinds of events")


_address = checked(str, form=NO_URL)
"""The address as it was sent; the settings of the house say whether it is taken."""
_URL = {"type": "string", "format": "uri", "maxLength": URL_MAX, "examples": ["https://example.org/saleroom"]}
_KINDS = {"type": "array", "items": {"enum": [EVERYTHING, *CHOICES]}, "minItems": 1}
_URL_ABOUT = (
    "Where to post to: an https address. A part of it that nobody can guess is a good idea, a password is refused."
)
_KINDS_ABOUT = "The kinds of events, or `*` alone for all, those of later versions too."
_SCOPES = tuple(Scope)
_MAKE = Form(
    name="WebhookRequest",
    example={"endpoint": "https://example.org/saleroom", "kinds": ["notice.outbid", "notice.won", "auction.closed"]},
    fields=(
        Field(name="endpoint", to="url", parse=_address, schema=_URL, required=True, about=_URL_ABOUT),
        Field(name="kinds", to="kinds", parse=_kinds, schema=_KINDS, required=True, about=_KINDS_ABOUT),
        Field(
            name="scope",
            to="scope",
            parse=one_of(_SCOPES),
            schema={"type": "string", "enum": list(_SCOPES), "default": "own"},
            about="`own`: events of lots that you sell, watch or bid on. `house`: of all lots, for staff.",
        ),
    ),
)
_CHANGE = Form(
    name="WebhookChange",
    example={"kinds": ["*"], "on": True},
    members_min=0,
    fields=(
        Field(name="endpoint", to="url", parse=_address, schema=_URL, about=_URL_ABOUT),
        Field(name="kinds", to="kinds", parse=_kinds, schema=_KINDS, about=_KINDS_ABOUT),
        Field(name="on", to="on", parse=boolean, schema={"type": "boolean"}, about="Whether anything is posted."),
    ),
)


async def listed(call: Call[NoticeServices]) -> Response:
    """GET /me/webhooks."""
    found = await call.services.database.read(webhooks.own, call.token)
    return json_response(WebhooksView([WebhookView(**_members(one)) for one in found]), 200, PRIVATE)


async def make(call: Call[NoticeServices]) -> Response:
    """POST /me/webhooks."""
    sent, services = call.values, call.services
    scope = Scope(sent.get("scope", Scope.OWN))
    url = _checked(services, sent["url"])
    made = await services.tokens.write(webhooks.make, call.token, services.webhook_key, url, sent["kinds"], scope)
    return _with_secret(made, 201)


async def change(call: Call[NoticeServices]) -> Response:
    """PATCH /me/webhooks/{id}."""
    sent, services = call.values, call.services
    url = _checked(services, sent["url"]) if "url" in sent else None
    wanted = WebhookChange(url=url, kinds=sent.get("kinds"), on=sent.get("on"))
    found = await services.tokens.write(webhooks.change, call.token, int(call.identifier), wanted)
    return json_response(WebhookView(**_members(found)), 200, PRIVATE)


async def delete(call: Call[NoticeServices]) -> Response:
    """DELETE /me/webhooks/{id}."""
    await call.services.tokens.write(webhooks.delete, call.token, int(call.identifier))
    return Response(status_code=204)


async def rotate(call: Call[NoticeServices]) -> Response:
    """POST /me/webhooks/{id}/secret."""
    services = call.services
    found = await services.tokens.write(webhooks.rotate, call.token, int(call.identifier), services.webhook_key)
    return _with_secret(found, 200)


async def test(call: Call[NoticeServices]) -> Response:
    """POST /me/webhooks/{id}/test."""
    await call.services.tokens.write(webhooks.test, call.token, int(call.identifier))
    return Response(status_code=204)


async def deliveries(call: Call[NoticeServices]) -> Response:
    """GET /me/webhooks/{id}/deliveries."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    number, before = int(call.identifier), call.query.get("cursor")
    found = await call.services.database.read(webhooks.deliveries, call.token, number, limit, before)
    cursor = call.services.cursors.next_page(DELIVERIES, found.following)
    return page_response(
        call.scope, DeliveriesPage([_delivery(one, call.services.sign) for one in found.words], cursor), cursor
    )


def _checked(services: NoticeServices, url: str) -> str:
    """Return an address that the house posts to. Raises Invalid."""
    found = parse_url(url, private=services.webhooks == "anywhere")
    if isinstance(found, Fault):
        raise Invalid({"endpoint": [found]})
    return found


def _members(one: Webhook) -> dict[str, Any]:
    return {
        "id": one.id,
        "endpoint": one.url,
        "kinds": list(one.kinds),
        "scope": one.scope,
        "created_at": instant(one.created_at),
        "on": one.off is None,
        "off_for": one.off,
        "off_since": maybe_instant(one.off_at),
        "old_secret_until": maybe_instant(one.old_until),
    }


def _with_secret(found: WithSecret, status: int) -> Response:
    return json_response(WebhookSecretView(signing_secret=found.secret, **_members(found.webhook)), status, PRIVATE)


def _delivery(word: Word, sign: Sign) -> DeliveryView:
    """Return a word as its owner sees it. Its own number would tell how many words of others went out between two."""
    signed = sign(f"shown delivery {word.id}").encode()
    return DeliveryView(
        id=int.from_bytes(sha256(signed).digest()[:6]),
        kind=word.kind,
        about=word.about,
        state=word.state,
        posted_at=instant(word.posted_at),
        due_at=instant(word.due_at),
        settled_at=maybe_instant(word.settled_at),
        tries=word.tries,
        last_error=word.last_error,
    )


ENDPOINTS: tuple[Endpoint[NoticeServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/webhooks",
        name="myWebhooks",
        summary="List my webhooks, the oldest first",
        handler=listed,
        tag="accounts",
        access=Access.TOKEN,
        answer=WebhooksView,
        about="Never with their secrets.",
    ),
    Endpoint(
        method="POST",
        path="/me/webhooks",
        name="makeWebhook",
        summary="Make a webhook: have events posted to an address",
        handler=make,
        tag="accounts",
        access=Access.TOKEN,
        form=_MAKE,
        status=201,
        answer=WebhookSecretView,
        errors=(TooManyWebhooks,),
        about="Each event is signed as https://www.standardwebhooks.com has it. The secret is shown only once.",
    ),
    Endpoint(
        method="PATCH",
        path="/me/webhooks/{id}",
        name="changeWebhook",
        summary="Change one of my webhooks, or switch it on or off",
        handler=change,
        tag="accounts",
        identifier=_WEBHOOK,
        access=Access.TOKEN,
        form=_CHANGE,
        answer=WebhookView,
        errors=(UnknownWebhook,),
        about="Members that are left out stay as they are. Events that happen while it is off are never posted.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/webhooks/{id}",
        name="deleteWebhook",
        summary="Delete one of my webhooks: what waits is posted no more",
        handler=delete,
        tag="accounts",
        identifier=_WEBHOOK,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownWebhook,),
        about="`id` comes from `GET /me/webhooks`.",
    ),
    Endpoint(
        method="POST",
        path="/me/webhooks/{id}/secret",
        name="rotateWebhookSecret",
        summary="Give one of my webhooks a new secret",
        handler=rotate,
        tag="accounts",
        identifier=_WEBHOOK,
        access=Access.TOKEN,
        answer=WebhookSecretView,
        errors=(UnknownWebhook,),
        about="For a day, the secret before signs too. The new one is shown only once.",
    ),
    Endpoint(
        method="POST",
        path="/me/webhooks/{id}/test",
        name="testWebhook",
        summary="Post a test to one of my webhooks",
        handler=test,
        tag="accounts",
        identifier=_WEBHOOK,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownWebhook, WebhookOff),
        about="The test stands behind what waits, of which the first is tried at once. One in ten seconds is posted.",
    ),
    Endpoint(
        method="GET",
        path="/me/webhooks/{id}/deliveries",
        name="webhookDeliveries",
        summary="List what was posted to one of my webhooks, and what waits for it",
        handler=deliveries,
        tag="accounts",
        identifier=_WEBHOOK,
        access=Access.TOKEN,
        query=paging(DELIVERIES),
        answer=DeliveriesPage,
        errors=(UnknownWebhook,),
        about="What was taken stays on record for three days, the rest for thirty.",
    ),
)
