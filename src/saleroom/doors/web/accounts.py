"""The forms for accounts: log in, log out, register. The session is the API's own token, in a cookie."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.domain.accounts import TOKEN_LIFETIME, parse_password, parse_username
from saleroom.domain.errors import Fault, Invalid, Refused, Unauthenticated
from saleroom.doors.guard import client_address, session_cookie_name, session_token
from saleroom.doors.web.site import Site, fields, go_to
from saleroom.service import accounts


class AccountForms:
    """The forms over one house."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._house = site.house

    async def login_form(self, request: Request) -> Response:
        """GET /login: the form, or home for who is logged in already."""
        return await self._form(request, "login.html") if await self._site.viewer(request) is None else _home()

    async def register_form(self, request: Request) -> Response:
        """GET /register: the form, or home for who is logged in already."""
        return await self._form(request, "register.html") if await self._site.viewer(request) is None else _home()

    async def log_in(self, request: Request) -> Response:
        """POST /session: log in, and go home with the session's cookie."""
        sent = await fields(request)
        try:
            return await self._start_session(request, *_texts(sent, "username", "password"))
        except Refused as refused:
            return await self._form(request, "login.html", sent, refused)

    async def register(self, request: Request) -> Response:
        """POST /register: make the account, log in, and go home with the session's cookie."""
        sent = await fields(request)
        try:
            username, password = _credentials(sent)
            await self._house.accounts.register(username, password, client_address(request))
        except Refused as refused:
            return await self._form(request, "register.html", sent, refused)
        try:
            return await self._start_session(request, username, password)
        except Refused as refused:
            # The account is there, so the form to go on with is the other one.
            return await self._form(request, "login.html", sent, refused)

    async def log_out(self, request: Request) -> Response:
        """POST /session/end: end the session, in every process, and go home."""
        token = session_token(request)
        try:
            if token is not None:
                await self._house.database.write(accounts.log_out, token)
        except Unauthenticated:
            # It has ended already, by its time or elsewhere; that is what was asked for.
            pass
        return self._with_session(_home(), "", 0)

    async def _start_session(self, request: Request, username: str, password: str) -> Response:
        issued = await self._house.accounts.log_in(username, password, client_address(request))
        return self._with_session(_home(), issued.value, int(TOKEN_LIFETIME.total_seconds()))

    def _with_session(self, response: Response, token: str, seconds: int) -> Response:
        # Written by hand: the standard library would put a token's `/` and `=` in quotes, which become part of it.
        name = session_cookie_name(https=self._house.https)
        secure = "; Secure" if self._house.https else ""
        cookie = f"{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
        response.headers.append("Set-Cookie", cookie)
        return response

    async def _form(
        self, request: Request, template: str, sent: dict[str, str] | None = None, refused: Refused | None = None
    ) -> Response:
        """Return the form, with what was refused and why; a password is never sent back."""
        faults = refused.faults if isinstance(refused, Invalid) else {}
        context = {
            "username": (sent or {}).get("username", ""),
            "faults": {name: " and ".join(fault.message for fault in found) for name, found in faults.items()},
            "message": None if refused is None or faults else _message(refused),
        }
        return self._site.page(request, template, await self._site.viewer(request), context, refused=refused)


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


def _message(refused: Refused) -> str:
    """Return the sentence for people: the specification's own words for a failed login help nobody at a form."""
    if refused.code == "invalid_authentication":
        return "This username and password do not belong together. Check both and try again."
    wait = refused.facts.get("retryAfter")
    return refused.message if wait is None else f"{refused.message} You may try again in {wait} s."


def _home() -> Response:
    return go_to("/")
