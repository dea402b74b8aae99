"""The private link to the calendar and the feed of a reader's watch list: made and ended on a page, read by programs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.api.calendars import addresses
from saleroom.bidding.service import calendars
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.feeds import atom, dates
from saleroom.http.requests import session_token
from saleroom.site.calendars import answer
from saleroom.site.language import N_
from saleroom.site.site import Site, for_users, go_to

BACK = "/mine/watching"
_TITLE = N_("Watch list")
_HEADERS = {"Cache-Control": "private, no-cache", "X-Robots-Tag": "noindex"}


class CalendarPages:
    """The calendar of a watch list."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /mine/watching/calendar: make a link, and show it, once."""
        link = await self._services.tokens.write(calendars.renew, session_token(request) or "")
        viewer, _ = await self._site.read(request, lambda tx, token: None)
        origin, made = self._site.origin(request), addresses(link)
        context = {"calendar": f"{origin}{made.calendar}", "feed": f"{origin}{made.feed}"}
        return self._site.page(request, "calendar_link.html", viewer, context, headers={"Cache-Control": "no-store"})

    @for_users
    async def end(self, request: Request) -> Response:
        """POST /mine/watching/calendar/end: end the link."""
        await self._services.tokens.write(calendars.end, session_token(request) or "")
        return go_to(BACK)

    async def dates(self, request: Request) -> Response:
        """GET /watchlist/{link}.ics: when watched lots open and end. Raises UnknownCalendar."""
        found = await self._services.database.read(calendars.watched, request.path_params["link"])
        language = self._site.language(request)
        name = f"{self._site.profile.name}: {language.gettext(_TITLE)}"
        body = await dates(found, language, self._site.origin(request), name)
        return answer(request, language, body, "text/calendar", _HEADERS)

    async def atom(self, request: Request) -> Response:
        """GET /watchlist/{link}.atom: the watched lots. Raises UnknownCalendar."""
        found = await self._services.database.read(calendars.watched, request.path_params["link"])
        language, origin = self._site.language(request), self._site.origin(request)
        here = f"{origin}{request.url.path}"
        body = atom(found, language, origin, here, language.gettext(_TITLE))
        return answer(request, language, body, "application/atom+xml", _HEADERS)
