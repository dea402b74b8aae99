"""The reader's registration for a sale: register, and see the paddle, the limit, and what the reader owes and leads by."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, MissingRight, Refusal
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.domain.participants import Standing, needs_registration
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import ParticipantProfile
from saleroom.sales.services import SaleServices
from saleroom.site.site import Site, for_users, go_to
from saleroom.storage.database import Transaction


class RegistrationPages:
    """The page of one's own registration for a sale, and its form."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /mine/sales/{gid}: the registration, or the button to register."""
        return await self._page(request)

    @for_users
    async def register(self, request: Request) -> Response:
        """POST /mine/sales/{gid}: register."""
        gid = participants.sale_gid(request.path_params["gid"])
        try:
            await self._services.tokens.write(participants.register, session_token(request) or "", gid)
        except (UnknownSale, MissingRight):
            raise
        except Declined as refused:
            return await self._page(request, refused)
        return go_to(f"/mine/sales/{gid}")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None) -> Response:
        gid, language = participants.sale_gid(request.path_params["gid"]), self._site.language(request)
        viewer, (sale, known) = await self._site.read(request, _own, gid)
        context = {
            "sale": sale,
            "known": known,
            "one": None if known is None else known.participant,
            "other_paddle": _other_paddle(request, known),
            "left": None if known is None else known.left,
            "takes": needs_registration(sale) and not sale.over,
            "pending": Standing.PENDING,
            "declined": Standing.DECLINED,
            "message": self._site.words.message(language, refused),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "sale_registration.html", viewer, context, refused=refused, headers=headers)


def _other_paddle(request: Request, known: ParticipantProfile | None) -> str:
    """Return the paddle of the bid card that led here, if it is not the reader's own."""
    asked = request.query_params.get("paddle", "")
    own = None if known is None else known.participant.paddle
    return asked if asked.isascii() and asked.isdigit() and len(asked) <= 5 and asked != str(own) else ""


def _own(tx: Transaction, token: str | None, gid: str) -> tuple[Sale, ParticipantProfile | None]:
    return participants.own_overview(tx, token, gid)
