"""The site that all pages share: their areas, the user, templates as answers, forms and redirects."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from functools import wraps
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from saleroom.http.problems import MethodNotAllowed, NotFound, headers_of, status_of
from saleroom.http.requests import SAFE_METHODS, header, read_body, session_token
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.site.app import SURFACE, App, Shell
from saleroom.site.assets import Assets
from saleroom.site.house_profile import HouseProfile
from saleroom.site.language import Language, Languages
from saleroom.site.rendering import Renderer
from saleroom.site.words import PLATFORM, Words
from saleroom.storage.database import Database, Transaction

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[Request], Awaitable[Response]]

FOLDER = Path(__file__).parent
_PLAIN = HouseProfile()
DEFAULT_ORIGIN = "http://127.0.0.1:9000"
FORM_BYTES_MAX = 32 * 1024
"""A text of 2,000 of the longest characters takes 24 KB. Parsing a form holds up all other requests."""
FIELDS_MAX = 100
SEGMENTS_MAX = 10
"""More segments than the address of any page has. A header may name thousands, and each is compared with all routes."""
_FORM = "application/x-www-form-urlencoded"
_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_REFERER = re.compile(r"https?://[^/?#]+(/(?![/\\])[^#]*)")
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]{0,500}")


class Viewer(Protocol):
    """The user that is logged in, as far as all pages need to know."""

    @property
    def username(self) -> str:
        """The name in the header of a page."""

    @property
    def rights(self) -> Collection[str]:
        """What the user may do: it decides which sections of the back office they see."""


class Section(Struct, frozen=True):
    """A section of the back office, `/admin`, which is for those who run the house.

    Its page is at `path`, below `/admin/`. `label` is its name, for `gettext`. The page asks for `right` itself; without it
    nothing leads a user there.
    """

    path: str
    label: str
    right: str


class Thing(Struct, frozen=True):
    """A thing by its title or name, such as a lot, and the path of its page if it has one."""

    name: str
    path: str | None = None


def _no_things(tx: Transaction, keys: Collection[str]) -> Mapping[str, Thing]:
    return {}


class AreaPages(Struct, frozen=True, kw_only=True):
    """The pages of one area. An area that is not among those of the site is gone from its routes and menus.

    `folder` holds `templates/` and `static/`. An error at one of `paths`, or below one of the prefixes `below`, is shown as a
    page, and where `is_page` says so; at `form_paths` only for GET and HEAD, because the other methods there belong to the
    API. `menu` and `tabs` are templates of list items: for the header of each page, and for the tabs of "My saleroom". `banner`
    is the template of what stands under the header of each page. `sections` are those of the back office: their paths need not
    be among `paths`. `home` is the page to which `/` leads if no area has a page there. `shows_again` tells the paths whose
    form is shown again after another login, with all that is in it. At the paths `proven` a request carries its own proof that
    it is meant, so that it needs no token of a form. `tabs_last` puts the tabs behind those of other areas.
    `shells` are pages that open without a connection too. `things` returns, by key, those of the keys that are things of
    the area. `codes` are words for values of the audit log, by the name of the fact and the code. `names` and
    `filters` are for the templates.
    """

    folder: Path
    routes: Callable[[Site], Sequence[Route]]
    words: Words
    paths: frozenset[str]
    below: tuple[str, ...] = ()
    form_paths: frozenset[str] = frozenset()
    is_page: Callable[[str], bool] = lambda path: False
    menu: str | None = None
    tabs: str | None = None
    banner: str | None = None
    sections: tuple[Section, ...] = ()
    tabs_last: bool = False
    home: str | None = None
    proven: frozenset[str] = frozenset()
    shows_again: Callable[[str], bool] = lambda path: False
    shells: tuple[Shell, ...] = ()
    things: Callable[[Transaction, Collection[str]], Mapping[str, Thing]] = _no_things
    codes: Mapping[str, Mapping[str, str]] = {}
    names: Mapping[str, Any] = {}
    filters: Mapping[str, Callable[[Language, Any], Any]] = {}


class Site:
    """All pages of one house.

    `authenticate` returns the holder of a session's token, or raises Unauthenticated. `login` is the path of the form to log
    in. `public_url` is the address by which people reach the house; without it the request has that address.
    """

    def __init__(
        self,
        areas: Sequence[AreaPages],
        database: Database,
        authenticate: Callable[[Transaction, str], Viewer],
        login: str,
        *,
        currency: str = "EUR",
        https: bool = False,
        public_url: str | None = None,
        profile: HouseProfile = _PLAIN,
    ) -> None:
        self.areas = areas
        self.sections = tuple(section for area in reversed(areas) for section in area.sections)
        self.profile = profile
        self.database = database
        self.https = https
        self.words = PLATFORM
        self.codes: dict[str, dict[str, str]] = {}
        for area in areas:
            self.words |= area.words
            for name, said in area.codes.items():
                self.codes.setdefault(name, {}).update(said)
        folders = [FOLDER, *(area.folder for area in areas)]
        self.assets = Assets(*(folder / "static" for folder in folders))
        if profile.logo is not None:
            self.assets.add(profile.logo, f"house/{profile.logo.name}")
        self.languages = Languages(currency)
        self.app = App(self.assets, self.languages, profile)
        logo = self.assets.url("logo.svg" if profile.logo is None else f"house/{profile.logo.name}")
        filters: dict[str, Callable[[Language, Any], Any]] = {}
        for area in areas:
            filters |= area.filters
        self.renderer = Renderer([folder / "templates" for folder in folders], self._names(logo), filters)
        self.worker = self.app.worker(
            logo,
            lambda one, name, shown: self.renderer.fragment(one, name, {"path": "/", "here": "/", **shown}),
            [shell for area in areas for shell in area.shells],
        )
        self.routes: Sequence[Route] = ()
        """Those of all pages. `Pages` sets them, as routes are made of the handlers that get this site."""
        self._authenticate = authenticate
        self._login = login
        self._public_url = public_url

    def _names(self, logo: str) -> dict[str, Any]:
        """Return what all templates know; `logo` is its address."""
        names: dict[str, Any] = {
            "app": self.app,
            "asset": self.assets.url,
            "bars": SURFACE,
            "house": self.profile,
            "logo": logo,
            "languages": tuple(self.languages),
            "sections_of": self.sections_of,
            "menus": [area.menu for area in self.areas if area.menu],
            "banners": [area.banner for area in self.areas if area.banner],
            "tabs": [area.tabs for area in sorted(self.areas, key=lambda area: area.tabs_last) if area.tabs],
        }
        for area in self.areas:
            names |= area.names
        return names

    def language(self, request: Request) -> Language:
        """Return the language of the reader."""
        return self.languages.of(request)

    async def read(
        self,
        request: Request,
        use_case: Callable[Concatenate[Transaction, str | None, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Viewer | None, R]:
        """Return the user that is logged in, and the result of `use_case`, read in one transaction.

        `use_case` gets the session's token, or None if there is none or it is no longer valid.
        """

        def with_viewer(tx: Transaction) -> tuple[Viewer | None, R]:
            token = session_token(request)
            viewer = None
            try:
                viewer = None if token is None else self._authenticate(tx, token)
            except Unauthenticated:
                # The cookie of a session that has ended: the reader is not logged in.
                token = None
            return viewer, use_case(tx, token, *args, **kwargs)

        return await self.database.read(with_viewer)

    def session(self, request: Request, viewer: Viewer | None) -> str | None:
        """Return the token of the session with which a stream for `viewer` ends; None if nobody is logged in.

        A cookie whose session has ended is sent again and again, so it counts as none.
        """
        return None if viewer is None else session_token(request)

    def things(self, tx: Transaction, keys: Collection[str]) -> dict[str, Thing]:
        """Return the things that keys name, such as the gid of a lot: one query of each area, for any number of keys."""
        return {key: thing for area in self.areas if keys for key, thing in area.things(tx, keys).items()}

    def sections_of(self, viewer: Viewer | None) -> list[Section]:
        """Return the sections of the back office that are for this user."""
        rights = () if viewer is None else viewer.rights
        return [section for section in self.sections if section.right in rights]

    async def viewer(self, request: Request) -> Viewer | None:
        """Return the user that is logged in, or None."""
        return (await self.read(request, _nothing))[0]

    def page(
        self,
        request: Request,
        template: str,
        viewer: Viewer | None,
        context: Mapping[str, Any] = MappingProxyType({}),
        *,
        refused: Refusal | None = None,
        viewer_known: bool = True,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Response:
        """Return `template` as an answer, with the status and headers of `refused` if something was refused.

        Its header shows `viewer`; without `viewer_known` it shows neither a user nor a link to log in.
        """
        status = 200 if refused is None else status_of(refused)
        headers = headers if refused is None else {**headers, **headers_of(refused)}
        values = {"viewer": viewer, "viewer_known": viewer_known, "here": self.here(request), **context}
        return self.renderer.page(request, self.language(request), template, values, status=status, headers=headers)

    def origin(self, request: Request) -> str:
        """Return the address by which people reach the house. The client's Host is believed only if it has the form of one."""
        host = request.headers.get("host", "")
        if self._public_url is not None or _HOST.fullmatch(host) is None:
            return self._public_url or DEFAULT_ORIGIN
        return f"{'https' if self.https else request.url.scheme}://{host}"

    def login_address(self, then: str) -> str:
        """Return the address of the form to log in, which leads to the address `then`."""
        return f"{self._login}?next={quote(then)}"

    def to_log_in(self, request: Request, back: str | None = None) -> Response:
        """Send a reader who must be logged in to the form, which leads to the address `back`, otherwise to this page.

        Raises Unauthenticated if only a part of a page is wanted: that part says so and keeps what it has (`Pages.answer`).
        """
        if is_fragment(request):
            raise Unauthenticated
        return go_to(self.login_address(back or self.here(request)))

    def here(self, request: Request) -> str:
        """Return the address that shows this page again; after a form, and for a part, that of the page the browser was on.

        Some addresses only take forms. Nothing opens there, so the nearest page above such an address is returned.
        """
        own, is_read = quote(request.scope["path"]), request.method in SAFE_METHODS
        if is_read and not is_fragment(request):
            query = request.scope["query_string"].decode("latin-1")
            return f"{own}?{query}" if query else own
        came_from = _REFERER.fullmatch(header(request.scope, b"referer") or "")
        if is_read:
            return "/" if came_from is None else came_from[1]
        shown = own if came_from is None else came_from[1]
        path = shown.partition("?")[0]
        if self._opens(path):
            return shown
        segments = path.split("/")[:SEGMENTS_MAX]
        while segments and not self._opens("/".join(segments)):
            segments.pop()
        return "/".join(segments) or "/"

    def _opens(self, path: str) -> bool:
        """Whether a browser can open a page at an address; it can at `/`, whatever the house has."""
        plain = unquote(path)
        endpoint = next((route.endpoint for route in self.routes if route.path_regex.match(plain)), None)
        return path == "/" or (isinstance(endpoint, Address) and endpoint.opens)


class _OfSite(Protocol):
    """The pages of an area, which know the site."""

    _site: Site


H = TypeVar("H", bound=_OfSite)


def for_users(
    handler: Callable[Concatenate[H, Request, P], Awaitable[Response]],
) -> Callable[Concatenate[H, Request, P], Coroutine[Any, Any, Response]]:
    """Send a reader who is not logged in to the form to log in, which leads back to the page of this handler."""

    @wraps(handler)
    async def answer(pages: H, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        try:
            return await handler(pages, request, *args, **kwargs)
        except Unauthenticated:
            return pages._site.to_log_in(request)  # noqa: SLF001  # the pages of an area keep the site to themselves

    return answer


class Address:
    """A path of pages, which picks the handler by method. Raises MethodNotAllowed, or NotFound of a path with a NUL.

    Nothing has a NUL in its name, and PostgreSQL takes none as text.
    """

    def __init__(self, **handlers: Handler) -> None:
        self._handlers = handlers | ({"HEAD": handlers["GET"]} if "GET" in handlers else {})

    @property
    def opens(self) -> bool:
        """Whether a browser can open it, as it answers GET."""
        return "GET" in self._handlers

    async def __call__(self, scope: Scope, receive: Receive) -> Response:
        """Return the answer to a request."""
        if "\0" in scope["path"]:
            raise NotFound
        handler = self._handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(", ".join(sorted(self._handlers)))
        return await handler(Request(scope, receive))


async def fields(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises BodyTooLarge, BodyTimeout, or Invalid if the body is not a form."""
    body = await read_body(request, FORM_BYTES_MAX)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return {}
    try:
        found = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Invalid.one("body", "malformed_form", "is not a form as a browser sends it") from None
    return {name: values[-1] for name, values in found.items()}


def is_fragment(request: Request) -> bool:
    """Whether htmx sent the request: it puts the answer into the page that is open."""
    return request.headers.get("hx-request") == "true"


def go_to(address: str) -> Response:
    """Send the browser to an address of this house by GET."""
    return RedirectResponse(address, 303)


def is_local(origin: str) -> bool:
    """Whether an address leads a phone to itself, and not to this house."""
    host = urlsplit(origin).hostname or ""
    try:
        return ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def local(address: str | None, default: str = "/") -> str:
    """Return `address` if it is a path of this house, otherwise `default`: no form leads to another site."""
    return address if address is not None and _LOCAL.fullmatch(address) else default


def _nothing(tx: Transaction, token: str | None) -> None:
    """Read nothing: the caller needs only the user."""
