"""The audit log: read page by page, and exported as NDJSON."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response, StreamingResponse

from saleroom.accounts.domain.accounts import parse_username
from saleroom.accounts.domain.audit import Act, Entry
from saleroom.accounts.service import audit_log
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, checked, one_of
from saleroom.http.paging import paging
from saleroom.http.responses import page_response
from saleroom.kernel.instants import instant
from saleroom.storage.schema import NUMBER_MAX

ENTRIES = CursorKind("audit", Annotated[int, Meta(ge=1, le=NUMBER_MAX)])
NDJSON = "application/x-ndjson"


class EntryView(Struct, frozen=True):
    """An act of staff, as the audit log keeps it."""

    id: int
    at: str
    by: str | None
    act: str
    user: str | None
    subject: str | None
    before: dict[str, str | int | bool | None]
    after: dict[str, str | int | bool | None]
    reason: str


class AuditView(Struct, frozen=True):
    """A page of the audit log, the latest entry first. `next` is the cursor of the next page, or null on the last."""

    entries: list[EntryView]
    next: str | None


async def list_entries(call: Call[AccountServices]) -> Response:
    """GET /staff/audit."""
    which = EntryFilter(call.query.get("user"), call.query.get("act"))
    found = await call.services.database.read(audit_log.entries, call.token, which, call.limit, call.place)
    cursor = call.services.cursors.next_page(ENTRIES.within(call.asked), found.next)
    return page_response(call.scope, AuditView([view(one) for one in found.rows], cursor), cursor)


async def export(call: Call[AccountServices]) -> Response:
    """GET /staff/audit.ndjson."""
    return await as_file(call.services, call.token, head=call.request.method == "HEAD")


async def as_file(services: AccountServices, token: str | None, *, head: bool) -> Response:
    """Return the log as a file, without a body for `head`. Raises Unauthenticated or MissingRight."""
    last = await services.database.read(audit_log.last, token)
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="audit.ndjson"'}
    lines = audit_log.lines(services.database, 0 if head else last)
    return StreamingResponse(lines, media_type=NDJSON, headers=headers)


def view(entry: Entry) -> EntryView:
    """Return an entry as JSON shows it."""
    shown: dict[str, Any] = msgspec.structs.asdict(entry)
    return EntryView(**shown | {"at": instant(entry.at)})


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/staff/audit",
        name="auditLog",
        summary="Read the audit log, the latest entry first",
        handler=list_entries,
        tag="staff",
        access=Access.TOKEN,
        query=(
            Field(
                name="user",
                to="user",
                parse=checked(parse_username),
                schema={"type": "string"},
                about="Only acts by this user or on this user.",
            ),
            Field(name="act", to="act", parse=one_of(tuple(Act)), schema={"enum": list(Act)}, about="Only such acts."),
            *paging(ENTRIES),
        ),
        answer=AuditView,
        about="Needs the right `read_audit`. Entries are only added; docs/people.md lists the acts.",
    ),
    Endpoint(
        method="GET",
        path="/staff/audit.ndjson",
        name="exportAudit",
        summary="Read the whole audit log as lines of JSON, the earliest entry first",
        handler=export,
        tag="staff",
        access=Access.TOKEN,
        lines=True,
        about="Needs the right `read_audit`. A line is an entry as `GET /staff/audit` shows it.",
    ),
)
