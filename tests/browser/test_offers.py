"""Unsold lots and offers in a real Chromium: the pages fit a phone, and staff act on a lot by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_house import ServeHouse
from tests.settlement.api.test_after_sale import Unsold


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], serve_house: ServeHouse) -> None:
    """axe finds no fault on a page, in light and in dark, and in neither language is one wider than the screen."""
    unsold = Unsold(serve_house())
    path = f"/admin/desk/{unsold.gid}/offers"
    base = unsold.settling.house.base
    staff, buyer = (enter(one, base=base).page for one in (unsold.settling.manager, unsold.user))
    for act in (None, "return", "return/undo", "offer"):
        if act == "offer":
            assert unsold.offer(paddle=None, toAll=True).is_success
        elif act is not None:
            assert unsold.act(act).is_success
        fits_a_phone(staff, path)
        fits_a_phone(buyer, "/mine/offers")


def test_a_lot_is_put_into_the_next_sale_by_keyboard(
    enter: Callable[..., BrowserVisitor], serve_house: ServeHouse
) -> None:
    """The sale is chosen and the button pressed by keys; the page then names the lot of the next sale."""
    unsold = Unsold(serve_house())
    page = enter(unsold.settling.manager, base=unsold.settling.house.base).page
    page.goto(f"/admin/desk/{unsold.gid}/offers")
    page.get_by_label("Into another sale").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Lot 2 of the sale")).to_be_visible()
