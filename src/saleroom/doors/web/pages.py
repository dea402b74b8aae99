"""Pages for people: home, a lot, the API's viewer, and every error below their paths (contract.md, "Pages")."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from saleroom.domain.accounts import Account
from saleroom.domain.errors import Invalid, Refused, Unauthenticated, UnknownAuction
from saleroom.domain.views import AuctionView
from saleroom.doors.api.wire import BAD_CURSOR, read_cursor, write_cursor
from saleroom.doors.guard import session_token
from saleroom.doors.house import House
from saleroom.doors.problems import MethodNotAllowed, headers_of, status_of
from saleroom.doors.web.accounts import AccountForms
from saleroom.doors.web.assets import PREFIX, Assets
from saleroom.doors.web.rendering import Renderer
from saleroom.service import reading
from saleroom.storage.database import Transaction
from saleroom.storage.listing import Mark

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[Request], Awaitable[Response]]

LOTS_PER_PAGE = 30
BIDS_PER_PAGE = 50
DEFAULT_ORIGIN = "http://127.0.0.1:9000"
_GID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_PATHS = frozenset({"/", "/register", "/session", "/session/end", "/docs"})
_PROBLEMS = {
    "csrf": ("This form is out of date", "Go back, reload the page and send the form again."),
    "not_found": ("There is nothing here", "The address may be mistyped, or the page has moved."),
    "unknown_auction": ("There is no such lot", "The address may be mistyped. A lot's address never changes."),
    "method_not_allowed": ("This is not the way in", "Open the page by its link, and send forms from their own page."),
    "unavailable": ("One moment, please", "The house cannot reach its records just now. Try again shortly."),
    "internal_error": (
        "Something went wrong",
        "It has been logged. Try again; if it stays, tell those who run the house.",
    ),
}
"""What a page says of an error, by the error's code: a heading and what to do. Other errors speak for themselves."""


class Pages:
    """The pages over one house. `public_url` is where people reach it, for the examples; else the request tells."""

    def __init__(
        self, house: House, assets: Assets, *, registration_open: bool = True, public_url: str | None = None
    ) -> None:
        self._house = house
        self._assets = assets
        self._public_url = None if public_url is None else public_url.rstrip("/")
        self._renderer = Renderer(assets, registration_open=registration_open)

    def routes(self) -> list[Route]:
        """Return the routes; they go before the API's, whose `/login` would else answer for the form."""
        forms = AccountForms(self._house, self._renderer)
        return [
            Route("/", _Address(GET=self.home)),
            Route("/lots/{gid}", _Address(GET=self.lot)),
            Route("/docs", _Address(GET=self.docs)),
            Route("/login", forms.login_form, methods=["GET"]),
            Route("/session", _Address(POST=forms.log_in)),
            Route("/session/end", _Address(POST=forms.log_out)),
            Route("/register", _Address(GET=forms.register_form, POST=forms.register)),
            Route(f"{PREFIX}{{file:path}}", _Address(GET=self._assets.answer)),
        ]

    async def home(self, request: Request) -> Response:
        """GET /: the open auctions, the one that ends soonest first."""
        after = _mark(request)
        try:
            viewer, (lots, mark) = await self._read(request, _open_lots, after)
        except ValueError as error:
            # It reads like a cursor, but it is not one of this list.
            raise Invalid({"after": [BAD_CURSOR]}) from error
        further = None if mark is None else write_cursor(mark)
        context = {"lots": lots, "first": after is None, "next": further, "origin": self._origin(request)}
        return self._renderer.page(request, "home.html", viewer, context)

    async def lot(self, request: Request) -> Response:
        """GET /lots/{gid}: one auction with its history."""
        gid, before = request.path_params["gid"], _before(request)
        viewer, lot = await self._read(request, _lot, gid, before)
        if lot is None:
            return self._problem(request, UnknownAuction(), viewer)
        context = {"lot": lot, "a": lot.auction, "first": before is None, "origin": self._origin(request)}
        return self._renderer.page(request, "lot.html", viewer, context)

    async def docs(self, request: Request) -> Response:
        """GET /docs: the viewer of `/openapi.json`."""
        viewer, _ = await self._read(request, lambda tx, token: None)
        return self._renderer.page(request, "docs.html", viewer)

    def answer(self, scope: Scope, refused: Refused) -> Response | None:
        """Return an error as a page where the address is a page's, else None."""
        path, method = scope["path"], scope["method"]
        form = path == "/login" and method in ("GET", "HEAD")
        if not (form or path in _PATHS or path.startswith("/lots/")):
            return None
        return self._problem(Request(scope), refused, None, viewer_known=False)

    def _problem(
        self, request: Request, refused: Refused, viewer: Account | None, *, viewer_known: bool = True
    ) -> Response:
        status = status_of(refused)
        heading, advice = _PROBLEMS.get(refused.code, ("That did not work", str(refused)))
        context = {"heading": heading, "advice": advice, "status": status}
        headers = headers_of(refused)
        return self._renderer.page(
            request, "problem.html", viewer, context, status=status, headers=headers, viewer_known=viewer_known
        )

    async def _read(
        self,
        request: Request,
        use_case: Callable[Concatenate[Transaction, str | None, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Account | None, R]:
        """Return who is logged in and what `use_case` returns, read in one transaction."""
        token = session_token(request)
        return await self._house.database.read(lambda tx: _with_viewer(tx, token, use_case, *args, **kwargs))

    def _origin(self, request: Request) -> str:
        """Return where people reach the house; what the client claims as Host is shown only if it is the form of one."""
        host = request.headers.get("host", "")
        if self._public_url is not None or _HOST.fullmatch(host) is None:
            return self._public_url or DEFAULT_ORIGIN
        return f"{'https' if self._house.https else request.url.scheme}://{host}"


class _Address:
    """The ASGI application at one path: picks the handler by method. Raises MethodNotAllowed."""

    def __init__(self, **handlers: Handler) -> None:
        self._handlers = handlers | ({"HEAD": handlers["GET"]} if "GET" in handlers else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(", ".join(sorted(self._handlers)))
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)


def _with_viewer(
    tx: Transaction,
    token: str | None,
    use_case: Callable[Concatenate[Transaction, str | None, P], R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Account | None, R]:
    viewer = None
    try:
        viewer = None if token is None else reading.who(tx, token)
    except Unauthenticated:
        # A cookie whose token is dead means no more than: not logged in.
        token = None
    return viewer, use_case(tx, token, *args, **kwargs)


def _open_lots(tx: Transaction, token: str | None, after: Mark | None) -> tuple[list[AuctionView], Mark | None]:
    return reading.lots(tx, token, LOTS_PER_PAGE, after)


def _lot(tx: Transaction, token: str | None, gid: str, before: int | None) -> reading.Lot | None:
    try:
        return reading.lot(tx, gid, token, BIDS_PER_PAGE, before) if _GID.fullmatch(gid) else None
    except UnknownAuction:
        # The page that says so shows who is logged in, which this transaction has just read.
        return None


def _mark(request: Request) -> Mark | None:
    text = request.query_params.get("after")
    mark = None if text is None else read_cursor(Mark)(text)
    if mark is BAD_CURSOR:
        raise Invalid({"after": [BAD_CURSOR]})
    return mark


def _before(request: Request) -> int | None:
    text = request.query_params.get("before")
    if text is not None and _NUMBER.fullmatch(text) is None:
        raise Invalid.one("before", "cursor", "is not the number of a bid; open the lot without it")
    return None if text is None else int(text)
