"""Browsers that get messages: the key to subscribe with, subscribe one, list the user's own, end one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Field, Form, checked
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.instants import instant
from saleroom.notices.api.choices import LANGUAGE, LANGUAGE_TAG, PRIVATE
from saleroom.notices.domain.errors import UnknownSubscription
from saleroom.notices.domain.pushes import (
    AUTH,
    ENDPOINT_MAX,
    KEY,
    KEYS_FAULT,
    NumberedSubscription,
    Subscription,
    parse_endpoint,
)
from saleroom.notices.service import subscribing
from saleroom.notices.services import NoticeServices
from saleroom.outbox import web_push

OFF = Fault("push_off", "is of no use, as this house sends no messages to browsers")
_NUMBER = path_number(UnknownSubscription, "The browser.")


class BrowserView(Struct, frozen=True, rename="camel"):
    """A browser that gets messages. Its address and keys are shown to nobody."""

    id: int
    agent: str | None
    created_at: str
    current: bool


class BrowsersView(Struct, frozen=True, rename="camel"):
    """The key to subscribe with, and the browsers of the user, the newest first."""

    application_server_key: str | None
    browsers: list[BrowserView]


class SubscriptionKeys(Struct, frozen=True):
    """The keys of a subscription."""

    p256dh: str
    auth: str


def parse_keys(raw: bytes) -> SubscriptionKeys | Fault:
    """Return the keys of a subscription, or their fault."""
    try:
        keys = msgspec.json.decode(raw, type=SubscriptionKeys)
    except (msgspec.ValidationError, ValueError):
        return KEYS_FAULT
    p256dh, auth = keys.p256dh.rstrip("="), keys.auth.rstrip("=")
    if not KEY.fullmatch(p256dh) or not AUTH.fullmatch(auth) or not web_push.is_point(web_push.raw(p256dh)):
        return KEYS_FAULT
    return SubscriptionKeys(p256dh, auth)


def given(services: NoticeServices, values: dict[str, Any]) -> tuple[Subscription, Fault | None]:
    """Return a subscription as a browser gives it, and why the house sends nothing there. Raises Invalid for its language."""
    endpoint, keys, language = values["endpoint"], values["keys"], values.get("language")
    fault = OFF if services.push is None else parse_endpoint(endpoint, private=services.push.private)
    if language is not None and language not in services.languages:
        raise Invalid({"language": [LANGUAGE]})
    found = Subscription(endpoint=endpoint, p256dh=keys.p256dh, auth=keys.auth, language=language)
    return found, fault if isinstance(fault, Fault) else None


def _endpoint(text: str) -> str | Fault:
    return parse_endpoint(text, private=True)


SUBSCRIPTION = Form(
    name="PushSubscription",
    example={
        "endpoint": "https://push.example/send/c4e8a0f1",
        "keys": {
            "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        },
        "language": "en",
    },
    fields=(
        Field(
            name="endpoint",
            to="endpoint",
            parse=checked(_endpoint),
            schema={"type": "string", "format": "uri", "maxLength": ENDPOINT_MAX},
            required=True,
            about="The address at the push service.",
        ),
        Field(
            name="keys",
            to="keys",
            parse=parse_keys,
            schema={
                "type": "object",
                "properties": {
                    "p256dh": {"type": "string", "pattern": f"^{KEY.pattern}=?$"},
                    "auth": {"type": "string", "pattern": f"^{AUTH.pattern}(?:==)?$"},
                },
                "required": ["p256dh", "auth"],
            },
            required=True,
            about="The keys of the subscription, in base64url.",
        ),
        Field(
            name="language",
            to="language",
            parse=checked(lambda text: text if LANGUAGE_TAG.fullmatch(text) else LANGUAGE),
            schema={"type": "string", "examples": ["de"]},
            about="The language of messages; without one of the house's, English.",
        ),
    ),
)


async def listed(call: Call[NoticeServices]) -> Response:
    """GET /me/browsers."""
    found = await call.services.database.read(subscribing.subscriptions, call.token)
    push = call.services.push
    views = [_view(one, current=current) for one, current in found]
    return json_response(BrowsersView(None if push is None else push.key().public, views), 200, PRIVATE)


async def subscribe(call: Call[NoticeServices]) -> Response:
    """POST /me/browsers."""
    wanted, fault = given(call.services, call.values)
    made = await call.services.tokens.write(subscribing.subscribe, call.token, wanted, fault)
    return json_response(_view(made, current=True), 201, PRIVATE)


async def unsubscribe(call: Call[NoticeServices]) -> Response:
    """DELETE /me/browsers/{id}."""
    await call.services.tokens.write(subscribing.unsubscribe, call.token, int(call.identifier))
    return Response(status_code=204)


def _view(one: NumberedSubscription, *, current: bool) -> BrowserView:
    return BrowserView(one.id, one.agent, instant(one.created_at), current)


ENDPOINTS: tuple[Endpoint[NoticeServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/browsers",
        name="myBrowsers",
        summary="List my browsers that get messages, and show the key to subscribe with",
        handler=listed,
        tag="accounts",
        access=Access.TOKEN,
        answer=BrowsersView,
        about="Messages go by web push (RFC 8030), encrypted for the browser alone (RFC 8291).",
    ),
    Endpoint(
        method="POST",
        path="/me/browsers",
        name="subscribeBrowser",
        summary="Let a browser get messages until this login ends",
        handler=subscribe,
        tag="accounts",
        access=Access.TOKEN,
        form=SUBSCRIPTION,
        answer=BrowserView,
        status=201,
        about="`endpoint` and `keys` are as `PushSubscription.toJSON()` has them. A login has one browser, a user ten at most.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/browsers/{id}",
        name="unsubscribeBrowser",
        summary="Send a browser no more messages",
        handler=unsubscribe,
        tag="accounts",
        identifier=_NUMBER,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownSubscription,),
        about="`id` comes from `GET /me/browsers`.",
    ),
)
