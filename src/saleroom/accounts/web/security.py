"""The reader's security: one-time codes set up, switched off, new recovery codes; and the list of passkeys."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.access_tokens import NAME_MAX
from saleroom.accounts.domain.errors import WrongCode, WrongPassword
from saleroom.accounts.domain.passkeys import Lacks, Party
from saleroom.accounts.service import one_time_codes, passkeys
from saleroom.accounts.service.one_time_codes import Enrolment, Security
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.passkeys import Passkey
from saleroom.accounts.web.parties import party_at
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.site import qr_codes
from saleroom.site.site import Site, fields, for_users
from saleroom.storage.database import Transaction

PATH = "/mine/security"
PRIVATE = {"Cache-Control": "no-store"}


class SecurityPages:
    """The pages of one-time codes."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def overview(self, request: Request) -> Response:
        """GET /mine/security: what secures the account, with a form for each change."""
        return await self.show(request)

    @for_users
    async def begin(self, request: Request) -> Response:
        """POST /mine/security/codes: show a new secret, as a QR code and as text."""
        sent = await fields(request)
        try:
            password = filled(sent, "password")["password"]
            made = await self._services.codes.begin(session_token(request) or "", password, client_address(request))
        except Declined as refused:
            return await self.show(request, refused=refused)
        return await self._setup(request, made)

    @for_users
    async def confirm(self, request: Request) -> Response:
        """POST /mine/security/codes/confirmation: switch one-time codes on, and show the recovery codes."""
        sent, token = await fields(request), session_token(request) or ""
        try:
            made = await self._services.codes.confirm(token, sent.get("code", ""))
        except WrongCode as refused:
            waits = await self._services.codes.unconfirmed(token)
            if waits is None:
                return await self.show(request, refused=refused)
            return await self._setup(request, waits, refused=refused)
        except Declined as refused:
            return await self.show(request, refused=refused)
        return await self._recovery_codes(request, made, begun=True)

    @for_users
    async def renew(self, request: Request) -> Response:
        """POST /mine/security/codes/recovery: show new recovery codes in place of the old ones."""
        sent, token = await fields(request), session_token(request) or ""
        try:
            both = filled(sent, "password", "code")
            address = client_address(request)
            made = await self._services.codes.renew_recovery_codes(token, both["password"], both["code"], address)
        except Declined as refused:
            return await self.show(request, refused=refused, form="renew")
        return await self._recovery_codes(request, made)

    @for_users
    async def end(self, request: Request) -> Response:
        """POST /mine/security/codes/end: switch one-time codes off."""
        sent, token = await fields(request), session_token(request) or ""
        try:
            both = filled(sent, "password", "code")
            await self._services.codes.end(token, both["password"], both["code"], client_address(request))
        except Declined as refused:
            return await self.show(request, refused=refused, form="end")
        return await self.show(request, ended=True)

    async def show(
        self,
        request: Request,
        *,
        refused: Refusal | None = None,
        form: str = "begin",
        ended: bool = False,
        added: str = "",
        name: str = "",
    ) -> Response:
        """Return the page; `refused` is shown in the `form` that was sent.

        `added` is the name of a passkey that has just been added, `name` what was typed as one.
        """
        viewer, read = await self._site.read(request, _security)
        if viewer is None or read is None:
            return self._site.to_log_in(request)
        found, keys = read
        party = party_at(self._site, request)
        context = {
            "security": found,
            "since": maybe_instant(found.codes_since),
            "ended": ended,
            "passkeys": [_row(one, party) for one in keys],
            "lacks": party.value if isinstance(party, Lacks) else "",
            "added": added,
            "name": name,
            "name_max": NAME_MAX,
            "form": form if refused is not None else "",
            **self._refusal(request, refused),
        }
        return self._site.page(request, "security.html", viewer, context, refused=refused)

    async def _setup(self, request: Request, made: Enrolment, *, refused: Refusal | None = None) -> Response:
        drawn = await asyncio.to_thread(qr_codes.draw, made.address)
        context = {
            "secret": [made.secret[i : i + 4] for i in range(0, len(made.secret), 4)],
            "address": made.address,
            "code": Markup(drawn.decode()),  # noqa: S704  # the house draws it
            **self._refusal(request, refused),
        }
        viewer = await self._site.viewer(request)
        return self._site.page(request, "codes_setup.html", viewer, context, refused=refused, headers=PRIVATE)

    async def _recovery_codes(self, request: Request, made: list[str], *, begun: bool = False) -> Response:
        viewer = await self._site.viewer(request)
        context = {"codes": made, "begun": begun}
        return self._site.page(request, "recovery_codes.html", viewer, context, headers=PRIVATE)

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        """Return the parts of a refusal that the forms show. A fault of one field is shown beside it."""
        shown = refused
        if isinstance(refused, WrongPassword | WrongCode):
            field = "password" if isinstance(refused, WrongPassword) else "code"
            shown = Invalid.one(field, refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
            "again": refused is not None,
        }


def filled(sent: dict[str, str], *names: str) -> dict[str, str]:
    """Return the fields `names`. Raises Invalid naming each that is missing or empty."""
    faults = {name: [Fault("required", "is required")] for name in names if not sent.get(name)}
    if faults:
        raise Invalid(faults)
    return {name: sent[name] for name in names}


def _row(one: Passkey, party: Party | Lacks) -> dict[str, Any]:
    elsewhere = not isinstance(party, Party) or one.party != party.id
    return {
        "id": one.id,
        "name": one.name,
        "since": instant(one.created_at),
        "used": maybe_instant(one.used_at),
        "party": one.party if elsewhere else "",
    }


def _security(tx: Transaction, token: str | None) -> tuple[Security, list[Passkey]] | None:
    return None if token is None else (one_time_codes.security(tx, token), passkeys.own(tx, token))
