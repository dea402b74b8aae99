"""The table of routes: the row of an endpoint, and the resource at one path, which reads requests as its rows say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from saleroom.http.cursors import Cursors, CursorText
from saleroom.http.entity_tags import matching
from saleroom.http.forms import Field, Form, read_fields
from saleroom.http.guard import IS_JSON
from saleroom.http.paging import asked_of
from saleroom.http.problems import MethodNotAllowed, NotJson, answer
from saleroom.http.requests import arrived_body, bearer_token, header, joined_header, media_type, read_body
from saleroom.http.responses import LIMIT_DEFAULT, SharedHeaders, says_caching
from saleroom.kernel.errors import Barred, Fault, Invalid, MissingRight, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey

JSON_TYPES = frozenset({"application/json", "text/json"})
KEY_HEADER = b"idempotency-key"
KEY_LENGTH_MAX = 255
MATCH_HEADER = b"if-match"


class Access(StrEnum):
    """Whether an endpoint needs a token, may use one, or ignores it."""

    OPEN = "open"
    TOKEN_OPTIONAL = "token_optional"
    TOKEN = "token"


S = TypeVar("S")
"""The services that an area gives to its handlers."""


_KEPT = {
    Access.TOKEN: SharedHeaders((b"cache-control", b"no-store")),
    Access.TOKEN_OPTIONAL: SharedHeaders((b"cache-control", b"no-cache"), (b"vary", b"Authorization")),
}
"""What caches hear of an answer if its handler says nothing."""


class Call(Struct, Generic[S], frozen=True):
    """A request as its handler gets it: the token, the identifiers in the path, the values of body and query.

    `tags` are the strong entity tags of If-Match, in their quotes; None if it was not sent, or is `*`.
    """

    services: S
    scope: Scope
    receive: Receive
    token: str
    identifier: str
    values: dict[str, Any]
    query: dict[str, Any]
    key: IdempotencyKey | None
    tags: frozenset[str] | None = None
    part: str = ""
    """The identifier of a part of what `identifier` names."""
    asked: Mapping[str, Any] = {}
    """The filter and the order of a list, as `asked_of` returns them."""

    @property
    def request(self) -> Request:
        """The request itself, made when it is asked for: a bid needs none."""
        return Request(self.scope, self.receive)

    @property
    def viewer(self) -> str | None:
        """The token, if one was sent."""
        return self.token or None

    @property
    def limit(self) -> int:
        """How many rows of a list the page is to have."""
        return int(self.query.get("limit", LIMIT_DEFAULT))

    @property
    def place(self) -> Any:
        """The place at which the page of a list begins, as its cursor says; None for the first page."""
        return self.query.get("cursor")


Handler = Callable[[Call[S]], Awaitable[Response]]
Explain = Callable[[Call[S], Any], Awaitable[Refusal]]
"""Adds facts to a refusal before it is answered."""


class PathIdentifier(Struct, frozen=True, kw_only=True):
    """The parameter in an endpoint's path. An identifier that does not match `pattern` is refused as `unknown`.

    `parse` gives the identifier as the house keeps it, if it can be typed in more than one way, such as in small
    letters; what it takes for a fault is unknown too. `schema` and `about` stand in the OpenAPI document.
    """

    name: str
    pattern: re.Pattern[str]
    unknown: type[Refusal]
    schema: Mapping[str, Any]
    about: str
    parse: Callable[[str], str | Fault] = str


def path_number(unknown: type[Refusal], about: str) -> PathIdentifier:
    """Return the parameter `id` for rows that have numbers."""
    schema = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
    pattern = re.compile(r"[1-9][0-9]{0,17}")
    return PathIdentifier(name="id", pattern=pattern, unknown=unknown, schema=schema, about=about)


class ResponseHeader(Struct, frozen=True):
    """A header of an endpoint's good answer, as the OpenAPI document has it."""

    name: str
    about: str
    schema: Mapping[str, Any] = MappingProxyType({"type": "string"})
    required: bool = True


class Upload(Struct, frozen=True):
    """A body that is one file, or a form with `files` by the names of their fields, which the handler reads."""

    media_types: tuple[str, ...]
    about: str
    files: Mapping[str, str] = MappingProxyType({})
    """What each file of a form is."""


class Endpoint(Struct, Generic[S], frozen=True, kw_only=True):
    """A row of the table of routes. It gives the route, the reading of the request, and the OpenAPI document.

    `part` is a second parameter in the path: something within what `identifier` names. `form` is that of its JSON body. `once`
    takes an Idempotency-Key; `match` takes an If-Match, and is the refusal if the condition does not hold. `conditional` takes
    an If-None-Match. `answer` is the JSON of the good answer, `headers` its headers, and `unavailable` the JSON while the
    database cannot be reached. `stream` answers with events as they happen, `lines` with NDJSON, `file` with bytes of that
    media type. `bare`: a refusal for its fields shows its message alone. `proven`: a request carries its own proof, such as a
    signature, so that the forgery filter asks for no header. `hot`: thousands ask at once, so their requests go the short way
    (`http/front.py`).
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Handler[S]
    tag: str
    identifier: PathIdentifier | None = None
    part: PathIdentifier | None = None
    access: Access = Access.OPEN
    form: Form | None = None
    upload: Upload | None = None
    body_optional: bool = False
    query: tuple[Field, ...] = ()
    status: int = 200
    answer: type[Struct | dict[str, Any]] | None = None
    headers: tuple[ResponseHeader, ...] = ()
    unavailable: type[Struct] | None = None
    errors: tuple[type[Refusal], ...] = ()
    once: bool = False
    match: type[Refusal] | None = None
    conditional: bool = False
    bare: bool = False
    proven: bool = False
    hot: bool = False
    stream: bool = False
    lines: bool = False
    file: str = ""
    about: str = ""

    @property
    def refusals(self) -> tuple[type[Refusal], ...]:
        """The endpoint's own errors, and those of every endpoint with a token or with something to read."""
        tokens = () if self.access is Access.OPEN else (Unauthenticated,)
        rights = (MissingRight, Barred) if self.access is Access.TOKEN else ()
        reads = (Invalid,) if self.form is not None or self.query or self.once else ()
        return (*tokens, *rights, *reads, *self.errors)


class Resource(Generic[S]):
    """What answers at one path."""

    def __init__(
        self,
        services: S,
        endpoints: Sequence[Endpoint[S]],
        cursors: Cursors,
        body_bytes_max: int,
        explanations: Mapping[type[Refusal], Explain[S]],
        also_allowed: Sequence[str],
    ) -> None:
        """`also_allowed` are the methods that a page answers at the same path."""
        self._services = services
        self._cursors = cursors
        self._explanations = explanations
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]
        self._allow = ", ".join(sorted({*self._by_method, *also_allowed}))
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive) -> Response:
        """Return the answer to a request. Errors that are not refusals go on to the caller."""
        scope[IS_JSON] = True
        endpoint = self._by_method.get(scope["method"])
        call = None
        try:
            if endpoint is None:
                raise MethodNotAllowed(self._allow)
            addressed = _addressed(endpoint, scope)
            body = self._arrived(endpoint, scope)
            if body is None:
                body = self._of_form(endpoint, scope, await read_body(Request(scope, receive), self._body_bytes_max))
            call = self._read(endpoint, scope, receive, addressed, body)
            return not_for_others(endpoint.access, await endpoint.handler(call))
        except Refusal as refused:
            return await self.refused(endpoint, call, refused)

    async def refused(self, endpoint: Endpoint[S] | None, call: Call[S] | None, refused: Refusal) -> Response:
        """Return the answer to a refusal, with the facts that its explanation adds.

        There is no endpoint if this path does not have the method, and no call if the request could not be read.
        """
        explain = self._explanations.get(type(refused))
        if call is not None and explain is not None:
            refused = await explain(call, refused)
        return answer(refused, bare=endpoint is not None and endpoint.bare and isinstance(refused, Invalid))

    def hot(self) -> Iterator[Endpoint[S]]:
        """Yield the rows that are `hot`."""
        return (row for row in self._by_method.values() if row.hot)

    def call_of(self, endpoint: Endpoint[S], scope: Scope, receive: Receive) -> Call[S] | None:
        """Return a request as its handler gets it; None if its body is still to come. Raises its refusal."""
        addressed = _addressed(endpoint, scope)
        body = self._arrived(endpoint, scope)
        return self._read(endpoint, scope, receive, addressed, body) if body is not None else None

    def _read(
        self, endpoint: Endpoint[S], scope: Scope, receive: Receive, addressed: tuple[str, str, str], body: bytes
    ) -> Call[S]:
        """Return the call. Raises Invalid with the faults of all parts of the request."""
        identifier, part, token = addressed
        faults: dict[str, list[Fault]] = {}
        values: dict[str, Any] = {}
        query: dict[str, Any] = {}
        asked: Mapping[str, Any] = {}
        if endpoint.form is not None:
            try:
                values = endpoint.form.read(body)
            except Invalid as invalid:
                faults |= invalid.faults
        if scope["query_string"]:  # none of its parameters is required
            try:
                query, asked = self._places(endpoint, _query(endpoint, scope))
            except Invalid as invalid:
                faults |= invalid.faults
        key = header(scope, KEY_HEADER) if endpoint.once else None
        if key is not None and not 1 <= len(key) <= KEY_LENGTH_MAX:
            faults["Idempotency-Key"] = [Fault("key_length", f"must have 1 to {KEY_LENGTH_MAX} characters")]
        tags = None
        if endpoint.match is not None and (sent := joined_header(scope, MATCH_HEADER)) is not None:
            tags = matching(sent)
            if isinstance(tags, Fault):
                faults["If-Match"] = [tags]
        if faults or isinstance(tags, Fault):
            raise Invalid(faults)
        named = f"{identifier} {part}" if part else identifier
        once = None if key is None else IdempotencyKey(key, digest(endpoint.method, endpoint.path, named, values))
        return Call(self._services, scope, receive, token, identifier, values, query, once, tags, part, asked)

    def _places(self, endpoint: Endpoint[S], query: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Return the parameters, with the places that cursors stand for, and those that choose a list or its order.

        Raises Invalid for a cursor of another list.
        """
        asked = asked_of(endpoint.query, query)
        read = {
            name: self._cursors.read(value.within(asked)) if isinstance(value, CursorText) else value
            for name, value in query.items()
        }
        faults = {name: [value] for name, value in read.items() if isinstance(value, Fault)}
        if faults:
            raise Invalid(faults)
        return read, asked

    def _arrived(self, endpoint: Endpoint[S], scope: Scope) -> bytes | None:
        """Return the body of a form; none for an endpoint without one, None if it is still to come.

        Raises NotJson or BodyTooLarge.
        """
        if endpoint.form is None:
            return b""
        if not endpoint.body_optional and media_type(scope) not in JSON_TYPES:
            raise NotJson
        body = arrived_body(scope, self._body_bytes_max)
        return None if body is None else self._of_form(endpoint, scope, body)

    @staticmethod
    def _of_form(endpoint: Endpoint[S], scope: Scope, body: bytes) -> bytes:
        if endpoint.body_optional:
            if not body:
                return b"{}"
            if media_type(scope) not in JSON_TYPES:
                raise NotJson
        return body


def not_for_others(access: Access, response: Response) -> Response:
    """Return an answer that no cache gives to anybody else, as `_KEPT` says, unless its handler has told caches more.

    No cache keeps an answer that needs a token. A cache asks again before it uses one that a token may have changed.
    """
    if access is not Access.OPEN and not says_caching(response):
        _KEPT[access].add_to(response)
    return response


class Rows(Struct, Generic[S], frozen=True):
    """Rows of the table of routes, with the services behind them.

    `explanations` says more about refusals of these exact classes, outside the transaction that refused.
    """

    services: S
    endpoints: tuple[Endpoint[S], ...]
    explanations: Mapping[type[Refusal], Explain[S]] = MappingProxyType({})

    def routes(self, pages: Sequence[Route], cursors: Cursors, body_bytes_max: int) -> list[Route]:
        """Return one route per path; each answers all methods of its path. `pages` may share a path."""
        paths: dict[str, list[Endpoint[S]]] = {}
        for endpoint in self.endpoints:
            paths.setdefault(endpoint.path, []).append(endpoint)
        also = {page.path: tuple(page.methods or ()) for page in pages}
        return [
            Route(
                path,
                Resource(self.services, rows, cursors, body_bytes_max, self.explanations, also.get(path, ())),
            )
            for path, rows in paths.items()
        ]


def _addressed(endpoint: Endpoint[Any], scope: Scope) -> tuple[str, str, str]:
    """Return the identifiers in the path and the token, each empty without one.

    Raises the refusal of an identifier, or Unauthenticated.
    """
    identifier = "" if endpoint.identifier is None else _identifier(endpoint.identifier, scope)
    part = "" if endpoint.part is None else _identifier(endpoint.part, scope)
    token = bearer_token(scope)
    if not token and endpoint.access is not Access.OPEN and (token is not None or endpoint.access is Access.TOKEN):
        raise Unauthenticated
    return identifier, part, token or ""


def _identifier(named: PathIdentifier, scope: Scope) -> str:
    """Return a parameter of the path as the house keeps it. Raises its refusal."""
    found = named.parse(scope["path_params"][named.name])
    if isinstance(found, Fault) or named.pattern.fullmatch(found) is None:
        raise named.unknown
    return found


def _query(endpoint: Endpoint[Any], scope: Scope) -> dict[str, Any]:
    """Return the parameters of the query. Raises Invalid, also for a parameter that is repeated or unknown."""
    try:
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Invalid.one("query", "not_text", "must be valid UTF-8") from None
    sent: dict[str, bytes] = {}
    numbers = {field.name for field in endpoint.query if field.schema.get("type") == "integer"}
    for name, value in pairs:
        if name in sent:
            raise Invalid.one(name[:64], "repeated", "must be given once")
        sent[name] = value.encode("utf-8", "surrogatepass") if name in numbers else _encode(value)
    return read_fields(endpoint.query, sent, strict=True)


def digest(method: str, path: str, identifier: str, values: dict[str, Any]) -> bytes:
    """Return a digest of endpoint, identifier and values. Equal requests share it, however their JSON is written."""
    return hashlib.sha256(_encode_sorted([method, path, identifier, values])).digest()


_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
