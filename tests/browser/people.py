"""Visitors in real browsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, Response, Route, ViewportSize

from tests.browser.kept import KeptBrowsers
from tests.fixtures_house import PASSWORD

PHONE: ViewportSize = {"width": 320, "height": 740}
"""The smallest screen on which nobody should have to scroll sideways (WCAG 2.2, 1.4.10)."""
WAIT_MS_MAX = 120_000
"""The longest wait for what a page shall show or allow. Only a failing test waits that long."""


class BrowserVisitor:
    """A person with a separate browser, whose console must be without errors when they `leave`."""

    def __init__(self, chromium: Browser, base: str, **options: Any) -> None:
        # Requests of a service worker pass a test's own routes by; only tests of the worker have one.
        wanted = {"base_url": base, "service_workers": "block", **options}
        self.page, self._leave = KeptBrowsers.of(chromium).take(wanted)
        self.page.context.set_default_timeout(WAIT_MS_MAX)
        self._complaints: list[str] = []
        self.page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self.page.on("console", lambda line: self._complaints.append(line.text) if line.type == "error" else None)
        self.page.on("response", lambda answer: self._complaints.append(answer.url) if is_missing(answer) else None)

    def log_in(self, name: str) -> None:
        """Log in with the form."""
        self.page.goto("/login")
        self.fill_in(name)
        self.page.wait_for_url("**/")

    def fill_in(self, name: str, password: str = PASSWORD) -> None:
        """Fill in the page's form with a username and a password, and submit it with Enter."""
        self.page.get_by_label("Username").fill(name)
        self.page.get_by_label("Password", exact=True).fill(password)
        self.page.keyboard.press("Enter")

    def leave(self) -> None:
        """Give the browser back, and fail if its console had errors.

        These are allowed: a 4xx of a page or a form, which the test itself checks, a house that is away, and a house that
        has a name but no HTTPS.
        """
        self._leave()
        usual = (
            "the server responded with a status of 4",
            "net::ERR_",
            "htmx:sse:error",
            "Failed to fetch",
            "origin was untrustworthy",
        )
        unusual = [line for line in self._complaints if not any(one in line for one in usual)]
        assert [] == unusual, unusual


def is_missing(answer: Response) -> bool:
    """Whether something that a page needs, such as a script or a photo, was refused."""
    needed = urlsplit(answer.url).path.startswith(("/assets/", "/photos/"))
    return answer.status >= 400 and needed and not answer.request.is_navigation_request()


PROBE = "/assets/probe-of-a-test"
PROBED = f"fetch('{PROBE}', {{cache: 'no-store'}}).then(answer => answer.status === 204)"
FOLLOWS = "document.querySelector('[hx-sse\\\\:connect]')?._htmx?.sse?.reader"


def wait_for(page: Page, condition: str) -> None:
    """Wait until an expression is true in a page.

    As a function: a page's policy refuses to evaluate a text in it, and Playwright does so once the first look has found it
    untrue.
    """
    page.wait_for_function(f"() => {condition}")


def wait_for_stream(page: Page) -> None:
    """Wait until a page of a lot, a list or the hall reads its stream, which is later than the answer of the house."""
    wait_for(page, f"Boolean({FOLLOWS})")


def intercept(page: Page, pattern: str, handler: Callable[[Route], object], **options: Any) -> None:
    """Hand the requests of an open page to `handler` from here on.

    A busy Chromium still sends requests past a route that an open page has just got. So this asks for an address that only a
    route answers, until one does.
    """
    page.route(pattern, handler, **options)
    page.route(f"**{PROBE}", lambda route: route.fulfill(status=204))
    wait_for(page, PROBED)


def go_offline(page: Page) -> None:
    """Cut the pages of this browser off, and wait until none of their requests leaves it: a busy Chromium still sends some."""
    page.context.set_offline(True)
    wait_for(page, "fetch('/a-page-that-is-not-there').then(() => false, () => true)")


STILL = """async () => {
  const changing = () => document.getAnimations().some(one => one instanceof CSSTransition && one.playState === 'running');
  for (let turn = 0; turn < 100 && changing(); turn++) await new Promise(next => setTimeout(next, 50));
}"""
"""Waits until the colours of a page no longer change, five seconds at most."""
RESULTS = {"resultTypes": ["violations"]}
"""Otherwise axe describes every element that passes too, which takes two thirds of its time."""
VIOLATIONS = "async (options) => (await axe.run(options)).violations"
COLOURS = "async (options) => (await axe.run({...options, runOnly: ['color-contrast']})).violations"


def broken_rules(page: Page) -> dict[str, list[str]]:
    """Return axe's violations, in light and in dark: rule to the elements that break it.

    Only colours depend on the scheme, so the other one is judged by the rule for them, on the same page. The page is without
    motion from here on: while all colours of a page fade into those of the other scheme, the browser draws it again and
    again, which took half of the time.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(STILL)
    violations = page.evaluate(VIOLATIONS, RESULTS)
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    page.emulate_media(color_scheme="light" if is_dark else "dark")
    page.evaluate(STILL)
    violations += page.evaluate(COLOURS, RESULTS)
    page.emulate_media(color_scheme="dark" if is_dark else "light")
    return {rule["id"]: [str(node["target"]) for node in rule["nodes"]] for rule in violations}


def fits_a_phone(page: Page, path: str) -> None:
    """Assert that a page is no wider than a small phone in either language, and that axe finds no fault in it.

    axe looks at the German page: its words are longer, and its rules ask nothing else of them.
    """
    page.set_viewport_size(PHONE)
    for language in ("en", "de"):
        page.set_extra_http_headers({"Accept-Language": language})
        page.goto(path)
        page.wait_for_load_state("load")
        there = (path, language)
        assert path.partition("?")[0] == page.evaluate("location.pathname"), (*there, "they are logged in")
        assert page.evaluate("document.documentElement.lang").startswith(language), there
        assert PHONE["width"] == page.evaluate("document.documentElement.scrollWidth"), there
    assert {} == broken_rules(page), path
