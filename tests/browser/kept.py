"""Browsers that visitors of several tests have one after the other: a new one costs more than what most visitors do with it.

A browser is a context of Chromium with one page. When its visitor leaves it is made as new: without cookies, storage, routes
and listeners, and with the usual window. Only the cache stays, as in anybody's browser. It is closed after a visitor who did
what cannot be taken back, such as to turn the page's clock; whatever else a test leaves in the page fails that test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, WeakSet

from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page, ViewportSize

USUAL: ViewportSize = {"width": 1280, "height": 720}
IDLE_MAX = 3
"""So many browsers wait for their next visitors: each is a process with some 50 MB."""
SAME_FOR_ALL = {"base_url", "service_workers", "locale"}
"""The options of browsers that are kept: two visitors who ask for the same may have the same browser."""
OF_A_PAGE = {"viewport", "color_scheme", "forced_colors"}
"""Options that an open page can get too."""
LASTING = {
    Page: (
        *("add_init_script", "add_locator_handler", "clock", "expose_binding", "expose_function", "once"),
        *("route_from_har", "route_web_socket", "set_default_navigation_timeout", "set_default_timeout"),
    ),
    BrowserContext: (
        *("add_init_script", "clock", "expose_binding", "expose_function", "grant_permissions", "new_cdp_session"),
        *("on", "once", "route", "route_from_har", "route_web_socket", "set_default_navigation_timeout"),
        *("set_extra_http_headers", "set_geolocation", "set_storage_state"),
    ),
}
"""What stays in a page or its context until that is closed."""
LOOKS = """() => [
  innerWidth, innerHeight, navigator.language, navigator.onLine, String(Date), String(setTimeout), window.name,
  ...['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', '(forced-colors: active)', 'print']
    .map(one => matchMedia(one).matches), Object.getOwnPropertyNames(window).length].join('; ')"""
"""How an empty page looks: a page that a test has left otherwise looks otherwise."""

_lasting: WeakSet[BrowserContext] = WeakSet()
"""The contexts in which something stays."""
_listeners: WeakKeyDictionary[Page, list[tuple[Any, Any]]] = WeakKeyDictionary()
"""Who listens to the events of a page."""


def _noted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that notes that its page or context cannot be as new any more."""

    @wraps(method)
    def noted(self: Page | BrowserContext, *args: Any, **kwargs: Any) -> Any:
        _lasting.add(self.context if isinstance(self, Page) else self)
        return method(self, *args, **kwargs)

    return noted


def _note_what_stays() -> None:
    for kind, names in LASTING.items():
        for name in names:
            was = getattr(kind, name)
            is_property = isinstance(was, property) and was.fget is not None
            setattr(kind, name, property(_noted(was.fget)) if is_property else _noted(was))
    on = Page.on

    @wraps(on)
    def noted(self: Page, event: Any, f: Any) -> None:
        _listeners.setdefault(self, []).append((event, f))
        on(self, event, f)

    Page.on = noted  # type: ignore[method-assign]  # it has one overload for each event


_note_what_stays()


class KeptBrowser:
    """A browser with one visitor at a time."""

    def __init__(self, context: BrowserContext, options: dict[str, Any]) -> None:
        self.page = context.new_page()
        self._base = str(options["base_url"])
        self._tools: CDPSession = context.new_cdp_session(self.page)
        _lasting.discard(context)
        self._looks = self.page.evaluate(LOOKS)

    def dress(self, options: dict[str, Any]) -> None:
        """Give the page what its visitor has asked for."""
        if "viewport" in options:
            self.page.set_viewport_size(options["viewport"])
        if media := {name: options[name] for name in OF_A_PAGE - {"viewport"} if name in options}:
            self.page.emulate_media(**media)

    def make_as_new(self) -> bool:
        """Leave nothing of the visitor but the cache; return whether that is possible."""
        if self.page.context in _lasting or self.page.is_closed() or not self.page.url.startswith(f"{self._base}/"):
            return False
        for event, listener in _listeners.pop(self.page, []):
            self.page.remove_listener(event, listener)
        try:
            self._put_back()
            looks, place = self.page.evaluate(LOOKS), self.page.evaluate("location.href")
        except Error:  # the page is on its way to another one
            return False
        if place != "about:blank":  # it was on its way, and has arrived
            return False
        assert self._looks == looks, f"the test has left its page otherwise than it was: {self._looks} -> {looks}"
        return True

    def _put_back(self) -> None:
        page, context = self.page, self.page.context
        for other in context.pages[1:]:
            other.close()
        page.unroute_all(behavior="ignoreErrors")
        context.set_offline(False)
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        context.clear_cookies()
        self._tools.send("Storage.clearDataForOrigin", {"origin": self._base, "storageTypes": "all"})
        page.set_extra_http_headers({})
        page.set_viewport_size(USUAL)
        page.emulate_media(media="null", color_scheme="light", reduced_motion="no-preference", forced_colors="none")


class KeptBrowsers:
    """The browsers of one Chromium that wait for their next visitors."""

    _of: ClassVar[WeakKeyDictionary[Browser, KeptBrowsers]] = WeakKeyDictionary()

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._idle: list[tuple[dict[str, Any], KeptBrowser]] = []

    @classmethod
    def of(cls, chromium: Browser) -> KeptBrowsers:
        """Return those of a Chromium."""
        if chromium not in cls._of:
            cls._of[chromium] = cls(chromium)
        return cls._of[chromium]

    def take(self, options: dict[str, Any]) -> tuple[Page, Callable[[], None]]:
        """Return the page of a browser with these options, and what its visitor does to leave."""
        if not options.keys() <= SAME_FOR_ALL | OF_A_PAGE or options.get("service_workers") != "block":
            context = self._chromium.new_context(**options)
            return context.new_page(), context.close
        same = {name: value for name, value in options.items() if name in SAME_FOR_ALL}
        place = next((place for place, (of, _) in enumerate(self._idle) if of == same), None)
        browser = KeptBrowser(self._chromium.new_context(**same), same) if place is None else self._idle.pop(place)[1]
        browser.dress(options)

        left: list[bool] = []

        def leave() -> None:
            if left:  # by the test itself, before its fixture
                return
            left.append(True)
            closed = [browser]
            try:
                if browser.make_as_new():
                    self._idle.append((same, browser))
                    closed = [self._idle.pop(0)[1]] if len(self._idle) > IDLE_MAX else []
            finally:
                for one in closed:
                    one.page.context.close()

        return browser.page, leave
