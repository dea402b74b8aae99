"""Pages for people: their routes, and every error below their paths (contract.md, "Pages")."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from saleroom.domain.errors import Refused
from saleroom.doors.house import House
from saleroom.doors.problems import headers_of, status_of
from saleroom.doors.web.accounts import AccountForms
from saleroom.doors.web.assets import PREFIX, Assets
from saleroom.doors.web.home import Home
from saleroom.doors.web.language import Languages
from saleroom.doors.web.live import Live
from saleroom.doors.web.lots import Lots
from saleroom.doors.web.rendering import Renderer
from saleroom.doors.web.site import Address, Site

_PATHS = frozenset({"/", "/register", "/session", "/session/end", "/docs", "/sell", "/mine", "/live"})
_BELOW = ("/lots/", "/mine/", "/sell/", "/language/")
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
    """The pages over one house. `public_url` is where people reach it, for what they pass on; else the request tells."""

    def __init__(
        self,
        house: House,
        assets: Assets,
        *,
        registration_open: bool = True,
        public_url: str | None = None,
        currency: str = "EUR",
    ) -> None:
        self._assets = assets
        self._renderer = Renderer(assets, Languages(currency), registration_open=registration_open)
        self._site = Site(house, self._renderer, registration_open=registration_open, public_url=public_url)

    def routes(self) -> list[Route]:
        """Return the routes; they go before the API's, whose `/login` would else answer for the form."""
        forms, lots, home = AccountForms(self._site), Lots(self._site), Home(self._site)
        live = Live(self._site)
        return [
            Route("/", Address(GET=home.show)),
            Route("/lots/{gid}", Address(GET=lots.show)),
            Route("/lots/{gid}/live", Address(GET=live.lot)),
            Route("/lots/{gid}/screen/live", Address(GET=live.screen)),
            Route("/live", Address(GET=live.cards)),
            Route("/docs", Address(GET=self.docs)),
            Route("/login", forms.login_form, methods=["GET"]),
            Route("/session", Address(POST=forms.log_in)),
            Route("/session/end", Address(POST=forms.log_out)),
            Route("/register", Address(GET=forms.register_form, POST=forms.register)),
            Route(f"{PREFIX}{{file:path}}", Address(GET=self._assets.answer)),
        ]

    async def docs(self, request: Request) -> Response:
        """GET /docs: the viewer of `/openapi.json`."""
        return self._site.page(request, "docs.html", await self._site.viewer(request))

    def answer(self, scope: Scope, refused: Refused) -> Response | None:
        """Return an error as a page where the address is a page's, else None."""
        path, method = scope["path"], scope["method"]
        form = path == "/login" and method in ("GET", "HEAD")
        if not (form or path in _PATHS or path.startswith(_BELOW)):
            return None
        status, headers = status_of(refused), headers_of(refused)
        heading, advice = _PROBLEMS.get(refused.code, ("That did not work", str(refused)))
        context = {"heading": heading, "advice": advice, "status": status}
        return self._renderer.page(
            Request(scope), "problem.html", None, context, status=status, headers=headers, viewer_known=False
        )
