"""What the reader gets by mail and on browsers: the form; and the page behind the link of a mail that stops all of it."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.problems import NotFound
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid, Refusal
from saleroom.kernel.instants import time_zones
from saleroom.notices.api.pushes import SUBSCRIPTION
from saleroom.notices.api.pushes import given as subscription_of
from saleroom.notices.domain.choices import NO_HOURS, QuietHours, parse_time, parse_zone
from saleroom.notices.domain.errors import UnknownSubscription
from saleroom.notices.domain.kinds import KINDS, MUST_BE_MAILED
from saleroom.notices.domain.pushes import NumberedSubscription
from saleroom.notices.service import choosing, subscribing, unsubscribing
from saleroom.notices.service.choosing import ChoiceChange, Chosen
from saleroom.notices.services import NoticeServices
from saleroom.notices.web.mails import CHOICES
from saleroom.notices.web.words import TITLES
from saleroom.outbox.message import MAIL, PUSH
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_ZONES = sorted(zone for zone in time_zones() if "/" in zone and not zone.startswith(("Etc/", "posix/", "right/")))


class ChoicePages:
    """The form of the reader's choices, and the page that stops mails without a login."""

    def __init__(self, site: Site, services: NoticeServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /mine/notices: what the reader gets by mail."""
        return await self._page(request)

    @for_users
    async def save(self, request: Request) -> Response:
        """POST /mine/notices: keep what was chosen."""
        sent = await fields(request)
        faults: dict[str, list[Fault]] = {}
        quiet = _quiet(sent, self._services.zone, faults)
        if faults:
            return await self._page(request, sent=sent, refused=Invalid(faults))
        language = sent.get("language")
        change = ChoiceChange(
            mail={kind: sent.get(f"mail_{kind}") == "on" for kind in KINDS if kind not in MUST_BE_MAILED},
            push={kind: sent.get(f"push_{kind}") == "on" for kind in KINDS if "push" in sent},
            quiet=(quiet,),
            language=language if language in self._services.languages else None,
        )
        await self._services.tokens.write(choosing.choose, session_token(request) or "", change)
        return await self._page(request, saved=True)

    async def stop_form(self, request: Request) -> Response:
        """GET /notices/unsubscribe?token=: ask whether to stop, as programs open links of mails too."""
        known = unsubscribing.read_token(self._services.sign, request.query_params.get("token", ""))
        return self._stop_page(request, damaged=known is None)

    async def stop(self, request: Request) -> Response:
        """POST /notices/unsubscribe?token=: stop, also at one click in a mail program (RFC 8058)."""
        known = unsubscribing.read_token(self._services.sign, request.query_params.get("token", ""))
        if known is not None:
            await self._services.database.write(unsubscribing.stop, *known)
        return self._stop_page(request, damaged=known is None, stopped=True)

    async def subscribe(self, request: Request) -> Response:
        """POST /mine/notices/browsers: let this browser get messages. Scripts send it, and read the status alone."""
        sent = await fields(request)
        values = SUBSCRIPTION.read(sent.get("subscription", "").encode())
        values["language"] = self._site.language(request).catalogue
        given, fault = subscription_of(self._services, values)
        await self._services.tokens.write(subscribing.subscribe, session_token(request) or "", given, fault)
        return Response(status_code=204)

    @for_users
    async def unsubscribe(self, request: Request) -> Response:
        """POST /mine/notices/browsers/end: send a browser no more messages. Raises UnknownSubscription."""
        number = (await fields(request)).get("id", "")
        if not _NUMBER.fullmatch(number):
            raise UnknownSubscription
        await self._services.tokens.write(subscribing.unsubscribe, session_token(request) or "", int(number))
        return go_to(CHOICES)

    @property
    def _push(self) -> str | None:
        """The key of the house to subscribe with; None if no browser gets messages."""
        push = self._services.push
        return None if push is None else push.key().public

    def _stop_page(self, request: Request, *, damaged: bool, stopped: bool = False) -> Response:
        token = request.query_params.get("token", "")
        return self._site.page(
            request,
            "unsubscribe.html",
            None,
            {"damaged": damaged, "stopped": stopped, "token": token},
            viewer_known=False,
            refused=NotFound() if damaged else None,
            headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
        )

    async def _page(
        self,
        request: Request,
        *,
        sent: dict[str, str] | None = None,
        saved: bool = False,
        refused: Refusal | None = None,
    ) -> Response:
        viewer, own = await self._site.read(request, _own)
        if viewer is None or own is None:
            return self._site.to_log_in(request)
        found, browsers = own
        language = self._site.language(request)
        spoken = None if found.address is None else found.address.language
        context: dict[str, Any] = {
            "address": found.address,
            "faults": self._site.words.field_faults(language, refused),
            "fields": _fields(found, self._services.zone) if sent is None else sent,
            "kinds": [(kind, language.gettext(title)) for kind, title in TITLES.items()],
            "mails": self._services.mails,
            "must_be_mailed": MUST_BE_MAILED,
            "own_language": spoken or language.catalogue,
            "saved": saved,
            "push": self._push,
            "browsers": browsers,
            "wanted": found.choices.by(MAIL),
            "wanted_here": found.choices.by(PUSH),
            "zones": _ZONES,
        }
        return self._site.page(request, "notices.html", viewer, context, refused=refused)


def _own(tx: Transaction, token: str | None) -> tuple[Chosen, list[tuple[NumberedSubscription, bool]]] | None:
    return None if token is None else (choosing.chosen(tx, token), subscribing.subscriptions(tx, token))


def _fields(found: Chosen, zone: str) -> dict[str, str]:
    quiet = found.choices.quiet
    if quiet is None:
        return {"begins": "", "ends": "", "zone": zone}
    return {
        "begins": quiet.begins.isoformat("minutes"),
        "ends": quiet.ends.isoformat("minutes"),
        "zone": quiet.zone,
    }


def _quiet(sent: dict[str, str], zone: str, faults: dict[str, list[Fault]]) -> QuietHours | None:
    """Return the quiet hours that were sent, None if both fields are empty; add what is wrong to `faults`."""
    if not sent.get("begins") and not sent.get("ends"):
        return None
    begins, ends = parse_time(sent.get("begins", "")), parse_time(sent.get("ends", ""))
    where = parse_zone(sent.get("zone") or zone)
    for name, value in (("begins", begins), ("ends", ends), ("zone", where)):
        if isinstance(value, Fault):
            faults[name] = [value]
    if isinstance(begins, Fault) or isinstance(ends, Fault) or isinstance(where, Fault):
        return None
    if begins == ends:
        faults["ends"] = [NO_HOURS]
        return None
    return QuietHours(begins, ends, where)
