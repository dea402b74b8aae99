"""The reader's passkeys: added in two steps, and removed. The list is on the page of the reader's security."""

from __future__ import annotations

import base64

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.access_tokens import parse_name
from saleroom.accounts.domain.errors import UnknownPasskey
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.parties import decoded, party_of
from saleroom.accounts.web.security import PATH, PRIVATE, SecurityPages, filled
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Fault, Invalid
from saleroom.site.site import Site, fields, for_users, go_to

_DIGITS_MAX = 18


class PasskeyPages:
    """The pages of passkeys; `security` shows the list, and what was refused."""

    def __init__(self, site: Site, services: AccountServices, security: SecurityPages) -> None:
        self._site = site
        self._services = services
        self._security = security

    @for_users
    async def begin(self, request: Request) -> Response:
        """POST /mine/security/passkeys: check the name and the password, and show the button that makes the passkey."""
        sent = await fields(request)
        try:
            name, password = _wanted(sent)
            token, address = session_token(request) or "", client_address(request)
            asked = await self._services.passkeys.begin(token, password, name, party_of(self._site, request), address)
        except Declined as refused:
            return await self._security.show(request, refused=refused, form="passkey", name=sent.get("name", ""))
        context = {"options": asked.options, "ticket": base64.urlsafe_b64encode(asked.ticket).decode(), "name": name}
        viewer = await self._site.viewer(request)
        return self._site.page(request, "passkey_setup.html", viewer, context, headers=PRIVATE)

    @for_users
    async def add(self, request: Request) -> Response:
        """POST /mine/security/passkeys/new: add the passkey that the device has made."""
        sent, token = await fields(request), session_token(request) or ""
        try:
            ticket, answer = decoded(sent.get("ticket", "")), sent.get("credential", "")
            party, address = party_of(self._site, request), client_address(request)
            added = await self._services.passkeys.add(token, ticket, answer, party, address)
        except Declined as refused:
            return await self._security.show(request, refused=refused, form="passkey")
        return await self._security.show(request, added=added.name)

    @for_users
    async def remove(self, request: Request) -> Response:
        """POST /mine/security/passkeys/remove: remove a passkey."""
        sent, token = await fields(request), session_token(request) or ""
        number = sent.get("id", "")
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX):
            raise Invalid({"id": [Fault("malformed", "must be the number of a passkey")]})
        try:
            password = filled(sent, "password")["password"]
            await self._services.passkeys.remove(token, password, int(number), client_address(request))
        except UnknownPasskey:
            pass  # it is removed already, as the list shows
        except Declined as refused:
            return await self._security.show(request, refused=refused, form=f"remove {int(number)}")
        return go_to(PATH)


def _wanted(sent: dict[str, str]) -> tuple[str, str]:
    """Return the name of the passkey, and the password. Raises Invalid with the faults of both."""
    name = parse_name(sent.get("name", ""))
    if isinstance(name, Fault):
        raise Invalid({"name": [name], **({} if sent.get("password") else {"password": [_REQUIRED]})})
    return name, filled(sent, "password")["password"]


_REQUIRED = Fault("required", "is required")
