"""Catalogues as files: import a sheet and photos, with a dry run and with progress; export the catalogue and the results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from saleroom.accounts.domain.rights import Right
from saleroom.bidding.api.uploads import while_connected
from saleroom.bidding.domain.errors import PhotosUnavailable
from saleroom.http.endpoints import Access, Call, Endpoint, Handler, Upload
from saleroom.http.forms import Field, boolean, one_of
from saleroom.http.multipart import FORM_WITH_FILES, multipart
from saleroom.http.problems import body_of
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, Fault, Invalid, Refusal
from saleroom.sales.api.fields import SALE
from saleroom.sales.domain.errors import SaleOver, StandsStill, TooManyLots, UnknownSale
from saleroom.sales.domain.exporting import LANGUAGES
from saleroom.sales.domain.importing import CellFault, Effect, RowPlan
from saleroom.sales.domain.paper import BUYERS_NEED
from saleroom.sales.domain.photo_files import PhotoEffect
from saleroom.sales.service.files import exporting, sheets
from saleroom.sales.service.files.archives import BYTES_MAX as ARCHIVE_BYTES_MAX
from saleroom.sales.service.files.archives import PHOTOS
from saleroom.sales.service.files.importer import Tell, tell_nobody
from saleroom.sales.service.files.importing import Report
from saleroom.sales.service.files.sheet_writing import CSV_TYPE, XLSX_TYPE, as_csv, as_xlsx
from saleroom.sales.services import SaleServices

BYTES_MAX = sheets.BYTES_MAX + ARCHIVE_BYTES_MAX + 64 * 1024
NDJSON = "application/x-ndjson"
T = TypeVar("T")
_READ = {"catalogue": exporting.catalogue, "results": exporting.results, "pledges": exporting.given}
_PHOTOS_SHOWN = (PhotoEffect.NEW, PhotoEffect.REPLACED)


class CellChangeView(Struct, frozen=True):
    """A value that a row changes, from what to what; null is nothing."""

    column: str
    was: str | None
    now: str | None


class CellFaultView(Struct, frozen=True):
    """A fault of a row. `heading` is that of the file; `column` is null if no column is meant."""

    column: str | None
    heading: str
    code: str
    message: str


class RowView(Struct, frozen=True):
    """A row of the file, by its number there, with its effect: `new`, `changed` or `fault`."""

    row: int
    lot: str
    effect: str
    changes: list[CellChangeView]
    faults: list[CellFaultView]


class LotPhotosView(Struct, frozen=True, rename="camel"):
    """The numbers of the photos of a lot that are new, and that take the place of others."""

    lot: str
    new_numbers: list[int]
    replaced_numbers: list[int]


class FileFaultView(Struct, frozen=True):
    """A photo of the archive, by its path, that cannot be placed."""

    path: str
    code: str
    message: str


class ImportView(Struct, frozen=True, rename="camel"):
    """What an import did, or with `dryRun` would do. `rows` and `lotPhotos` are those that are not unchanged.

    `ignored` are headings of the file that say nothing here.
    """

    dry_run: bool
    new: int
    changed: int
    unchanged: int
    faulty: int
    photos_new: int
    photos_replaced: int
    photos_unchanged: int
    ignored: list[str]
    rows: list[RowView]
    lot_photos: list[LotPhotosView]
    photo_faults: list[FileFaultView]


async def import_catalogue(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/import."""
    dry_run = call.query.get("dry_run", False)
    report = await imported(call.services, call.request, call.token, call.identifier, dry_run=dry_run)
    return json_response(view(report, dry_run=dry_run))


async def import_with_progress(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/import.ndjson. Refusals that come before the first photo is made are answered as such."""

    def work(tell: Tell) -> Coroutine[Any, Any, Report]:
        return imported(call.services, call.request, call.token, call.identifier, tell=tell)

    async def last(done: Awaitable[Report]) -> object:
        try:
            return view(await done, dry_run=False)
        except Refusal as refused:
            return body_of(refused)

    return await in_lines(work, last)


async def in_lines(
    work: Callable[[Tell], Coroutine[Any, Any, T]], last: Callable[[Awaitable[T]], Awaitable[object]]
) -> Response:
    """Return an answer of lines: how many photos are made, after each, and then what `last` makes of the result of `work`.

    The answer begins after `work` has read the form: a streaming answer looks out for the end of the connection, and would take
    pieces of a form that still comes. Raises what `work` raises before the first photo is made.
    """
    told: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()

    def tell(done: int, total: int) -> None:
        told.put_nowait((done, total))

    task = asyncio.create_task(work(tell))
    task.add_done_callback(lambda done: told.put_nowait(None))
    try:
        first = await told.get()
    except asyncio.CancelledError:
        task.cancel()
        raise
    if first is None:
        await task

    async def lines() -> AsyncIterator[bytes]:
        at = first
        try:
            while at is not None:
                yield _line({"photos": at[0], "of": at[1]})
                at = await told.get()
            yield _line(await last(task))
        finally:
            task.cancel()

    return StreamingResponse(lines(), media_type=NDJSON, headers={"Cache-Control": "no-store"})


async def imported(
    services: SaleServices, request: Request, token: str, gid: str, *, dry_run: bool = False, tell: Tell = tell_nobody
) -> Report:
    """Return what the import of the form of a request does, or would do.

    The sender is known before the form is read. Raises as `Importer`, BodyTooLarge, BodyTimeout or ClientDisconnect.
    """
    await services.importer.refuse(token, gid)
    with services.importer.turn():
        async with while_connected(request.scope):
            form = await multipart(request, BYTES_MAX)
            try:
                sheet, photos = await _sheet(form), _file(form, PHOTOS)
                archive = None if photos is None else photos.file
                if dry_run:
                    return await services.importer.look(token, gid, sheet, archive)
                return await services.importer.run(token, gid, sheet, archive, tell)
            finally:
                await form.close()


async def _sheet(form: FormData) -> bytes | None:
    file = _file(form, sheets.CATALOGUE)
    # One byte more than allowed is enough to refuse a file.
    return None if file is None else await file.read(sheets.BYTES_MAX + 1)


def _file(form: FormData, name: str) -> UploadFile | None:
    """Return a file of a form; a field in which none was chosen comes as a file without a name. Raises Invalid."""
    sent = [one for one in form.getlist(name) if isinstance(one, UploadFile) and (one.filename or one.size)]
    if len(sent) > 1:
        raise Invalid({name: [Fault("repeated", "must be given once")]})
    return sent[0] if sent else None


def view(report: Report, *, dry_run: bool) -> ImportView:
    """Return a report as JSON shows it."""
    return ImportView(
        dry_run=dry_run,
        new=report.count(Effect.NEW),
        changed=report.count(Effect.CHANGED),
        unchanged=report.count(Effect.UNCHANGED),
        faulty=report.count(Effect.FAULT),
        photos_new=report.count_photos(PhotoEffect.NEW),
        photos_replaced=report.count_photos(PhotoEffect.REPLACED),
        photos_unchanged=report.count_photos(PhotoEffect.UNCHANGED),
        ignored=list(report.ignored),
        rows=[_row(row) for row in report.rows if row.effect is not Effect.UNCHANGED],
        lot_photos=[
            LotPhotosView(
                plan.label, *([n for n, one in plan.effects.items() if one is kind] for kind in _PHOTOS_SHOWN)
            )
            for plan in report.photos
            if plan.changes
        ],
        photo_faults=[FileFaultView(path, one.code, one.message) for path, one in report.photo_faults.items()],
    )


def _row(row: RowPlan) -> RowView:
    changes = [CellChangeView(one.column, _text(one.was), _text(one.now)) for one in row.changes]
    return RowView(row.row, row.label, row.effect, changes, [_fault(one) for one in row.faults])


def _fault(one: CellFault) -> CellFaultView:
    return CellFaultView(one.column, one.heading, one.fault.code, one.fault.message)


def _text(value: object) -> str | None:
    if isinstance(value, tuple):
        return " / ".join(str(one) for one in value)
    return None if value is None else str(value)


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


async def exported(services: SaleServices, token: str | None, gid: str, which: str, language: str) -> Response:
    """Return a sheet as a download; `which` is such as `catalogue.csv`. Raises as `exporting.catalogue`."""
    name, _, kind = which.partition(".")
    rows = await services.database.read(_READ[name], token, gid, language)
    write, media_type = (as_csv, CSV_TYPE) if kind == "csv" else (as_xlsx, XLSX_TYPE)
    data = await asyncio.to_thread(write, rows, language)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{which}"'}
    return Response(data, media_type=media_type, headers=headers)


def _export(which: str) -> Handler[SaleServices]:
    async def handler(call: Call[SaleServices]) -> Response:
        language = call.query.get("language", LANGUAGES[0])
        return await exported(call.services, call.token, call.identifier, which, language)

    return handler


_LANGUAGE = Field(
    name="language",
    to="language",
    parse=one_of(LANGUAGES),
    schema={"enum": list(LANGUAGES), "default": LANGUAGES[0]},
    about="The language of the headings; a German CSV has semicolons and decimal commas.",
)
_FILES = Upload(
    (FORM_WITH_FILES,),
    "A form with a sheet, an archive of photos, or both.",
    {
        sheets.CATALOGUE: "CSV or XLSX with headings in English or German (docs/sales.md).",
        PHOTOS: "A ZIP of photos that are named by lot and number, such as `12A-2.jpg`.",
    },
)
_REFUSALS = (Invalid, UnknownSale, SaleOver, StandsStill, TooManyLots, Busy, PhotosUnavailable)


def _download(
    which: str, name: str, summary: str, about: str, needed: Right = Right.CATALOGUE
) -> Endpoint[SaleServices]:
    return Endpoint(
        method="GET",
        path=f"/sales/{{gid}}/{which}",
        name=name,
        summary=summary,
        handler=_export(which),
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        query=(_LANGUAGE,),
        file="text/csv" if which.endswith("csv") else XLSX_TYPE,
        errors=(UnknownSale,),
        about=f"Needs the right `{needed}`. {about}",
    )


_SAME, _PRICES = "An import of it changes nothing.", "A lot has a price and a winner once it is sold."
_GIVERS = "It tells who has given what on each fund-a-need."
ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="POST",
        path="/sales/{gid}/import",
        name="importCatalogue",
        summary="Import lots and their photos into a sale, or see what that would change",
        handler=import_catalogue,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        upload=_FILES,
        query=(
            Field(
                name="dry_run",
                to="dry_run",
                parse=lambda raw: boolean(raw.strip(b'"')),
                schema={"type": "boolean", "default": False},
                about="Change nothing, and answer what the import would do, with the faults of all rows.",
            ),
        ),
        answer=ImportView,
        errors=_REFUSALS,
        about="Needs the right `catalogue`. Rows find their lots by label; a missing column changes nothing, an empty cell "
        "empties. With a fault, nothing is imported.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/import.ndjson",
        name="importWithProgress",
        summary="Import lots and their photos into a sale, and hear how far it is",
        handler=import_with_progress,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        upload=_FILES,
        lines=True,
        errors=_REFUSALS,
        about="Needs the right `catalogue`. Lines of JSON: `photos` of how many are made, and at last the answer of "
        "`POST /sales/{gid}/import`, or the error that ended it.",
    ),
    _download("catalogue.csv", "exportCatalogueCsv", "Export the catalogue of a sale as CSV", _SAME),
    _download("catalogue.xlsx", "exportCatalogueXlsx", "Export the catalogue of a sale as XLSX", _SAME),
    _download("results.csv", "exportResultsCsv", "Export the results of a sale as CSV", _PRICES),
    _download("results.xlsx", "exportResultsXlsx", "Export the results of a sale as XLSX", _PRICES),
    _download("pledges.csv", "exportPledgesCsv", "Export the pledges of a sale as CSV", _GIVERS, BUYERS_NEED),
    _download("pledges.xlsx", "exportPledgesXlsx", "Export the pledges of a sale as XLSX", _GIVERS, BUYERS_NEED),
)
