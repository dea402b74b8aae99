"""When sales are, as calendars (RFC 5545): those of the house, and one sale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response

from saleroom.sales.domain.sale import Kind, SaleStatus
from saleroom.sales.service import dates
from saleroom.sales.service.dates import SaleRevision
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import CATALOGUES, sale_gid
from saleroom.site.calendars import Date, answer, calendar
from saleroom.site.language import N_, Language
from saleroom.site.site import Site

_OPENS, _FIRST_END = N_("%(sale)s: bidding opens"), N_("%(sale)s: the first lot ends")


class SaleDates:
    """The calendars of sales."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /catalogues.ics: when the sales of the house are."""
        return await self._calendar(request, await self._services.database.read(dates.of_house))

    async def one(self, request: Request) -> Response:
        """GET /catalogues/{gid}/dates.ics: when one sale is. Raises UnknownSale."""
        found = await self._services.database.read(dates.of_sale, sale_gid(request))
        return await self._calendar(request, found)

    async def _calendar(self, request: Request, found: Sequence[SaleRevision]) -> Response:
        language, origin = self._site.language(request), self._site.origin(request)
        shown = [date for one in found for date in _dates(one, language, origin)]
        return answer(request, language, await calendar(self._site.profile.name, shown), "text/calendar")


def _dates(one: SaleRevision, language: Language, origin: str) -> Iterator[Date]:
    sale, terms = one.sale, one.sale.terms
    start = terms.title if terms.kind is Kind.LIVE else language.gettext(_FIRST_END, sale=terms.title)
    opening = language.gettext(_OPENS, sale=terms.title)
    for name, at, words in (("opening", terms.opens_at, opening), ("start", terms.starts_at, start)):
        if at is not None:
            yield Date(
                uid=f"{sale.gid}.{name}@saleroom",
                at=at,
                summary=words,
                address=f"{origin}{CATALOGUES}/{sale.gid}",
                version=sale.version,
                updated=one.updated,
                cancelled=sale.status is SaleStatus.CANCELLED,
                place=terms.venue,
            )
