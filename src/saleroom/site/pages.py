"""The routes of all pages, the pages that belong to no area, and every error at a page's address."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from saleroom.http.forgery import OF_ANOTHER_SESSION
from saleroom.http.problems import ForgeryRefusal, NotFound, status_of
from saleroom.http.requests import SAFE_METHODS, bearer_token, header, session_token
from saleroom.kernel.errors import Refusal, Unauthenticated
from saleroom.site import house_profile
from saleroom.site.app import WORKER_PATH
from saleroom.site.assets import PREFIX
from saleroom.site.language import COOKIE, COOKIE_SECONDS, N_
from saleroom.site.site import Address, Site, go_to, is_fragment, local

_PATHS = frozenset({"/docs", "/admin"})
_HEADINGS = {"imprint": N_("Imprint"), "privacy": N_("Privacy"), "rules": N_("Terms of sale")}
_BELOW = ("/language/", "/admin/")
_ANOTHER_LOGIN = N_("You have logged in since this page was opened")
_SEND_AGAIN = N_("This page is from before your last login, so nothing was changed. Open it again, then try once more.")


class Pages:
    """The pages of one site, beside an API whose endpoints have the paths `api_paths`."""

    def __init__(self, site: Site, api_paths: Iterable[str]) -> None:
        self._site = site
        self._api_words = {path.split("/")[1] for path in api_paths}
        self._texts = [name for name in house_profile.PAGES if name in site.profile.texts]
        self._paths = _PATHS.union((f"/{name}" for name in self._texts), *(area.paths for area in site.areas))
        self._below = (*_BELOW, *(prefix for area in site.areas for prefix in area.below))
        self._form_paths = frozenset[str]().union(*(area.form_paths for area in site.areas))

    def routes(self) -> list[Route]:
        """Return the routes. They go before the API's: otherwise its `/login` would answer for the form."""
        self._site.routes = [
            *(route for area in self._site.areas for route in area.routes(self._site)),
            *([] if "/" in self._paths else [Route("/", Address(GET=self.home))]),
            Route("/docs", Address(GET=self.docs)),
            Route("/admin", Address(GET=self.back_office)),
            *(Route(f"/{name}", Address(GET=self.house_text)) for name in self._texts),
            Route("/language/{tag}", Address(GET=self.choose_language)),
            Route(WORKER_PATH, Address(GET=self.worker)),
            Route(f"{PREFIX}{{file:path}}", Address(GET=self._site.assets.answer)),
        ]
        return [*self._site.routes]

    async def home(self, _: Request) -> Response:
        """GET / in a house without a home page: lead to a page of an area."""
        return go_to(next((area.home for area in self._site.areas if area.home), "/docs"))

    async def docs(self, request: Request) -> Response:
        """GET /docs: the viewer of `/openapi.json`."""
        return self._site.page(request, "docs.html", await self._site.viewer(request))

    async def back_office(self, request: Request) -> Response:
        """GET /admin: lead to the first section of the back office that is for the reader. Raises NotFound if none is."""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return self._site.to_log_in(request)
        for section in self._site.sections_of(viewer):
            return go_to(section.path)
        raise NotFound

    async def house_text(self, request: Request) -> Response:
        """GET /imprint, /privacy and /rules: a text of the house, in the reader's language if it is there."""
        name = request.url.path[1:]
        language = self._site.language(request)
        context = {
            "text": self._site.profile.text(name, language.catalogue),
            "heading": language.gettext(_HEADINGS[name]),
        }
        return self._site.page(request, "house_text.html", await self._site.viewer(request), context)

    async def choose_language(self, request: Request) -> Response:
        """GET /language/{tag}?next=/path: keep the language in a cookie, and lead back. Raises NotFound.

        The cookie counts before the browser's own choice.
        """
        tag = request.path_params["tag"]
        if tag not in self._site.languages:
            raise NotFound
        response = go_to(local(request.query_params.get("next")))
        response.headers["Cache-Control"] = "no-store"
        secure = self._site.https
        response.set_cookie(COOKIE, tag, COOKIE_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
        return response

    async def worker(self, _: Request) -> Response:
        """GET /service-worker.js: browsers ask for it now and then, and take another one in its place at once."""
        return Response(self._site.worker, headers={"Cache-Control": "no-cache"}, media_type="text/javascript")

    @property
    def proven(self) -> frozenset[str]:
        """The paths at which a request carries its own proof that it is meant."""
        return frozenset[str]().union(*(area.proven for area in self._site.areas))

    def shows_again(self, path: str) -> bool:
        """Whether the form at this path is shown again, with all its content, after another login."""
        return any(area.shows_again(path) for area in self._site.areas)

    def _is_page(self, path: str) -> bool:
        return any(area.is_page(path) for area in self._site.areas)

    def answer(self, scope: Scope, refused: Refusal) -> Response | None:
        """Return an error as a page, or None if the address is not a page's and no reader has mistyped it.

        A page that needs a session leads to the form to log in. A part of a page (htmx) gets a sentence instead, which is shown
        in it. Without a session, the sender of a form that is refused is no longer logged in.
        """
        path = scope["path"]
        is_form = path in self._form_paths and scope["method"] in ("GET", "HEAD")
        is_page = is_form or path in self._paths or path.startswith(self._below) or self._is_page(path)
        if not (is_page or (isinstance(refused, NotFound) and self._is_mistyped(scope))):
            return None
        request = Request(scope)
        if isinstance(refused, Unauthenticated) and request.method in SAFE_METHODS and not is_fragment(request):
            # The session has ended since the page began to read: it is as if it had ended before.
            return self._site.to_log_in(request)
        part, forged = is_fragment(request), isinstance(refused, ForgeryRefusal)
        login = isinstance(refused, Unauthenticated) or (forged and session_token(request) is None)
        told = Unauthenticated() if part and login else refused
        language = self._site.language(request)
        heading, advice = self._site.words.problem(language, told)
        if forged and not login and OF_ANOTHER_SESSION in scope:
            heading, advice = language.gettext(_ANOTHER_LOGIN), language.gettext(_SEND_AGAIN)
        meant = path.rstrip("/").lower()
        context = {
            "heading": heading,
            "advice": advice,
            "status": status_of(refused),
            "login": self._site.login_address(self._site.here(request)) if login else None,
            "again": forged,
            "meant": meant if meant != path and meant in self._paths | self._form_paths else None,
        }
        # Without a page, the same address answers in JSON to other readers.
        vary = {} if is_page else {"Vary": "Accept, X-Requested-With, Cookie, Accept-Language, Accept-Encoding"}
        template = "parts/problem.html" if part else "problem.html"
        return self._site.page(request, template, None, context, refused=refused, viewer_known=False, headers=vary)

    def _is_mistyped(self, scope: Scope) -> bool:
        """Whether a browser asks for an unknown address to show it, and the API has no such address either."""
        if scope["method"] not in SAFE_METHODS or bearer_token(scope) is not None:
            return False
        if header(scope, b"x-requested-with") is not None or "text/html" not in (header(scope, b"accept") or ""):
            return False
        path: str = scope["path"]
        return path.split("/")[1] not in self._api_words or path.rstrip("/") in self._form_paths
