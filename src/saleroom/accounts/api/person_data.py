"""A user's own data: all that the house holds about them, as a ZIP."""

from __future__ import annotations

from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from saleroom.accounts.api.accounts import any_string
from saleroom.accounts.domain.errors import WrongPassword
from saleroom.accounts.service.person_archives import pieces
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Form
from saleroom.http.requests import client_address
from saleroom.kernel.errors import Busy, TooManyRequests

ZIP = "application/zip"
_EXPORT = Form(
    name="ExportRequest", example={"password": "correct horse"}, fields=(any_string("password", "password"),)
)
_GUARDED = (WrongPassword, TooManyRequests, Busy)


async def export(call: Call[AccountServices]) -> Response:
    """POST /me/export."""
    services, password = call.services, call.values["password"]
    return as_zip(await services.archives.make(call.token, password, client_address(call.request)))


def as_zip(file: BinaryIO) -> Response:
    """Return an archive as a download, and close it at its end."""
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="my-data.zip"'}
    return StreamingResponse(pieces(file), media_type=ZIP, headers=headers)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="POST",
        path="/me/export",
        name="exportMyData",
        summary="Get all that the house holds about me, as a ZIP of JSON files and pictures",
        handler=export,
        tag="accounts",
        access=Access.TOKEN,
        form=_EXPORT,
        file=ZIP,
        errors=_GUARDED,
        about="It needs the password; a wrong one counts as a failed login. One user gets three archives in an hour.",
    ),
)
