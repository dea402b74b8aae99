"""The clerk's console of a live sale in a real Chromium: keys alone sell lots, and no act is lost or done twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, broken_rules, go_offline, intercept
from tests.fixtures_house import House, User
from tests.sales.api.test_participants import published

PHONE = {"width": 360, "height": 740}
Enter = Callable[..., BrowserVisitor]


class Evening:
    """A live sale of three lots with the paddles 12 and 20, and its clerk."""

    def __init__(self, house: House, enter: Enter, **terms: Any) -> None:
        self.house = house
        self.staff = house.staff(Role.AUCTIONEER)
        self.clerk = house.staff(Role.CLERK)
        self.enter = enter
        self.gid, self.lots = published(self.staff, 3, kind="live", names="paddles", **terms)
        self.posted: list[str] = []
        for paddle in (12, 20):
            self.staff.json(
                "POST",
                f"/sales/{self.gid}/participants",
                json={"personName": f"Person {paddle}", "contact": "0171 1", "paddle": paddle},
            )

    def console(self, user: User | None = None, **options: Any) -> Page:
        """Open a console in a new browser."""
        # A service worker would send requests past the routes of a test.
        page = self.enter(user or self.clerk, **{"service_workers": "block", **options}).page
        page.on("request", lambda one: self.posted.append(one.post_data or "") if one.method == "POST" else None)
        page.goto(f"/sales/{self.gid}/console")
        expect(page.locator("main[data-ready]")).to_be_visible()
        return page

    def act(self, name: str, **facts: Any) -> Any:
        """Act as another clerk does over the API."""
        seen = self.block()["tag"]
        return self.staff.json("POST", f"/sales/{self.gid}/block", json={"act": name, "seen": seen, **facts})

    def block(self) -> Any:
        """The block as staff see it."""
        return self.staff.json("GET", f"/sales/{self.gid}/block")

    def events(self, lot: int = 0) -> list[str]:
        """The amounts of all bids on a lot, the newest first."""
        bids = self.staff.json("GET", f"/auctions/{self.lots[lot]}/bids")["bids"]
        return [one["amount"] for one in bids]

    def auction(self, lot: int = 0) -> Any:
        """A lot's auction."""
        return self.staff.json("GET", f"/auctions/{self.lots[lot]}")


@pytest.fixture
def evening(sqlite_house: House, enter: Enter) -> Evening:
    """A live sale that has not begun."""
    return Evening(sqlite_house, enter)


def slot(page: Page, name: str) -> Any:
    """Where the page shows something of the lot."""
    return page.locator(f"main [data-slot={name}]").first


def press(page: Page, *keys: str) -> None:
    """Press keys, one after the other, as fast as the page takes them."""
    for key in keys:
        page.keyboard.press(key)


def settled(page: Page) -> None:
    """Wait until the house has answered every act."""
    expect(slot(page, "pending")).to_be_hidden()


def rested(page: Page) -> None:
    """Wait until keys count again after something was not done."""
    expect(page.locator("main:not([data-resting])")).to_be_visible()


def test_a_lot_is_sold_by_keys_alone(evening: Evening) -> None:
    """Call, bids of the hall and of a paddle, a jump, warnings and the hammer take no pointer and no wait."""
    page = evening.console()
    expect(slot(page, "name")).to_have_text("No lot is on the block.")
    press(page, "Enter", "Space", "1", "2", "Enter", "5", "0", "*", "Space", "f", "f")
    settled(page)
    expect(slot(page, "label")).to_have_text("1")
    expect(slot(page, "ask")).to_have_text("€51.00")
    expect(slot(page, "leader")).to_have_text("the hall, no paddle yet")
    expect(slot(page, "stage")).to_have_text("Final call")
    expect(page.locator("#bids li")).to_have_text(["€50.00 the hall, no paddle yet floor", *BEFORE])
    press(page, "2", "0", "h")
    settled(page)
    expect(slot(page, "ask")).to_have_text("Sold: €50.00, paddle 20")
    expect(page.locator("#said")).to_contain_text("Lot 1: sold for €50.00 to paddle 20.")
    assert ("sold", "#20", "50.000") == tuple(
        evening.auction()[name] for name in ("outcome", "currentBidder", "currentBid")
    )
    press(page, "Enter")
    expect(slot(page, "label")).to_have_text("2")
    expect(page.locator("#results li")).to_have_text(["1 Lot 1 Sold: €50.00, paddle 20"])
    expect(page.locator("#next li")).to_have_count(1)


BEFORE = ["€11.00 paddle 12 floor", "€10.00 the hall, no paddle yet floor"]


def test_a_routine_lot_takes_three_keys(evening: Evening) -> None:
    """Enter, a bid online or of the hall, and H with the paddle, which H asks for if nobody has named it."""
    page = evening.console()
    press(page, "Enter", "+", "+", "+", "+", "+", "Space", "h")
    dialog = page.get_by_role("dialog", name="Which paddle has bid?")
    expect(dialog.get_by_label("Paddle")).to_be_focused()
    press(page, "1", "2", "Enter")
    settled(page)
    expect(slot(page, "ask")).to_have_text("Sold: €15.00, paddle 12")


def test_digits_are_not_lost_before_a_space(evening: Evening) -> None:
    """A clerk who types the paddle and then Space means this paddle, not a bid of nobody."""
    page = evening.console()
    press(page, "Enter", "1", "2", "Space")
    settled(page)
    expect(slot(page, "leader")).to_have_text("paddle 12")


def test_below_the_reserve_h_asks(evening: Evening) -> None:
    """C sells conditionally, and the seller's decision is entered by a dialog; Escape leaves everything as it is."""
    page = evening.console(evening.staff)
    press(page, "Enter", "1", "2", "Enter", "h")
    dialog = page.get_by_role("dialog", name="The bid is below the reserve")
    expect(dialog).to_contain_text("€5.00 to go")
    press(page, "Escape")
    expect(dialog).to_be_hidden()
    settled(page)
    assert "open" == evening.auction()["status"]
    press(page, "h", "c")
    settled(page)
    expect(slot(page, "ask")).to_have_text("Conditionally sold: €10.00, paddle 12")
    press(page, "c", "1", "Enter")
    settled(page)
    expect(page.locator("#results li")).to_have_text(["1 Lot 1 Sold: €10.00, paddle 12"])
    press(page, "o", "1", "Tab")
    page.keyboard.type("A telephone was missed.")
    press(page, "Enter")
    settled(page)
    expect(page.locator("#results li")).to_have_count(0)
    press(page, "Enter", "s", "l", "1", "Enter")
    settled(page)
    expect(slot(page, "label")).to_have_text("1")
    press(page, "r", "Enter")
    settled(page)
    expect(slot(page, "price")).to_have_text("No bid yet")
    expect(slot(page, "ask")).to_have_text("€10.00")
    press(page, "p")
    settled(page)
    expect(slot(page, "ask")).to_have_text("Passed")


def test_the_hammer_is_undone(evening: Evening) -> None:
    """Ctrl+Z puts the lot back on the block as it was, and the bid before with it."""
    page = evening.console()
    press(page, "Enter", "1", "5", "a", "1", "2", "Enter", "h", "Control+z")
    settled(page)
    expect(slot(page, "leader")).to_have_text("paddle 12")
    expect(slot(page, "ask")).to_have_text("€16.00")
    press(page, "Control+z")
    settled(page)
    expect(slot(page, "price")).to_have_text("No bid yet")
    assert None is evening.auction()["currentBid"]


def test_the_second_of_two_clerks_is_shown_what_happened(evening: Evening) -> None:
    """An act that rests on an old state is refused in words, changes nothing, and its page shows the present state."""
    page, other = evening.console(), evening.console(evening.staff)
    press(page, "Enter")
    expect(slot(other, "label")).to_have_text("1")
    expect(other.locator("#said")).to_have_text("Lot 1, Lot 1. The ask is €10.00. The sale: Running.")

    def overtake(route: Route) -> None:
        if route.request.method == "POST":
            evening.act("bid", amount="10", paddle=12)
            expect(slot(other, "ask")).to_have_text("€11.00")  # the page hears of it before it is refused
        route.continue_()

    intercept(other, "**/console", overtake)
    press(other, "f")
    expect(other.locator("#trouble")).to_contain_text("Not done: Fair warning, final call.")
    expect(other.locator("#trouble")).to_contain_text("In the meantime: €10.00, paddle 12, floor. The ask is €11.00.")
    expect(other.locator("#trouble")).to_contain_text("If it still holds, press the key again.")
    expect(slot(other, "stage")).to_have_text("On the block")
    other.unroute("**/console")
    rested(other)
    press(other, "f")
    expect(slot(page, "stage")).to_have_text("Fair warning")


def test_an_online_bid_arrives_by_itself(evening: Evening, sqlite_house: House) -> None:
    """A bid from a phone shows on the console and at the rostrum, with its channel, and the hall is told the next ask."""
    bob = sqlite_house.newcomer()
    bob.json("PUT", f"/sales/{evening.gid}/registration")
    page = evening.console()
    rostrum = evening.enter(evening.staff).page
    rostrum.goto(f"/sales/{evening.gid}/auctioneer")
    press(page, "Enter")
    expect(slot(rostrum, "label")).to_have_text("1")
    assert bob.bid(evening.lots[0], amount="10").is_success
    for one in (page, rostrum):
        expect(slot(one, "channel")).to_have_text("online")
        expect(slot(one, "ask")).to_have_text("€11.00")
        expect(slot(one, "reserve")).to_have_text("Reserve €15.00: €5.00 to go")


def test_acts_wait_while_the_network_is_gone(evening: Evening) -> None:
    """Acts that were typed without a network are shown at once, counted, kept over a reload, and then done once, in order."""
    page = evening.console()
    press(page, "Enter")
    settled(page)
    go_offline(page)
    press(page, "Space", "Space", "f")
    expect(page.locator("#queue")).to_contain_text("Offline: 3 acts wait.")
    expect(slot(page, "ask")).to_have_text("€12.00")
    expect(slot(page, "stage")).to_have_text("Fair warning")
    assert [] == evening.events()
    page.context.set_offline(False)
    expect(page.locator("#queue")).to_be_hidden()
    settled(page)
    assert ["11.000", "10.000"] == evening.events()
    assert "fair_warning" == evening.block()["onBlock"]["auction"]["stage"]


def test_an_act_whose_answer_is_lost_is_done_once(evening: Evening) -> None:
    """The same key repeats it, also after a reload: the house gives its first answer again."""
    page = evening.console()
    press(page, "Enter")
    settled(page)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    intercept(page, "**/console", lambda route: lose(route) if route.request.method == "POST" else route.continue_())
    press(page, "Space")
    expect(page.locator("#queue")).to_contain_text("Offline: 1 act waits.")
    assert ["10.000"] == evening.events()
    page.unroute("**/console")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    settled(page)
    expect(slot(page, "price")).to_have_text("€10.00")
    expect(slot(page, "ask")).to_have_text("€11.00")
    assert ["10.000"] == evening.events()


def test_what_follows_a_refused_act_is_not_sent(evening: Evening) -> None:
    """If an act is refused, those that were typed on top of it are named and dropped, as they rest on what is not so."""
    page = evening.console()
    press(page, "Enter")
    settled(page)
    go_offline(page)
    press(page, "Space", "f")
    expect(page.locator("#queue")).to_contain_text("2 acts wait")
    evening.act("bid", amount="10", paddle=20)
    page.context.set_offline(False)
    expect(page.locator("#trouble")).to_contain_text("Not done: Bid.")
    expect(page.locator("#trouble")).to_contain_text("In the meantime: €10.00, paddle 20, floor. The ask is €11.00.")
    expect(page.locator("#trouble")).to_contain_text("Not sent, because it followed: Fair warning, final call.")
    assert ["10.000"] == evening.events()
    assert "called" == evening.block()["onBlock"]["auction"]["stage"]


def test_keys_that_mean_nothing_now_say_so(evening: Evening) -> None:
    """Without a lot, without a bid and with a paddle that nobody has, words say what to do, and nothing changes."""
    page = evening.console()
    trouble = page.locator("#trouble")
    press(page, "h")
    expect(trouble).to_have_text("No lot is on the block. Enter calls the next one.")
    press(page, "Enter", "Enter")
    expect(trouble).to_have_text("Lot 1 is still on the block: H sells it, P passes it, S skips it.")
    settled(page)
    press(page, "h")
    expect(trouble).to_have_text("No bid stands. P passes the lot.")
    press(page, "7", "7", "7", "Enter")
    expect(trouble).to_contain_text("Not done: Bid.")
    rested(page)
    page.get_by_text("How the keys work").click()
    page.get_by_label("Single keys act").uncheck()
    page.locator("h1").click()
    press(page, "Space")
    settled(page)
    assert [] == evening.events()
    page.get_by_role("button", name="Bid of the hall").click()
    settled(page)
    assert ["10.000"] == evening.events()


def test_a_double_click_is_for_one_button(evening: Evening) -> None:
    """The words above the buttons go with the first click, so that another button is under the second one: it does nothing."""
    page = evening.console()
    press(page, "Enter", "Enter")
    expect(page.locator("#trouble")).to_contain_text("Lot 1 is still on the block")
    settled(page)
    under = page.evaluate_handle("() => document.querySelector('[data-act=bid]').getBoundingClientRect()")
    x, y = under.evaluate("box => [box.x + box.width / 2, box.bottom - 3]")
    page.mouse.dblclick(x, y)
    assert "bid" != page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).closest('[data-act]')?.dataset.act", [x, y]
    )
    settled(page)
    rested(page)
    expect(slot(page, "price")).to_have_text("€10.00")
    expect(page.locator("#trouble")).to_be_hidden()
    assert (["10.000"], 1) == (evening.events(), len([one for one in evening.posted if "act=bid" in one]))
    assert ["call", "bid"] == [one.partition("act=")[2].partition("&")[0] for one in evening.posted if "act=" in one]


@pytest.mark.parametrize("locale", ["en", "de"])
def test_both_pages_fit_a_phone(evening: Evening, locale: str) -> None:
    """With a lot on the block and with a dialog nothing is wider than a phone; in German axe finds no fault.

    It judges light and dark. Its rules ask nothing else of the other words.
    """
    evening.act("call")
    evening.act("bid", amount="10", paddle=12)
    page = evening.console(viewport=PHONE, locale=locale, has_touch=True)
    expect(slot(page, "leader")).to_contain_text("12")
    expect(page.locator("[data-act=sell].of-auctions")).to_be_in_viewport(ratio=1)
    assert locale == "en" or {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    press(page, "h")
    assert locale == "en" or {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.goto(f"/sales/{evening.gid}/auctioneer")
    expect(slot(page, "leader")).to_contain_text("12")
    assert locale == "en" or {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
