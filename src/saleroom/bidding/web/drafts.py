"""Drafts of lots on the pages: saved while their seller writes, listed, continued, deleted."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.drafts import DraftForm, SavedDraft
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service import drafts
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import submissions
from saleroom.bidding.web.lot_form import LotForm
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Unauthenticated
from saleroom.kernel.identifiers import GID
from saleroom.kernel.instants import instant
from saleroom.site.local_times import read_local
from saleroom.site.site import Site, fields, go_to, local


class DraftPages:
    """Drafts, each for its owner only."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def keep(self, request: Request) -> Response:
        """POST /sell/drafts/{draft}: a script saves the form as it is now."""
        async with submissions.received(self._site, self._services, request, draft_gid(request)) as sent:
            return Response(status_code=204 if await self.save(request, sent.draft, sent.form) else 409)

    async def delete(self, request: Request) -> Response:
        """POST /sell/drafts/{draft}/delete."""
        gid, sent = draft_gid(request), await fields(request)
        try:
            await self._services.tokens.write(drafts.remove, session_token(request) or "", gid)
        except Unauthenticated:
            return go_to(self._site.login_address(f"/sell/drafts/{gid}"))
        return go_to(local(sent.get("next"), "/mine/selling"))

    async def save(self, request: Request, draft: str, form: LotForm) -> bool:
        """Save the form as a draft. Return False if the user has too many. Raises as `service.drafts.save`."""
        token, sellers = session_token(request) or "", self._services.sellers
        return await self._services.database.write(drafts.save, token, draft, _content(form), sellers)

    async def saved(self, request: Request, draft: str) -> LotForm | None:
        """Return the form of a draft, if there is one. Raises Unauthenticated."""
        found = await self._services.database.read(drafts.find, session_token(request), draft)
        return None if found is None else _form(found.form)


def draft_gid(request: Request) -> str:
    """Return the gid in the path of a draft. Raises UnknownAuction if no draft can have it."""
    found: str = request.path_params["draft"]
    if GID.fullmatch(found) is None:
        raise UnknownAuction
    return found


def draft_rows(saved: Sequence[SavedDraft], but: str = "") -> list[dict[str, str]]:
    """Return what a list of drafts shows of each: name, address and when it was saved; all drafts `but` one."""
    return [
        {
            "gid": one.gid,
            "name": one.form.texts.get("name", "").strip(),
            "address": address(one.gid if one.form.changes_a_lot else None, one.gid),
            "saved_at": instant(one.saved_at),
        }
        for one in saved
        if one.gid != but
    ]


def address(gid: str | None, draft: str) -> str:
    """Return the address of a form: of changes to the lot `gid`, otherwise of the draft of a new lot."""
    return f"/sell/drafts/{draft}" if gid is None else f"/sell/{gid}"


def _content(form: LotForm) -> DraftForm:
    """Return a form as it is saved."""
    return DraftForm(dict(form.texts), list(form.tiers), list(form.photos))


def _form(draft: DraftForm) -> LotForm:
    """Return the form that was saved. Its instants are known, so it can be continued in another time zone."""
    form = LotForm(texts=draft.texts, tiers=draft.tiers, photos=draft.photos)
    read_times = {field: read_local(form[field].strip(), form["zone"]) for field in ("startsAt", "endsAt", "cap")}
    known = {field: instant(found.at) for field, found in read_times.items() if not isinstance(found, Fault)}
    return structs.replace(form, known=known)
