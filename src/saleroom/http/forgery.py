"""Forgery tokens: a hidden field in each form of a page, which no other site can know."""

from __future__ import annotations

import hashlib
import hmac
import operator
import secrets
from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.types import Scope

from saleroom.http import problems
from saleroom.http.requests import HTTPS, cookie, session_of
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.storage import faults

FORGERY_HEADER = b"x-csrf-token"
OF_ANOTHER_SESSION = "saleroom.of_another_session"
"""In the scope of a form of this browser that was made for another session: it may be shown again, and must change nothing."""
SECRET = "saleroom.secret"
"""In the scope of a request: the HouseSecret."""
NEW_COOKIE = "saleroom.forgery_cookie"
"""In the scope of a request: the Set-Cookie header that goes with the answer."""
_NEW_VALUE = "saleroom.forgery_value"
_SHOWN = "saleroom.forgery_token"
"""In the scope of a request: the token that its page shows in each of its forms."""
_HALF = hashlib.sha256().digest_size


def forgery_token(request: HTTPConnection) -> str:
    """Return the token for the hidden field `csrfToken` of a form, bound to a cookie that goes with the answer.

    It is also bound to the session, so that an attacker cannot use a pair of token and cookie of another session.
    It is masked differently for each answer. Otherwise the size of a compressed page would reveal it, guess by guess
    (BREACH). All forms of one answer have the same. Raises DatabaseUnavailable while the secret of the house is not known.
    """
    if (shown := request.scope.get(_SHOWN)) is not None:
        return str(shown)
    https = bool(request.scope.get(HTTPS))
    name = _cookie_name(https=https)
    bound = request.scope.get(_NEW_VALUE) or cookie(request.scope, name)
    if bound is None:
        bound = secrets.token_urlsafe(32)
        attributes = "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if https else "")
        request.scope[_NEW_VALUE] = bound
        request.scope[NEW_COOKIE] = f"{name}={bound}; {attributes}".encode()
    masked = request.scope[_SHOWN] = _masked(_token(request.scope, bound))
    return masked


def forgery_cookie(scope: Scope) -> str | None:
    """Return the cookie that the forms of the sender's pages are bound to."""
    return cookie(scope, _cookie_name(https=bool(scope.get(HTTPS))))


def is_own_form(scope: Scope, bound: str, sent: str, shows_again: Callable[[str], bool]) -> bool:
    """Whether a page of the house made a form with the token `sent`, which is bound to the cookie `bound`.

    A form of another session is marked with OF_ANOTHER_SESSION. A user who has logged out since is still sent to log in. If
    the user has logged in again, only a form that may be shown again passes. Raises `problems.Unavailable`.
    """
    token = _unmasked(sent)
    try:
        own = _token(scope, bound)
    except faults.DatabaseUnavailable:
        raise problems.Unavailable from None
    if hmac.compare_digest(token, own):
        return True
    if not hmac.compare_digest(token[:_HALF], own[:_HALF]):
        return False
    scope[OF_ANOTHER_SESSION] = True
    return session_of(scope) is None or shows_again(scope["path"])


def _cookie_name(*, https: bool) -> str:
    return "__Host-saleroom_csrf" if https else "saleroom_csrf"


def _token(scope: Scope, bound: str) -> bytes:
    """Return a token that only the house can compute: half of it from the cookie, half from the session as well."""
    secret: HouseSecret = scope[SECRET]
    key = secret.key(Purpose.FORMS)
    # No cookie holds a line feed, so no cookie alone gives the second text.
    both = (bound, f"{bound}\n{session_of(scope) or ''}")
    return b"".join(hmac.digest(key, text.encode(), hashlib.sha256) for text in both)


def _masked(token: bytes) -> str:
    mask = secrets.token_bytes(len(token))
    return (mask + bytes(map(operator.xor, mask, token))).hex()


def _unmasked(sent: str) -> bytes:
    """Return the token in the value that a form sent. A value that no page has made gives other bytes."""
    try:
        both = bytes.fromhex(sent)
    except ValueError:
        return b""
    half = len(both) // 2
    return bytes(map(operator.xor, both[:half], both[half:]))
