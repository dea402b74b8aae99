"""Payouts and bank accounts in a real Chromium: the pages fit a phone, and a cashier pays out by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_house import ServeHouse
from tests.settlement.api.test_payouts import Paying
from tests.settlement.camt import IBAN

LATE_MS = 60_000


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], serve_house: ServeHouse) -> None:
    """axe finds no fault on a page, in light and in dark, and in neither language is one wider than the screen."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    other = Paying(paying.house)
    file, _ = paying.made()
    assert other.owed
    cashier, owner = (enter(one, base=paying.house.base).page for one in (paying.cashier, paying.owner))
    for path in ("/admin/payouts", f"/admin/payouts/{file}", f"/admin/payouts/accounts/{paying.code}"):
        fits_a_phone(cashier, path)
    fits_a_phone(owner, "/mine/payouts")


def test_a_cashier_pays_out_by_keyboard(enter: Callable[..., BrowserVisitor], serve_house: ServeHouse) -> None:
    """The box is ticked already; the button is reached and pressed by keys, and the file is downloaded from its page."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    page = enter(paying.cashier, base=paying.house.base).page
    page.goto("/admin/payouts")
    box = page.get_by_role("checkbox", name=f"Pay {paying.code}")
    expect(box).to_be_checked()
    page.get_by_role("button", name="Make the payment file").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2, name="PAY-")).to_be_visible(timeout=LATE_MS)
    with page.expect_download(timeout=LATE_MS) as downloading:
        page.get_by_role("link", name="Download the file").focus()
        page.keyboard.press("Enter")
    assert downloading.value.suggested_filename.startswith("PAY-")
