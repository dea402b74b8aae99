"""The page of a lot in windows of all sizes: the price, the time and the button to bid are always in view."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House, User
from tests.process import wait_until

Enter = Callable[..., BrowserVisitor]

PLACES = (0, 300, 100_000)
"""How far the page is scrolled down: not at all, a little, and to its end."""


@pytest.fixture
def gid(seller: User) -> str:
    """A lot whose bid box has all that a bid box can have."""
    ends = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    description = "A sentence of a long description.\n" * 60
    return seller.auction(
        name="A longcase clock", description=description, endsAt=ends, buyNowPrice="5000", reservePrice="900"
    )


def hidden(page: Page, *selectors: str) -> list[str]:
    """Return those of the selectors of which no element is wholly in the window, with nothing above its middle."""
    return [one for one in selectors if not any(page.locator(one).evaluate_all(IN_VIEW))]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("size", [(1366, 650), (1024, 640), (1440, 900)], ids=str)
def test_one_can_bid_on_a_laptop_wherever_the_page_is(
    enter: Enter, sqlite_house: House, gid: str, size: tuple[int, int], language: str
) -> None:
    """The price, the time and the button of each step are in the window, for a newcomer, an outbid user and the leader."""
    grace = sqlite_house.user("grace")
    page = enter(grace, viewport={"width": size[0], "height": size[1]}, locale=language).page

    def check(button: str) -> None:
        for place in PLACES:
            page.evaluate("place => scrollTo({top: place, behavior: 'instant'})", place)
            found = hidden(page, "#lot-panel .price data", "#lot-panel .countdown", f"#lot-box {button}")
            assert [] == found, (place, found)

    for _ in range(2):
        page.goto(f"/lots/{gid}")
        check("form:not(.buy) > button")
        page.locator("#maximum").fill("400")
        page.keyboard.press("Enter")
        expect(page.locator("#check")).to_be_focused()
        assert [] == hidden(page, "#check")
        check("form.confirm button")
        grace.bid(gid, maximum="20")
        sqlite_house.user("linus").bid(gid, amount="300")
    grace.bid(gid, maximum="600")
    page.goto(f"/lots/{gid}")
    check("form > button")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("size", [(390, 844), (360, 640), (768, 600)], ids=str)
def test_one_can_bid_on_a_phone_wherever_the_page_is(
    enter: Enter, sqlite_house: House, gid: str, size: tuple[int, int], *, scripts: bool
) -> None:
    """A bar at the bottom has the price and the time, and its button leads to the box unless the box's own is in view."""
    viewport = {"width": size[0], "height": size[1]}
    page = enter(sqlite_house.user("grace"), viewport=viewport, java_script_enabled=scripts).page
    page.goto(f"/lots/{gid}")
    bar, own = page.locator(".bar .button"), page.locator("#lot-box form:not(.buy) > button")
    if scripts:
        for place in PLACES:
            page.evaluate("place => scrollTo({top: place, behavior: 'instant'})", place)
            assert [] == hidden(page, ".bar .figure", ".bar .countdown")
            # The browser says a frame later whether the box's own button is in view.
            wait_until(lambda: len(hidden(page, ".bar .button", "#lot-box form:not(.buy) > button")) == 1)
        sqlite_house.user("linus").bid(gid, amount="77")
        expect(page.locator(".bar")).to_contain_text("€77.00")
        assert {} == broken_rules(page)
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    expect(bar).to_be_in_viewport(ratio=1)
    bar.click()
    expect(page).to_have_url(f"{sqlite_house.base}/lots/{gid}#lot-box")
    own.scroll_into_view_if_needed()
    expect(bar).to_be_hidden() if scripts else expect(bar).to_be_visible()
    expect(own).to_be_in_viewport(ratio=1)
    assert size[0] == page.evaluate("document.documentElement.scrollWidth")


def test_the_seller_and_the_result_have_no_button(enter: Enter, sqlite_house: House, seller: User) -> None:
    """The bar of the lot's seller has no button, and a lot that is over has no bar."""
    gid = seller.auction()
    page = enter(seller, viewport={"width": 390, "height": 844}).page
    page.goto(f"/lots/{gid}")
    expect(page.locator(".bar")).to_be_visible()
    expect(page.locator(".bar .button")).to_have_count(0)
    seller.post(f"/auctions/{gid}/close", json={})
    expect(page.locator(".bar")).to_have_count(0)


IN_VIEW = """elements => elements.map(e => {
    const box = e.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.width > 0 && box.top >= 0 && box.bottom <= innerHeight && Boolean(top) && (e.contains(top) || top.contains(e));
})"""
