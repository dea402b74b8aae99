"""Overdue invoices in the back office: reminders and strikes, one or all that are due, and the forgiveness of strikes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, MissingRight, Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.settlement.api.reminders import FORGIVE
from saleroom.settlement.domain.errors import UnknownDocument
from saleroom.settlement.service.reminders import reminding
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import Sent, once_of, page_gid
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

OVERDUE = Section("/admin/overdue", N_("Overdue"), Right.SETTLE)


class ReminderPages:
    """The page of overdue invoices, and its forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/overdue: the invoices that are overdue, each with its next step."""
        return await self._page(request)

    async def remind_all(self, request: Request) -> Response:
        """POST /admin/overdue: do all steps whose day has come."""

        async def act(token: str, sent: Sent) -> bytes:
            key = once_of(sent, "/admin/overdue", "", {})
            given = (self._services.letterhead.calendar, self._services.places)
            return bytes(await self._services.tokens.write(reminding.remind_all, token, *given, key))

        return await self._act(request, act)

    async def remind(self, request: Request) -> Response:
        """POST /admin/overdue/{gid}: do the next step about an invoice."""
        gid = page_gid(request, UnknownDocument)

        async def act(token: str, sent: Sent) -> bytes:
            key = once_of(sent, "/admin/overdue/{gid}", gid, {})
            given = (gid, self._services.letterhead.calendar, self._services.places)
            return bytes(await self._services.tokens.write(reminding.remind, token, *given, key))

        return await self._act(request, act)

    async def forgive(self, request: Request) -> Response:
        """POST /admin/overdue/{gid}/forgiveness: forgive the strike for an invoice, with a reason."""
        gid = page_gid(request, UnknownDocument)

        async def act(token: str, sent: Sent) -> bytes:
            said = {"reason": sent.get("reason", "").strip()}
            reason = FORGIVE.read(msgspec.json.encode(said))["reason"]
            key: IdempotencyKey = once_of(sent, "/admin/overdue/{gid}/forgiveness", gid, said)
            write = self._services.tokens.write
            return bytes(await write(reminding.forgive, token, gid, reason, self._services.places, key))

        return await self._act(request, act, gid)

    @for_users
    async def _act(self, request: Request, act: Callable[[str, Sent], Awaitable[bytes]], of: str = "") -> Response:
        sent = await fields(request)
        try:
            body = await act(session_token(request) or "", sent)
        except (MissingRight, UnknownDocument):
            raise
        except Declined as refused:
            return await self._page(request, refused, of, sent)
        found = msgspec.json.decode(body)
        return go_to(f"{OVERDUE.path}?done={found['reminded']}-{found['struck']}-{found['banned']}")

    @for_users
    async def _page(
        self, request: Request, refused: Refusal | None = None, of: str = "", sent: Sent | None = None
    ) -> Response:
        viewer, found = await self._site.read(request, reminding.listed, self._services.letterhead.calendar)
        language, words = self._site.language(request), self._site.words
        is_shown = any(one.document == of and one.has_strike for one in found.overdue_invoices)
        done = None if refused else _DONE.fullmatch(request.query_params.get("done", ""))
        context: dict[str, Any] = {
            "found": found,
            "automatic": self._services.letterhead.calendar.automatic.value,
            "done": None if done is None else [int(part) for part in done.groups()],
            "may_strike": viewer is not None and Right.SANCTION_PEOPLE.value in viewer.rights,
            "of": of,
            "sent": sent or {},
            "faults": words.field_faults(language, refused),
            "message": words.above(language, refused, ("reason",) if is_shown else ()),
            "key": secrets.token_urlsafe(24),
        }
        return self._site.page(request, "overdue.html", viewer, context, refused=refused, headers=_UNSEEN)


_DONE = re.compile(r"([0-9]{1,6})-([0-9]{1,6})-([0-9]{1,6})")
_UNSEEN = {"Cache-Control": "no-store"}
