"""A bid that was typed before a login: kept in a cookie of the lot's page, so that no address and no log has the amounts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.requests import cookie

SECONDS_MAX = 600
TEXT_MAX = 64
_COOKIE = "saleroom_bid"


def keep(answer: Response, gid: str, typed: Mapping[str, str], *, https: bool) -> None:
    """Keep the amount and the limit with an answer that leads to the login."""
    value = ":".join(quote(typed[name][:TEXT_MAX], safe="") for name in ("amount", "maximum"))
    if value != ":":
        answer.set_cookie(_COOKIE, value, SECONDS_MAX, path=f"/lots/{gid}", secure=https, httponly=True, samesite="lax")


def kept(request: Request) -> dict[str, str] | None:
    """Return the amount and the limit as they were typed, if there are any."""
    value = cookie(request.scope, _COOKIE)
    if value is None:
        return None
    amount, _, maximum = value.partition(":")
    return {"amount": unquote(amount)[:TEXT_MAX], "maximum": unquote(maximum)[:TEXT_MAX]}


def forget(answer: Response, gid: str, *, https: bool) -> None:
    """Delete them with an answer that shows them."""
    answer.delete_cookie(_COOKIE, path=f"/lots/{gid}", secure=https, httponly=True, samesite="lax")
