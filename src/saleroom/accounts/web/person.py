"""One person in the back office: the role, what bars them, their history, and what staff can do about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.audit import REASON_CHARACTERS_MAX, parse_reason
from saleroom.accounts.domain.errors import LotsRunning, UnknownUser
from saleroom.accounts.domain.rights import Right, Role, rank
from saleroom.accounts.domain.sanctions import IMPOSED, Sanction
from saleroom.accounts.service import erasures, roles_of_users, sanctions
from saleroom.accounts.service.sanctions import Standing
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.words import ROLES, SANCTIONS
from saleroom.http.problems import NotFound
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.kernel.parties import ERASED
from saleroom.site.language import N_
from saleroom.site.site import Site, Viewer, fields, for_users, go_to

LASTS = {
    "1": N_("1 day"),
    "7": N_("1 week"),
    "30": N_("30 days"),
    "365": N_("1 year"),
    "": N_("without an end"),
}
"""How long a suspension or a ban can last on the pages, by days; the API takes any end."""
RUNNING = N_("This person offers a lot that runs, or has a bid on one. Erase them once it is over.")
Sent = dict[str, str]


class PersonPages:
    """The page on one person, and its forms."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/people/{username}: the person. Raises NotFound."""
        return await self._page(request)

    async def sanction(self, request: Request) -> Response:
        """POST /admin/people/{username}/sanctions: warn, suspend or ban."""

        async def act(token: str, name: str, sent: Sent, reason: str) -> None:
            kind, days = sent.get("kind", ""), sent.get("days", "")
            if kind not in IMPOSED or days not in LASTS:
                raise Invalid.one("days" if kind in IMPOSED else "kind", "not_a_choice", "must be a choice")
            lasts = timedelta(days=int(days)) if days and kind != Sanction.WARNING else None
            write = self._services.tokens.write
            await write(sanctions.sanction, token, name, Sanction(kind), _given(reason), lasts)

        return await self._act(request, act)

    async def lift(self, request: Request) -> Response:
        """POST /admin/people/{username}/lift: lift what bars the person."""

        async def act(token: str, name: str, _: Sent, reason: str) -> None:
            await self._services.tokens.write(sanctions.lift, token, name, _given(reason))

        return await self._act(request, act)

    async def give_role(self, request: Request) -> Response:
        """POST /admin/people/{username}/role: give another role."""

        async def act(token: str, name: str, sent: Sent, reason: str) -> None:
            if sent.get("role") not in [*Role]:
                raise Invalid.one("role", "not_a_choice", "must be a role")
            await self._services.tokens.write(roles_of_users.give_role, token, name, Role(sent["role"]), reason)

        return await self._act(request, act)

    async def approve(self, request: Request) -> Response:
        """POST /admin/people/{username}/seller: approve as a seller, or take that back."""

        async def act(token: str, name: str, sent: Sent, reason: str) -> None:
            write, approved = self._services.tokens.write, sent.get("approved") == "1"
            await write(roles_of_users.approve_seller, token, name, approved=approved, reason=reason)

        return await self._act(request, act)

    async def end_sessions(self, request: Request) -> Response:
        """POST /admin/people/{username}/sessions: log the person out everywhere."""

        async def act(token: str, name: str, _: Sent, reason: str) -> None:
            await self._services.tokens.write(sanctions.end_sessions, token, name, reason)

        return await self._act(request, act)

    async def erase(self, request: Request) -> Response:
        """POST /admin/people/{username}/erasure: erase the person, and show what is left under the pseudonym."""

        async def act(token: str, name: str, sent: Sent, reason: str) -> str:
            forget, typed = self._services.erasures.forget, sent.get("name", "")
            return await self._services.tokens.write(erasures.erase, token, name, reason, forget, typed)

        return await self._act(request, act)

    @for_users
    async def _act(self, request: Request, act: Callable[[str, str, Sent, str], Awaitable[str | None]]) -> Response:
        """Do what a form asks for, and show the person again, with the refusal if there is one.

        `act` returns the person's name from then on, if it is another one.
        """
        sent, name = await fields(request), request.path_params["username"]
        try:
            reason = parse_reason(sent.get("reason", ""))
            if isinstance(reason, Fault):
                raise Invalid({"reason": [reason]})
            now = await act(session_token(request) or "", name, sent, reason)
        except UnknownUser:
            raise NotFound from None
        except Declined as refused:
            return await self._page(request, refused, sent)
        return go_to(f"/admin/people/{now or name}?done=1")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        name, language = request.path_params["username"], self._site.language(request)
        try:
            viewer, found = await self._site.read(request, sanctions.standing, name)
        except UnknownUser:
            raise NotFound from None
        except MissingRight as missing:
            raise refused or missing from None
        faults = self._site.words.field_faults(language, refused)
        context = {
            "found": found,
            "person": found.user,
            "may": _may(viewer, found),
            "roles": ROLES,
            "sanctions": SANCTIONS,
            "lasts": LASTS,
            "most": REASON_CHARACTERS_MAX,
            "sent": sent or {},
            "done": refused is None and request.query_params.get("done") == "1",
            "message": None
            if refused is None
            else " ".join(faults.values()) or self._site.words.refusal(language, refused),
            "lot": None,
        }
        if isinstance(refused, LotsRunning):
            context |= {"message": language.gettext(RUNNING), "lot": refused.facts["lot"]}
        return self._site.page(request, "person.html", viewer, context, refused=refused)


def _given(reason: str) -> str:
    """Return the reason. Raises Invalid if it is empty: the person reads it."""
    if not reason:
        raise Invalid.one("reason", "required", "is required")
    return reason


def _may(viewer: Viewer | None, found: Standing) -> dict[str, Any]:
    """Return which forms the reader gets; the use cases ask again. Nobody is left behind the name of somebody erased."""
    rights = frozenset() if viewer is None else frozenset(viewer.rights)
    if found.user.username.startswith(ERASED):
        rights &= {Right.READ_AUDIT}
    own = rank(viewer.role) if viewer is not None else 0  # type: ignore[attr-defined]  # the viewer is an account
    above = own > rank(found.user.role)
    beside = found.user.role is Role.OWNER or (viewer is not None and viewer.username == found.user.username)
    return {
        "sanction": Right.SANCTION_PEOPLE in rights and above,
        "end_sessions": Right.MANAGE_PEOPLE in rights and above,
        "erase": Right.MANAGE_PEOPLE in rights and above,
        "approve": Right.APPROVE_SELLERS in rights,
        "roles": [one for one in Role if rank(one) <= own]
        if Right.MANAGE_PEOPLE in rights and (above or (beside and own == rank(found.user.role)))
        else [],
        "audit": Right.READ_AUDIT in rights,
    }
