"""What all pages share: who reads, in which language, how a page is made of a template, and what an error looks like."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.http.problems import MethodNotAllowed, headers_of, status_of
from saleroom.http.requests import read_body, session_token
from saleroom.kernel.errors import Invalid, Refused, Unauthenticated
from saleroom.kernel.identifiers import GID
from saleroom.site.rendering import Renderer
from saleroom.storage.database import Database, Transaction

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[Request], Awaitable[Response]]

DEFAULT_ORIGIN = "http://127.0.0.1:9000"
FORM_BYTES_MAX = 16 * 1024
"""Five times the longest password in the longest characters, twice: to read a form holds up all others."""
FIELDS_MAX = 100
_FORM = "application/x-www-form-urlencoded"
_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]{0,500}")


class Site:
    """The house as its pages see it. `public_url` is where people reach it; without it the request tells."""

    def __init__(
        self,
        database: Database,
        renderer: Renderer,
        *,
        registration_open: bool = True,
        public_url: str | None = None,
        https: bool = False,
    ) -> None:
        """`https`: people reach the house by https, so its cookies insist on it."""
        self._database = database
        self.https = https
        self.renderer = renderer
        self.registration_open = registration_open
        self._public_url = None if public_url is None else public_url.rstrip("/")

    async def read(
        self,
        request: Request,
        use_case: Callable[Concatenate[Transaction, str | None, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Account | None, R]:
        """Return who is logged in and what `use_case` returns, read in one transaction.

        `use_case` gets the session's token, or None where there is none or a dead one.
        """
        token = session_token(request)
        return await self._database.read(lambda tx: _with_viewer(tx, token, use_case, *args, **kwargs))

    async def viewer(self, request: Request) -> Account | None:
        """Return who is logged in."""
        return (await self.read(request, _nothing))[0]

    def page(
        self,
        request: Request,
        template: str,
        viewer: Account | None,
        context: Mapping[str, Any] = MappingProxyType({}),
        *,
        refused: Refused | None = None,
    ) -> Response:
        """Return `template` as an answer; with the status and headers of what was `refused`, where something was."""
        if refused is None:
            return self.renderer.page(request, template, viewer, context)
        status, headers = status_of(refused), headers_of(refused)
        return self.renderer.page(request, template, viewer, context, status=status, headers=headers)

    def origin(self, request: Request) -> str:
        """Return where people reach the house; what the client claims as Host is shown only if it is the form of one."""
        host = request.headers.get("host", "")
        if self._public_url is not None or _HOST.fullmatch(host) is None:
            return self._public_url or DEFAULT_ORIGIN
        return f"{'https' if self.https else request.url.scheme}://{host}"


class Address:
    """The ASGI application at one path: picks the handler by method. Raises MethodNotAllowed."""

    def __init__(self, **handlers: Handler) -> None:
        self._handlers = handlers | ({"HEAD": handlers["GET"]} if "GET" in handlers else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        handler = self._handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(", ".join(sorted(self._handlers)))
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)


def lot_gid(request: Request) -> str:
    """Return the gid in the path of a lot's page. Raises UnknownAuction where no lot can have it."""
    found: str = request.path_params["gid"]
    if GID.fullmatch(found) is None:
        raise UnknownAuction
    return found


async def fields(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises BodyTooLarge, BodyTimedOut, or Invalid where it is not one."""
    body = await read_body(request, FORM_BYTES_MAX)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return {}
    try:
        found = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Invalid.one("body", "malformed_form", "is not a form as a browser sends it") from None
    return {name: values[-1] for name, values in found.items()}


def is_fragment(request: Request) -> bool:
    """Whether htmx asks, which puts the answer into the page, and not the browser, which shows it as one."""
    return request.headers.get("hx-request") == "true"


def go_to(address: str) -> Response:
    """Send the browser to an address of this house by GET."""
    return RedirectResponse(address, 303)


def to_log_in(request: Request) -> Response:
    """Send somebody who must be logged in to the form, which leads back to this page."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return go_to(f"/login?next={quote(asked if request.method in ('GET', 'HEAD') else request.url.path)}")


def local(address: str | None, default: str = "/") -> str:
    """Return `address` if it is a path of this house, as whoever follows it is to stay here; else `default`."""
    return address if address is not None and _LOCAL.fullmatch(address) else default


def _nothing(tx: Transaction, token: str | None) -> None:
    """Read no more than who is logged in."""


def _with_viewer(
    tx: Transaction,
    token: str | None,
    use_case: Callable[Concatenate[Transaction, str | None, P], R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Account | None, R]:
    viewer = None
    try:
        viewer = None if token is None else authenticate(tx, token)
    except Unauthenticated:
        # A cookie whose token is dead means no more than: not logged in.
        token = None
    return viewer, use_case(tx, token, *args, **kwargs)
