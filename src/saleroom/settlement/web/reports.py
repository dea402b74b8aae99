"""Reports in the back office: how a sale went, and the tax of some days, on the page and as files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.errors import UnknownSale
from saleroom.settlement.api import reports as files
from saleroom.settlement.api.documents import parse_day
from saleroom.settlement.domain.reports.report_sheets import Sheet
from saleroom.settlement.domain.reports.reporting import Side, State, TaxPlace
from saleroom.settlement.service import desk, reporting
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import page_gid
from saleroom.settlement.web.words import BOOKS, SCHEMES
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, for_users

TAXES = Section("/admin/taxes", N_("Tax"), Right.SETTLE)
STATES: Mapping[State, str] = {
    State.SOLD: N_("sold"),
    State.UNSOLD: N_("not sold"),
    State.WITHDRAWN: N_("withdrawn"),
    State.OPEN: N_("open"),
}
SIDES: Mapping[Side, str] = {Side.BUYER: N_("buyers"), Side.CONSIGNOR: N_("consignors")}
PLACES: Mapping[TaxPlace, str] = {
    TaxPlace.ON_TOP: N_("on top"),
    TaxPlace.INSIDE: N_("inside, by the margin"),
    TaxPlace.NOWHERE: N_("none"),
}
_FILE = re.compile(rf"(?:report\.xlsx|(?:{'|'.join(Sheet)})\.csv)")
_TAX_FILE = re.compile(r"tax\.(csv|xlsx)")
_UNSEEN = {"Cache-Control": "no-store"}


class ReportPages:
    """The pages of reports, and their files."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def sale(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/report: how a sale went."""
        gid = page_gid(request, UnknownSale)
        viewer, _ = await self._site.read(request, desk.sales_to_settle)
        token = session_token(request) or ""
        found = await self._services.tokens.write(reporting.of_sale, token, gid, self._services.places)
        context = {"gid": gid, "found": found, **self._words(request)}
        return self._site.page(request, "sale_report.html", viewer, context, headers=_UNSEEN)

    @for_users
    async def sale_file(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/report/{file}: a sheet as CSV, or all of them as XLSX."""
        name, token = str(request.path_params["file"]), session_token(request) or ""
        await self._site.read(request, desk.sales_to_settle)
        if _FILE.fullmatch(name) is None:
            raise UnknownSale
        sheet = None if name.endswith(files.XLSX) else Sheet(name.partition(".")[0])
        return await files.sale_file(
            self._services, token, page_gid(request, UnknownSale), sheet, self._language(request)
        )

    @for_users
    async def taxes(self, request: Request) -> Response:
        """GET /admin/taxes?firstDay=&lastDay=: the tax of some days, those of the last month without any."""
        refused, found = None, None
        viewer, _ = await self._site.read(request, desk.sales_to_settle)
        try:
            found = await files.tax_report(self._services, session_token(request) or "", *_days(request))
        except Invalid as invalid:
            refused = invalid
        asked = request.query_params
        context = {
            "found": found,
            "first": found.first_day.isoformat() if found else asked.get("firstDay", ""),
            "last": found.last_day.isoformat() if found else asked.get("lastDay", ""),
            "faults": self._site.words.field_faults(self._site.language(request), refused),
            **self._words(request),
        }
        return self._site.page(request, "taxes.html", viewer, context, refused=refused, headers=_UNSEEN)

    @for_users
    async def tax_file(self, request: Request) -> Response:
        """GET /admin/taxes/{file}?firstDay=&lastDay=: the tax of some days as CSV or XLSX."""
        match, token = _TAX_FILE.fullmatch(str(request.path_params["file"])), session_token(request) or ""
        await self._site.read(request, desk.sales_to_settle)
        if match is None:
            raise UnknownSale
        return await files.tax_file(self._services, token, *_days(request), match[1], self._language(request))

    def _language(self, request: Request) -> str:
        return "de" if self._site.language(request).tag == "de" else "en"

    def _words(self, request: Request) -> dict[str, Mapping[str, str]]:
        """Return the words of the pages for what the reports name."""
        say = self._site.language(request).gettext
        tables: dict[str, Mapping[str, str]] = {
            "books": {one.value: say(said) for one, said in BOOKS.items()},
            "schemes": {one.value: say(said) for one, said in SCHEMES.items()},
            "states": {one.value: say(said) for one, said in STATES.items()},
            "sides": {one.value: say(said) for one, said in SIDES.items()},
            "tax_places": {one.value: say(said) for one, said in PLACES.items()},
        }
        return tables


def _days(request: Request) -> tuple[date | None, date | None]:
    """Return the days that are asked for. Raises Invalid."""
    texts = {name: request.query_params.get(name, "") for name in ("firstDay", "lastDay")}
    found = {name: parse_day(text) if text else None for name, text in texts.items()}
    faults = {name: [one] for name, one in found.items() if isinstance(one, Fault)}
    if faults:
        raise Invalid(faults)
    first, last = (one for one in found.values() if not isinstance(one, Fault))
    return first, last
