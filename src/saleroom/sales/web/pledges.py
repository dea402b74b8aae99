"""The pledges of a fund-a-need for staff: who has given what."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.kernel.money import ZERO
from saleroom.sales.domain.views import pledge_view
from saleroom.sales.service import needs
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import sale_gid
from saleroom.sales.web.editor import label_of
from saleroom.site.site import Site, for_users

PLEDGES = "/admin/sales/{gid}/lots/{label}/pledges"


class PledgePages:
    """The page of the pledges."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/lots/{label}/pledges: by giver, and each in its order."""
        gid, label = sale_gid(request), label_of(str(request.path_params["label"]))
        viewer, found = await self._site.read(request, needs.listed, gid, label)
        givers: dict[tuple[str, str], Decimal] = {}
        for one, bidder, name in found:
            if one.stands:
                givers[bidder, name] = givers.get((bidder, name), ZERO) + one.amount
        context: dict[str, Any] = {
            "gid": gid,
            "label": label,
            "pledges": [(pledge_view(one, bidder), name) for one, bidder, name in reversed(found)],
            "givers": [(bidder, name, str(amount)) for (bidder, name), amount in givers.items()],
            "total": str(sum(givers.values(), ZERO)),
        }
        return self._site.page(request, "pledges.html", viewer, context, headers={"Cache-Control": "no-store"})
