"""The forms for accounts: log in, log out, register, another password. The session is the API's own token, in a cookie."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import PASSWORD_MIN, TOKEN_LIFETIME, parse_password, parse_username
from saleroom.accounts.domain.agents import agent
from saleroom.accounts.domain.errors import WrongPassword
from saleroom.accounts.service import accounts
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import client_address, session_cookie_name, session_token
from saleroom.kernel.errors import Fault, Invalid, Refused, Unauthenticated
from saleroom.site import words
from saleroom.site.site import Site, fields, go_to, local, to_log_in


class AccountForms:
    """The forms over one house."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def login_form(self, request: Request) -> Response:
        """GET /login?next=/path: the form, or the next page for who is logged in already."""
        return await self._empty(request, "login.html")

    async def register_form(self, request: Request) -> Response:
        """GET /register?next=/path: the form, or the next page for who is logged in already."""
        return await self._empty(request, "register.html")

    async def log_in(self, request: Request) -> Response:
        """POST /session: log in, and go on with the session's cookie."""
        sent = await fields(request)
        try:
            username, password = _texts(sent, "username", "password")
            return await self._start_session(request, username, password, sent.get("next"))
        except Refused as refused:
            return await self._form(request, "login.html", sent, refused)

    async def register(self, request: Request) -> Response:
        """POST /register: make the account, log in, and go on with the session's cookie."""
        sent = await fields(request)
        try:
            username, password = _credentials(sent)
            await self._services.accounts.register(username, password, client_address(request))
        except Refused as refused:
            return await self._form(request, "register.html", sent, refused)
        try:
            return await self._start_session(request, username, password, sent.get("next"))
        except Refused as refused:
            # The account is there, so the form to go on with is the other one.
            return await self._form(request, "login.html", sent, refused)

    async def log_out(self, request: Request) -> Response:
        """POST /session/end: end the session, in every process, and go home."""
        token = session_token(request)
        try:
            if token is not None:
                await self._services.tokens.write(accounts.log_out, token)
        except Unauthenticated:
            # It has ended already, by its time or elsewhere; that is what was asked for.
            pass
        return self._with_session(go_to("/"), "", 0)

    async def password_form(self, request: Request) -> Response:
        """GET /mine/password: the form for another password."""
        return await self._password_page(request)

    async def password_place(self, _: Request) -> Response:
        """GET /.well-known/change-password: where password managers look for that form (W3C, "A Well-Known URL")."""
        return go_to("/mine/password")

    async def change_password(self, request: Request) -> Response:
        """POST /mine/password: change the password, and say that all other devices are logged out."""
        sent, token = await fields(request), session_token(request)
        try:
            current, new = _passwords(sent)
            await self._services.accounts.change_password(token or "", current, new, client_address(request))
        except Unauthenticated:
            return to_log_in(request)
        except Refused as refused:
            return await self._password_page(request, refused=refused)
        return await self._password_page(request, changed=True)

    async def _password_page(
        self, request: Request, *, changed: bool = False, refused: Refused | None = None
    ) -> Response:
        """Return the form, with what was refused and why, or that the password is changed; none is ever sent back."""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return to_log_in(request)
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("currentPassword", refused.code, refused.message)
        context = {"changed": changed, **self._refusal(request, shown)}
        return self._site.page(request, "password.html", viewer, context, refused=refused)

    async def _start_session(self, request: Request, username: str, password: str, then: str | None) -> Response:
        issued = await self._services.accounts.log_in(
            username, password, client_address(request), agent(request.headers.get("user-agent", ""))
        )
        return self._with_session(go_to(local(then)), issued.value, int(TOKEN_LIFETIME.total_seconds()))

    def _with_session(self, response: Response, token: str, seconds: int) -> Response:
        # Written by hand: the standard library would put a token's `/` and `=` in quotes, which become part of it.
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
        self, request: Request, template: str, sent: dict[str, str], refused: Refused | None = None
    ) -> Response:
        """Return the form, with what was refused and why; a password is never sent back."""
        context = {
            "username": sent.get("username", ""),
            "next": local(sent.get("next")),
            **self._refusal(request, refused),
        }
        return self._site.page(request, template, await self._site.viewer(request), context, refused=refused)

    def _refusal(self, request: Request, refused: Refused | None) -> dict[str, Any]:
        """Return what the forms say of a refusal."""
        language = self._site.renderer.language(request)
        return {
            "again": refused is not None,
            "faults": words.faults(language, refused) if isinstance(refused, Invalid) else {},
            "message": None if refused is None else words.refusal(language, refused),
            "password_min": PASSWORD_MIN,
        }


def _texts(sent: dict[str, str], *names: str) -> list[str]:
    """Return the values of the fields `names`. Raises Invalid naming each that is missing or empty."""
    faults = {name: [Fault("required", "is required")] for name in names if not sent.get(name)}
    if faults:
        raise Invalid(faults)
    return [sent[name] for name in names]


def _credentials(sent: dict[str, str]) -> tuple[str, str]:
    """Return a username and a password fit for a new account. Raises Invalid with the faults of both."""
    username, password = parse_username(sent.get("username", "")), parse_password(sent.get("password", ""))
    if isinstance(username, Fault) or isinstance(password, Fault):
        found = {"username": username, "password": password}
        raise Invalid({name: [fault] for name, fault in found.items() if isinstance(fault, Fault)})
    return username, password


def _passwords(sent: dict[str, str]) -> tuple[str, str]:
    """Return the current password, and one fit to come after it. Raises Invalid with the faults of both."""
    new = parse_password(sent.get("newPassword", ""))
    faults = {"newPassword": [new]} if isinstance(new, Fault) else {}
    if not sent.get("currentPassword"):
        faults = {"currentPassword": [Fault("required", "is required")], **faults}
    if isinstance(new, Fault) or faults:
        raise Invalid(faults)
    return sent["currentPassword"], new
