"""The import of a catalogue in the back office: files are sent, what they would change is shown, then they are imported."""

from __future__ import annotations

import re
from collections.abc import Awaitable

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.problems import faults_of
from saleroom.http.requests import HEADERS, session_token
from saleroom.kernel.errors import Declined, Invalid, Refusal
from saleroom.sales.api.importing import NDJSON, exported, imported, in_lines
from saleroom.sales.domain.columns import HEADINGS, Column
from saleroom.sales.domain.importing import Effect, RowPlan, Value
from saleroom.sales.domain.photo_files import PhotoEffect
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.files.importer import Tell, tell_nobody
from saleroom.sales.service.files.importing import Report, sale_to_read
from saleroom.sales.services import SaleServices
from saleroom.site.language import N_, Language
from saleroom.site.site import Site, for_users
from saleroom.storage.database import Transaction

IMPORT = "/admin/sales/{gid}/import"
EXPORT = "/admin/sales/{gid}/export"
ROWS_SHOWN_MAX = 500
TEXT_SHOWN_MAX = 80
_FILES = {"catalogue": N_("Sheet (CSV or XLSX)"), "photos": N_("Photos (ZIP)")}
"""The labels of the fields with files."""
_NOT_DONE = N_("Nothing was imported. Correct these faults and send the files again.")
_ORDER = (Effect.FAULT, Effect.CHANGED, Effect.NEW, Effect.UNCHANGED)
_ROW = re.compile(r"row ([0-9]+), (.*)")
DOWNLOADS = ("catalogue.csv", "catalogue.xlsx", "results.csv", "results.xlsx", "pledges.csv", "pledges.xlsx")


class ShownRow(Struct, frozen=True):
    """A row as the page shows it: its faults, or what it changes from what to what, by heading. A new lot has a name."""

    row: int
    label: str
    effect: Effect
    faults: list[tuple[str, str]]
    changes: list[tuple[str, str, str]]
    name: str


class ImportPages:
    """The page of imports into one sale."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/import: the form."""
        return await self._page(request)

    async def send(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/import: check the files, or with `do=import` import them.

        The script of the page asks for lines: how many photos are made, and at last the page.
        """
        if NDJSON in request.headers.get("accept", ""):
            whole = _uncompressed(request)
            return await in_lines(lambda tell: self._outcome(whole, tell), _last)
        return await self._outcome(request)

    @for_users
    async def download(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/export: the sheet in the language of the reader."""
        asked, language = request.query_params.get("sheet"), self._site.language(request).tag
        which = asked if asked in DOWNLOADS else DOWNLOADS[0]
        token, gid = session_token(request), request.path_params["gid"]
        return await exported(self._services, token, gid, which, "de" if language == "de" else "en")

    @for_users
    async def _outcome(self, request: Request, tell: Tell = tell_nobody) -> Response:
        gid, does = request.path_params["gid"], request.query_params.get("do") == "import"
        token = session_token(request) or ""
        try:
            report = await imported(self._services, request, token, gid, dry_run=not does, tell=tell)
        except Declined as refused:
            return await self._page(request, refused=refused)
        return await self._page(request, report=report, is_done=does)

    @for_users
    async def _page(
        self, request: Request, report: Report | None = None, *, is_done: bool = False, refused: Refusal | None = None
    ) -> Response:
        viewer, sale = await self._site.read(request, _sale, request.path_params["gid"])
        language = self._site.language(request)
        rows = [] if report is None else sorted(report.rows, key=lambda row: _ORDER.index(row.effect))
        shown = [self._shown(language, row) for row in rows if row.effect is not Effect.UNCHANGED]
        context = {
            "sale": sale,
            "report": report,
            "is_done": is_done,
            "rows": shown[:ROWS_SHOWN_MAX],
            "more": max(0, len(shown) - ROWS_SHOWN_MAX),
            "counts": {} if report is None else {effect.value: report.count(effect) for effect in Effect},
            "photos": {} if report is None else {one.value: report.count_photos(one) for one in PhotoEffect},
            "lacks_consignors": report is not None
            and any(one.fault.code == "unknown_consignor" for row in report.rows for one in row.faults),
            "photo_faults": [] if report is None else self._photo_faults(language, report),
            "faults": self._faults(language, refused),
            "message": language.gettext(_NOT_DONE)
            if isinstance(refused, Invalid)
            else self._site.words.message(language, refused),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "import_catalogue.html", viewer, context, refused=refused, headers=headers)

    def _shown(self, language: Language, row: RowPlan) -> ShownRow:
        faults = [(one.heading, self._site.words.fault(language, one.fault)) for one in row.faults]
        tag = "de" if language.tag == "de" else "en"
        changes = [(HEADINGS[one.column][tag][0], _text(one.was), _text(one.now)) for one in row.changes]
        name = _text(row.values.get(Column.TITLE)) if row.is_new else ""
        return ShownRow(row.row, row.label, row.effect, faults, [] if faults else changes, name)

    def _photo_faults(self, language: Language, report: Report) -> list[tuple[str, str]]:
        return [(path, self._site.words.fault(language, one)) for path, one in report.photo_faults.items()]

    def _faults(self, language: Language, refused: Refusal | None) -> list[tuple[str, str, str]]:
        """Return the faults of a refused import: the row or nothing, the heading, file or path or nothing, and the sentence."""
        labels = {"body": "", **{field: language.gettext(words) for field, words in _FILES.items()}}
        found: dict[tuple[str, str, str], None] = {}
        for where, faults in faults_of(refused).items() if isinstance(refused, Invalid) else ():
            row = _ROW.fullmatch(where)
            place = (row[1], row[2]) if row else ("", labels.get(where, where))
            found |= {(*place, self._site.words.fault(language, one)): None for one in faults}
        return list(found)


async def _last(answer: Awaitable[Response]) -> object:
    """Return the last line for the script of the page: where to go, or the page."""
    made = await answer
    where = made.headers.get("location")
    return {"location": where} if where else {"html": bytes(made.body).decode()}


def _uncompressed(request: Request) -> Request:
    """Return the request as one that takes no compressed page: the page goes into a line."""
    kept = [(name, value) for name, value in request.scope["headers"] if name != b"accept-encoding"]
    scope = {name: value for name, value in request.scope.items() if name != HEADERS}
    return Request({**scope, "headers": kept}, request.receive)


def _sale(tx: Transaction, token: str | None, gid: str) -> Sale:
    return sale_to_read(tx, token, gid)


def _text(value: Value) -> str:
    values = value if isinstance(value, tuple) else (value,)
    text = " / ".join(str(one) for one in values if one is not None)
    return text if len(text) <= TEXT_SHOWN_MAX else f"{text[: TEXT_SHOWN_MAX - 1]}…"
