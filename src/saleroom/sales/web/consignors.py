"""Consignors in the back office: those who bring lots to sales, added and changed."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, MissingRight, Refusal
from saleroom.sales.api.consignors import ADD, CHANGE
from saleroom.sales.domain.consignors import CONTACT_MAX, NAME_MAX, parse_code
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.sales.service.people import consigning
from saleroom.sales.services import SaleServices
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

CONSIGNORS = Section("/admin/consignors", N_("Consignors"), Right.CATALOGUE)
Sent = dict[str, str]


class ConsignorPages:
    """The page of consignors, and its forms."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /admin/consignors?done=: the consignors, each with a form, and the form of a new one."""
        return await self._page(request)

    @for_users
    async def add(self, request: Request) -> Response:
        """POST /admin/consignors: add a consignor."""
        sent = await fields(request)
        try:
            values = ADD.read(msgspec.json.encode({"code": sent.get("code", ""), **_said(sent)}))
            write, said = self._services.tokens.write, (values["name"], values["contact"], values["username"])
            await write(consigning.add, session_token(request) or "", values["code"], *said)
        except MissingRight:
            raise
        except Declined as refused:
            return await self._page(request, refused, sent)
        return go_to(f"{CONSIGNORS.path}?done={values['code']}")

    @for_users
    async def change(self, request: Request) -> Response:
        """POST /admin/consignors/{code}: change what is known of a consignor."""
        sent, code = await fields(request), parse_code(request.path_params["code"])
        if isinstance(code, Fault):
            raise UnknownConsignor
        try:
            values = CHANGE.read(msgspec.json.encode(_said(sent)))
            await self._services.tokens.write(consigning.change, session_token(request) or "", code, values)
        except (MissingRight, UnknownConsignor):
            raise
        except Declined as refused:
            return await self._page(request, refused, sent, code)
        return go_to(f"{CONSIGNORS.path}?done={code}")

    @for_users
    async def _page(
        self, request: Request, refused: Refusal | None = None, sent: Sent | None = None, code: str = ""
    ) -> Response:
        viewer, found = await self._site.read(request, consigning.listed)
        language = self._site.language(request)
        context = {
            "consignors": found,
            "sent": sent or {},
            "of": code,
            "done": request.query_params.get("done", ""),
            "faults": self._site.words.field_faults(language, refused),
            "message": self._site.words.message(language, refused),
            "name_max": NAME_MAX,
            "contact_max": CONTACT_MAX,
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "consignors.html", viewer, context, refused=refused, headers=headers)


def _said(sent: Sent) -> dict[str, str | None]:
    return {
        "name": sent.get("name", ""),
        "contact": sent.get("contact", ""),
        "username": sent.get("username", "").strip() or None,
    }
