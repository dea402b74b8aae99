"""Accounts: register, log in, log out, who am I, another password, and where else am I logged in."""

from __future__ import annotations

import hmac

from starlette.responses import Response

from saleroom.accounts.api.agents import agent
from saleroom.accounts.api.wire import SessionsView, SessionView, TokenView, UserTokensView, UserTokenView, account_view
from saleroom.accounts.service import accounts
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Call
from saleroom.http.guard import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.instants import instant

PRIVATE = {"Cache-Control": "no-store"}


async def register(call: Call[AccountServices]) -> Response:
    """POST /users."""
    address = client_address(call.request)
    account = await call.services.accounts.register(call.values["username"], call.values["password"], address)
    return json_response(account_view(account), 201, PRIVATE)


async def log_in(call: Call[AccountServices]) -> Response:
    """POST /login."""
    address = client_address(call.request)
    username, password = call.values["username"], call.values["password"]
    token = await call.services.accounts.log_in(username, password, address, agent(call.request))
    view = TokenView(token.value, instant(token.created_at), instant(token.expires_at))
    return json_response(view, 200, PRIVATE)


async def log_out(call: Call[AccountServices]) -> Response:
    """DELETE /logout."""
    await call.services.tokens.write(accounts.log_out, call.token)
    return Response(status_code=204)


async def me(call: Call[AccountServices]) -> Response:
    """GET /me."""
    account = await call.services.database.read(accounts.authenticate, call.token)
    return json_response(account_view(account), 200, PRIVATE)


async def change_password(call: Call[AccountServices]) -> Response:
    """PUT /me/password."""
    address = client_address(call.request)
    current, new = call.values["current"], call.values["new"]
    await call.services.accounts.change_password(call.token, current, new, address)
    return Response(status_code=204)


async def sessions(call: Call[AccountServices]) -> Response:
    """GET /me/sessions."""
    found = await call.services.database.read(accounts.sessions, call.token)
    views = [
        SessionView(one.id, instant(one.created_at), instant(one.expires_at), one.agent, one.current) for one in found
    ]
    return json_response(SessionsView(views), 200, PRIVATE)


async def end_session(call: Call[AccountServices]) -> Response:
    """DELETE /me/sessions/{id}."""
    await call.services.tokens.write(accounts.end_session, call.token, int(call.identifier))
    return Response(status_code=204)


async def end_all(call: Call[AccountServices]) -> Response:
    """DELETE /me/sessions."""
    await call.services.tokens.write(accounts.end_all, call.token)
    return Response(status_code=204)


async def make_test_users(call: Call[AccountServices]) -> Response:
    """POST /test-users."""
    key = call.services.load_key
    # A header is latin-1 on the wire; the comparison takes the same time wherever the two differ.
    if key is None or not hmac.compare_digest(call.token.encode("latin-1"), key.encode()):
        raise Unauthenticated
    made = await call.services.database.write(accounts.make_test_users, call.values["count"])
    views = [UserTokenView(user.username, user.token.value, instant(user.token.expires_at)) for user in made]
    return json_response(UserTokensView(views), 201, PRIVATE)
