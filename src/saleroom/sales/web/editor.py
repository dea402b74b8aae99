"""The editor of sales in the back office: their terms, their lots and the order of these, publication and withdrawal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.forms import Form
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Refusal
from saleroom.kernel.instants import instant
from saleroom.sales.api.fields import REASON_MAX, reason
from saleroom.sales.api.forms import ADD_LOT, CHANGE_LOT, CHANGE_SALE, MAKE_SALE
from saleroom.sales.api.lots import new_lot
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.domain.sale import Kind, Names, Registration, SaleTerms
from saleroom.sales.domain.views import SaleView
from saleroom.sales.service import clocks, lots, managing, ordering, showing
from saleroom.sales.service.people import consigning
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import rank, sale_gid
from saleroom.sales.web.editor_fields import (
    amount_text,
    doubtful,
    doubts,
    increments_text,
    instant_of,
    local_text,
    texts_of,
    value_of,
)
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

SALES = Section("/admin/sales", N_("Sales"), Right.CATALOGUE)
LOTS_PER_PAGE = 200
_SALE = ("title", "kind", "venue", "description", "spacing", "increment", "names", "registration", "limitDefault")
_LOT = (
    "label", "name", "startingPrice", "description", "reservePrice", "category", "consignor", "estimateFrom",
    "estimateTo", "taxScheme",
)  # fmt: skip
_NEED = ("label", "name", "levels", "goal", "description")
_TIMES = ("opensAt", "startsAt")
_REASON = Form(name="Reason", fields=(reason("Why. Everybody can read it, for good."),))
Sent = dict[str, str]


class EditorPages:
    """The pages of the editor, and their forms."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /admin/sales: the sales, and the form of a new one."""
        return await self._list(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /admin/sales: make a draft, and go on to it."""
        sent = await fields(request)
        try:
            values = self._read(request, MAKE_SALE, sent, ("title", "kind"))
            body = await self._write(request, managing.make, SaleTerms(**values))
        except Declined as refused:
            return await self._list(request, refused, sent)
        return go_to(f"{SALES.path}/{msgspec.json.decode(body)['gid']}")

    async def one(self, request: Request) -> Response:
        """GET /admin/sales/{gid}: a sale with its lots."""
        return await self._sale(request)

    async def save(self, request: Request) -> Response:
        """POST /admin/sales/{gid}: change the terms."""
        sent = await fields(request)

        async def act(gid: str) -> None:
            names = tuple(name for name in _SALE if name in sent)
            await self._write(request, managing.change, gid, self._read(request, CHANGE_SALE, sent, names, times=True))

        return await self._done(request, act, sent)

    async def publish(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/publish."""

        async def act(gid: str) -> None:
            await self._write(request, managing.publish, gid, None, self._services.categories)

        return await self._done(request, act)

    async def cancel(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/cancel."""
        sent = await fields(request)

        async def act(gid: str) -> None:
            await self._write(request, managing.cancel, gid, reason_of(sent))

        return await self._done(request, act, sent)

    async def pause(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/pause."""
        return await self._done(request, lambda gid: self._write(request, clocks.pause, gid))

    async def resume(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/resume."""
        return await self._done(request, lambda gid: self._write(request, clocks.resume, gid))

    @for_users
    async def add(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/lots: add a lot."""
        sent, gid = await fields(request), sale_gid(request)
        try:
            new = new_lot(self._read(request, ADD_LOT, sent, _NEED if "levels" in sent else _LOT))
            body = await self._write(request, lots.add, gid, new, None, self._services.categories)
        except Declined as refused:
            return await self._sale(request, refused, sent)
        query = [("added", msgspec.json.decode(body)["label"]), *self._doubtful(request, sent)]
        return go_to(f"{SALES.path}/{gid}?{urlencode(query)}#add")

    async def order(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/order: move a lot up, down, or before or behind another one."""
        sent = await fields(request)

        async def act(gid: str) -> None:
            label, to, before = label_of(sent.get("label", "")), sent.get("to", ""), sent.get("before", "").strip()
            behind = sent.get("behind")
            if to in ("up", "down"):
                await self._write(request, ordering.step, gid, label, up=to == "up")
            elif behind is not None:
                await self._write(request, ordering.move_behind, gid, label, label_of(behind))
            else:
                await self._write(request, ordering.move, gid, label, label_of(before) if before else None)

        return await self._done(request, act, sent, after=rank(sent.get("after", "")), place="#lots")

    async def renumber(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/renumber: number all lots in the order of calling."""

        async def act(gid: str) -> None:
            await self._write(request, ordering.set_order, gid, None, renumber_from=1)

        return await self._done(request, act, place="#lots")

    async def lot(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/lots/{label}: the form of a lot."""
        return await self._lot(request)

    async def change(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/lots/{label}: change a lot."""
        sent = await fields(request)

        async def act(gid: str) -> None:
            values = self._read(request, CHANGE_LOT, sent, tuple(name for name in {*_LOT, *_NEED} if name in sent))
            await self._write(request, lots.change, gid, _label(request), values, self._services.categories)

        return await self._done(request, act, sent, place="#lots", lot=True)

    async def withdraw(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/lots/{label}/withdraw."""
        sent = await fields(request)

        async def act(gid: str) -> None:
            await self._write(request, lots.withdraw, gid, _label(request), reason_of(sent))

        return await self._done(request, act, sent, place="#lots", lot=True)

    @for_users
    async def _done(
        self,
        request: Request,
        act: Callable[[str], Awaitable[None]],
        sent: Sent | None = None,
        *,
        after: int = 0,
        place: str = "",
        lot: bool = False,
    ) -> Response:
        """Act, and return to the page of the sale; to the form, with what was `sent`, if the act is refused."""
        gid = sale_gid(request)
        try:
            await act(gid)
        except Declined as refused:
            return await (self._lot if lot else self._sale)(request, refused, sent)
        read = self._doubtful(request, sent or {})
        query = urlencode(([("after", str(after))] if after else []) + read)
        return go_to(f"{SALES.path}/{gid}" + (f"?{query}" if query else "") + ("" if read else place))

    def _doubtful(self, request: Request, sent: Sent) -> list[tuple[str, str]]:
        """Return the amounts that may mean thousands, as members of the query by which the page says how they were read."""
        return [("read", text) for text in doubtful(self._site.language(request), sent)]

    async def _write(self, request: Request, use_case: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        work: Awaitable[Any] = self._services.tokens.write(use_case, session_token(request) or "", *args, **kwargs)
        return await work

    def _read(
        self, request: Request, form: Form, sent: Sent, names: tuple[str, ...], *, times: bool = False
    ) -> dict[str, Any]:
        """Return what a form of the API reads from the fields. Raises Invalid with all faults."""
        language, faults = self._site.language(request), dict[str, list[Fault]]()
        members: dict[str, Any] = {}
        for name in names:
            text = sent.get(name, "")
            value = value_of(language, name, text)
            if isinstance(value, Fault):
                faults[name] = [value]
            elif value is not None or name not in ("label", "spacing"):
                members[name] = value
        if times:
            members |= {"following": sent.get("following") == "on"}
            for name in _TIMES:
                found = instant_of(sent.get(name, ""), sent.get("zone", "UTC"), sent.get(f"{name}Known", ""))
                if isinstance(found, Fault):
                    faults[name] = [found]
                else:
                    members[name] = None if found is None else instant(found)
            seconds = sent.get("softClose", "")
            window = int(seconds) if seconds in ("60", "120", "300") else 0
            members["softClose"] = {"window": window, "extension": window} if window else None
            if "startsAt" not in sent:  # a published sale keeps these
                members = {name: value for name, value in members.items() if name in names}
        return form.read_beside(msgspec.json.encode(members), faults)

    @for_users
    async def _list(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        try:
            viewer, found = await self._site.read(request, showing.managed)
        except Declined as other:
            raise refused or other from None
        context = {"sales": found, "sent": sent or {}, **self._said(request, refused)}
        return self._site.page(request, "admin_sales.html", viewer, context, refused=refused)

    @for_users
    async def _sale(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid, after = sale_gid(request), rank(request.query_params.get("after", ""))
        try:
            viewer, page = await self._site.read(request, showing.edited, gid, after, LOTS_PER_PAGE)
            _, codes = await self._site.read(request, consigning.listed)
        except Declined as other:
            raise refused or other from None
        manages = viewer is not None and Right.MANAGE_SALES in viewer.rights
        said, typed = self._said(request, refused), sent or {}
        act = "" if refused is None else request.url.path.removeprefix(f"{SALES.path}/{gid}").strip("/") or "terms"
        adds = typed if act == "lots" else {}
        context = {
            "page": page,
            "sale": page.sale,
            "act": act,
            "w": self._written(request, page.sale) | ({"following": "", **typed} if act == "terms" else {}),
            "terms_faults": said["faults"] if act == "terms" else {},
            "known": {
                name: getattr(page.sale, field) for name, field in (("opensAt", "opens_at"), ("startsAt", "starts_at"))
            },
            "new": {} if "levels" in adds else adds,
            "need": adds if "levels" in adds else {},
            "moving": typed if act == "order" and "before" in typed else {},
            "reason": typed.get("reason", "") if act == "cancel" else "",
            "manages": manages,
            "after": after,
            "doubts": doubts(self._site.language(request), request.query_params.getlist("read")),
            "added": request.query_params.get("added", "")[:8],
            "categories": self._services.categories,
            "codes": codes,
            "reason_max": REASON_MAX,
            **said,
        }
        return self._site.page(request, "admin_sale.html", viewer, context, refused=refused)

    @for_users
    async def _lot(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid, label = sale_gid(request), _label(request)
        try:
            viewer, (sale, lot) = await self._site.read(request, showing.one_edited, gid, label)
            _, codes = await self._site.read(request, consigning.listed)
        except Declined as other:
            raise refused or other from None
        context = {
            "sale": sale,
            "lot": lot,
            "new": texts_of(self._site.language(request), lot) | (sent or {}),
            "reason": (sent or {}).get("reason", ""),
            "categories": self._services.categories,
            "codes": codes,
            "reason_max": REASON_MAX,
            **self._said(request, refused),
        }
        return self._site.page(request, "admin_sale_lot.html", viewer, context, refused=refused)

    def _said(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, refused),
            "message": words.message(language, refused),
            "kinds": [*Kind],
            "names": [*Names],
            "registrations": [*Registration],
        }

    def _written(self, request: Request, sale: SaleView) -> dict[str, str]:
        """Return the fields of a sale as its form has them, with times in UTC."""
        limit = sale.limit_default if isinstance(sale.limit_default, str) else None
        return {
            "title": sale.title,
            "kind": sale.kind,
            "venue": sale.venue,
            "description": sale.description,
            "spacing": str(sale.spacing),
            "increment": increments_text(self._site.language(request), sale.increment),
            "names": sale.names,
            "registration": sale.registration,
            "limitDefault": amount_text(self._site.language(request), limit),
            "opensAt": local_text(sale.opens_at),
            "startsAt": local_text(sale.starts_at),
            "softClose": "" if sale.soft_close is None else str(sale.soft_close.window),
            "following": "on" if sale.following else "",
        }


def _label(request: Request) -> str:
    return label_of(str(request.path_params["label"]))


def reason_of(sent: Sent) -> str:
    """Return the reason in a form, as the API reads it. Raises Invalid."""
    said = {"reason": " ".join(sent.get("reason", "").split())}
    found: str = _REASON.read(msgspec.json.encode(said))["reason"]
    return found


def label_of(text: str) -> str:
    """Return the label in a path or a form. Raises UnknownLot if no lot can have it."""
    found = parse_label(text)
    if isinstance(found, Fault):
        raise UnknownLot
    return found
