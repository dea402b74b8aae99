"""The receipts of a lot in a real Chromium: found after a bid, kept after a reload, checked by one click, on a phone too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House

PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1366, "height": 650}


@pytest.mark.parametrize("size", [PHONE, LAPTOP], ids=["phone", "laptop"])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_bidder_finds_keeps_and_checks_a_receipt(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, size: dict[str, int], scripts: bool
) -> None:
    """From the bid to the receipt, with and without scripts: a click leads to it, downloads it, and checks it."""
    gid = sqlite_house.user("ada").auction(name="W" * 120)
    page: Page = enter(sqlite_house.newcomer(), viewport=size, java_script_enabled=scripts).page
    page.goto(f"/lots/{gid}")
    page.locator("#maximum").fill("40")
    page.locator("#lot-box button[type=submit]").first.click()
    page.locator("form.confirm button[type=submit]").click()
    page.get_by_role("link", name="Your receipts").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Receipts for")
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert f"receipt-{gid}-1.txt" == download.value.suggested_filename
    page.get_by_role("button", name="Check it").first.click()
    expect(page.get_by_text("This receipt is right.")).to_be_visible()
    if scripts:
        assert {} == broken_rules(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
