"""Pages as readers set up their browsers: with large text on a small screen, with few colours, and on paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize

from saleroom.accounts.domain.rights import Role
from tests.browser.people import PHONE, BrowserVisitor
from tests.fixtures_house import House
from tests.page_routes import methods, page_routes
from tests.sales.api.evening import with_lots
from tests.settlement.api.test_bank import Banking

LONG = "Wiesenschaumkraut" * 4
BORDERS = """() => [...document.querySelectorAll(":is(.kinds, .tabs) a")].map((link) => [
  link.hasAttribute("aria-current"),
  getComputedStyle(link).borderBottomColor === getComputedStyle(document.documentElement).backgroundColor,
])"""

OPEN_ALL = "for (const one of document.querySelectorAll('main details')) one.open = true"
PRINTED = """() => {
  const seen = [...document.querySelectorAll(
    "nav, .masthead, body > footer, .skip, .bar, button, a.button, input, select, textarea, form:not(:has(table))",
  )].filter((one) => one.checkVisibility() && one.getClientRects().length && !one.matches(".unseen *"));
  const cut = [...document.querySelectorAll("table")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
  return [...seen, ...cut].map((one) => one.outerHTML.slice(0, 80));
}"""
COLOURS = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
WHITE_AND_INK = ["rgb(255, 255, 255)", "rgb(31, 28, 22)"]
A4: ViewportSize = {"width": 718, "height": 1040}
"""A sheet of A4 without its margins, in CSS pixels."""
HALL = ("/console", "/auctioneer", "/screen", "/next", "/total", "/entry")
"""The ends of pages that stand on a screen of the hall or on a desk, and that nobody prints."""
OTHER = {"/login", "/register", "/password/forgotten", "/password/new", "/join", "/owner", "/offline", "/docs"}
"""Pages that send somebody who is logged in elsewhere, that need a link of a mail, or that come from elsewhere."""


@pytest.fixture
def sale(sqlite_house: House) -> str:
    """A published sale with a long title, by its gid."""
    staff = sqlite_house.staff(Role.OWNER)
    gid = with_lots(staff, 2, title=LONG)
    staff.json("POST", f"/sales/{gid}/publish")
    return gid


def test_large_text_on_a_small_screen(enter: Callable[..., BrowserVisitor], sqlite_house: House, sale: str) -> None:
    """With letters of twice the size nobody has to scroll sideways (WCAG 2.2, 1.4.4 and 1.4.10)."""
    page = enter(sqlite_house.staff(Role.OWNER), viewport=PHONE).page
    catalogue = f"/catalogues/{sale}"
    for path in ("/", catalogue, f"{catalogue}?view=list", f"{catalogue}?view=paper", f"/admin/sales/{sale}/paper"):
        page.goto(path)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert (path, PHONE["width"]) == (path, page.evaluate("document.documentElement.scrollWidth"))


class Evening:
    """A sale that is sold and settled in part, with a lot that somebody has bid on: what most pages show."""

    def __init__(self, house: House) -> None:
        banking = Banking(house, 3)
        self.owner = house.staff(Role.OWNER)
        paddle = banking.bidder()
        banking.sell(paddle, "123456.78")
        banking.sell(paddle, "99")
        banking.invoice(paddle)
        banking.pay(paddle, ("cash", "100"))
        lot = house.newcomer().auction(name=LONG)
        house.newcomer().bid(lot, maximum="123456.78")
        gid, desk = banking.gid, f"/admin/desk/{banking.gid}"
        invoice = banking.cashier.json("GET", f"/sales/{banking.gid}/documents")["documents"][-1]["document"]
        self.paths = [
            *(f"/catalogues/{gid}{end}" for end in ("", "?view=list", "?view=paper", "/costs?price=123456")),
            *(
                f"{desk}{end}"
                for end in (f"?buyer={paddle}", "/pickup", "/accounts", "/documents", "/offers", "/report")
            ),
            *(f"/admin/sales/{gid}{end}" for end in ("", "/people", "/book", "/paper", "/import")),
            *(f"/sales/{gid}{end}" for end in ("/live", *HALL)),
            *(f"/lots/{lot}{end}" for end in ("", "/bids", "/receipts", "/moderate")),
            f"{desk}/statements/{banking.code}",
            f"/admin/documents/{invoice}",
            f"/admin/rates/{banking.card}?price=123456",
            "/admin/taxes?firstDay=2020-01-01&lastDay=2099-12-31",
        ]


def plain_pages() -> list[str]:
    """Return the addresses of all pages that need no gid."""
    found = {route.path for route in page_routes() if "{" not in route.path and "GET" in methods(route)}
    return sorted(
        path for path in found - OTHER if "." not in path and not path.endswith(("/export", "/live", "/more"))
    )


def test_every_page_fits_a_phone_with_large_text_and_a_sheet(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """In German, with letters of twice the size, no page scrolls sideways; on paper there is its content alone, dark on white.

    Each page has a title of its own, and one heading of the first level.
    """
    evening = Evening(sqlite_house)
    page = enter(evening.owner, locale="de-DE", color_scheme="dark").page
    faults: dict[str, Any] = {}
    titles: dict[str, set[str]] = defaultdict(set)
    for path in (*plain_pages(), *evening.paths):
        page.emulate_media(media="screen")
        page.set_viewport_size(PHONE)
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok or path not in evening.paths, path
        if not answer.ok or "text/html" not in answer.headers.get("content-type", ""):
            continue
        titles[page.title()].add(page.evaluate("location.pathname"))
        assert (path, 1) == (path, page.locator("h1").count())
        page.evaluate(OPEN_ALL)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            faults[f"wide {path}"] = page.evaluate("document.documentElement.scrollWidth")
        if not path.endswith(HALL) and (printed := on_paper(page)):
            faults[f"paper {path}"] = printed
    assert {} == faults
    assert [] == [paths for paths in titles.values() if len(paths) > 1]


def on_paper(page: Page) -> Any:
    """Return what a print of the page has that it should not have, or that does not fit."""
    page.evaluate("document.documentElement.style.fontSize = ''")
    page.set_viewport_size(A4)
    page.emulate_media(media="print")
    colours = page.evaluate(COLOURS)
    return page.evaluate(PRINTED) + ([] if colours == WHITE_AND_INK else colours)


def test_few_colours_leave_one_current_tab(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, sale: str
) -> None:
    """Where the browser chooses all colours, only the current tab has a line under it; on paper there are no tabs."""
    page = enter(sqlite_house.staff(Role.OWNER), forced_colors="active").page
    for path in ("/", f"/catalogues/{sale}", "/mine", "/admin/audit"):
        page.goto(path)
        tabs = page.evaluate(BORDERS)
        assert tabs and all(is_current is not unseen for is_current, unseen in tabs), (path, tabs)
    page.emulate_media(media="print")
    assert not page.locator("nav.tabs").is_visible()
