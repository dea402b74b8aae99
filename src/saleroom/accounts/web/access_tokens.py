"""The reader's access tokens for programs: the list, the form for a new one, and the new one itself."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.access_tokens import DAYS_MAX, NAME_MAX, parse_name
from saleroom.accounts.domain.errors import UnknownAccessToken, WrongPassword
from saleroom.accounts.domain.rights import Role, Scope, is_staff
from saleroom.accounts.service import access_tokens
from saleroom.accounts.service.access_tokens import AccessTokenTerms
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.access_tokens import AccessToken
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.site.language import N_
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

PATH = "/mine/access-tokens"
SCOPE_WORDS = {
    Scope.READ: N_("Read your own lots, bids and receipts"),
    Scope.BID: N_("Bid and buy, watch lots, ask questions"),
    Scope.SELL: N_("Offer lots and look after your own"),
    Scope.STAFF: N_("Do the work of your role in the house"),
}
DAYS = (7, 30, 90, 365)
_DIGITS_MAX = 18


class AccessTokenPages:
    """The page of access tokens."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /mine/access-tokens: the list, and the form for a new one."""
        return await self._page(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /mine/access-tokens: make a token, and show it, once."""
        sent = await fields(request)
        try:
            wanted = _wanted(sent)
            address, token = client_address(request), session_token(request) or ""
            accounts = self._services.accounts
            made = await access_tokens.make(accounts, token, sent["password"], address, wanted, new_name=True)
        except Declined as refused:
            return await self._page(request, sent=sent, refused=refused)
        return await self._page(request, made=made.value)

    @for_users
    async def revoke(self, request: Request) -> Response:
        """POST /mine/access-tokens/revoke: end a token."""
        number = (await fields(request)).get("id", "")
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX):
            raise Invalid({"id": [Fault("malformed", "must be the number of a token")]})
        with suppress(UnknownAccessToken):  # it has ended already, as the list shows
            await self._services.tokens.write(access_tokens.revoke, session_token(request) or "", int(number))
        return go_to(PATH)

    async def _page(
        self, request: Request, *, made: str = "", sent: dict[str, str] | None = None, refused: Refusal | None = None
    ) -> Response:
        viewer, found = await self._site.read(request, _own)
        if viewer is None:
            return self._site.to_log_in(request)
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("password", refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        kept = sent or {}
        staff = is_staff(getattr(viewer, "role", Role.MEMBER))
        context: dict[str, Any] = {
            "tokens": [_row(one) for one in found],
            "made": made,
            "scopes": [
                (scope.value, words) for scope, words in SCOPE_WORDS.items() if staff or scope is not Scope.STAFF
            ],
            "scope_words": {scope.value: words for scope, words in SCOPE_WORDS.items()},
            "days": DAYS,
            "chosen": kept.get("days", "30"),
            "ticked": [scope.value for scope in Scope if kept.get(f"scope-{scope.value}")],
            "name": kept.get("name", ""),
            "name_max": NAME_MAX,
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }
        headers = {"Cache-Control": "no-store"} if made else {}
        return self._site.page(request, "access_tokens.html", viewer, context, refused=refused, headers=headers)


def _row(one: AccessToken) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "scopes": [scope.value for scope in Scope if scope in one.scopes],
        "ends": instant(one.expires_at),
        "used": maybe_instant(one.used_at),
    }


def _wanted(sent: dict[str, str]) -> AccessTokenTerms:
    """Return what the token that a form asks for is to be. Raises Invalid with all faults."""
    name, typed = parse_name(sent.get("name", "")), sent.get("days", "")
    scopes = frozenset(scope for scope in Scope if sent.get(f"scope-{scope.value}"))
    days = int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= len(str(DAYS_MAX)) else 0
    faults: dict[str, list[Fault]] = {}
    if isinstance(name, Fault):
        faults["name"] = [name]
    if not scopes:
        faults["scopes"] = [Fault("required", "is required")]
    if not 1 <= days <= DAYS_MAX:
        faults["days"] = [Fault("out_of_range", f"must be from 1 to {DAYS_MAX}", least=1, most=DAYS_MAX)]
    if not sent.get("password"):
        faults["password"] = [Fault("required", "is required")]
    if isinstance(name, Fault) or faults:
        raise Invalid(faults)
    return AccessTokenTerms(name, scopes, days)


def _own(tx: Transaction, token: str | None) -> list[AccessToken]:
    return [] if token is None else access_tokens.own(tx, token)
