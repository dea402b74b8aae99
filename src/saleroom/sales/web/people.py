"""The people of a sale in the back office: found, admitted at the door, checked in, approved or declined, and merged."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import UnknownUser
from saleroom.bidding.domain.events import Channel
from saleroom.http.forms import Form
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.sales.api.participants import ADMIT, CHANGE, CHECK_IN, SEARCH_MAX, newcomer_of, said_of
from saleroom.sales.domain.errors import UnknownParticipant, UnknownSale
from saleroom.sales.domain.participants import CONTACT_MAX, HOUSE_PADDLES, NAME_MAX, REASON_MAX, Standing
from saleroom.sales.service.people import merging, participants
from saleroom.sales.service.people.participants import ParticipantProfile
from saleroom.sales.services import SaleServices
from saleroom.sales.web.words import ADMISSIONS, CHANNELS
from saleroom.site.language import Language
from saleroom.site.site import Site, fields, for_users, go_to

ROWS = 50
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_PADDLE = re.compile(r"[0-9]{1,6}")
Sent = dict[str, str]


class PeoplePages:
    """The page of a sale's people, and its forms."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/people?q=&before=: the list, and the form to admit somebody."""
        return await self._page(request)

    async def admit(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/people: admit somebody at the door."""

        async def act(token: str, sent: Sent) -> ParticipantProfile:
            said = self._read(
                request, sent, ADMIT, ("username", "personName", "contact", "bidsBy", "paddle", "bidLimit")
            )
            write = self._services.tokens.write
            return await write(participants.admit, token, _gid(request), newcomer_of(said))

        return await self._do(request, act, "admit")

    async def check_in(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/people/{participant}/check-in: check somebody in at the door."""

        async def act(token: str, sent: Sent) -> ParticipantProfile:
            said = self._read(request, sent, CHECK_IN, ("paddle",))
            write, one = self._services.tokens.write, _participant(request)
            return await write(participants.check_in, token, _gid(request), one, said.get("paddle"))

        return await self._do(request, act, f"in-{_participant(request)}")

    async def decide(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/people/{participant}/decision: approve up to a limit, or decline."""

        async def act(token: str, sent: Sent) -> ParticipantProfile:
            said = self._read(request, sent, CHANGE, ("admission", "reason", "bidLimit"))
            if "bidLimit" in sent and not sent["bidLimit"].strip():
                said["limit"] = None
            write, one = self._services.tokens.write, _participant(request)
            return await write(participants.change, token, _gid(request), one, said_of(said))

        return await self._do(request, act, f"decision-{_participant(request)}")

    async def merge(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/people/{participant}/merger: this one and another are the same person."""

        async def act(token: str, sent: Sent) -> ParticipantProfile:
            write, one = self._services.tokens.write, _participant(request)
            return await write(merging.merge_found, token, _gid(request), one, _searched(sent.get("into", "")))

        return await self._do(request, act, f"merger-{_participant(request)}")

    @for_users
    async def _do(
        self, request: Request, act: Callable[[str, Sent], Awaitable[ParticipantProfile]], form: str
    ) -> Response:
        sent, back = await fields(request), f"/admin/sales/{_gid(request)}/people"
        try:
            known = await act(session_token(request) or "", sent)
        except (UnknownSale, MissingRight):
            raise
        except Declined as refused:
            return await self._page(request, refused, form=form, sent=sent)
        return go_to(f"{back}?{urlencode({'done': known.participant.gid})}")

    def _read(self, request: Request, sent: Sent, form: Form, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the fields of a form as the API reads them; those that are empty are left out. Raises Invalid."""
        language = self._site.language(request)
        said: dict[str, Any] = {}
        faults: dict[str, list[Fault]] = {}
        for name in names:
            value = sent.get(name, "").replace("\r\n", "\n").strip()
            if not value:
                continue
            if name == "bidLimit":
                amount = language.parse_sure_money(value)
                if isinstance(amount, Fault):
                    faults[name] = [amount]
                else:
                    said[name] = str(amount)
            else:
                said[name] = int(value) if name == "paddle" and _PADDLE.fullmatch(value) else value
        try:
            values = form.read(msgspec.json.encode(said))
        except Invalid as refused:
            raise Invalid({**refused.faults, **faults}) from None
        if faults:
            raise Invalid(faults)
        return values

    @for_users
    async def _page(
        self, request: Request, refused: Refusal | None = None, *, form: str = "", sent: Sent | None = None
    ) -> Response:
        gid, language, asked = _gid(request), self._site.language(request), request.query_params
        text, before = _searched(asked.get("q", "")), asked.get("before", "")
        place = int(before) if _NUMBER.fullmatch(before) else None
        viewer, found = await self._site.read(request, participants.listed, gid, text, ROWS, place)
        kept, following = {"q": text} if text else {}, found.people.next
        words, at = self._site.words, _AT.get(form.partition("-")[0], {})
        marked = _marked(form, found.people.rows, is_over=found.sale.over)
        context = {
            "sale": found.sale,
            "rows": found.people.rows,
            "q": text,
            "next": f"?{urlencode({**kept, 'before': following})}" if following else None,
            "done": asked.get("done", "") if refused is None else "",
            "form": form,
            "sent": sent or {},
            "faults": words.field_faults(language, refused, at),
            "message": words.above(language, refused, marked, at),
            "admissions": _labels(language, ADMISSIONS),
            "channels": _labels(language, CHANNELS),
            "limits": {"name": NAME_MAX, "contact": CONTACT_MAX, "reason": REASON_MAX, "search": SEARCH_MAX},
            "reserved": HOUSE_PADDLES,
            "declined": Standing.DECLINED,
            "floor": Channel.FLOOR,
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "sale_people.html", viewer, context, refused=refused, headers=headers)


_AT: dict[str, dict[type[Refusal], str]] = {"admit": {UnknownUser: "username"}, "merger": {UnknownParticipant: "into"}}
"""The field at which each form says a refusal that is about one of them."""


def _marked(form: str, rows: Sequence[ParticipantProfile], *, is_over: bool) -> tuple[str, ...]:
    """Return the fields of the form that was sent, unless it is gone: its row may have changed, or be on another page."""
    if form == "admit":
        return ("username", "personName", "contact", "paddle", "bidLimit")
    kind, _, gid = form.partition("-")
    one = next((known.participant for known in rows if known.participant.gid == gid), None)
    if one is None or (is_over and kind != "merger"):
        return ()
    if kind == "in":
        is_shown = one.standing is not Standing.DECLINED and (not one.checked_in_at or not one.paddle)
        return ("paddle",) if is_shown else ()
    if kind == "decision":
        return ("bidLimit",) if one.standing is Standing.DECLINED else ("bidLimit", "reason")
    return ("into",)


def _labels(language: Language, words: Any) -> dict[str, str]:
    return {one.value: language.gettext(said) for one, said in words.items()}


def _gid(request: Request) -> str:
    return participants.sale_gid(request.path_params["gid"])


def _searched(text: str) -> str:
    """Return what somebody has typed to find people. No name has a NUL, and PostgreSQL takes none."""
    return text.replace("\0", "").strip()[:SEARCH_MAX]


def _participant(request: Request) -> str:
    found: str = request.path_params["participant"]
    if not found:
        raise UnknownParticipant
    return found
