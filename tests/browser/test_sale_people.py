"""The people of a sale in a real Chromium: a clerk at the door works by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_house import House
from tests.sales.api.test_participants import published


def test_a_clerk_admits_and_checks_in_by_keyboard(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A name and Enter admit somebody; a search and Enter in the field of the paddle check somebody in."""
    gid, _ = published(sqlite_house.staff(Role.AUCTIONEER), registration="approval")
    bob = sqlite_house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    page = enter(sqlite_house.staff(Role.CLERK)).page
    page.goto(f"/admin/sales/{gid}/people")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("Ada Lovelace")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Ada Lovelace has the paddle 100.")
    search = page.get_by_label("Paddle, or the beginning of a name")
    search.fill(bob.name)
    search.press("Enter")
    expect(page.locator(".people li")).to_have_count(1)
    paddle = page.locator(".people").get_by_label("Paddle", exact=True)
    expect(paddle).to_be_focused()
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text(f"{bob.name} has the paddle 12.")


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """axe finds no fault on any page, in light and in dark, and in neither language is one wider than the screen."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid, (lot, _) = published(staff, names="paddles", limitDefault="1500")
    bob = sqlite_house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    bob.bid(lot, maximum="1200")
    guest = staff.json("POST", f"/sales/{gid}/participants", json={"personName": "A" * 60, "contact": "0171 " * 20})
    staff.json("POST", f"/sales/{gid}/book", json={"paddle": guest["paddle"], "label": "2", "maximum": "1200000"})
    staff.json("POST", f"/sales/{gid}/book", json={"paddle": guest["paddle"], "label": "1", "maximum": "1100"})
    page = enter(staff).page
    fits_a_phone(page, f"/admin/sales/{gid}/people")
    fits_a_phone(page, f"/admin/sales/{gid}/book")
    fits_a_phone(enter(bob).page, f"/mine/sales/{gid}")
