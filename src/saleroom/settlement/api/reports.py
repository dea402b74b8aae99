"""Reports: of a sale, as JSON, CSV and XLSX; and the tax of some days over all sales."""

from __future__ import annotations

import asyncio
from datetime import date
from functools import partial
from typing import Any

from msgspec import structs
from starlette.responses import Response

from saleroom.http.endpoints import Access, Call, Endpoint, Handler
from saleroom.http.forms import Field, checked, one_of
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import SALE
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.service.files.sheet_writing import CSV_TYPE, XLSX_TYPE, as_csv, as_workbook, as_xlsx
from saleroom.settlement.api.desk import LANGUAGE
from saleroom.settlement.api.documents import parse_day
from saleroom.settlement.domain.reports.report_sheets import Sheet, rows_of, rows_of_taxes, workbook
from saleroom.settlement.domain.reports.report_views import ReportView, TaxReportView
from saleroom.settlement.service import reporting
from saleroom.settlement.services import SettlementServices

CSV, XLSX = "csv", "xlsx"
_SHEET = Field(
    name="sheet",
    to="sheet",
    parse=one_of(tuple(Sheet)),
    schema={"enum": list(Sheet), "default": Sheet.LOTS.value},
    about="Which sheet of the report.",
)
_DAY = Field(
    name="firstDay",
    to="first_day",
    parse=checked(parse_day),
    schema={"type": "string", "format": "date"},
    about="The first day (in UTC); without it that of the last month.",
)
DAYS = (
    _DAY,
    structs.replace(
        _DAY, name="lastDay", to="last_day", about="The last day (in UTC); without it that of the last month."
    ),
)
_RIGHT = "Needs the right `settle`."
_OF_DAYS = (
    f"{_RIGHT} A lot counts on the day of the hammer, a correction on the day on which it was made, so that the report of days "
    "that are over stays as it was once their sales were settled."
)


async def sale(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/report."""
    return json_response(await _report(call.services, call.token, call.identifier))


async def sale_csv(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/report.csv."""
    sheet, language = Sheet(call.query.get("sheet", Sheet.LOTS)), call.query.get("language", "en")
    return await sale_file(call.services, call.token, call.identifier, sheet, language)


async def sale_xlsx(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/report.xlsx."""
    return await sale_file(call.services, call.token, call.identifier, None, call.query.get("language", "en"))


async def sale_file(services: SettlementServices, token: str, gid: str, sheet: Sheet | None, language: str) -> Response:
    """Return a sheet of the report of a sale as CSV, all of them as XLSX without one. Raises as `reporting.of_sale`."""
    report = await _report(services, token, gid)
    if sheet is None:
        data = await asyncio.to_thread(as_workbook, workbook(report, language), language)
        return download("report.xlsx", data)
    return download(f"{sheet}.csv", await asyncio.to_thread(as_csv, rows_of(report, sheet, language), language))


async def taxes(call: Call[SettlementServices]) -> Response:
    """GET /tax-report."""
    return json_response(
        await tax_report(call.services, call.token, call.query.get("first_day"), call.query.get("last_day"))
    )


async def tax_report(services: SettlementServices, token: str, first: date | None, last: date | None) -> TaxReportView:
    """Return the tax of some days. Raises as `reporting.of_days`."""
    return await services.database.read(reporting.of_days, token, first, last)


async def tax_file(
    services: SettlementServices, token: str, first: date | None, last: date | None, kind: str, language: str
) -> Response:
    """Return the tax of some days as CSV or XLSX. Raises as `reporting.of_days`."""
    rows = rows_of_taxes(await tax_report(services, token, first, last), language)
    return download(f"tax.{kind}", await asyncio.to_thread(as_csv if kind == CSV else as_xlsx, rows, language))


def download(name: str, data: bytes) -> Response:
    """Return a sheet as a file that browsers save."""
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=XLSX_TYPE if name.endswith(XLSX) else CSV_TYPE, headers=headers)


async def _report(services: SettlementServices, token: str, gid: str) -> ReportView:
    return await services.tokens.write(reporting.of_sale, token, gid, services.places)


def _tax_file(kind: str) -> Handler[SettlementServices]:
    async def handler(call: Call[SettlementServices]) -> Response:
        days = call.query.get("first_day"), call.query.get("last_day")
        return await tax_file(call.services, call.token, *days, kind, call.query.get("language", "en"))

    return handler


_one = partial(Endpoint[SettlementServices], method="GET", tag="settlement", access=Access.TOKEN)
_of_sale: Any = partial(_one, identifier=SALE, errors=(UnknownSale,), about=_RIGHT)
_of_days: Any = partial(_one, about=_OF_DAYS)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _of_sale(
        path="/sales/{gid}/report",
        name="reportOfSale",
        summary="Show the report of a sale",
        handler=sale,
        answer=ReportView,
    ),
    _of_sale(
        path="/sales/{gid}/report.csv",
        name="exportReportCsv",
        summary="Export a sheet of the report as CSV",
        handler=sale_csv,
        query=(_SHEET, LANGUAGE),
        file="text/csv",
    ),
    _of_sale(
        path="/sales/{gid}/report.xlsx",
        name="exportReportXlsx",
        summary="Export all sheets of the report as XLSX",
        handler=sale_xlsx,
        query=(LANGUAGE,),
        file=XLSX_TYPE,
    ),
    _of_days(
        path="/tax-report",
        name="taxReport",
        summary="Show the tax of some days over all sales",
        handler=taxes,
        query=DAYS,
        answer=TaxReportView,
    ),
    _of_days(
        path="/tax-report.csv",
        name="exportTaxesCsv",
        summary="Export the tax of some days as CSV",
        handler=_tax_file(CSV),
        query=(*DAYS, LANGUAGE),
        file="text/csv",
    ),
    _of_days(
        path="/tax-report.xlsx",
        name="exportTaxesXlsx",
        summary="Export the tax of some days as XLSX",
        handler=_tax_file(XLSX),
        query=(*DAYS, LANGUAGE),
        file=XLSX_TYPE,
    ),
)
