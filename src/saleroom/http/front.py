"""The whole application: every route behind the guard, and an answer to every error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saleroom.http import problems
from saleroom.http.asker import RequestAsker, TokenOwner
from saleroom.http.guard import Guard
from saleroom.http.pacing import Pace
from saleroom.http.problems import MethodNotAllowed, NotFound
from saleroom.http.requests import SAFE_METHODS
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Invalid, Refusal
from saleroom.logs import OutageLog
from saleroom.storage import faults
from saleroom.storage.turns import ASKER

log = structlog.get_logger()

PageAnswer = Callable[[Scope, Refusal], Response | None]
"""Renders an error as a page if the address is a page's, otherwise returns None."""


class Front:
    """ASGI middleware that answers every error, as a page or as JSON, and logs internal errors."""

    def __init__(self, app: ASGIApp, page_answer: PageAnswer, whose: TokenOwner, urgent: tuple[str, ...]) -> None:
        """Requests to paths that end with one of `urgent` begin at once."""
        self._app = app
        self._page_answer = page_answer
        self._whose = whose
        self._urgent = urgent
        self._pace = Pace()
        self._outage = OutageLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and answer an exception."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ASKER.set(RequestAsker(scope, self._whose))
        if scope["method"] not in SAFE_METHODS and not scope["path"].endswith(self._urgent):
            await self._pace.begin()
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._routed(scope, receive, watched)
            return
        except (ClientDisconnect, faults.HangUp):
            return
        except HTTPException as error:
            refused: Refusal = _from_starlette(error)
        except Refusal as error:
            refused = error
        except faults.DatabaseUnavailable as error:
            self._outage.failed(str(error))
            refused = problems.Unavailable()
        except Exception:
            # The last resort: the log gets everything, and the client no internal detail.
            log.exception("internal error", method=scope["method"], path=scope["path"])
            refused = problems.InternalError()
        if not started:
            await self.answer(scope, refused)(scope, receive, send)

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on to the routes. Their patterns overlook a line feed at the end of a path, so it is refused here."""
        if scope["path"].endswith("\n"):
            raise NotFound
        await self._app(scope, receive, send)

    def answer(self, scope: Scope, refused: Refusal) -> Response:
        """Return the answer to an error: a page at the addresses of pages, otherwise JSON."""
        return self._page_answer(scope, refused) or problems.answer(refused)


def build(
    pages: Sequence[Route],
    resources: Sequence[Route],
    *,
    page_answer: PageAnswer,
    shows_again: Callable[[str], bool],
    whose: TokenOwner,
    urgent: tuple[str, ...],
    lifespan: Callable[[Any], Any],
    form_bytes_max: int,
    secret: HouseSecret,
    https: bool,
) -> ASGIApp:
    """Return the whole application: guard, then errors, then routes. Nothing is reachable around the guard."""
    router = Router([*pages, *resources], default=_nothing_here, lifespan=lifespan, redirect_slashes=False)
    front = Front(Switch(pages, resources, router), page_answer, whose, urgent)
    return Guard(
        front, answer=front.answer, secret=secret, form_bytes_max=form_bytes_max, shows_again=shows_again, https=https
    )


class Switch:
    """ASGI application that goes straight to the resource of a path, and to the router for everything else.

    The router tries one pattern after the other, which took a bid as long as reading it.
    """

    def __init__(self, pages: Sequence[Route], resources: Sequence[Route], router: Router) -> None:
        shared = {page.path for page in pages}
        found = {resource.path: resource.app for resource in resources if resource.path not in shared}
        # Fixed paths and patterns are kept apart, so that a client that sends the letters `{gid}` meets no pattern.
        self._fixed = {path: app for path, app in found.items() if "{" not in path}
        self._by_gid = {path: app for path, app in found.items() if path.split("/")[2:3] == ["{gid}"]}
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        app = None
        if scope["type"] == "http":
            app = self._fixed.get(scope["path"])
            parts = scope["path"].split("/")
            if app is None and len(parts) > 2 and (gid := parts[2]):
                parts[2] = "{gid}"
                app = self._by_gid.get("/".join(parts))
                if app is not None:
                    scope["path_params"] = {"gid": gid}
        await (app or self._router)(scope, receive, send)


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotFound


def _from_starlette(error: HTTPException) -> Refusal:
    if error.status_code == 404:
        return NotFound()
    if error.status_code == 405:
        return MethodNotAllowed((error.headers or {}).get("Allow", "GET, HEAD"))
    if error.status_code == 400:
        return Invalid.one("body", "malformed", str(error.detail))
    log.error("an answer of the framework's own", status=error.status_code, detail=error.detail)
    return problems.InternalError()
