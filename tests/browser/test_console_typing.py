"""A clerk who types faster than the house answers: no key is lost, none is for another lot than the one it was typed for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.people import WAIT_MS_MAX, BrowserVisitor, intercept
from tests.browser.test_console import Evening, press, rested, settled, slot
from tests.fixtures_house import House


@pytest.fixture
def evening(sqlite_house: House, enter: Callable[..., BrowserVisitor]) -> Evening:
    """A live sale that has not begun."""
    return Evening(sqlite_house, enter)


class SlowNet:
    """The acts of a page, on a net that is as slow as a test wants: they wait until `through`."""

    def __init__(self, page: Page, *, answers: bool = False) -> None:
        self._page = page
        self._waiting: list[Callable[[], object]] = []
        self._answers = answers
        intercept(page, "**/console", self._take)

    def _take(self, route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
        elif self._answers:  # the house has done it, and its answer is on the way
            answer = route.fetch()
            self._waiting.append(lambda: route.fulfill(response=answer))
        else:
            self._waiting.append(route.continue_)

    def through(self) -> None:
        """Let what waits arrive, and be quick from here on."""
        for _ in range(WAIT_MS_MAX // 10):
            if self._waiting:
                break
            self._page.wait_for_timeout(10)
        self._page.unroute("**/console")
        for go_on in self._waiting:
            go_on()


def test_what_is_typed_after_a_call_by_number_is_for_that_lot(evening: Evening) -> None:
    """Bids, asks and warnings that are typed before the house has called the lot wait, are shown, and then done in order."""
    page = evening.console()
    net = SlowNet(page)
    press(page, "l", "2", "Enter", "1", "2", "Enter", "5", "0", "*", "2", "0", "Enter", "f")
    expect(page.locator("#held")).to_contain_text("12 Enter 50 * 20 Enter F")
    expect(page.locator("#entry")).to_have_text("")
    net.through()
    settled(page)
    expect(page.locator("#held")).to_be_hidden()
    expect(slot(page, "label")).to_have_text("2")
    expect(slot(page, "ask")).to_have_text("€51.00")
    expect(slot(page, "stage")).to_have_text("Fair warning")
    assert (["50.000", "10.000"], []) == (evening.events(1), evening.events(0))
    assert "#20" == evening.auction(1)["currentBidder"]


def test_one_call_by_number_after_the_other(evening: Evening) -> None:
    """Keys that wait open the dialogs that they open otherwise, and fill them in."""
    page = evening.console()
    net = SlowNet(page)
    press(
        page,
        *["l", "2", "Enter", "2", "0", "*", "Space", "h", "1", "2", "Enter", "l", "0", "3", "Enter", "2", "0", "Enter"],
    )
    net.through()
    settled(page)
    expect(slot(page, "label")).to_have_text("3")
    expect(slot(page, "leader")).to_have_text("paddle 20")
    assert ("sold", "#12") == (evening.auction(1)["outcome"], evening.auction(1)["currentBidder"])


def test_what_follows_an_undo_rests_on_what_stands_then(evening: Evening) -> None:
    """The ask after an undo is known to the house alone, so the next bid waits for it."""
    page = evening.console()
    press(page, "Enter", "1", "2", "Enter", "2", "0", "Enter")
    settled(page)
    net = SlowNet(page)
    press(page, "Control+z", "Space")
    net.through()
    settled(page)
    assert ["11.000", "11.000", "10.000"] == evening.events()
    expect(slot(page, "leader")).to_have_text("the hall, no paddle yet")
    expect(slot(page, "ask")).to_have_text("€12.00")


def test_keys_that_wait_outlive_a_reload(evening: Evening) -> None:
    """A clerk whose net is cut off and who reloads the page finds the keys again, and each counts once."""
    page = evening.console()
    intercept(page, "**/console", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    press(page, "l", "3", "Enter", "1", "2", "Enter")
    expect(page.locator("#queue")).to_contain_text("Offline: 1 act waits.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(page.locator("#held")).to_contain_text("12 Enter")
    page.unroute("**/console")
    expect(page.locator("#held")).to_be_hidden()
    settled(page)
    assert ["10.000"] == evening.events(2)


def test_escape_drops_the_keys_that_wait(evening: Evening) -> None:
    """They are shown, so a clerk can see a slip and take it back before the house has answered."""
    page = evening.console()
    net = SlowNet(page)
    press(page, "l", "2", "Enter", "7", "7", "Enter", "Escape", "1", "2", "Enter")
    net.through()
    settled(page)
    assert (["10.000"], "#12") == (evening.events(1), evening.auction(1)["currentBidder"])


def test_keys_after_a_refused_call_are_not_used(evening: Evening) -> None:
    """Another clerk has called another lot: what was typed for the one that was asked for is named, and bids on neither."""
    page = evening.console()
    net = SlowNet(page)
    press(page, "l", "2", "Enter", "1", "2", "Enter")
    evening.act("call", label="3")
    net.through()
    expect(page.locator("#trouble")).to_contain_text("Not done: Next lot.")
    expect(page.locator("#unused")).to_contain_text("Not used: 12 Enter.")
    expect(slot(page, "label")).to_have_text("3")
    rested(page)
    assert [[], []] == [evening.events(1), evening.events(2)]


def test_keys_are_not_used_until_the_clerk_can_know_of_a_refusal(evening: Evening) -> None:
    """A clerk who types on while the page reads what stands now has not seen it yet; after a pause keys count again."""
    page = evening.console()
    press(page, "Enter", "2", "0", "*", "1", "2", "Enter")
    settled(page)
    net = SlowNet(page)
    press(page, "h", "Enter")
    evening.act("bid", amount="21", paddle=20)
    reads: list[Route] = []

    def keep(route: Route) -> None:
        reads.append(route)

    intercept(page, "**/console/state", keep)
    net.through()
    expect(page.locator("main[data-resting]")).to_be_visible()
    press(page, "2", "0", "Enter")
    expect(page.locator("#unused")).to_contain_text("20 Enter")
    page.unroute("**/console/state")
    for read in reads:
        read.continue_()
    expect(page.locator("#trouble")).to_contain_text("Not done: Sold.")
    rested(page)
    assert (["21.000", "20.000"], []) == (evening.events(0), evening.events(1))
    expect(slot(page, "ask")).to_have_text("€22.00")
    press(page, "1", "2", "Enter")
    settled(page)
    expect(page.locator("#unused")).to_be_hidden()
    assert ["22.000", "21.000", "20.000"] == evening.events()


def test_the_hammer_is_for_the_bid_that_was_shown(evening: Evening, sqlite_house: House) -> None:
    """If an absentee bid answers that of a paddle, a hammer typed on top of it is not sent: nobody has seen that bid."""
    bob = sqlite_house.newcomer()
    bob.json("PUT", f"/sales/{evening.gid}/registration")
    page = evening.console()
    press(page, "Enter")
    settled(page)
    assert bob.bid(evening.lots[0], amount="10", maximum="50").is_success
    expect(slot(page, "ask")).to_have_text("€16.00")
    net = SlowNet(page)
    press(page, "1", "2", "Enter", "f", "h", "Enter")
    net.through()
    expect(page.locator("#trouble")).to_contain_text(
        "Not sent, because it followed: Fair warning, final call, Sold, Next lot."
    )
    settled(page)
    assert "open" == evening.auction()["status"]
    expect(slot(page, "ask")).to_have_text("€18.00")


def test_digits_are_for_the_lot_that_they_were_typed_for(evening: Evening) -> None:
    """If another clerk goes on to the next lot between the digits and Enter, the paddle does not bid on it."""
    page = evening.console()
    press(page, "Enter", "1", "2")
    settled(page)
    evening.act("pass")
    evening.act("call")
    expect(slot(page, "label")).to_have_text("2")
    press(page, "Enter")
    expect(page.locator("#trouble")).to_have_text("12 was typed for another lot and not sent.")
    press(page, "2", "0", "Enter")
    settled(page)
    assert (["10.000"], []) == (evening.events(1), evening.events(0))


def test_a_bid_on_the_way_is_for_the_lot_that_it_was_typed_for(evening: Evening) -> None:
    """The ask of the next lot may be the same: the house refuses a bid that names another lot than the one on the block."""
    page = evening.console()
    press(page, "Enter")
    settled(page)
    net = SlowNet(page)
    press(page, "1", "2", "Enter")
    evening.act("pass")
    evening.act("call")
    net.through()
    expect(page.locator("#trouble")).to_contain_text("Not done: Bid.")
    expect(page.locator("#trouble")).to_contain_text("Lot 1: Passed. Lot 2, Lot 2. The ask is €10.00.")
    assert [[], []] == [evening.events(0), evening.events(1)]


def test_a_question_rests_on_the_lot_that_it_was_asked_for(evening: Evening) -> None:
    """A paddle that is typed into the question of the hammer is not that of the next lot's bid."""
    page = evening.console()
    press(page, "Enter", "Space", "h")
    settled(page)
    evening.act("name", paddle=20)
    evening.act("skip")
    evening.act("call", label="2")
    evening.act("bid", amount="10")
    expect(slot(page, "label")).to_have_text("2")
    press(page, "1", "2", "Enter")
    expect(page.locator("#trouble")).to_contain_text(
        "The lot has changed since the question was asked. Nothing was sent."
    )
    assert ("open", "#floor") == (evening.auction(1)["status"], evening.auction(1)["currentBidder"])


def test_an_answer_that_is_late_is_counted_once(evening: Evening) -> None:
    """If the stream tells of a bid before its answer arrives, the next bid takes the ask after it, not one further."""
    page = evening.console()
    press(page, "Enter")
    settled(page)
    net = SlowNet(page, answers=True)
    press(page, "Space")
    expect(page.locator("#bids li")).to_have_count(1)  # the stream has told of it
    expect(slot(page, "ask")).to_have_text("€11.00")
    press(page, "Space")
    expect(slot(page, "ask")).to_have_text("€12.00")
    net.through()
    settled(page)
    assert ["11.000", "10.000"] == evening.events()


@pytest.mark.parametrize("typed", ["12.500", "12,500"])
def test_an_ask_that_may_mean_thousands(evening: Evening, typed: str) -> None:
    """In German 12.500 is twelve thousand five hundred, and 12,500 is asked about: no ask is a thousandth of what is meant."""
    page = evening.console(locale="de-DE")
    press(page, "Enter", *typed, "*")
    settled(page)
    if typed == "12.500":
        expect(slot(page, "ask")).to_have_text("12.500,00\u00a0€")
        return
    expect(page.locator("#trouble")).to_have_text(
        "12,500 kann 12,50\u00a0€ oder 12.500,00\u00a0€ heißen. Schreiben Sie 12,50 oder 12500,00."
    )
    expect(slot(page, "ask")).to_have_text("10,00\u00a0€")
    press(page, "Escape", *"12500", "*", *"12600.5", "*")
    settled(page)
    expect(slot(page, "ask")).to_have_text("12.600,50\u00a0€")
