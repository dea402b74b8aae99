"""Pages for people: their routes, and every error below their paths (docs/pages.md, "Addresses")."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.accounts import AccountForms
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.home import Home
from saleroom.bidding.web.live import Live
from saleroom.bidding.web.lots import Lots
from saleroom.bidding.web.mine import Mine
from saleroom.bidding.web.photos import PATH as PHOTO
from saleroom.bidding.web.photos import PhotoFiles
from saleroom.bidding.web.screen import Screens
from saleroom.bidding.web.selling import Selling
from saleroom.http.problems import headers_of, status_of
from saleroom.kernel.errors import Refused
from saleroom.site import words
from saleroom.site.assets import PREFIX, Assets
from saleroom.site.language import Languages
from saleroom.site.language_choice import LanguageChoice
from saleroom.site.rendering import Renderer
from saleroom.site.site import Address, Site

_PATHS = frozenset({"/", "/register", "/session", "/session/end", "/docs", "/sell", "/mine", "/live"})
_BELOW = ("/lots/", "/mine/", "/sell/", "/language/")


class Pages:
    """The pages over one house. `public_url` is where people reach it, for what they pass on; else the request tells."""

    def __init__(
        self,
        accounts: AccountServices,
        bidding: BiddingServices,
        assets: Assets,
        *,
        registration_open: bool = True,
        public_url: str | None = None,
        currency: str = "EUR",
        https: bool = False,
    ) -> None:
        self._accounts = accounts
        self._bidding = bidding
        self._assets = assets
        self._renderer = Renderer(assets, Languages(currency), registration_open=registration_open)
        self._site = Site(
            bidding.database, self._renderer, registration_open=registration_open, public_url=public_url, https=https
        )

    def routes(self) -> list[Route]:
        """Return the routes; they go before the API's, whose `/login` would else answer for the form."""
        forms = AccountForms(self._site, self._accounts)
        area = (self._site, self._bidding)
        lots, home, live, screens, selling, mine = (
            Lots(*area),
            Home(*area),
            Live(*area),
            Screens(*area),
            Selling(*area),
            Mine(*area),
        )
        return [
            Route("/", Address(GET=home.show)),
            Route("/lots/{gid}", Address(GET=lots.show)),
            Route("/lots/{gid}/bids", Address(GET=lots.bids)),
            Route("/lots/{gid}/box", Address(GET=lots.box)),
            Route("/lots/{gid}/bid", Address(POST=lots.bid)),
            Route("/lots/{gid}/buy", Address(POST=lots.buy)),
            Route("/lots/{gid}/live", Address(GET=live.lot)),
            Route("/lots/{gid}/screen/live", Address(GET=live.screen)),
            Route("/live", Address(GET=live.cards)),
            Route("/lots/{gid}/screen", Address(GET=screens.show)),
            Route("/lots/{gid}/screen/next", Address(GET=screens.next)),
            Route("/lots/{gid}/qr.svg", Address(GET=screens.code)),
            Route("/lots/{gid}/watch", Address(POST=mine.watch)),
            Route("/lots/{gid}/unwatch", Address(POST=mine.unwatch)),
            Route("/sell", Address(GET=selling.form, POST=selling.submit)),
            Route("/sell/photos", Address(POST=selling.upload)),
            Route("/sell/{gid}", Address(GET=selling.manage, POST=selling.save)),
            Route("/sell/{gid}/cancel", Address(POST=selling.cancel)),
            Route("/sell/{gid}/close", Address(POST=selling.close)),
            Route("/mine", Address(GET=mine.bidding)),
            Route("/mine/selling", Address(GET=mine.selling)),
            Route("/mine/watching", Address(GET=mine.watching)),
            Route("/mine/sessions", Address(GET=mine.sessions)),
            Route("/mine/sessions/end", Address(POST=mine.end_session)),
            Route("/mine/sessions/end-all", Address(POST=mine.end_all)),
            Route("/mine/password", Address(GET=forms.password_form, POST=forms.change_password)),
            Route("/.well-known/change-password", Address(GET=forms.password_place)),
            Route("/docs", Address(GET=self.docs)),
            Route("/language/{tag}", Address(GET=LanguageChoice(self._site).choose)),
            Route("/login", forms.login_form, methods=["GET"]),
            Route("/session", Address(POST=forms.log_in)),
            Route("/session/end", Address(POST=forms.log_out)),
            Route("/register", Address(GET=forms.register_form, POST=forms.register)),
            Route(f"{PREFIX}{{file:path}}", Address(GET=self._assets.answer)),
            Route(PHOTO, Address(GET=PhotoFiles(self._bidding).show)),
        ]

    async def docs(self, request: Request) -> Response:
        """GET /docs: the viewer of `/openapi.json`."""
        return self._site.page(request, "docs.html", await self._site.viewer(request))

    def shows_again(self, path: str) -> bool:
        """Return whether a form that was made for another session is shown again at this path, as it holds much."""
        parts = path.split("/")
        return parts[1] == "sell" and len(parts) <= 3 and parts[-1] != "photos"

    def answer(self, scope: Scope, refused: Refused) -> Response | None:
        """Return an error as a page where the address is a page's, else None."""
        path, method = scope["path"], scope["method"]
        form = path == "/login" and method in ("GET", "HEAD")
        if not (form or path in _PATHS or path.startswith(_BELOW)):
            return None
        status, headers = status_of(refused), headers_of(refused)
        request = Request(scope)
        heading, advice = words.problem(self._renderer.language(request), refused)
        context = {"heading": heading, "advice": advice, "status": status}
        return self._renderer.page(
            request, "problem.html", None, context, status=status, headers=headers, viewer_known=False
        )
