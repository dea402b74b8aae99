"""The catalogue of a sale for everybody: as cards, as a list, on paper; found by words and by number."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.api.auctions import QUERY_MAX
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.service import showing
from saleroom.sales.services import SaleServices
from saleroom.site.site import Site, go_to

CATALOGUES = "/catalogues"
VIEWS = {"cards": 48, "list": 100, "paper": 500}
"""How many lots a page has, by how it shows them."""
_RANK = re.compile(r"[0-9]{1,9}")


class CataloguePages:
    """The pages of catalogues."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /catalogues: the sales of the house."""
        found = await self._services.database.read(showing.public)
        return self._site.page(request, "catalogues.html", await self._site.viewer(request), {"sales": found})

    async def one(self, request: Request) -> Response:
        """GET /catalogues/{gid}: the lots of a sale; with `number` it leads to the page of that lot."""
        viewer = await self._site.viewer(request)
        gid, asked = sale_gid(request), request.query_params
        number = asked.get("number", "").strip()
        missing = False
        if number:
            label = parse_label(number)
            found = None
            if not isinstance(label, Fault):
                found = await self._services.database.read(showing.path_of, gid, label)
            if found is not None:
                return go_to(found)
            missing = True
        view = asked.get("view", "") if asked.get("view", "") in VIEWS else "cards"
        text, after = asked.get("q", "").strip()[:QUERY_MAX], rank(asked.get("after", ""))
        page = await self._services.database.read(showing.catalogue, gid, text=text, after=after, limit=VIEWS[view])

        def address(**changes: str | int) -> str:
            sent = {name: value for name, value in {"view": view, "q": text, **changes}.items() if value}
            sent = {name: value for name, value in sent.items() if (name, value) != ("view", "cards")}
            return f"{CATALOGUES}/{gid}" + (f"?{urlencode(sent)}" if sent else "")

        context = {
            "page": page,
            "sale": page.sale,
            "view": view,
            "views": list(VIEWS),
            "q": text,
            "query_max": QUERY_MAX,
            "number": number if missing else "",
            "missing": missing,
            "after": after,
            "address": address,
        }
        return self._site.page(request, "catalogue.html", viewer, context)


def sale_gid(request: Request) -> str:
    """Return the gid in the path of a sale's page. Raises UnknownSale if no sale can have it."""
    found: str = request.path_params["gid"]
    if GID.fullmatch(found) is None:
        raise UnknownSale
    return found


def rank(text: str) -> int:
    """Return the rank in an address; 0 for anything else."""
    return int(text) if _RANK.fullmatch(text) else 0
