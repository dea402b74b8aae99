"""Offering an unsold lot again, in a browser."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Enter
from tests.fixtures_house import User
from tests.site.visitor import picture


def test_an_unsold_lot_is_on_sale_again_in_three_clicks(enter: Enter, seller: User) -> None:
    """From the page of the unsold lot: offer it again, preview, put it on sale. Both lots have the photo."""
    gid = seller.auction(name="Longcase clock", reservePrice="500")
    answer = seller.post("/photos", content=picture("teal"), headers={"Content-Type": "image/jpeg"})
    seller.json("PUT", f"/auctions/{gid}/photos", json={"photos": [answer.json()["id"]]})
    seller.json("DELETE", f"/auctions/{gid}")
    page = enter(seller).page
    page.goto(f"/lots/{gid}")
    page.get_by_role("link", name="Offer it again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Offer it again")
    expect(page.get_by_label("Name of the lot")).to_have_value("Longcase clock")
    expect(page.locator(".thumbs img")).to_have_count(1)
    page.get_by_role("button", name="Preview").last.click()
    page.get_by_role("button", name="Put it on sale").click()
    page.wait_for_url("**/lots/*listed")
    expect(page.get_by_role("heading", level=1)).to_have_text("Longcase clock")
    expect(page.locator("#lot-photos img")).to_have_count(1)
    page.goto(f"/lots/{gid}")
    expect(page.locator("#lot-photos img")).to_have_count(1)
