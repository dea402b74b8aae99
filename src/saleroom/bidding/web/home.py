"""The home page: the lots of the house, found, filtered, sorted and turned by page, all by its address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import parse_username
from saleroom.bidding.api.auctions import QUERY_MAX
from saleroom.bidding.api.lists import AUCTIONS
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.service import reading
from saleroom.bidding.service.catalogue import COUNT_MAX, Catalogue, catalogue
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.listing import Filter, Mark, Sort
from saleroom.http.cursors import BAD_CURSOR, Sealed
from saleroom.http.forms import Field, checked, one_of, read_fields, text
from saleroom.kernel.errors import Fault, Invalid
from saleroom.site.site import Site

LOTS_PER_PAGE = 24
"""Full rows, whether two, three or four stand beside each other."""
_OVER = "over"
_FIELDS = (
    Field(name="q", to="q", parse=text(1, QUERY_MAX), schema={}),
    Field(name="status", to="status", parse=one_of((Status.OPEN, Status.SCHEDULED, _OVER)), schema={}),
    Field(name="author", to="author", parse=checked(parse_username), schema={}),
    Field(name="sort", to="sort", parse=one_of(tuple(Sort)), schema={}),
    Field(name="after", to="after", parse=checked(lambda cursor: Sealed(AUCTIONS, cursor)), schema={}),
)


class Asked(Struct, frozen=True, kw_only=True):
    """What the address of a list says; what it does not say is as here."""

    q: str = ""
    status: str = Status.OPEN.value
    author: str = ""
    sort: str = Sort.ENDING.value
    after: Mark | None = None

    @property
    def which(self) -> Filter:
        """The lots that are asked for."""
        over = self.status == _OVER
        return Filter(
            status=None if over else self.status,
            over=True if over else None,
            author=self.author or None,
            text=self.q or None,
        )

    @property
    def plain(self) -> bool:
        """Whether this is the whole of one state, as home shows it first."""
        return not (self.q or self.author or self.after)

    def address(self, **changes: Any) -> str:
        """Return the address that asks for the same from its first page on, but for `changes`."""
        wanted = {name: changes.get(name, getattr(self, name)) for name in ("q", "status", "author", "sort")}
        query = {name: value for name, value in wanted.items() if value != getattr(_NOTHING, name)}
        if "cursor" in changes:
            query["after"] = changes["cursor"]
        return f"/?{urlencode(query)}" if query else "/"


_NOTHING = Asked()


class Home:
    """GET /."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /: the lots that the address asks for; without more, those on sale, the one that ends soonest first."""
        viewer = await self._site.viewer(request)
        try:
            asked = self._asked(request)
            found = await self._look(asked)
        except Invalid as refused:
            # Old or mistyped, it is no list. The way out is in the page.
            return self._site.page(request, "home.html", viewer, self._context(_NOTHING, None), refused=refused)
        context = {"origin": self._site.origin(request), **self._context(asked, found)}
        return self._site.page(request, "home.html", viewer, context)

    async def _look(self, asked: Asked) -> Catalogue:
        """Return the page. Raises Invalid for a cursor that is none of this list."""
        wanted = (asked.which, Sort(asked.sort), LOTS_PER_PAGE, asked.after)
        try:
            if asked.which.is_costly or asked.after is not None:
                # It may take its time, and is not to keep the others waiting.
                searched: Catalogue = await self._services.database.read(reading.searched, (catalogue, *wanted))
                return searched
            found: Catalogue = await self._services.shared_reads.ask((catalogue, *wanted))
        except ValueError as error:
            raise Invalid({"after": [BAD_CURSOR]}) from error
        return found

    def _context(self, asked: Asked, found: Catalogue | None) -> dict[str, Any]:
        """Return what the template shows; without `found` the address was none of a list."""
        mark = None if found is None else found.next
        cursor = None if mark is None else self._services.cursors.write(AUCTIONS, mark)
        return {
            "asked": asked,
            "found": found,
            "count_max": COUNT_MAX,
            "query_max": QUERY_MAX,
            "next": None if cursor is None else asked.address(cursor=cursor),
        }

    def _asked(self, request: Request) -> Asked:
        """Read the address; an empty field asks for nothing, as a form sends it, and what others add is let be.

        Raises Invalid.
        """
        sent = {field.name: request.query_params.get(field.name, "").strip() for field in _FIELDS}
        encoded = {name: msgspec.json.encode(value) for name, value in sent.items() if value}
        values = read_fields(_FIELDS, encoded, strict=False)
        if isinstance(sealed := values.get("after"), Sealed):
            values["after"] = self._services.cursors.read(sealed)
        if isinstance(fault := values.get("after"), Fault):
            raise Invalid({"after": [fault]})
        return Asked(**values)
