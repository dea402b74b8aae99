"""The back office in a real Chromium: on a phone, in the dark, by keyboard and in German."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_house import House
from tests.site.test_admin import SECTIONS


def test_each_section_fits_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """axe finds no fault in any section, in light and in dark, and in neither language is it wider than the screen."""
    sqlite_house.user("a-very-long-username-of-32-chars")
    owner = sqlite_house.staff(Role.OWNER)
    page = enter(owner).page
    for section in SECTIONS:
        fits_a_phone(page, section.path)


def test_the_keyboard_leads_from_the_header_to_somebody(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """Enter on the link in the header opens the back office, and the search finds a person."""
    sqlite_house.user("looked.for")
    page = enter(sqlite_house.staff(Role.CLERK)).page
    page.goto("/")
    page.get_by_role("link", name="Back office").press("Enter")
    search = page.get_by_label("Part of the username")
    search.fill("looked")
    search.press("Enter")
    expect(page.locator(".people li")).to_have_count(1)
    expect(page.locator(".people")).to_contain_text("looked.for")
