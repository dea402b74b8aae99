"""What buying in a sale costs, as a page for everybody: the premium, and the total at a price."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.web.catalogue import sale_gid
from saleroom.sales.web.words import CHANNELS
from saleroom.settlement.api.costs import PRICED
from saleroom.settlement.service.costing import costs
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import tried_values
from saleroom.settlement.web.words import ITEMS
from saleroom.site.site import Site

COSTS = "/catalogues/{gid}/costs"


class CostPages:
    """The page of what buying costs."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /catalogues/{gid}/costs?lot=&price=&channel=: the rates of a sale or of one lot, and what a price comes to."""
        language, tried, refused = self._site.language(request), dict(request.query_params), None
        label, gid = _label(tried.get("lot", "").strip()), sale_gid(request)
        try:
            asked: dict[str, Any] = tried_values(language, tried, PRICED)
        except Invalid as invalid:
            refused, asked = invalid, {}
        given = (asked.get("price"), asked.get("channel", Channel.ONLINE), self._services.places)
        viewer, found = await self._site.read(request, costs, gid, label, *given)
        context = {
            "sale": found.sale,
            "lot": found.lot,
            "found": found.found,
            "tried": tried,
            "items": {str(one): language.gettext(words) for one, words in ITEMS.items()},
            "channels": {str(one): language.gettext(words) for one, words in CHANNELS.items()},
            "faults": self._site.words.field_faults(language, refused),
        }
        return self._site.page(request, "costs.html", viewer, context, refused=refused)


def _label(text: str) -> str | None:
    """Return the lot in the query, if any. Raises UnknownLot."""
    found = parse_label(text) if text else None
    if isinstance(found, Fault):
        raise UnknownLot
    return found
