"""Forms that cannot be sent, or whose answer does not come, in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from saleroom.accounts.domain.rights import Role
from tests.browser.conftest import Enter
from tests.browser.people import go_offline
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots
from tests.settlement.api.test_desk import Settling

SAYS = {"en": "There is no connection, so nothing was sent.", "de": "Es besteht keine Verbindung"}
UNMOVED = {"en": "so the lot was not moved", "de": "deshalb wurde das Los nicht verschoben"}
CASH = {"en": "Cash", "de": "Bar"}
WITHOUT_NETWORK = "Object.defineProperty(navigator, 'onLine', {get: () => false})"


def moved(settling: Settling, paddle: int) -> list[str]:
    """Return what a buyer has paid."""
    return [one["moved"] for one in settling.desk(paddle)["money"]]


def desk(settling: Settling, paddle: int) -> str:
    """Return the address of a buyer at the desk."""
    return f"/admin/desk/{settling.gid}?buyer={paddle}"


def is_unsent(page: Page, language: str) -> None:
    """Assert that the page of the desk is there as it was, and says that nothing was sent."""
    cash = page.get_by_label(CASH[language], exact=True)
    expect(page.locator("[data-problem]")).to_contain_text(SAYS[language])
    expect(cash).to_have_value("20")
    expect(cash).to_be_editable()
    expect(cash).to_be_focused()


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_form_stays_on_its_page_without_a_connection(enter: Enter, sqlite_house: House, language: str) -> None:
    """It says so, keeps what was typed, also after more keys, and is sent once when there is a connection."""
    settling = Settling(sqlite_house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    page = enter(settling.cashier, locale=language, service_workers="allow").page
    page.goto(desk(settling, paddle))
    expect(page.get_by_label(CASH[language], exact=True)).to_be_focused()
    page.keyboard.type("20")
    go_offline(page)
    for _ in range(2):
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        is_unsent(page, language)
    expect(page.locator("[data-problem]")).to_have_count(1)
    page.context.set_offline(False)
    page.wait_for_function("() => navigator.onLine")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="5")).to_be_visible()
    assert ["14.880"] == moved(settling, paddle)


def test_a_house_on_a_machine_without_a_network_is_reached(enter: Enter, sqlite_house: House) -> None:
    """The browser knows of no network, and the house answers: the form is sent, with the button that was pressed."""
    settling = Settling(sqlite_house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    page = enter(settling.cashier).page
    page.goto(desk(settling, paddle))
    page.evaluate(WITHOUT_NETWORK)
    page.locator(".all-by").get_by_role("button", name="Cash").click()
    expect(page.get_by_text("Nothing is left to pay.")).to_be_visible()
    assert ["14.880"] == moved(settling, paddle)


def test_what_was_typed_outlives_an_answer_that_did_not_come(enter: Enter, sqlite_house: House) -> None:
    """After the browser's own page the form has it again, and says that it may have arrived; another buyer's has not."""
    settling = Settling(sqlite_house, 2)
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.sell(second)
    page = enter(settling.cashier).page
    cash, told = page.get_by_label("Cash", exact=True), page.locator("[data-problem]")
    page.route("**/payments", lambda route: route.abort())
    for back in (first, second):
        page.goto(desk(settling, first))
        cash.fill("7.50")
        with page.expect_event("framenavigated", lambda frame: frame.url.startswith("chrome-error:")):
            page.keyboard.press("Enter")
        # The browser's own page has begun to load. Before it has ended, going back may be overtaken by it.
        page.wait_for_load_state("load")
        if back == first:
            page.go_back()
            expect(told).to_contain_text("look first whether it was done")
            expect(cash).to_have_value("7.50")
        else:
            page.goto(desk(settling, second))
            expect(cash).to_have_value("")
            expect(told).to_have_count(0)
    page.unroute("**/payments")
    page.goto(desk(settling, first))
    cash.fill("7.50")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Done.")
    page.go_back()
    expect(told).to_have_count(0)
    assert ["7.500"] == moved(settling, first)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_move_of_a_lot_stays_on_its_page_without_a_connection(
    enter: Enter, sqlite_house: House, language: str
) -> None:
    """By drag and by keys: the lot goes back to its place, the page says why, and takes the move once there is a connection."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 3)
    page = enter(staff, locale=language).page
    page.goto(f"/admin/sales/{gid}")
    rows, told = page.locator(".lot-rows > li"), page.locator("[data-problem]")

    def has_order(*labels: str) -> None:
        for place, label in enumerate(labels):
            expect(rows.nth(place)).to_have_attribute("data-label", label)

    go_offline(page)
    rows.nth(2).locator(".grip").drag_to(rows.nth(0))
    expect(told).to_contain_text(UNMOVED[language])
    has_order("1", "2", "3")
    grip = rows.nth(0).locator(".grip")
    grip.focus()
    for _ in range(2):
        page.keyboard.press("Alt+ArrowDown")
    expect(rows.filter(has=told)).to_have_attribute("data-label", "1")
    expect(told).to_contain_text(UNMOVED[language])
    has_order("1", "2", "3")
    expect(grip).to_be_focused()
    page.context.set_offline(False)
    page.wait_for_function("() => navigator.onLine")
    rows.nth(2).locator(".grip").drag_to(rows.nth(0))
    has_order("3", "1", "2")
    expect(told).to_have_count(0)
    assert ["3", "1", "2"] == [lot["label"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]


def test_a_move_is_sent_by_a_house_on_a_machine_without_a_network(enter: Enter, sqlite_house: House) -> None:
    """The browser knows of no network, and the house answers: the lot moves to where it was dragged."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 3)
    page = enter(staff).page
    page.goto(f"/admin/sales/{gid}")
    page.evaluate(WITHOUT_NETWORK)
    rows = page.locator(".lot-rows > li")
    with page.expect_navigation():
        rows.nth(2).locator(".grip").drag_to(rows.nth(0))
    expect(rows.nth(0)).to_have_attribute("data-label", "3")
