"""The whole application: every route behind the guard, and an answer to every error."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, cast

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope

from saleroom.http import problems
from saleroom.http.asker import RequestAsker, TokenOwner
from saleroom.http.cors import Cors
from saleroom.http.endpoints import Call, Endpoint, Resource, not_for_others
from saleroom.http.exchange import Application, Finish
from saleroom.http.guard import IS_JSON, Guard, SecurityHeaders
from saleroom.http.outcomes import ROUTE, Outcomes
from saleroom.http.pacing import Pace
from saleroom.http.problems import MethodNotAllowed, NotFound
from saleroom.http.proxies import TrustedProxies
from saleroom.http.requests import SAFE_METHODS, Respond
from saleroom.kernel.errors import Busy, Invalid, Refusal
from saleroom.logs import OutageLog
from saleroom.storage import faults
from saleroom.storage.files import NO_ROOM
from saleroom.storage.turns import ASKER

log = structlog.get_logger()
_SECRETS = re.compile("[A-Za-z0-9_-]{40,}")
"""Parts of a path that are as long as a secret, such as a private link."""

PageAnswer = Callable[[Scope, Refusal], Response | None]
"""Renders an error as a page if the address is a page's, otherwise returns None."""


class Deployment(Protocol):
    """What the settings say of how people reach the house."""

    @property
    def is_https(self) -> bool:
        """Whether they come by https."""

    @property
    def hsts_subdomains(self) -> bool:
        """Whether browsers are to reach the subdomains by https alone too."""

    @property
    def cors_origins(self) -> Sequence[str]:
        """The origins of others whose pages may use the API."""

    @property
    def trusted_proxies(self) -> Sequence[str]:
        """The proxies in front of the house."""


def build(
    front: Front, deployment: Deployment, outcomes: Outcomes, around: Callable[[Respond], Respond] | None = None
) -> Application:
    """Return the whole application: its layers around `front`. Nothing is reachable around the guard.

    `outcomes` counts all answers. `around` puts one more layer around the others.
    """
    # What waits for nothing needs no layer, which would be one more coroutine for each request.
    finish: Finish = SecurityHeaders(outcomes, https=deployment.is_https, subdomains=deployment.hsts_subdomains)
    respond: Respond = front
    if deployment.cors_origins:
        cors = Cors(deployment.cors_origins)
        respond, finish = cors.before(respond), _both(cors.finish, finish)
    prepare = TrustedProxies(deployment.trusted_proxies)
    return Application(respond if around is None else around(respond), front.refused, finish, prepare)


class Front:
    """The layer that checks a request, has it answered, and answers every error: as a page or as JSON."""

    def __init__(
        self, guard: Guard, routes: Routes, *, page_answer: PageAnswer, whose: TokenOwner, urgent: tuple[str, ...]
    ) -> None:
        """Requests to paths that end with one of `urgent` begin at once."""
        self._guard = guard
        self._routes = routes
        self._page_answer = page_answer
        self._whose = whose
        self._urgent = urgent
        self._pace = Pace()
        self._outage = OutageLog()

    def __call__(self, scope: Scope, receive: Receive) -> Awaitable[Response]:
        """Return the answer to come. ClientDisconnect or HangUp comes if nobody waits for it any more."""
        return self._short_way(scope, receive) or self._long_way(scope, receive)

    def _short_way(self, scope: Scope, receive: Receive) -> Awaitable[Response] | None:
        """Return the answer to a hot request; None for each other one, and for one with a fault, which the long way names.

        Thousands ask for a lot, for a list or for the bids of a lot at the same time, and as many bid. All checks of such a
        request are made here without waiting, so that only one coroutine stands around that of the handler.
        """
        found = self._routes.hot(scope["method"], scope["path"])
        if found is None:
            return None
        resource, row, gid = found
        try:
            if not self._guard.passes(scope):
                return None
            scope["path_params"] = {"gid": gid}
            call = resource.call_of(row, scope, receive)
        except Exception:  # noqa: BLE001  # of any kind: the long way meets it again, and answers
            return None
        if call is None:
            return None
        scope[ROUTE], scope[IS_JSON] = row.path, True
        return self._answer_hot(resource, row, call)

    async def _answer_hot(self, resource: Resource[Any], row: Endpoint[Any], call: Call[Any]) -> Response:
        ASKER.set(RequestAsker(call.scope, self._whose))
        try:
            try:
                return not_for_others(row.access, await row.handler(call))
            except Refusal as refused:
                return await resource.refused(row, call, refused)
        except (ClientDisconnect, faults.HangUp):
            raise
        except Exception as error:  # noqa: BLE001  # unexpected errors are logged
            return self.failed(call.scope, error)

    async def _long_way(self, scope: Scope, receive: Receive) -> Response:
        try:
            if not self._guard.passes(scope):
                receive = await self._guard.prove(scope, receive)
            ASKER.set(RequestAsker(scope, self._whose))
            if scope["method"] not in SAFE_METHODS and not scope["path"].endswith(self._urgent):
                await self._pace.begin()
            return await self._routes(scope, receive)
        except (ClientDisconnect, faults.HangUp):
            raise
        except Exception as error:  # noqa: BLE001  # unexpected errors are logged
            return self.failed(scope, error)

    def failed(self, scope: Scope, error: Exception) -> Response:
        """Return the answer to an error, as a page or as JSON."""
        refused = self.refused(scope, error)
        return self._page_answer(scope, refused) or problems.answer(refused)

    def refused(self, scope: Scope, error: Exception) -> Refusal:
        """Return an error as a refusal, and log it if it is the house's own."""
        if isinstance(error, HTTPException):
            return _from_starlette(error)
        if isinstance(error, Refusal):
            return error
        if isinstance(error, faults.DatabaseUnavailable):
            self._outage.failed(str(error))
            return problems.Unavailable()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            log.error("a disk has no room for a file", path=_shown(scope["path"]), reason=str(error))
            return Busy("The house has no room for a file just now; try again later.")
        # The last resort: the log gets everything, and the client no internal detail.
        log.error("internal error", method=scope["method"], path=_shown(scope["path"]), exc_info=error)
        return problems.InternalError()


def _shown(path: str) -> str:
    """Return a path for the log, without secrets."""
    return _SECRETS.sub("[hidden]", path)


class Routes:
    """The layer of routes: it goes straight to the resource of a path, and tries patterns only for everything else.

    Trying one pattern after the other took a bid as long as reading it.
    """

    def __init__(self, pages: Sequence[Route], resources: Sequence[Route]) -> None:
        shared = {page.path for page in pages}
        found = {resource.path: _respond(resource) for resource in resources if resource.path not in shared}
        # Fixed paths and patterns are kept apart, so that a client that sends the letters `{gid}` meets no pattern.
        self._fixed = {path: respond for path, respond in found.items() if "{" not in path}
        self._by_gid = {
            path: respond
            for path, respond in found.items()
            if path.split("/")[2:3] == ["{gid}"] and path.count("{") == 1
        }
        # In order, by the first part of their paths: to try each pattern of the house took a photo longer than all else.
        self._routes: dict[str, list[Route]] = {}
        for route in (*pages, *resources):
            self._routes.setdefault(_first_part(route.path), []).append(route)
        self._hot = {
            (row.method, path): (resource, row)
            for path, resource in found.items()
            if isinstance(resource, Resource)
            for row in resource.hot()
        }

    def hot(self, method: str, path: str) -> tuple[Resource[Any], Endpoint[Any], str] | None:
        """Return the row of a hot request, its resource, and the gid in its path; None for any other request."""
        if (found := self._hot.get((method, path))) is not None:
            return *found, ""
        pattern, gid = _with_gid(path)
        found = self._hot.get((method, pattern))
        return (*found, gid) if found is not None else None

    def __call__(self, scope: Scope, receive: Receive) -> Awaitable[Response]:
        """Pass the request on. Raises NotFound."""
        path: str = scope["path"]
        if path.endswith("\n"):  # which the patterns overlook
            raise NotFound
        if (respond := self._fixed.get(path)) is not None:
            scope[ROUTE] = path
            return respond(scope, receive)
        pattern, gid = _with_gid(path)
        if (respond := self._by_gid.get(pattern)) is not None:
            scope["path_params"] = {"gid": gid}
            scope[ROUTE] = pattern
            return respond(scope, receive)
        for route in self._routes.get(_first_part(path), ()):
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                scope[ROUTE] = route.path
                return _respond(route)(scope, receive)
        raise NotFound


def _first_part(path: str) -> str:
    """Return the first part of a path or of a pattern. No pattern of the house begins with a parameter."""
    return path[1:].partition("/")[0]


def _with_gid(path: str) -> tuple[str, str]:
    """Return a path with `{gid}` in place of its second part, and that part; two empty texts for a path without one."""
    parts = path.split("/", 3)
    if len(parts) < 3 or not parts[2]:
        return "", ""
    gid, parts[2] = parts[2], "{gid}"
    return "/".join(parts), gid


def _both(first: Finish, second: Finish) -> Finish:
    def finish(scope: Scope, response: Response) -> None:
        first(scope, response)
        second(scope, response)

    return finish


def _respond(route: Route) -> Respond:
    """Return what answers at a route: not an ASGI application as in Starlette, but a layer of this house."""
    return cast("Respond", route.endpoint)


def _from_starlette(error: HTTPException) -> Refusal:
    if error.status_code == 404:
        return NotFound()
    if error.status_code == 405:
        return MethodNotAllowed((error.headers or {}).get("Allow", "GET, HEAD"))
    if error.status_code == 400:
        return Invalid.one("body", "malformed", str(error.detail))
    log.error("an answer of the framework's own", status=error.status_code, detail=error.detail)
    return problems.InternalError()
