"""People in the back office: listed and searched."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import BARS, Sanction
from saleroom.accounts.service import people
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.accounts.web.words import ROLES
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, for_users

PEOPLE = Section("/admin/people", N_("People"), Right.READ_PEOPLE)
QUERY_MAX = 32


class PeoplePages:
    """The pages on people."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/people?q=&role=&after=: the people by name."""
        asked = request.query_params
        text, role = asked.get("q", "").strip().lower()[:QUERY_MAX], asked.get("role", "")
        barred = Sanction(asked["barred"]) if asked.get("barred") in BARS else None
        which = PeopleFilter(text=text or None, role=Role(role) if role in [*Role] else None, barred=barred)
        viewer, found = await self._site.read(request, people.listed, which, after=asked.get("after") or None)
        kept = {"q": text, "role": "" if which.role is None else which.role.value, "barred": barred or ""}
        context = {
            "found": found,
            **kept,
            "roles": ROLES,
            "next": f"{PEOPLE.path}?{urlencode({**kept, 'after': found.next})}" if found.next else None,
            "query_max": QUERY_MAX,
        }
        return self._site.page(request, "people.html", viewer, context)
