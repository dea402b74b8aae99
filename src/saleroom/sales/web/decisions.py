"""The reader's lots with a bid below the reserve: accept it or decline it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.errors import NotConditional
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID
from saleroom.sales.domain.block import TAG_MAX
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.service.live import decisions
from saleroom.sales.services import SaleServices
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

PATH = "/mine/decisions"
ACCEPT, DECLINE = "accept", "decline"


class DecisionPages:
    """The page on which sellers decide."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /mine/decisions: the lots that wait for the reader."""
        return await self._page(request)

    @for_users
    async def decide(self, request: Request) -> Response:
        """POST /mine/decisions/{gid}: accept or decline the bid on a lot."""
        gid, sent = request.path_params["gid"], await fields(request)
        if GID.fullmatch(gid) is None:
            raise UnknownLot
        do, seen = sent.get("do"), sent.get("seen", "")
        if do not in (ACCEPT, DECLINE) or len(seen) > TAG_MAX:
            raise Invalid({"do": [Fault("malformed", f"must be {ACCEPT} or {DECLINE}")]})
        token = session_token(request) or ""
        try:
            await self._services.tokens.write(decisions.decide, token, gid, seen, accepted=do == ACCEPT)
        except NotConditional:
            pass  # it was decided meanwhile, perhaps by this form sent twice; the page of the lot says how
        except (UnknownLot, MissingRight):
            raise
        except Declined as refused:
            return await self._page(request, refused)
        return go_to(f"/lots/{gid}")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None) -> Response:
        viewer, asked = await self._site.read(request, _asked)
        message = self._site.words.message(self._site.language(request), refused)
        context = {"asked": asked, "message": message, "accept": ACCEPT, "decline": DECLINE}
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "decisions.html", viewer, context, refused=refused, headers=headers)


def _asked(tx: Transaction, token: str | None) -> list[decisions.Question]:
    if token is None:
        raise Unauthenticated
    return decisions.asked(tx, token)
