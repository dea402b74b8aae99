"""One address of the API: picks the endpoint by method, reads the request as the endpoint's table row says, answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from saleroom.accounts.service.idempotency import Once
from saleroom.bidding.domain.errors import Changed, UnknownAuction
from saleroom.bidding.domain.seen import Seen
from saleroom.bidding.service import reading
from saleroom.http.cursors import Sealed
from saleroom.http.forms import Field, Form, read_fields
from saleroom.http.guard import IS_JSON, bearer_token, header, joined_header, media_type, read_body
from saleroom.http.problems import MethodNotAllowed, NotJson, answer
from saleroom.http.services import House
from saleroom.kernel.errors import Fault, Invalid, Refused, Unauthenticated
from saleroom.kernel.identifiers import GID

JSON_TYPES = frozenset({"application/json", "text/json"})
KEY_HEADER = b"idempotency-key"
KEY_LENGTH_MAX = 255
MATCH_HEADER = b"if-match"


class Access(StrEnum):
    """Whether an endpoint needs a token, makes use of one, or does not look at it."""

    OPEN = "open"
    TOKEN_OPTIONAL = "token_optional"
    TOKEN = "token"


class Call(Struct, frozen=True):
    """A request as its endpoint wants it: the token, the gid of the path, the values of body and query."""

    house: House
    request: Request
    token: str
    gid: str
    values: dict[str, Any]
    query: dict[str, Any]
    once: Once | None
    tags: frozenset[str] | None = None

    @property
    def seen(self) -> Seen | None:
        """What the request rests on: the header If-Match, and the body's `seenVersion` and `price`."""
        version, price = self.values.get("seen_version"), self.values.get("price")
        if version is price is self.tags is None:
            return None
        return Seen(version=version, tags=self.tags, price=price)

    @property
    def viewer(self) -> str | None:
        """The token where one was sent."""
        return self.token or None


Handler = Callable[[Call], Awaitable[Response]]


class Endpoint(Struct, frozen=True, kw_only=True):
    """A row of the table of routes. It gives the route, the reading of the request, and the OpenAPI document.

    `form` is what its JSON body may hold; the body of one that takes a `picture` is for its handler to read.
    `once` takes an Idempotency-Key, `match` an If-Match. `stream` answers with events as they happen, `lines` with NDJSON.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    tag: str
    access: Access = Access.OPEN
    form: Form | None = None
    picture: bool = False
    body_optional: bool = False
    query: tuple[Field, ...] = ()
    status: int = 200
    answer: type[Struct] | None = None
    errors: tuple[type[Refused], ...] = ()
    once: bool = False
    match: bool = False
    bare: bool = False
    stream: bool = False
    lines: bool = False
    about: str = ""


class Resource:
    """The ASGI application at one path."""

    def __init__(
        self, house: House, endpoints: Sequence[Endpoint], body_bytes_max: int, also_allowed: Sequence[str] = ()
    ) -> None:
        """Take in `also_allowed` the methods that a page answers at the same path."""
        self._house = house
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]
        self._allow = ", ".join(sorted({*self._by_method, *also_allowed}))
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. What is not a refusal goes on to the caller."""
        scope[IS_JSON] = True
        endpoint = self._by_method.get(scope["method"])
        try:
            if endpoint is None:
                raise MethodNotAllowed(self._allow)
            call = await self._read(endpoint, Request(scope, receive))
            response = await endpoint.handler(call)
        except Changed as refused:
            response = answer(await explained(self._house, scope["path_params"]["gid"], refused))
        except Refused as refused:
            response = answer(refused, bare=endpoint is not None and endpoint.bare and isinstance(refused, Invalid))
        await response(scope, receive, send)

    async def _read(self, endpoint: Endpoint, request: Request) -> Call:
        """Return the call. Raises Unauthenticated, NotJson, BodyTooLarge, or Invalid with the faults of all its parts."""
        gid = request.path_params.get("gid", "")
        if gid and GID.fullmatch(gid) is None:
            raise UnknownAuction
        token = bearer_token(request.scope)
        if token == "" and endpoint.access is not Access.OPEN:
            raise Unauthenticated
        if token is None and endpoint.access is Access.TOKEN:
            raise Unauthenticated
        faults: dict[str, list[Fault]] = {}
        values: dict[str, Any] = {}
        query: dict[str, Any] = {}
        if endpoint.form is not None:
            body = await self._body(endpoint, request)
            try:
                values = endpoint.form.read(body)
            except Invalid as invalid:
                faults |= invalid.faults
        if endpoint.query or request.scope["query_string"]:
            try:
                query = self._opened(_query(endpoint, request))
            except Invalid as invalid:
                faults |= invalid.faults
        key = header(request.scope, KEY_HEADER) if endpoint.once else None
        if key is not None and not 1 <= len(key) <= KEY_LENGTH_MAX:
            faults["Idempotency-Key"] = [Fault("key_length", f"must have 1 to {KEY_LENGTH_MAX} characters")]
        tags = None
        if endpoint.match and (sent := joined_header(request.scope, MATCH_HEADER)) is not None:
            tags = matching(sent)
            if isinstance(tags, Fault):
                faults["If-Match"] = [tags]
        if faults or isinstance(tags, Fault):
            raise Invalid(faults)
        once = None if key is None else Once(key, digest(endpoint.method, endpoint.path, gid, values))
        return Call(self._house, request, token or "", gid, values, query, once, tags)

    def _opened(self, query: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters with the places that cursors stand for. Raises Invalid for one that is none of its list."""
        opened = {
            name: self._house.cursors.read(value) if isinstance(value, Sealed) else value
            for name, value in query.items()
        }
        faults = {name: [value] for name, value in opened.items() if isinstance(value, Fault)}
        if faults:
            raise Invalid(faults)
        return opened

    async def _body(self, endpoint: Endpoint, request: Request) -> bytes:
        kind = media_type(request.scope)
        if kind not in JSON_TYPES and not endpoint.body_optional:
            raise NotJson
        body = await read_body(request, self._body_bytes_max)
        if not body and endpoint.body_optional:
            return b"{}"
        if kind not in JSON_TYPES:
            raise NotJson
        return body


PAGE_METHODS = {"/login": ("GET", "HEAD")}
"""The one path that a page shares with the API (contract, "Pages"): the form of the login."""


def routes(house: House, endpoints: Sequence[Endpoint], body_bytes_max: int) -> list[Route]:
    """Return one route per path, as each path answers all of its methods by itself."""
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    return [
        Route(path, Resource(house, rows, body_bytes_max, PAGE_METHODS.get(path, ()))) for path, rows in paths.items()
    ]


def _query(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    """Return the parameters of the query. Raises Invalid; a parameter given twice or not known is a fault too."""
    try:
        pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Invalid.one("query", "not_text", "must be valid UTF-8") from None
    sent: dict[str, bytes] = {}
    numbers = {field.name for field in endpoint.query if field.schema.get("type") == "integer"}
    for name, value in pairs:
        if name in sent:
            raise Invalid.one(name[:64], "repeated", "must be given once")
        sent[name] = value.encode("utf-8", "surrogatepass") if name in numbers else _encode(value)
    return read_fields(endpoint.query, sent, strict=True)


async def explained(house: House, gid: str, refused: Changed) -> Changed:
    """Return `refused` with what has changed; it is read beside the bids, and only where somebody was refused for it."""
    if refused.seen is None:
        return refused
    version, changes = await house.looking.ask((reading.changed_since, gid, refused.seen))
    return type(refused)(refused.message, seen=refused.seen, changes=changes, version=version)


def matching(sent: str) -> frozenset[str] | Fault | None:
    """Return the tags of auctions in If-Match (RFC 9110, 13.1.1), None for `*`, or a Fault.

    A weak tag never matches, nor does one that the house has never given. The author's tag is as good as everybody's: both
    name the same state.
    """
    if sent.strip(" \t") == "*":
        return None
    if _TAGS.fullmatch(sent) is None:
        return Fault("entity_tag", "must be *, or the ETag of the auction in its double quotes")
    return frozenset(_OUR_TAG.findall(sent))


def digest(method: str, path: str, gid: str, values: dict[str, Any]) -> bytes:
    """Return what makes two requests the same: the endpoint, the auction and the values, however the JSON was written."""
    return hashlib.sha256(_encode_sorted([method, path, gid, values])).digest()


_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"(?:[ \t]*,)*[ \t]*{_TAG}(?:[ \t]*,(?:[ \t]*{_TAG})?)*[ \t]*")
_OUR_TAG = re.compile(r'(?<!W/)"([1-9][0-9]{0,9}-[0-9a-f]{16})(?:-own)?"')
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
