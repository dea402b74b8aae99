"""Categories in a browser."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.people import BrowserVisitor
from tests.fixtures_house import ServeHouse


def test_choosing_a_category_changes_the_list_at_once(chromium: Browser, serve_house: ServeHouse) -> None:
    """The list, its count, its address and the links to other states follow the choice, and keep the words of a search."""
    house = serve_house(categories=("Clocks", "Silver"))
    ada = house.user("ada")
    for name, category in (("Longcase clock", "Clocks"), ("Pocket watch", "Clocks"), ("Spoon", "Silver")):
        ada.auction(name=name, category=category)
    visitor = BrowserVisitor(chromium, house.base)
    page = visitor.page
    page.goto("/")
    page.get_by_label("Category").select_option("Clocks")
    expect(page.locator(".lot-card .name")).to_have_count(2)
    expect(page.locator("#count")).to_have_text("2 lots")
    page.wait_for_url("**/?category=Clocks")
    page.get_by_label("Search the lots").fill("watch")
    expect(page.locator(".lot-card .name")).to_have_text(["Pocket watch"])
    page.get_by_role("link", name="Over", exact=True).click()
    expect(page.get_by_label("Category")).to_have_value("Clocks")
    expect(page.get_by_label("Search the lots")).to_have_value("watch")
    visitor.leave()
