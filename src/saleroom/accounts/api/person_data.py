"""A user's own data: all that the house holds about them, as a ZIP; and the erasure of users, by themselves and by staff."""

from __future__ import annotations

from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from saleroom.accounts.api.accounts import any_string
from saleroom.accounts.api.people import REASON, USER
from saleroom.accounts.domain.errors import (
    CodeRequired,
    LastOwner,
    LotsRunning,
    NotAboveThem,
    NotOneself,
    UnknownUser,
    WrongCode,
    WrongPassword,
)
from saleroom.accounts.service import erasures
from saleroom.accounts.service.person_archives import pieces
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, string
from saleroom.http.requests import client_address
from saleroom.kernel.errors import Busy, TooManyRequests

ZIP = "application/zip"
_EXPORT = Form(
    name="ExportRequest", example={"password": "correct horse"}, fields=(any_string("password", "password"),)
)
_ERASURE = Form(
    name="ErasureRequest",
    example={"password": "correct horse", "code": None},
    fields=(
        any_string("password", "password"),
        Field(
            name="code",
            to="code",
            parse=string,
            schema={"type": "string"},
            nullable=True,
            about="For an account with one-time codes: the code of the app, or a recovery code.",
        ),
    ),
)
_BY_STAFF = Form(name="ErasureByStaff", example={"reason": "She has asked for it."}, fields=(REASON,))
_GUARDED = (WrongPassword, TooManyRequests, Busy)


async def export(call: Call[AccountServices]) -> Response:
    """POST /me/export."""
    services, password = call.services, call.values["password"]
    return as_zip(await services.archives.make(call.token, password, client_address(call.request)))


def as_zip(file: BinaryIO) -> Response:
    """Return an archive as a download, and close it at its end."""
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="my-data.zip"'}
    return StreamingResponse(pieces(file), media_type=ZIP, headers=headers)


async def erase(call: Call[AccountServices]) -> Response:
    """POST /me/erasure."""
    sent, address = call.values, client_address(call.request)
    await call.services.erasures.erase_own(call.token, sent["password"], sent.get("code"), address)
    return Response(status_code=204)


async def erase_by_staff(call: Call[AccountServices]) -> Response:
    """POST /staff/users/{username}/erasure."""
    name, reason, forget = call.identifier, call.values.get("reason", ""), call.services.erasures.forget
    await call.services.tokens.write(erasures.erase, call.token, name, reason, forget)
    return Response(status_code=204)


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
    Endpoint(
        method="POST",
        path="/me/erasure",
        name="eraseMe",
        summary="Erase my account, for good",
        handler=erase,
        tag="accounts",
        access=Access.TOKEN,
        form=_ERASURE,
        status=204,
        errors=(CodeRequired, WrongCode, LastOwner, LotsRunning, *_GUARDED),
        about="A pseudonym takes the place of the name, and all tokens stop working. docs/people.md says what goes and what "
        "stays. It needs the password, and a code if the account has one-time codes.",
    ),
    Endpoint(
        method="POST",
        path="/staff/users/{username}/erasure",
        name="eraseUser",
        summary="Erase a user, for good",
        handler=erase_by_staff,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        form=_BY_STAFF,
        status=204,
        errors=(UnknownUser, NotOneself, NotAboveThem, LastOwner, LotsRunning),
        about="Needs the right `manage_people`. The audit log notes it, under the pseudonym.",
    ),
)
