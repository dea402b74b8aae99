"""The guard before every route: the limit on headers, the forgery filter, and the security headers of every answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import chain
from urllib.parse import unquote_plus

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from saleroom.http import requests
from saleroom.http.forgery import FORGERY_HEADER, NEW_COOKIE, SECRET, forgery_cookie, is_own_form
from saleroom.http.multipart import FORM_WITH_FILES, boundary
from saleroom.http.outcomes import Outcomes
from saleroom.http.problems import BodyTimeout, ForgeryRefusal, HeadersTooLarge
from saleroom.http.requests import HEAD_BYTES, HTTPS, SAFE_METHODS, header, media_type, read_body
from saleroom.http.responses import SharedHeaders
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Invalid

HEADER_BYTES_MAX = 8 * 1024
FIRST_FIELD_BYTES_MAX = 8 * 1024
"""How much of a form with files is read to find its token, which is the first field."""
_FORM = "application/x-www-form-urlencoded"
_FORGERY_FIELD = re.compile(rb"(?:^|&)csrfToken=([^&]{0,1024})(?=&|$)")
_FIRST_FIELD = re.compile(rb'(?i:content-disposition: *form-data; *name=)"csrfToken"')

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
JSON_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)
"""The security headers of JSON, which is not a document. They are few: each header costs a bid a microsecond."""
HSTS = b"max-age=31536000"
"""For a house that people reach by https. Its subdomains are left out unless it says so, as they may belong to others."""
FORMS_TO = "saleroom.forms_to"
"""In the scope of a request for a page: an origin beside the house's own to which its forms may lead."""
IS_JSON = "saleroom.is_json"
"""In the scope of a request: every answer to it with a body is JSON."""


class SecurityHeaders:
    """The end of every answer: adds the security headers, and a new page's cookie; counts it."""

    def __init__(self, outcomes: Outcomes, *, https: bool = False, subdomains: bool = False) -> None:
        self._outcomes = outcomes
        stay = (
            ((b"strict-transport-security", HSTS + (b"; includeSubDomains" if subdomains else b"")),) if https else ()
        )
        self._json = SharedHeaders(*JSON_HEADERS, *stay)
        self._others = SECURITY_HEADERS + stay

    def __call__(self, scope: Scope, response: Response) -> None:
        """Add to the answer."""
        if IS_JSON in scope:
            self._json.add_to(response)
        elif FORMS_TO in scope:
            response.raw_headers += [(name, _leading_to(value, scope[FORMS_TO])) for name, value in self._others]
        else:
            response.raw_headers += self._others
        if (cookie := scope.get(NEW_COOKIE)) is not None:
            response.raw_headers.append((b"set-cookie", cookie))
        self._outcomes.count(scope, response.status_code)


def _leading_to(value: bytes, origin: str) -> bytes:
    """Return a security header; the policy lets forms lead to `origin` too, also by the redirect that answers them."""
    return value.replace(b"form-action 'self'", b"form-action 'self' " + origin.encode("ascii"))


class Guard:
    """The checks before every route. `https` says how cookies are set."""

    def __init__(
        self,
        *,
        secret: HouseSecret,
        form_bytes_max: int,
        shows_again: Callable[[str], bool] = lambda path: False,
        proven: frozenset[str] = frozenset(),
        https: bool = False,
    ) -> None:
        """`shows_again` says at which paths a form of another session is passed on, marked: it is shown and changes nothing.

        Requests to the paths `proven` need no token of a form: each carries its own proof, which no other site can know.
        """
        self._secret = secret
        self._form_bytes_max = form_bytes_max
        self._shows_again = shows_again
        self._proven = proven
        self._https = https

    def passes(self, scope: Scope) -> bool:
        """Return whether a request may go on; one that does not must `prove` itself. Raises HeadersTooLarge."""
        scope[HTTPS] = self._https
        scope[SECRET] = self._secret
        if scope.get(HEAD_BYTES, HEADER_BYTES_MAX + 1) > HEADER_BYTES_MAX and _header_bytes(scope) > HEADER_BYTES_MAX:
            raise HeadersTooLarge(limit=HEADER_BYTES_MAX)
        return (
            scope["method"] in SAFE_METHODS
            or header(scope, b"x-requested-with") is not None
            or scope["path"] in self._proven
        )

    async def prove(self, scope: Scope, receive: Receive) -> Receive:
        """Check the token of a form; return the `receive` to go on with. Raises ForgeryRefusal, or as `read_body` does."""
        bound = forgery_cookie(scope)
        if bound is None:
            raise ForgeryRefusal
        sent = header(scope, FORGERY_HEADER)
        if sent is None and media_type(scope) == _FORM:
            body = await read_body(Request(scope, receive), self._form_bytes_max)
            receive = _replay([{"type": "http.request", "body": body, "more_body": False}], receive)
            # Only this one field is read: the whole form is parsed only for a sender who may send it.
            sent = next((unquote_plus(found.decode("latin-1")) for found in _FORGERY_FIELD.findall(body)[-1:]), None)
        elif sent is None and media_type(scope) == FORM_WITH_FILES:
            sent, receive = await _first_field(scope, receive)
        if sent is None or not is_own_form(scope, bound, sent, self._shows_again):
            raise ForgeryRefusal
        return receive


def _header_bytes(scope: Scope) -> int:
    """Return the bytes of address and headers without what separates them."""
    size = len(scope["raw_path"]) + len(scope["query_string"])
    return size + sum(map(len, chain.from_iterable(scope["headers"])))


async def _first_field(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Return the token in the first part of a form with files, and a `receive` that still gives the whole form.

    Raises ForgeryRefusal if the first part is anything else, BodyTimeout, or ClientDisconnect.
    """
    try:
        delimiter = b"--" + boundary(scope)
        async with asyncio.timeout(requests.BODY_SECONDS_MAX):
            part, read = await _first_part(delimiter, receive)
    except Invalid:
        raise ForgeryRefusal from None
    except TimeoutError:
        raise BodyTimeout from None
    head, _, value = part.partition(b"\r\n\r\n")
    before, _, disposition = head.partition(b"\r\n")
    if before != delimiter or _FIRST_FIELD.fullmatch(disposition) is None:
        raise ForgeryRefusal
    return value.decode("latin-1"), _replay(read, receive)


async def _first_part(delimiter: bytes, receive: Receive) -> tuple[bytes, list[Message]]:
    """Return a form up to the end of its first part, and the messages read. Raises ForgeryRefusal if the part is too long."""
    read: list[Message] = []
    body = b""
    while len(body) < FIRST_FIELD_BYTES_MAX and (not read or read[-1].get("more_body", False)):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        read.append(message)
        body += message.get("body", b"")
        part, end, _ = body[:FIRST_FIELD_BYTES_MAX].partition(b"\r\n" + delimiter)
        if end:
            return part, read
    raise ForgeryRefusal


def _replay(read: list[Message], receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Return a `receive` that gives the messages in `read` again, and then those that come later."""
    waiting = read[::-1]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
