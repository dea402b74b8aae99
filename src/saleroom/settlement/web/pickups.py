"""Pick-up in the back office: the sold lots of a sale for the door, handed out one by one, and taken back."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, MissingRight, Refusal
from saleroom.sales.domain.errors import UnknownLot, UnknownSale
from saleroom.sales.domain.labels import parse_label
from saleroom.settlement.api.pickups import HAND_OUT
from saleroom.settlement.domain.pickups import NewPickup
from saleroom.settlement.service import desk, handing_out
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.desk import DESK
from saleroom.settlement.web.forms import Sent, once_of, page_gid
from saleroom.site.site import Site, fields, for_users, go_to


class PickupPages:
    """The page of the door, and its forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/pickup?buyer=: the sold lots, or those of one buyer."""
        return await self._page(request)

    async def hand_out(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/pickup/out: hand a lot out."""

        async def act(token: str, gid: str, label: str, sent: Sent) -> None:
            said = {name: sent[name].strip() for name in ("to", "reason") if sent.get(name, "").strip()}
            values = HAND_OUT.read(msgspec.json.encode(said))
            key = once_of(sent, "/admin/desk/{gid}/pickup/out", gid, {"lot": label, **said})
            new = NewPickup(label, values.get("to", ""), values.get("reason", ""))
            await self._services.tokens.write(handing_out.hand_out, token, gid, new, self._services.places, key)

        return await self._act(request, act)

    async def undo(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/pickup/undo: take back that a lot was handed out."""

        async def act(token: str, gid: str, label: str, sent: Sent) -> None:
            key = once_of(sent, "/admin/desk/{gid}/pickup/undo", gid, {"lot": label})
            await self._services.tokens.write(handing_out.undo, token, gid, label, self._services.places, key)

        return await self._act(request, act)

    @for_users
    async def _act(self, request: Request, act: Callable[[str, str, str, Sent], Awaitable[None]]) -> Response:
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        label = parse_label(sent.get("lot", ""))
        if isinstance(label, Fault):
            raise UnknownLot
        try:
            await act(session_token(request) or "", gid, label, sent)
        except (MissingRight, UnknownSale):
            raise
        except Declined as refused:
            return await self._page(request, refused, label, sent)
        asked = {"done": label, **({"buyer": sent["buyer"]} if sent.get("buyer") else {})}
        return go_to(f"{DESK.path}/{gid}/pickup?{urlencode(asked)}")

    @for_users
    async def _page(
        self, request: Request, refused: Refusal | None = None, of: str = "", sent: Sent | None = None
    ) -> Response:
        gid, asked = page_gid(request, UnknownSale), request.query_params
        viewer, sale = await self._site.read(request, desk.sale_to_settle, gid)
        write, token = self._services.tokens.write, session_token(request) or ""
        found = await write(handing_out.listed, token, gid, self._services.places)
        buyer = (sent or {}).get("buyer", asked.get("buyer", "")).strip().removeprefix("#")
        language, words = self._site.language(request), self._site.words
        rows = [one for one in found.pickups if buyer in ("", str(one.paddle or ""), one.username)]
        is_shown = any(one.label == of and not one.handed_out_at for one in rows)
        context: dict[str, Any] = {
            "gid": gid,
            "title": sale.terms.title,
            "found": found,
            "buyer": buyer,
            "rows": rows,
            "done": None if refused else asked.get("done"),
            "may_unpaid": viewer is not None and Right.MANAGE_SALES.value in viewer.rights,
            "of": of,
            "sent": sent or {},
            "faults": words.field_faults(language, refused),
            "message": words.above(language, refused, ("to", "reason") if is_shown else ()),
            "key": secrets.token_urlsafe(24),
        }
        return self._site.page(request, "pickup.html", viewer, context, refused=refused, headers=_UNSEEN)


_UNSEEN = {"Cache-Control": "no-store"}
