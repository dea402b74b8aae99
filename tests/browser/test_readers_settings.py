"""Pages as readers set up their browsers: with large text on a small screen, with few colours, and on paper."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from saleroom.accounts.domain.rights import Role
from tests.browser.people import PHONE, BrowserVisitor
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots

LONG = "Wiesenschaumkraut" * 4
BORDERS = """() => [...document.querySelectorAll(":is(.kinds, .tabs) a")].map((link) => [
  link.hasAttribute("aria-current"),
  getComputedStyle(link).borderBottomColor === getComputedStyle(document.documentElement).backgroundColor,
])"""


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
