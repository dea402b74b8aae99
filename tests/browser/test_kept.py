"""Visitors who have one browser after the other find nothing of those before them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import kept
from tests.browser.people import PHONE, BrowserVisitor
from tests.fixtures_house import House

KEEPS = """() => {
  localStorage.setItem("kept", "1");
  sessionStorage.setItem("kept", "1");
  document.cookie = "kept=1";
  return new Promise(done => { indexedDB.open("kept").onsuccess = done; }).then(() => "kept");
}"""
FINDS = """async () => [localStorage.length, sessionStorage.length, document.cookie, (await indexedDB.databases()).length,
  innerWidth, matchMedia("(prefers-color-scheme: dark)").matches, navigator.onLine]"""


def test_the_next_visitor_has_the_browser_as_new(chromium: Browser, sqlite_house: House) -> None:
    """The same page comes without the cookies, storage, tabs, routes, headers, listeners and the window of its last visitor."""
    first = BrowserVisitor(chromium, sqlite_house.base, color_scheme="dark", viewport=PHONE)
    first.page.goto("/login")
    found = first.page.evaluate(FINDS)
    assert (PHONE["width"], True) == tuple(found[-3:-1])
    assert "kept" == first.page.evaluate(KEEPS)
    heard: list[str] = []
    first.page.on("request", lambda request: heard.append(request.url))
    first.page.route("**/register", lambda route: route.abort())
    first.page.set_extra_http_headers({"Accept-Language": "de"})
    first.page.context.new_page().goto("/register")
    first.page.context.set_offline(True)
    first.leave()
    heard.clear()
    second = BrowserVisitor(chromium, sqlite_house.base)
    assert first.page is second.page
    second.page.goto("/register")
    expect(second.page.locator("html")).to_have_attribute("lang", "en-GB")
    assert [0, 0, "", 0, 1280, False, True] == second.page.evaluate(FINDS)
    assert ([], 1) == (heard, len(second.page.context.pages))
    first.leave()  # has no browser any more
    assert "/register" in second.page.url
    second.leave()


@pytest.mark.parametrize(
    "lasting",
    [
        lambda page: page.clock.install(),
        lambda page: page.add_init_script("window.told = true"),
        lambda page: page.context.new_cdp_session(page),
        lambda page: page.context.grant_permissions(["clipboard-read"]),
        lambda page: page.goto("about:blank"),
        lambda page: page.close(),
    ],
    ids=["clock", "script", "tools", "permissions", "elsewhere", "closed"],
)
def test_what_cannot_be_taken_back_closes_the_browser(
    chromium: Browser, sqlite_house: House, lasting: Callable[[Page], object]
) -> None:
    """A visitor who did what stays in a page or cannot be looked through leaves it to nobody."""
    first = BrowserVisitor(chromium, sqlite_house.base)
    first.page.goto("/login")
    lasting(first.page)
    first.leave()
    assert first.page.is_closed()


def test_a_page_that_is_left_otherwise_is_noticed(
    chromium: Browser, sqlite_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that leaves in its page what nobody has put back fails."""
    visitor = BrowserVisitor(chromium, sqlite_house.base)
    visitor.page.goto("/login")
    monkeypatch.setattr(kept, "USUAL", PHONE)
    with pytest.raises(AssertionError, match=r"has left its page otherwise than it was: .* -> 320; 740; en-US"):
        visitor.leave()
    assert visitor.page.is_closed()
