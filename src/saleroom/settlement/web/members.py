"""Members in the back office: staff list them, and mark buyers by their paddle or username, and consignors."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.http.responses import LIMIT_DEFAULT
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.kernel.identifiers import GID
from saleroom.sales.domain.consignors import parse_code
from saleroom.sales.domain.errors import UnknownConsignor, UnknownParticipant, UnknownSale
from saleroom.settlement.api.desk import BUYER
from saleroom.settlement.api.members import MEMBERS as PAGES
from saleroom.settlement.domain.reminders.reminding import Calendar
from saleroom.settlement.service import members
from saleroom.settlement.service.members import Whom
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import Sent
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

YEAR_MAX = 8998
"""The last year of which the store keeps the day after each day."""
MEMBERS = Section("/admin/members", N_("Member rates"), Right.ADMIT_BIDDERS)


class MemberPages:
    """The page of members, and its form."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/members: those who are members now, and the forms to mark somebody."""
        return await self._page(request)

    @for_users
    async def mark(self, request: Request) -> Response:
        """POST /admin/members: mark a buyer of a sale, a user or a consignor as a member, or as none."""
        sent = await fields(request)
        member = sent.get("do") != "end"
        try:
            whom = _whom(sent)
            until = _until(sent.get("lastDay", "").strip(), self._services.letterhead.calendar) if member else None
            token = session_token(request) or ""
            await self._services.tokens.write(members.mark, token, whom, until, member=member)
        except MissingRight:
            raise
        except Declined as refused:
            return await self._page(request, refused, sent)
        return go_to(f"{MEMBERS.path}?done={'marked' if member else 'ended'}")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        before = self._services.cursors.place_in(request.query_params, PAGES)
        viewer, (found, sales) = await self._site.read(request, members.overview, LIMIT_DEFAULT, before)
        language, words = self._site.language(request), self._site.words
        fields_shown = ("consignor" if "consignor" in (sent or {}) else "who", "lastDay", "until")
        context: dict[str, Any] = {
            "found": found.rows,
            "sales": sales,
            "next": self._services.cursors.next_page(PAGES, found.next),
            "sent": sent or {},
            "zone": self._services.letterhead.calendar.zone,
            "done": None if refused else request.query_params.get("done"),
            "may_rate": viewer is not None and Right.SET_RATES.value in viewer.rights,
            "faults": words.field_faults(language, refused, _AT),
            "message": words.above(language, refused, fields_shown, _AT),
        }
        return self._site.page(request, "members.html", viewer, context, refused=refused, headers=_UNSEEN)


_UNSEEN = {"Cache-Control": "no-store"}
_AT: dict[type[Refusal], str] = {UnknownConsignor: "consignor", UnknownParticipant: "who", UnknownUser: "who"}
"""The field at which a refusal is said."""


def _whom(sent: Sent) -> Whom:
    """Return whom a form names. Raises UnknownConsignor, UnknownSale or UnknownParticipant."""
    if "consignor" in sent:
        code = parse_code(sent["consignor"].strip())
        if isinstance(code, Fault):
            raise UnknownConsignor
        return Whom(consignor=code)
    who, sale = sent.get("who", "").strip().removeprefix("#"), sent.get("sale", "")
    if BUYER.pattern.fullmatch(who) is None:
        raise UnknownParticipant
    if not sale:
        return Whom(username=who)
    if GID.fullmatch(sale) is None:
        raise UnknownSale
    return Whom(username=who, sale=sale)


def _until(text: str, calendar: Calendar) -> datetime | None:
    """Return the end of a membership whose last day is given, a day of the house, None for no end. Raises Invalid."""
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.max
    if found.year > YEAR_MAX:
        raise Invalid.one("lastDay", "day", "must be a day, such as 2026-12-31")
    return calendar.end_of(found)
