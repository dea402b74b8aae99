"""The reader's webhooks: the list, the form for a new one, and one with what was posted to it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right, Role, rights_of
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.notices.domain.errors import UnknownWebhook
from saleroom.notices.domain.webhooks import EVERYTHING, NOTICE, PUBLIC, URL_MAX, Scope, Webhook, parse_kinds, parse_url
from saleroom.notices.service import webhooks
from saleroom.notices.service.webhooks import Deliveries, WebhookChange
from saleroom.notices.service.webhooks_off import host_of
from saleroom.notices.services import NoticeServices
from saleroom.notices.web.words import EVENTS, OFF_WORDS, REASONS, STATES, TITLES
from saleroom.outbox.message import Word
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

PATH = "/mine/webhooks"
ROWS = 50
_DIGITS_MAX = 18


class WebhookPages:
    """The pages of webhooks."""

    def __init__(self, site: Site, services: NoticeServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /mine/webhooks: the list, and the form for a new one."""
        return await self._list(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /mine/webhooks: make a webhook, and show its secret, once."""
        sent = await fields(request)
        services, token = self._services, session_token(request) or ""
        try:
            url, kinds, scope = _wanted(sent, private=services.webhooks == "anywhere")
            made = await services.tokens.write(webhooks.make, token, services.webhook_key, url, kinds, scope, form=True)
        except Declined as refused:
            return await self._list(request, sent=sent, refused=refused)
        return await self._one(request, made.webhook.id, secret=made.secret)

    async def one(self, request: Request) -> Response:
        """GET /mine/webhooks/{id}: one webhook, and what was posted to it."""
        return await self._one(request, _number(request))

    @for_users
    async def act(self, request: Request) -> Response:
        """POST /mine/webhooks/{id}: test it, rotate its secret, switch it on or off, or delete it."""
        number, token = _number(request), session_token(request) or ""
        services, do = self._services, (await fields(request)).get("do", "")
        place, secret = f"{PATH}/{number}", ""
        if do == "test":
            await services.tokens.write(webhooks.test, token, number)
        elif do == "secret":
            rotated = await services.tokens.write(webhooks.rotate, token, number, services.webhook_key, form=True)
            secret = rotated.secret
        elif do in ("on", "off"):
            await services.tokens.write(webhooks.change, token, number, WebhookChange(on=do == "on"))
        elif do == "delete":
            await services.tokens.write(webhooks.delete, token, number)
            place = PATH
        else:
            raise Invalid({"do": [Fault("not_a_choice", "must be test, secret, on, off or delete")]})
        return await self._one(request, number, secret=secret) if secret else go_to(place)

    async def _one(self, request: Request, number: int, *, secret: str = "") -> Response:
        viewer, found = await self._site.read(request, _posted, number)
        if viewer is None or found is None:
            return self._site.to_log_in(request)
        hook = found.webhook
        context: dict[str, Any] = {
            "hook": _row(hook),
            "kinds": [self._kind_words(request, kind) for kind in hook.kinds if kind != EVERYTHING],
            "words": [self._word(request, word) for word in found.words],
            "more": found.following is not None,
            "secret": secret,
            "off": None if hook.off is None else self._site.language(request).gettext(OFF_WORDS[hook.off]),
            "old_until": maybe_instant(hook.old_until),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "webhook.html", viewer, context, headers=headers)

    async def _list(
        self, request: Request, *, sent: dict[str, str] | None = None, refused: Refusal | None = None
    ) -> Response:
        viewer, found = await self._site.read(request, _own)
        if viewer is None:
            return self._site.to_log_in(request)
        language, words, kept = self._site.language(request), self._site.words, sent or {}
        context: dict[str, Any] = {
            "hooks": [_row(one) for one in found],
            "running": self._services.webhooks != "off",
            "notices": [(f"{NOTICE}{kind}", language.gettext(title)) for kind, title in TITLES.items()],
            "events": [(kind, _sentence(language.gettext(EVENTS[kind]))) for kind in PUBLIC],
            "ticked": [name for name in kept if kept[name] == "on"],
            "url": kept.get("url", ""),
            "url_max": URL_MAX,
            "staff": Right.POST_EVENTS in rights_of(getattr(viewer, "role", Role.MEMBER)),
            "faults": words.field_faults(language, refused),
            "message": words.message(language, refused),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "webhooks.html", viewer, context, refused=refused, headers=headers)

    def _kind_words(self, request: Request, kind: str) -> str:
        title = EVENTS.get(kind)
        if title is None:
            title = TITLES.get(kind.removeprefix(NOTICE), kind)
        return self._site.language(request).gettext(title)

    def _word(self, request: Request, word: Word) -> dict[str, Any]:
        return {
            "kind": self._kind_words(request, word.kind),
            "about": word.about,
            "state": self._site.language(request).gettext(STATES[word.state]),
            "posted": instant(word.posted_at),
            "tries": word.tries,
            "error": self._site.language(request).gettext(word.last_error) if word.last_error in REASONS else None,
            "answer": None if word.last_error in REASONS else word.last_error,
        }


def _row(one: Webhook) -> dict[str, Any]:
    return {
        "id": one.id,
        "host": host_of(one),
        "url": one.url,
        "on": one.off is None,
        "house": one.scope is Scope.HOUSE,
        "everything": EVERYTHING in one.kinds,
        "count": len(one.kinds),
        "since": instant(one.created_at),
    }


def _number(request: Request) -> int:
    """Return the number in the path. Raises UnknownWebhook."""
    text = str(request.path_params["id"])
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
        raise UnknownWebhook
    return int(text)


def _wanted(sent: dict[str, str], *, private: bool) -> tuple[str, tuple[str, ...], Scope]:
    """Return what a form asks for. Raises Invalid with all faults."""
    url = parse_url(sent.get("url", ""), private=private)
    chosen = [name for name, value in sent.items() if value == "on" and (name == EVERYTHING or "." in name)]
    kinds = parse_kinds(chosen) if chosen else Fault("required", "is required")
    faults: dict[str, list[Fault]] = {}
    if isinstance(url, Fault):
        faults["url"] = [url]
    if isinstance(kinds, Fault):
        faults["kinds"] = [kinds]
    if isinstance(url, Fault) or isinstance(kinds, Fault):
        raise Invalid(faults)
    return url, kinds, Scope.HOUSE if sent.get("scope") == Scope.HOUSE else Scope.OWN


def _sentence(words: str) -> str:
    """Return words with a capital at the beginning, as the other choices have it."""
    return words[:1].upper() + words[1:]


def _own(tx: Transaction, token: str | None) -> list[Webhook]:
    return [] if token is None else webhooks.own(tx, token)


def _posted(tx: Transaction, token: str | None, number: int) -> Deliveries | None:
    return None if token is None else webhooks.deliveries(tx, token, number, ROWS)
