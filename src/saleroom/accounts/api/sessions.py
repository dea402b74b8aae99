"""Sessions: list the user's own, end one, end all."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.domain.errors import UnknownSession
from saleroom.accounts.service import sessions
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.responses import json_response
from saleroom.kernel.instants import instant

_SESSION = path_number(UnknownSession, "The session.")


class SessionView(Struct, frozen=True, rename="camel"):
    """A session: a live token, without its value."""

    id: int
    created_at: str
    expires_at: str
    agent: str
    current: bool


class SessionsView(Struct, frozen=True):
    """The user's sessions, the latest login first."""

    sessions: list[SessionView]


async def list_sessions(call: Call[AccountServices]) -> Response:
    """GET /me/sessions."""
    found = await call.services.database.read(sessions.sessions, call.token)
    views = [
        SessionView(one.id, instant(one.created_at), instant(one.expires_at), one.agent, one.current) for one in found
    ]
    return json_response(SessionsView(views), 200, PRIVATE)


async def end_session(call: Call[AccountServices]) -> Response:
    """DELETE /me/sessions/{id}."""
    await call.services.tokens.write(sessions.end_session, call.token, int(call.identifier))
    return Response(status_code=204)


async def end_all(call: Call[AccountServices]) -> Response:
    """DELETE /me/sessions."""
    await call.services.tokens.write(sessions.end_all, call.token)
    return Response(status_code=204)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/sessions",
        name="mySessions",
        summary="List my sessions, the latest login first",
        handler=list_sessions,
        tag="accounts",
        access=Access.TOKEN,
        answer=SessionsView,
        about="A session is shown by its dates and its device, never by its token.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/sessions/{id}",
        name="endSession",
        summary="End one of my sessions: its token stops working at once",
        handler=end_session,
        tag="accounts",
        identifier=_SESSION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownSession,),
        about="`id` comes from `GET /me/sessions`.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/sessions",
        name="endAllSessions",
        summary="Log out everywhere: all my tokens stop working at once, this one too",
        handler=end_all,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="Use it after losing a device, then log in again.",
    ),
)
