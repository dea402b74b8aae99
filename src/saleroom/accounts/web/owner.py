"""The page of the owner link: anyone who is logged in becomes the owner of a house without one."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import InvalidOwnerLink
from saleroom.accounts.service import owner_link
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.words import at_field
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Invalid, Refusal
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction


class OwnerPages:
    """The page of the owner link."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /owner: the form, which has the code from the link. It changes nothing."""
        return await self._page(request)

    @for_users
    async def take(self, request: Request) -> Response:
        """POST /owner: become the owner, and go to the back office."""
        code = (await fields(request)).get("code", "").strip()
        take = partial(owner_link.take, code=code, sign=self._services.sign)
        try:
            if not code:
                raise Invalid.one("code", "required", "is required")
            await self._services.tokens.write(take, session_token(request) or "")
        except Declined as refused:
            return await self._page(request, code, refused)
        return go_to("/admin")

    async def _page(self, request: Request, code: str = "", refused: Refusal | None = None) -> Response:
        viewer, owned = await self._site.read(request, _owned)
        language, words = self._site.language(request), self._site.words
        shown = refused if owned else at_field(refused, {InvalidOwnerLink: "code"})
        context = {
            "owned": owned,
            "code": code,
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }
        return self._site.page(request, "owner.html", viewer, context, refused=refused)


def _owned(tx: Transaction, _: str | None) -> bool:
    return owner_link.has_owner(tx)
