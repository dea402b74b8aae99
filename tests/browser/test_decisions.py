"""A seller decides on a bid below the reserve in a real Chromium: by keyboard, on a phone, in the dark, in two languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House
from tests.sales.live_sale import LiveSale

PHONE = {"width": 360, "height": 740}


@pytest.mark.parametrize(
    ("locale", "accept", "sure"),
    [("en", "Accept the bid", "Yes, accept the bid"), ("de", "Gebot annehmen", "Ja, Gebot annehmen")],
)
def test_a_seller_decides_by_keyboard(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, locale: str, accept: str, sure: str
) -> None:
    """axe finds no fault, nothing is wider than the screen, and two presses of Enter accept the bid."""
    sale = LiveSale(sqlite_house, 1)
    bidder = sale.bidder()
    sale.act("call")
    bidder.bid(sale.lots[0], amount="10")
    sale.act("sell_conditionally")
    page = enter(sale.staff, viewport=PHONE, locale=locale, color_scheme="dark").page
    page.goto(f"/lots/{sale.lots[0]}")
    page.locator(f"a[href='/mine/decisions#{sale.lots[0]}']").press("Enter")
    page.get_by_text(accept, exact=True).press("Enter")
    expect(page.get_by_text(sure, exact=True)).to_be_visible()
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.get_by_text(sure, exact=True).press("Enter")
    page.wait_for_url(f"**/lots/{sale.lots[0]}")
    assert "sold" == sale.staff.json("GET", f"/auctions/{sale.lots[0]}")["outcome"]
