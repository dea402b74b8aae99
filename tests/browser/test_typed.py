"""What was typed in a form when its session had ended, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor
from tests.browser.test_sell_session import end_session
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots

TYPED = ("Longcase clock", "Its hood is a later piece.\nIt runs.")


@pytest.mark.parametrize("how", ["house", "cookies"])
def test_what_was_typed_outlives_a_login(enter: Callable[..., BrowserVisitor], sqlite_house: House, how: str) -> None:
    """After another login the form has it again, says so, and can be sent; the page that comes next has nothing of it."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    visitor = enter(staff)
    page, gid = visitor.page, with_lots(staff, 1)
    page.goto(f"/admin/sales/{gid}")
    form = page.locator("#add form").first
    form.get_by_label("Name").fill(TYPED[0])
    form.get_by_label("Starting price").fill("250")
    form.get_by_label("Description").fill(TYPED[1])
    end_session(page, staff, how)
    form.get_by_role("button", name="Add the lot").click()
    if how == "cookies":
        page.get_by_role("main").get_by_role("link", name="Log in").click()
    visitor.fill_in(staff.name, "not the password")
    expect(page.get_by_role("alert")).to_be_visible()
    visitor.fill_in(staff.name)
    expect(page.locator("#add [role=alert]")).to_contain_text("What you typed is here again")
    assert TYPED == (form.get_by_label("Name").input_value(), form.get_by_label("Description").input_value())
    form.get_by_role("button", name="Add the lot").click()
    expect(page.get_by_role("status").filter(has_text="was added")).to_be_visible()
    assert "" == form.get_by_label("Name").input_value()


def test_nobody_else_gets_what_was_typed(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """Another user who logs in in the same tab finds an empty form."""
    staff, other = sqlite_house.staff(Role.AUCTIONEER), sqlite_house.staff(Role.AUCTIONEER)
    visitor = enter(staff)
    page = visitor.page
    page.goto("/admin/consignors")
    page.get_by_label("Code, such as K1").fill("K77")
    page.locator("#new-name").fill("Ada Lovelace")
    end_session(page, staff, "house")
    page.get_by_role("button", name="Add the consignor").click()
    visitor.fill_in(other.name)
    expect(page.get_by_role("heading", name="Add a consignor")).to_be_visible()
    assert "" == page.locator("#new-name").input_value()
    assert page.evaluate("sessionStorage.getItem('typed')") is None
