"""Invitations in the back office: made, listed and revoked."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import MailOff, UnknownInvitation
from saleroom.accounts.domain.invitations import PATH, Invitation
from saleroom.accounts.domain.rights import Right, Role, rank
from saleroom.accounts.service import invitations
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.words import ROLES
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.kernel.mail import parse_mail_address
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

INVITATIONS = Section("/admin/invitations", N_("Invitations"), Right.MANAGE_PEOPLE)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
Sent = dict[str, str]


class InvitationPages:
    """The page of invitations, and its forms."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/invitations: the list, and the form."""
        return await self._page(request)

    @for_users
    async def invite(self, request: Request) -> Response:
        """POST /admin/invitations: invite somebody, and show the link unless a mail brings it."""
        sent = await fields(request)
        try:
            role, address = self._asked(sent)
            values = (role, address, self._site.language(request).tag, self._services.sign)
            made = await self._services.tokens.write(invitations.invite, session_token(request) or "", *values)
        except Declined as refused:
            return await self._page(request, refused, sent)
        link = None if made.code is None else f"{self._services.origin}{PATH}#{made.code}"
        return await self._page(request, done={"link": link, "sent_to": address})

    @for_users
    async def revoke(self, request: Request) -> Response:
        """POST /admin/invitations/revoke: revoke one."""
        number = (await fields(request)).get("id", "")
        try:
            if _NUMBER.fullmatch(number) is None:
                raise UnknownInvitation
            await self._services.tokens.write(invitations.revoke, session_token(request) or "", int(number))
        except Declined as refused:
            return await self._page(request, refused)
        return go_to(INVITATIONS.path)

    def _asked(self, sent: Sent) -> tuple[Role, str | None]:
        if sent.get("role") not in [*Role]:
            raise Invalid.one("role", "not_a_choice", "must be a role")
        typed = sent.get("address", "").strip()
        if not typed:
            return Role(sent["role"]), None
        if not self._services.sends_mail:
            raise MailOff
        address = parse_mail_address(typed)
        if isinstance(address, Fault):
            raise Invalid({"address": [address]})
        return Role(sent["role"]), address

    @for_users
    async def _page(
        self,
        request: Request,
        refused: Refusal | None = None,
        sent: Sent | None = None,
        done: dict[str, Any] | None = None,
    ) -> Response:
        try:
            viewer, (now, found) = await self._site.read(request, _listed)
        except MissingRight as missing:
            raise refused or missing from None
        language, words = self._site.language(request), self._site.words
        own = rank(viewer.role) if viewer is not None else 0  # type: ignore[attr-defined]  # the viewer is an account
        context = {
            "link": None,
            "sent_to": None,
            "found": found,
            "now": now,
            "roles": ROLES,
            "choices": [one for one in Role if rank(one) <= own],
            "role": (sent or {}).get("role", Role.CLERK.value),
            "address": (sent or {}).get("address", ""),
            "faults": words.field_faults(language, refused),
            "message": words.message(language, refused),
            **(done or {}),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "invitations.html", viewer, context, refused=refused, headers=headers)


def _listed(tx: Transaction, token: str | None) -> tuple[datetime, list[Invitation]]:
    return tx.now(), invitations.listed(tx, token)
