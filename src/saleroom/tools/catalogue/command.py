"""The commands: from their arguments to requests, and from answers to lines and exit codes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from saleroom.kernel.identifiers import GID
from saleroom.kernel.terminal import plain
from saleroom.tools.arguments import first_line, split
from saleroom.tools.console import ToolConsole
from saleroom.tools.errors import NoAnswer, ToolError, WrongUsage, not_a_house
from saleroom.tools.http_client import SMALL_BYTES_MAX, HttpClient, Response
from saleroom.tools.looking import Secret, known, no_house
from saleroom.tools.new_files import refuse_place
from saleroom.tools.progress import Progress

T = TypeVar("T")
TOKEN_VARIABLE = "HOUSE_TOKEN"
_NAME = "saleroom catalogue"
_FORM = "write https://host/sales/GID"
_SALE = re.compile(rf"(?P<base>.*?)/(?:(?:admin/)?sales|catalogues)/(?P<gid>{GID.pattern})(?:/[a-z]+)?/?")
SECONDS_MAX = 6 * 3600.0
"""How long an import may take: a photo takes half a second to make."""
SHEET_BYTES_MAX = 128 * 2**20
LINES_SHOWN_MAX = 200
_KINDS = ("csv", "xlsx")


class SaleAddress(Struct, frozen=True):
    """The address of a sale; `base` is that of its house."""

    base: str
    gid: str


def read_sale(url: str) -> SaleAddress:
    """Return the sale that an address names: of its page as a browser shows it, or of the API. Raises WrongUsage."""
    parts = split(url, _FORM)
    match = _SALE.fullmatch(parts.path)
    if match is None:
        raise WrongUsage(f"this is no address of a sale; {_FORM}")
    return SaleAddress(f"{parts.scheme}://{parts.netloc}{match['base']}", match["gid"])


def read_token(environ: Mapping[str, str], file: str | None) -> str | None:
    """Return the token from the file, otherwise from the environment. Raises WrongUsage."""
    token = (environ.get(TOKEN_VARIABLE) or None) if file is None else first_line(file, "token").strip()
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise WrongUsage("this cannot be a token: a token has only ASCII characters and no spaces")
    return token


def run_import(url: str, sheet: str | None, token: Secret, *, photos: str | None, dry_run: bool) -> int:
    """Import files, print what that did, and return the exit code: 1 if a dry run finds faults.

    Raises WrongUsage, ToolError.
    """
    sale = read_sale(url)
    if sheet is None and photos is None:
        raise WrongUsage("nothing to import: give a file with the catalogue, or --photos")
    with ExitStack() as stack:
        form = aiohttp.FormData()
        for name, path in (("catalogue", sheet), ("photos", photos)):
            if path is not None:
                form.add_field(name, stack.enter_context(_opened(path)), filename=Path(path).name)
        answer = _finish(sale, _import(sale, form, known(token, sale.base, _NAME), dry_run=dry_run))
    console = ToolConsole(soft_wrap=True, markup=False, highlight=False)
    for line in _said(answer, dry_run=dry_run):
        console.print(line)
    return 1 if answer["faulty"] or answer["photoFaults"] else 0


def run_export(url: str, file: str, token: Secret, *, language: str, results: bool, force: bool) -> str:
    """Save a catalogue or results as the kind of sheet that the name of the file says, and return a line that says so.

    Raises WrongUsage, ToolError, Refusal as `refuse_place`, or OSError.
    """
    sale = read_sale(url)
    kind = file.rpartition(".")[2].lower()
    if kind not in _KINDS:
        raise WrongUsage("the file must be named .csv or .xlsx")
    refuse_place(Path(file), force=force)
    which = f"{'results' if results else 'catalogue'}.{kind}"
    data = _finish(sale, _export(sale, which, known(token, sale.base, _NAME), language))
    with Path(file).open("wb" if force else "xb") as saved:
        saved.write(data)
    return f"Saved {file}: {len(data):,} bytes"


def _finish(sale: SaleAddress, work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except NoAnswer as error:
        raise no_house(sale.base, error) from None


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise WrongUsage(f"cannot read {path}: {error.strerror}") from None


async def _import(sale: SaleAddress, form: aiohttp.FormData, token: str, *, dry_run: bool) -> dict[str, Any]:
    path = "import?dry_run=true" if dry_run else "import.ndjson"
    with Progress() as progress:
        progress.report("Sending the files", now=True)
        async with (
            HttpClient(sale.base, _NAME, total_seconds_max=SECONDS_MAX) as client,
            client.open("POST", f"/sales/{sale.gid}/{path}", _headers(token), form) as response,
        ):
            if dry_run or response.status != 200:
                return _decoded(sale, response.status, await response.body())
            answer: dict[str, Any] = {}
            async for line in _lines(response):
                answer = _decoded(sale, response.status, line)
                if "of" in answer:
                    progress.report("Making the photos", answer["photos"], answer["of"])
            return answer


async def _lines(response: Response) -> AsyncIterator[bytes]:
    left = b""
    async for chunk in response.chunks(SHEET_BYTES_MAX):
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            yield line
    if left:
        raise ToolError("the house broke off its answer; import again: what is done is not done twice")


async def _export(sale: SaleAddress, which: str, token: str, language: str) -> bytes:
    async with (
        HttpClient(sale.base, _NAME, total_seconds_max=300) as client,
        client.open("GET", f"/sales/{sale.gid}/{which}?language={language}", _headers(token)) as response,
    ):
        if response.status != 200:
            _decoded(sale, response.status, await response.body(SMALL_BYTES_MAX))
        return await response.body(SHEET_BYTES_MAX)


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _decoded(sale: SaleAddress, status: int, body: bytes) -> dict[str, Any]:
    """Return the JSON of an answer. Raises ToolError for a refusal, with a line for each of its faults."""
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        raise not_a_house(sale.base) from None
    if not isinstance(answer, dict):
        raise not_a_house(sale.base)
    if status != 200 or "message" in answer:
        raise ToolError("\n".join(_refused(answer.get("message"))))
    return answer


def _refused(message: object) -> Iterator[str]:
    if not isinstance(message, dict):
        yield plain(str(message), 500)
        return
    yield "nothing was imported:"
    for where, faults in list(message.items())[:LINES_SHOWN_MAX]:
        for fault in faults if isinstance(faults, list) else ():
            text = fault.get("message", "") if isinstance(fault, dict) else fault
            yield plain(str(text) if where == "body" else f"{where}: {text}", 500)


def _said(answer: Mapping[str, Any], *, dry_run: bool) -> Iterator[str]:
    """Yield what an import did, or would do, in lines."""
    for row in sorted(answer["rows"], key=lambda row: row["effect"] != "fault")[: LINES_SHOWN_MAX if dry_run else 0]:
        yield from _row(row)
    for fault in answer["photoFaults"][:LINES_SHOWN_MAX]:
        yield plain(f"{fault['path']}: {fault['message']}", 500)
    if answer["ignored"]:
        yield plain(f"Columns that say nothing here: {', '.join(answer['ignored'])}", 500)
    counts = [("new", "new"), ("changed", "changed"), ("unchanged", "unchanged"), ("faulty", "with faults")]
    lots = ", ".join(f"{answer[name]} {word}" for name, word in counts)
    photos = ", ".join(f"{answer[f'photos{name}']} {name.lower()}" for name in ("New", "Replaced", "Unchanged"))
    yield f"{'Lots would be' if dry_run else 'Lots'}: {lots}"
    yield f"{'Photos would be' if dry_run else 'Photos'}: {photos}"


def _row(row: Mapping[str, Any]) -> Iterator[str]:
    where = f"row {row['row']}, lot {row['lot'] or '?'}"
    if row["effect"] == "new":
        yield plain(f"{where}: new", 500)
    for fault in row["faults"]:
        yield plain(f"{where}, {fault['heading']}: {fault['message']}", 500)
    for change in () if row["faults"] else row["changes"]:
        yield plain(f"{where}, {change['column']}: {_short(change['was'])} -> {_short(change['now'])}", 500)


def _short(value: str | None) -> str:
    if value is None:
        return "nothing"
    return value if len(value) <= 60 else f"{value[:59]}…"
