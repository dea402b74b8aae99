"""The clerk's console in a real Chromium while the sale stands still, and while its network does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, broken_rules
from tests.browser.test_console import Evening, press, rested, settled, slot
from tests.fixtures_house import House


@pytest.fixture
def evening(sqlite_house: House, enter: Callable[..., BrowserVisitor]) -> Evening:
    """A live sale that has not begun."""
    return Evening(sqlite_house, enter)


def test_b_pauses_the_sale_and_lets_it_go_on(evening: Evening) -> None:
    """B asks, only Y does it; other acts are refused at once, and the hall, a bidder and the auctioneer see the pause."""
    page = evening.console()
    press(page, "b")
    expect(page.locator("#trouble")).to_have_text("Only a sale that runs can stand still.")
    press(page, "Enter", "1", "2", "Enter")
    settled(page)
    bidder = evening.house.newcomer()
    bidder.json("PUT", f"/sales/{evening.gid}/registration")
    pages = {
        path: evening.enter(user).page
        for path, user in (("screen", None), ("live", bidder), ("auctioneer", evening.clerk))
    }
    for path, one in pages.items():
        one.goto(f"/sales/{evening.gid}/{path}")
    expect(pages["live"].locator("#ask-now button")).to_be_visible()

    press(page, "b", "Enter")  # the keys of a routine lot: Enter goes back
    expect(page.get_by_role("dialog")).to_be_hidden()
    settled(page)
    press(page, "b", "h", "Escape")
    assert "running" == evening.block()["status"]

    press(page, "b", "y")
    expect(page.locator("#done")).to_have_text("The sale stands still. B lets it go on.")
    expect(slot(page, "stage")).to_have_text("The sale stands still.")
    expect(slot(page, "pauseKey")).to_have_text("Let the sale go on")
    expect(pages["screen"].locator(".pause")).to_have_text("Pause")
    expect(pages["live"].locator(".pause")).to_have_text("Pause")
    expect(pages["live"].locator("#ask-now button")).to_have_count(0)
    expect(slot(pages["auctioneer"], "stage")).to_have_text("The sale stands still.")
    assert {} == broken_rules(page)

    posted = len(evening.posted)
    press(page, "2", "0", "Enter", "h")
    expect(page.locator("#trouble")).to_have_text("Not done: the sale stands still. B lets it go on.")
    assert posted == len(evening.posted), "nothing was sent"
    press(page, "b")
    expect(page.get_by_role("dialog", name="Let the sale go on?")).to_be_visible()
    press(page, "y", "2", "0", "Enter")  # the bid waits until the house has answered
    settled(page)
    expect(slot(page, "leader")).to_have_text("paddle 20")
    expect(pages["live"].locator("#ask-now button")).to_be_visible()
    assert ("running", ["11.000", "10.000"]) == (evening.block()["status"], evening.events())


def test_a_lot_that_is_hidden_on_the_block_is_skipped_by_its_key(evening: Evening) -> None:
    """Console and rostrum say that it was taken down and what to do; S, then Enter, goes on with the next lot."""
    page, rostrum = evening.console(), evening.enter(evening.clerk).page
    rostrum.goto(f"/sales/{evening.gid}/auctioneer")
    press(page, "Enter", " ")
    settled(page)
    lot = evening.block()["onBlock"]["gid"]
    evening.house.staff(Role.MANAGER).json("PUT", f"/auctions/{lot}/hiding", json={"reason": "It may be stolen."})
    for one in (page, rostrum):
        expect(slot(one, "stage")).to_have_text("This lot was taken down. Skip it (S), then call the next one.")
    press(page, "p")
    expect(page.locator("#trouble")).to_contain_text("skip it (S), then call the next lot")
    rested(page)
    press(page, "s", "Enter")
    settled(page)
    assert "2" == evening.block()["onBlock"]["label"]
    assert {} == broken_rules(page)


def test_e_ends_the_sale_only_after_y(evening: Evening) -> None:
    """What cannot be undone is not done by E and Enter, which calls the next lot."""
    page = evening.console()
    press(page, "Enter", "p")
    settled(page)
    press(page, "e", "Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    press(page, "e", "h", "Escape")
    settled(page)
    assert "running" == evening.block()["status"]
    press(page, "e")
    expect(page.get_by_role("dialog", name="End the sale?")).to_be_visible()
    assert {} == broken_rules(page)
    press(page, "y")
    expect(slot(page, "status")).to_have_text("Over")
    assert "closed" == evening.block()["status"]


def test_a_lot_that_is_withdrawn_on_the_block_is_said(evening: Evening) -> None:
    """The clerk sees what has become of the lot, hears it, and calls the next one."""
    page = evening.console()
    press(page, "Enter", "1", "2", "Enter")
    settled(page)
    evening.staff.json("POST", f"/sales/{evening.gid}/lots/1/withdraw", json={"reason": "It was stolen."})
    expect(slot(page, "ask")).to_have_text("Withdrawn")
    expect(page.locator("#said")).to_contain_text("Lot 1: Withdrawn.")
    press(page, "Enter")
    expect(slot(page, "label")).to_have_text("2")


def test_a_pause_by_somebody_else_is_seen_at_once(evening: Evening) -> None:
    """The page says it and refuses acts; a dialog that asks for what another has done by then does nothing twice."""
    page = evening.console()
    press(page, "Enter", "b")
    expect(page.get_by_role("dialog", name="Pause the sale?")).to_be_visible()
    settled(page)
    evening.staff.json("POST", f"/sales/{evening.gid}/pause")
    expect(slot(page, "status")).to_have_text("Paused")
    press(page, "y")
    expect(page.locator("#trouble")).to_contain_text("Not done: Pause the sale.")
    rested(page)
    assert "paused" == evening.block()["status"]
    evening.staff.json("POST", f"/sales/{evening.gid}/resume")
    expect(slot(page, "status")).to_have_text("Running")
    press(page, "Space")
    expect(slot(page, "ask")).to_have_text("€11.00")


def test_a_stream_that_is_cut_without_a_word_hides_nothing(evening: Evening) -> None:
    """No event arrives and no connection ends: the console looks by itself, says if it cannot, and follows again then."""
    page = evening.enter(evening.clerk, service_workers="block").page
    page.clock.install()
    page.route("**/events", lambda route: None)  # it is never answered
    page.goto(f"/sales/{evening.gid}/console")
    expect(page.locator("main[data-ready]")).to_be_visible()
    evening.act("call")
    expect(slot(page, "label")).to_have_text("")
    page.clock.run_for(26_000)
    expect(slot(page, "label")).to_have_text("1")
    page.route("**/console/state", lambda route: route.abort())
    page.clock.run_for(26_000)
    expect(page.locator("#line")).to_contain_text("The connection was lost.")
    evening.act("bid", amount="10", paddle=12)
    page.unroute("**/events")  # first: the next look that succeeds opens the streams
    page.unroute("**/console/state")
    page.clock.run_for(6_000)
    expect(page.locator("#line")).to_be_hidden()
    expect(slot(page, "leader")).to_have_text("paddle 12")
    evening.act("bid", amount="11", paddle=20)  # the stream that was opened since tells it
    expect(slot(page, "leader")).to_have_text("paddle 20")
