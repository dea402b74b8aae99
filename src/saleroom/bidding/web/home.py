"""The home page: the lots of the house. Its address says the search, the filter, the order and the page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import parse_username
from saleroom.bidding.api.auctions import QUERY_MAX
from saleroom.bidding.api.lists import AUCTIONS
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.categories import CATEGORY_MAX
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service import catalogue, reading
from saleroom.bidding.service.catalogue import COUNT_MAX, Catalogue, Interest
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.bidding.web.lots import CardReader, card_reader
from saleroom.http.cursors import BAD_CURSOR, CursorText
from saleroom.http.forms import Field, checked, one_of, read_fields, text
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.texts import without_steering
from saleroom.site.site import Site, Viewer

LOTS_PER_PAGE = 24
"""This fills rows of two, three or four."""
_OVER = "over"
ANY = ""
"""In place of a state: lots in all of them."""
_ASKED = ("q", "status", "author", "category", "sort")
_FIELDS = (
    Field(name="q", to="q", parse=text(1, QUERY_MAX), schema={}),
    Field(name="status", to="status", parse=one_of((Status.OPEN, Status.SCHEDULED, _OVER)), schema={}),
    Field(name="author", to="author", parse=checked(parse_username), schema={}),
    Field(name="category", to="category", parse=text(1, CATEGORY_MAX), schema={}),
    Field(name="sort", to="sort", parse=one_of(tuple(Sort)), schema={}),
    Field(name="after", to="after", parse=checked(lambda cursor: CursorText(AUCTIONS, cursor)), schema={}),
)


class LotQuery(Struct, frozen=True, kw_only=True):
    """The query in the address of a list. A part that the address leaves out has its default."""

    q: str = ""
    status: str = Status.OPEN.value
    author: str = ""
    category: str = ""
    sort: str = Sort.ENDING.value
    after: ListPlace | None = None

    @property
    def which(self) -> Filter:
        """The lots to list."""
        over = self.status == _OVER
        return Filter(
            status=None if over else self.status or None,
            over=True if over else None,
            author=self.author or None,
            category=self.category or None,
            text=self.q or None,
        )

    @property
    def is_default(self) -> bool:
        """Whether this is the first page of one state without a search, as the home page begins."""
        return not (self.q or self.author or self.category or self.after)

    @property
    def asked(self) -> dict[str, str]:
        """The filter and the order, as far as they are not the default."""
        return {name: value for name in _ASKED if (value := getattr(self, name)) != getattr(_DEFAULT, name)}

    def address(self, **changes: Any) -> str:
        """Return the address of the same query with `changes`, from its first page on."""
        sent = structs.replace(self, **{name: changes[name] for name in _ASKED if name in changes}).asked
        if "cursor" in changes:
            sent["after"] = changes["cursor"]
        return f"/?{urlencode(sent)}" if sent else "/"

    def feed(self, path: str) -> str:
        """Return the address of a feed of these lots: of all states, unless a state was chosen."""
        sent = {name: value for name in ("q", "author", "category") if (value := getattr(self, name))}
        return f"{path}?{urlencode(sent)}" if sent else path


_DEFAULT = LotQuery()


class HomePage:
    """GET /."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /: the lots that the address asks for; by default those on sale, ending soonest first."""
        try:
            query = lot_query(request, self._services)
            found = await self._look(query)
        except Invalid as refused:
            # The address is old or mistyped. The page links the list that works.
            viewer = await self._site.viewer(request)
            return self._site.page(request, "home.html", viewer, self._context(_DEFAULT, None), refused=refused)
        viewer, interest = await self._site.read(request, catalogue.interest, [one.gid for one in found.lots])
        context = {
            "origin": self._site.origin(request),
            "readers": {one.gid: reader_of(one, viewer, interest) for one in found.lots},
            "watched_lots": interest.watched,
            **self._context(query, found),
        }
        return self._site.page(request, "home.html", viewer, context)

    async def _look(self, query: LotQuery) -> Catalogue:
        """Return a page of the list. Raises Invalid for a cursor of another list."""
        wanted = (query.which, Sort(query.sort), LOTS_PER_PAGE, query.after)
        try:
            if query.which.is_costly or query.after is not None:
                # It may take long, and shared reads wait for each other.
                return await self._services.database.read(reading.searched, lambda tx: catalogue.catalogue(tx, *wanted))
            return await self._services.shared_reads.ask(catalogue.catalogue, *wanted)
        except ValueError as error:
            raise Invalid({"after": [BAD_CURSOR]}) from error

    def _context(self, query: LotQuery, found: Catalogue | None) -> dict[str, Any]:
        """Return the context of the template; `found` is None if the address is not that of a list."""
        place = None if found is None else found.next
        cursor = self._services.cursors.next_page(AUCTIONS.within(query.asked), place)
        return {
            "query": query,
            "found": found,
            "count_max": COUNT_MAX,
            "query_max": QUERY_MAX,
            "choices": self._services.category_choices(query.category),
            "next": None if cursor is None else query.address(cursor=cursor),
        }


def reader_of(a: AuctionView, viewer: Viewer | None, interest: Interest) -> CardReader:
    """Return what the card of a lot says about its reader."""
    known_as = None if viewer is None else interest.names.get(a.gid, viewer.username)
    return card_reader(a, viewer, known_as, interest.amounts.get(a.gid))


def lot_query(request: Request, services: BiddingServices, status: str = _DEFAULT.status) -> LotQuery:
    """Read the address; `status` counts if it has none. Raises Invalid.

    An empty field counts as left out, as forms send it. Unknown parameters, which others add to links, are ignored. So are the
    marks of direction in words that were pasted, which their reader does not see.
    """
    sent = {field.name: without_steering(request.query_params.get(field.name, "")).strip() for field in _FIELDS}
    encoded = {name: msgspec.json.encode(value) for name, value in sent.items() if value}
    values: dict[str, Any] = {"status": status} | read_fields(_FIELDS, encoded, strict=False)
    if isinstance(sealed := values.get("after"), CursorText):
        values["after"] = services.cursors.read(sealed.within(LotQuery(**{**values, "after": None}).asked))
    if isinstance(fault := values.get("after"), Fault):
        raise Invalid({"after": [fault]})
    return LotQuery(**values)
