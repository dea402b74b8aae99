"""Log in, log out, register, and change the password. A session is the API's token in a cookie."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import PASSWORD_MIN, TOKEN_LIFETIME, parse_password, parse_username
from saleroom.accounts.domain.agents import agent
from saleroom.accounts.domain.errors import (
    CodeRequired,
    InvalidPasskey,
    LoginExpired,
    WrongCode,
    WrongPassword,
)
from saleroom.accounts.domain.passkeys import Party
from saleroom.accounts.service import accounts
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.parties import decoded, party_at, party_of
from saleroom.http.forgery import forgery_cookie
from saleroom.http.requests import client_address, session_cookie_name, session_token
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal, Unauthenticated
from saleroom.site.language import N_
from saleroom.site.site import Site, fields, for_users, go_to, local

_EXPIRED = N_("Too much time has passed since you entered the password, or it was changed. Log in again.")


class _Question(Struct, frozen=True):
    """A question to a browser about its passkeys, and the sealed challenge in it."""

    ticket: str
    options: msgspec.Raw


class AccountPages:
    """The pages of the reader's account."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def login_form(self, request: Request) -> Response:
        """GET /login?next=/path: the form, or the next page if the reader is logged in already."""
        return await self._empty(request, "login.html")

    async def register_form(self, request: Request) -> Response:
        """GET /register?next=/path: the form, or the next page if the reader is logged in already."""
        return await self._empty(request, "register.html")

    async def log_in(self, request: Request) -> Response:
        """POST /session: log in, set the session's cookie, and go to the next page."""
        sent = await fields(request)
        try:
            username, password = _texts(sent, "username", "password")
            return await self.start_session(request, username, password, sent.get("next"))
        except CodeRequired as required:
            ticket = base64.urlsafe_b64encode(required.ticket).decode()
            return await self._code_form(request, {"ticket": ticket, "next": sent.get("next", "/")})
        except Refusal as refused:
            return await self._form(request, "login.html", sent, refused)

    async def log_in_by_code(self, request: Request) -> Response:
        """POST /session/code: the second step of a login, for an account with one-time codes."""
        sent = await fields(request)
        device = agent(request.headers.get("user-agent", ""))
        try:
            [code] = _texts(sent, "code")
            issued = await self._services.accounts.log_in_by_ticket(
                _ticket(sent), code, client_address(request), device
            )
        except LoginExpired as refused:
            return await self._form(request, "login.html", sent, refused, _EXPIRED)
        except Refusal as refused:
            return await self._code_form(request, sent, refused)
        return await self._logged_in(request, issued, sent.get("next"))

    async def passkey_question(self, request: Request) -> Response:
        """GET /session/passkey: what this browser is asked for a login by passkey, as JSON for the script of the form."""
        asked = await self._services.passkeys.ask(_browser(request), party_of(self._site, request))
        question = _Question(base64.urlsafe_b64encode(asked.ticket).decode(), msgspec.Raw(asked.options.encode()))
        return json_response(question, 200, {"Cache-Control": "no-store"})

    async def log_in_by_passkey(self, request: Request) -> Response:
        """POST /session/passkey: log in by the answer of a passkey, and go to the next page."""
        sent = await fields(request)
        try:
            issued = await self._services.passkeys.log_in(
                decoded(sent.get("ticket", "")),
                _browser(request),
                sent.get("credential", ""),
                party_of(self._site, request),
                client_address(request),
                agent(request.headers.get("user-agent", "")),
            )
        except Refusal as refused:
            return await self._form(request, "login.html", sent, refused)
        return await self._logged_in(request, issued, sent.get("next"))

    async def register(self, request: Request) -> Response:
        """POST /register: make the account, log in, set the session's cookie, and go to the next page."""
        sent = await fields(request)
        try:
            username, password = credentials(sent)
            await self._services.accounts.register(username, password, client_address(request))
        except Refusal as refused:
            return await self._form(request, "register.html", sent, refused)
        try:
            return await self.start_session(request, username, password, sent.get("next"))
        except Refusal as refused:
            # The account exists now, so the reader goes on with the form to log in.
            return await self._form(request, "login.html", sent, refused)

    async def log_out(self, request: Request) -> Response:
        """POST /session/end: end the session in every process, and go to the home page."""
        await self._end_session_of(request)
        return self.without_session(go_to("/"))

    async def _end_session_of(self, request: Request) -> None:
        """End the session of a browser, in every process, if it has one."""
        token = session_token(request)
        # It may have ended already.
        with suppress(Unauthenticated):
            if token is not None:
                await self._services.tokens.write(accounts.log_out, token)

    def without_session(self, response: Response) -> Response:
        """Return an answer that takes the session's cookie from the browser."""
        return self._with_session(response, "", 0)

    async def password_form(self, request: Request) -> Response:
        """GET /mine/password: the form to change the password."""
        return await self._password_page(request)

    async def password_place(self, _: Request) -> Response:
        """GET /.well-known/change-password: the address by which password managers find the form (W3C, "A Well-Known URL")."""
        return go_to("/mine/password")

    @for_users
    async def change_password(self, request: Request) -> Response:
        """POST /mine/password: change the password. All other devices are logged out."""
        sent, token = await fields(request), session_token(request)
        try:
            current, new = _passwords(sent)
            await self._services.accounts.change_password(token or "", current, new, client_address(request))
        except Declined as refused:
            return await self._password_page(request, refused=refused)
        return await self._password_page(request, changed=True)

    async def _password_page(
        self, request: Request, *, changed: bool = False, refused: Refusal | None = None
    ) -> Response:
        """Return the form with the refusal, or that the password is changed. A password is never sent back."""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return self._site.to_log_in(request)
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("currentPassword", refused.code, refused.message)
        context = {"changed": changed, **self._refusal(request, shown)}
        return self._site.page(request, "password.html", viewer, context, refused=refused)

    async def start_session(self, request: Request, username: str, password: str, then: str | None) -> Response:
        """Log in, set the session's cookie, and go to the page `then`. Raises as `Accounts.log_in` does."""
        issued = await self._services.accounts.log_in(
            username, password, client_address(request), agent(request.headers.get("user-agent", ""))
        )
        return await self._logged_in(request, issued, then)

    async def _logged_in(self, request: Request, issued: accounts.IssuedToken, then: str | None) -> Response:
        """Give the browser its new session, in place of the one that it may have had, and go on."""
        await self._end_session_of(request)
        return self._with_session(go_to(local(then)), issued.value, int(TOKEN_LIFETIME.total_seconds()))

    def _with_session(self, response: Response, token: str, seconds: int) -> Response:
        # Not by the standard library: it puts quotes around the `/` and `=` of a token, and they become part of the value.
        name = session_cookie_name(https=self._site.https)
        secure = "; Secure" if self._site.https else ""
        cookie = f"{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
        response.headers.append("Set-Cookie", cookie)
        return response

    async def _empty(self, request: Request, template: str) -> Response:
        then = request.query_params.get("next")
        if await self._site.viewer(request) is not None:
            return go_to(local(then))
        return await self._form(request, template, {} if then is None else {"next": then})

    async def _form(
        self, request: Request, template: str, sent: dict[str, str], refused: Refusal | None = None, words: str = ""
    ) -> Response:
        """Return the form with the refusal, in its own words or in these. A password is never sent back."""
        context = {
            "username": sent.get("username", ""),
            "next": local(sent.get("next")),
            "passkeys": isinstance(party_at(self._site, request), Party),
            **self._refusal(request, refused),
        }
        if words:
            context["message"] = self._site.language(request).gettext(words)
        return self._site.page(request, template, await self._site.viewer(request), context, refused=refused)

    async def _code_form(self, request: Request, sent: dict[str, str], refused: Refusal | None = None) -> Response:
        """Return the form for the code of a login's second step. A code is never sent back."""
        shown = Invalid.one("code", refused.code, refused.message) if isinstance(refused, WrongCode) else refused
        context = {
            "ticket": sent.get("ticket", ""),
            "next": local(sent.get("next")),
            **self._refusal(request, shown),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "login_code.html", None, context, refused=refused, headers=headers)

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        """Return the parts of a refusal that the forms show."""
        language, words = self._site.language(request), self._site.words
        return {
            "again": refused is not None,
            "faults": words.field_faults(language, refused),
            "message": words.message(language, refused),
            "password_min": PASSWORD_MIN,
        }


def _texts(sent: dict[str, str], *names: str) -> list[str]:
    """Return the values of the fields `names`. Raises Invalid naming each that is missing or empty."""
    faults = {name: [Fault("required", "is required")] for name in names if not sent.get(name)}
    if faults:
        raise Invalid(faults)
    return [sent[name] for name in names]


def _browser(request: Request) -> str:
    """Return the secret that this browser alone has. Raises InvalidPasskey if it has none: no page of the house was open."""
    found = forgery_cookie(request.scope)
    if found is None:
        raise InvalidPasskey
    return found


def _ticket(sent: dict[str, str]) -> bytes:
    """Return the ticket of a login's second step. Raises LoginExpired if it has not even the form of one."""
    try:
        return base64.b64decode(sent.get("ticket", ""), altchars=b"-_", validate=True)
    except ValueError:
        raise LoginExpired from None


def credentials(sent: dict[str, str]) -> tuple[str, str]:
    """Return a username and a password fit for a new account. Raises Invalid with the faults of both."""
    username, password = parse_username(sent.get("username", "")), parse_password(sent.get("password", ""))
    if isinstance(username, Fault) or isinstance(password, Fault):
        found = {"username": username, "password": password}
        raise Invalid({name: [fault] for name, fault in found.items() if isinstance(fault, Fault)})
    return username, password


def _passwords(sent: dict[str, str]) -> tuple[str, str]:
    """Return the current password, and a new one that is fit. Raises Invalid with the faults of both."""
    new = parse_password(sent.get("newPassword", ""))
    faults = {"newPassword": [new]} if isinstance(new, Fault) else {}
    if not sent.get("currentPassword"):
        faults = {"currentPassword": [Fault("required", "is required")], **faults}
    if isinstance(new, Fault) or faults:
        raise Invalid(faults)
    return sent["currentPassword"], new
