"""The page on which staff moderate a lot, in a real Chromium: on a phone, in the dark, by keyboard and in German."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House

PHONE = {"width": 360, "height": 740}


@pytest.mark.parametrize("locale", ["en", "de"])
def test_the_page_fits_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House, locale: str) -> None:
    """Nothing is wider than the screen, neither with all forms open nor on a hidden lot; axe finds no fault, in German.

    The rules of axe ask nothing else of the other words.
    """
    gid = sqlite_house.user("ada").auction()
    sqlite_house.user("a-very-long-username-of-32-chars").bid(gid, amount="12345678901234567")
    page = enter(sqlite_house.staff(Role.AUCTIONEER), viewport=PHONE, locale=locale).page
    page.goto(f"/lots/{gid}/moderate")
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    assert locale == "en" or {} == broken_rules(page)
    form = page.locator(f"form[action='/lots/{gid}/hide']")
    form.locator("textarea").fill("It may be stolen.")
    form.locator("button").click()
    expect(page.locator("main")).to_contain_text("It may be stolen.")
    for address in (f"/lots/{gid}/moderate", f"/lots/{gid}"):
        page.goto(address)
        assert 360 == page.evaluate("document.documentElement.scrollWidth"), address
        assert locale == "en" or {} == broken_rules(page), address


def test_a_bid_is_voided_by_keyboard_and_its_bidder_sees_it_at_once(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """From the lot's page by Enter alone; the page of a bidder says so without being opened again."""
    gid, bob = sqlite_house.user("ada").auction(), sqlite_house.user("bob")
    sqlite_house.user("cyd").bid(gid, amount=20)
    bob.bid(gid, amount=9000)
    watching = enter(bob).page
    watching.goto(f"/lots/{gid}")
    staff = enter(sqlite_house.staff(Role.AUCTIONEER)).page
    staff.goto(f"/lots/{gid}")
    staff.get_by_role("link", name="Moderate this lot").press("Enter")
    staff.locator("summary", has_text="by bob").press("Enter")
    staff.locator("#void-3").fill("A slip of the hand.")
    staff.get_by_role("button", name="Yes, void the bid").press("Enter")
    expect(staff.locator("main")).not_to_contain_text("by bob")
    expect(watching.locator("#lot-notice")).to_contain_text("The house has voided a bid.")
    expect(watching.locator("#lot-panel")).to_contain_text("by cyd")
    expect(watching.locator("#lot-history")).to_contain_text("A slip of the hand.")
    assert {} == broken_rules(watching)
