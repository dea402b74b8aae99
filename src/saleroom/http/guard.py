"""What stands before every route: the limit on headers, the forgery filter, and the security headers of every answer.

Also what doors ask of a request: its bearer token, its session cookie, its client's address, its body within bounds.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import operator
import re
import secrets
from collections.abc import Awaitable, Callable
from itertools import chain
from urllib.parse import unquote_plus

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saleroom.http import problems
from saleroom.http.problems import BodyTimedOut, BodyTooLarge, ForgeryRefused, HeadersTooLarge, Problem
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.kernel.errors import Invalid
from saleroom.storage import faults

HEADER_BYTES_MAX = 8 * 1024
BODY_SECONDS_MAX = 30.0
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HAS_ARRIVED = "saleroom.has_arrived"
"""In the scope of a request whose body has arrived to its end, so that nobody need watch how long it takes."""
FORGERY_FIELD = "csrfToken"
OF_ANOTHER_SESSION = "saleroom.of_another_session"
"""In the scope of a form that was made for another session: it may be shown again, and must change nothing."""
FORGERY_HEADER = b"x-csrf-token"
FIRST_FIELD_BYTES_MAX = 8 * 1024
"""How much of a form with files is read in search of its token, which is the first field."""
_FORM, FORM_WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
_BOUNDARY = re.compile(
    r"""multipart/form-data\s*;\s*boundary=(?:"([A-Za-z0-9'()+_,./:=?-]{1,70})"|([A-Za-z0-9'+_.-]{1,70}))\s*""",
    re.IGNORECASE,
)
_FORGERY_FIELD = re.compile(rb"(?:^|&)csrfToken=([^&]{0,1024})(?=&|$)")
_FIRST_FIELD = re.compile(rb'(?i:content-disposition: *form-data; *name=)"csrfToken"')

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
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
"""What is left of them for JSON, where nothing is a document: each header costs a bid a microsecond on the way out."""
HTTPS_HEADERS = ((b"strict-transport-security", b"max-age=31536000"),)
"""Of a house that people reach by https. Its subdomains are not spoken for: they may be somebody else's."""
HEADERS = "saleroom.headers"
"""In the scope of a request: its headers by name, the first one where there are several."""
IS_JSON = "saleroom.is_json"
"""In the scope of a request whose answer, whatever it is, has no body but JSON."""

Answer = Callable[[Scope, Problem], Response]


class SecurityHeaders:
    """ASGI middleware around everything else: every answer gets the security headers, and a new page's cookie."""

    def __init__(self, app: ASGIApp, *, https: bool = False) -> None:
        self._app = app
        self._json = JSON_HEADERS + (HTTPS_HEADERS if https else ())
        self._others = SECURITY_HEADERS + (HTTPS_HEADERS if https else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add to the answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                headers += self._json if IS_JSON in scope else self._others
                if (cookie := scope.get("saleroom.forgery_cookie")) is not None:
                    headers.append((b"set-cookie", cookie))
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Guard:
    """ASGI middleware before errors and routes. `answer` renders a refusal, `https` says how cookies are set."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        answer: Answer,
        secret: HouseSecret,
        form_bytes_max: int,
        shows_again: Callable[[str], bool] = lambda path: False,
        https: bool = False,
    ) -> None:
        """Take in `shows_again` which paths get a form of another session too, marked; they show it and do nothing else."""
        self._app = app
        self._answer = answer
        self._secret = secret
        self._form_bytes_max = form_bytes_max
        self._shows_again = shows_again
        self._https = https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["saleroom.https"] = self._https
        scope["saleroom.secret"] = self._secret
        try:
            receive = await self._check(scope, receive)
        except Problem as refused:
            await self._answer(scope, refused)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        await self._app(scope, receive, send)

    async def _check(self, scope: Scope, receive: Receive) -> Receive:
        """Raise what refuses the request, or return the `receive` to go on with."""
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(map(len, chain.from_iterable(scope["headers"]))) > HEADER_BYTES_MAX:
            raise HeadersTooLarge(limit=HEADER_BYTES_MAX)
        if scope["method"] in SAFE_METHODS or header(scope, b"x-requested-with") is not None:
            return receive
        bound = cookie(scope, _forgery_cookie_name(https=self._https))
        if bound is None:
            raise ForgeryRefused
        sent = header(scope, FORGERY_HEADER)
        if sent is None and media_type(scope) == _FORM:
            body = await read_body(Request(scope, receive), self._form_bytes_max)
            receive = _replay([{"type": "http.request", "body": body, "more_body": False}], receive)
            # The one field alone: to take the whole form apart is for who may send it.
            sent = next((unquote_plus(found.decode("latin-1")) for found in _FORGERY_FIELD.findall(body)[-1:]), None)
        elif sent is None and media_type(scope) == FORM_WITH_FILES:
            sent, receive = await _first_field(scope, receive)
        if sent is None or not self._is_ours(scope, bound, _unmasked(sent)):
            raise ForgeryRefused
        return receive

    def _is_ours(self, scope: Scope, bound: str, token: bytes) -> bool:
        """Whether a form of the house has this token.

        Somebody who has logged out since must still be told to log in. Somebody who has logged in again gets a long form
        back, marked with OF_ANOTHER_SESSION, so that nothing that was written is lost.
        """
        try:
            own = _forgery_token(scope, bound)
        except faults.Unavailable:
            raise problems.Unavailable from None
        if hmac.compare_digest(token, own):
            return True
        again = self._shows_again(scope["path"])
        if again:
            scope[OF_ANOTHER_SESSION] = True
        return (again or _session(scope) is None) and hmac.compare_digest(token[:_HALF], own[:_HALF])


def forgery_token(request: HTTPConnection) -> str:
    """Return the token for the hidden field `csrfToken` of a form, bound to a cookie that goes with the answer.

    It is bound to the session as well, so that a pair that somebody else got from the house is of no use here.
    It reads differently each time, as pages are compressed: otherwise their size would tell it, guess by guess (BREACH).
    Raises Unavailable while the secret of the house is not known.
    """
    https = bool(request.scope.get("saleroom.https"))
    name = _forgery_cookie_name(https=https)
    bound = request.scope.get("saleroom.forgery_value") or cookie(request.scope, name)
    if bound is None:
        bound = secrets.token_urlsafe(32)
        attributes = "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if https else "")
        request.scope["saleroom.forgery_value"] = bound
        request.scope["saleroom.forgery_cookie"] = f"{name}={bound}; {attributes}".encode()
    return _masked(_forgery_token(request.scope, bound))


def header(scope: Scope, name: bytes) -> str | None:
    """Return the header of this `name` (in lower case), the first one where there are several."""
    headers: dict[bytes, bytes] | None = scope.get(HEADERS)
    if headers is None:
        headers = scope[HEADERS] = dict(reversed(scope["headers"]))
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def joined_header(scope: Scope, name: bytes) -> str | None:
    """Return all headers of this `name` (in lower case) as one list (RFC 9110, 5.3); None where there is none."""
    if header(scope, name) is None:
        return None
    return ", ".join(value.decode("latin-1") for other, value in scope["headers"] if other == name)


def media_type(scope: Scope) -> str:
    """Return what the body says it is, without its parameters; an empty string where it does not say."""
    return (header(scope, b"content-type") or "").partition(";")[0].strip().lower()


def bearer_token(scope: Scope) -> str | None:
    """Return the part of `Authorization` after the first space; the word before it may be anything (specification).

    None where the header is missing, and an empty string where it has no space or nothing after it.
    """
    value = header(scope, b"authorization")
    return None if value is None else value.partition(" ")[2]


def session_cookie_name(*, https: bool) -> str:
    """Return the name of the cookie that holds a page's token."""
    return "__Host-saleroom_session" if https else "saleroom_session"


def session_token(request: HTTPConnection) -> str | None:
    """Return the token of the service's own pages, from its cookie."""
    return _session(request.scope)


def client_address(request: HTTPConnection) -> str:
    """Return the client's address; the server has already taken a trusted proxy's word for it."""
    return "unknown" if request.client is None else request.client.host


async def read_body(request: Request, bytes_max: int, seconds_max: float | None = None) -> bytes:
    """Return the body. Raises BodyTooLarge (having read no further), BodyTimedOut, or ClientDisconnect."""
    refuse_declared(request.scope, bytes_max)
    if HAS_ARRIVED in request.scope:
        return await _body(request.receive, bytes_max)
    try:
        async with asyncio.timeout(seconds_max or BODY_SECONDS_MAX):
            return await _body(request.receive, bytes_max)
    except TimeoutError:
        raise BodyTimedOut from None


def declared_length(scope: Scope) -> int | None:
    """Return how long the body says it is, or None where it does not."""
    declared = header(scope, b"content-length") or ""
    return int(declared) if declared.isascii() and declared.isdigit() else None


def refuse_declared(scope: Scope, bytes_max: int) -> None:
    """Raise BodyTooLarge where the body says that it is larger."""
    if (declared_length(scope) or 0) > bytes_max:
        raise BodyTooLarge(limit=bytes_max)


async def _body(receive: Receive, bytes_max: int) -> bytes:
    pieces = []
    length = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        length += len(pieces[-1])
        if length > bytes_max:
            raise BodyTooLarge(limit=bytes_max)
        more = message.get("more_body", False)
    return b"".join(pieces)


def boundary(scope: Scope) -> bytes:
    """Return what stands between the parts of a form with files. Raises Invalid where the header does not say."""
    found = _BOUNDARY.fullmatch(header(scope, b"content-type") or "")
    if found is None:
        raise Invalid.one("body", "malformed_form", "is not a form as a browser sends it")
    return (found[1] or found[2]).encode()


async def _first_field(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Return the token in the first part of a form with files, and a `receive` that gives the whole form all the same.

    Raises ForgeryRefused where the first part is anything else, BodyTimedOut, or ClientDisconnect.
    """
    try:
        delimiter = b"--" + boundary(scope)
        async with asyncio.timeout(BODY_SECONDS_MAX):
            part, read = await _first_part(delimiter, receive)
    except Invalid:
        raise ForgeryRefused from None
    except TimeoutError:
        raise BodyTimedOut from None
    head, _, value = part.partition(b"\r\n\r\n")
    before, _, disposition = head.partition(b"\r\n")
    if before != delimiter or _FIRST_FIELD.fullmatch(disposition) is None:
        raise ForgeryRefused
    return value.decode("latin-1"), _replay(read, receive)


async def _first_part(delimiter: bytes, receive: Receive) -> tuple[bytes, list[Message]]:
    """Return a form up to the end of its first part, and what has been read. Raises ForgeryRefused where that is far away."""
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
    raise ForgeryRefused


def _forgery_cookie_name(*, https: bool) -> str:
    return "__Host-saleroom_csrf" if https else "saleroom_csrf"


_HALF = hashlib.sha256().digest_size


def _forgery_token(scope: Scope, bound: str) -> bytes:
    """Return what the house alone can work out: half of it from the cookie, half from the session as well."""
    secret: HouseSecret = scope["saleroom.secret"]
    key = secret.key(Purpose.FORMS)
    # No cookie holds a line feed.
    both = (bound, f"{bound}\n{_session(scope) or ''}")
    return b"".join(hmac.digest(key, text.encode(), hashlib.sha256) for text in both)


def _session(scope: Scope) -> str | None:
    return cookie(scope, session_cookie_name(https=bool(scope.get("saleroom.https"))))


def _masked(token: bytes) -> str:
    mask = secrets.token_bytes(len(token))
    return (mask + bytes(map(operator.xor, mask, token))).hex()


def _unmasked(sent: str) -> bytes:
    """Return the token behind what a form sent; something else, whatever it sent, where no page has made it."""
    try:
        both = bytes.fromhex(sent)
    except ValueError:
        return b""
    half = len(both) // 2
    return bytes(map(operator.xor, both[:half], both[half:]))


def cookie(scope: Scope, name: str) -> str | None:
    """Return a cookie of ours, whatever odd cookies of others stand before it."""
    # Not by the standard library's parser: to take the quotes off others takes it a time that grows by the square.
    found = None
    for pair in (header(scope, b"cookie") or "").split(";"):
        key, _, value = pair.partition("=")
        if key.strip() == name:
            found = value.strip()
    return found or None


def _replay(read: list[Message], receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Return a `receive` that gives the messages that have been read already, and then whatever else comes."""
    waiting = read[::-1]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
