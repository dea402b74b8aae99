"""Results entered without a console in a real Chromium: by keys alone, without a network, and against other clerks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, broken_rules, go_offline, wait_for
from tests.fixtures_house import House, User
from tests.sales.api.test_participants import published

PHONE = {"width": 360, "height": 740}
Enter = Callable[..., BrowserVisitor]


class Evening:
    """A live sale of six lots with the paddles 44 and 57, and its clerk and its auctioneer; lots start at 10, reserve 15."""

    def __init__(self, house: House, enter: Enter) -> None:
        self.staff = house.staff(Role.AUCTIONEER)
        self.clerk = house.staff(Role.CLERK)
        self.enter = enter
        self.gid, self.lots = published(self.staff, 6, kind="live", names="paddles", registration="open")
        for paddle in (44, 57):
            self.staff.json(
                "POST", f"/sales/{self.gid}/participants", json={"personName": f"Person {paddle}", "paddle": paddle}
            )

    def page(self, user: User | None = None, **options: Any) -> Page:
        """Open the page in a new browser, once it has the sheet."""
        page = self.enter(user or self.clerk, **options).page
        self.come(page)
        return page

    def come(self, page: Page) -> None:
        """Open the page in a browser, once it has the sheet."""
        page.goto(f"/sales/{self.gid}/entry")
        expect(page.locator("#status")).to_be_visible()

    def enters(self, **result: Any) -> Any:
        """Enter a result as another clerk does over the API."""
        return self.staff.json("POST", f"/sales/{self.gid}/results", json=result)

    def result(self, lot: int) -> tuple[str | None, str | None, str | None]:
        """How a lot ended, counted from 1."""
        found = self.staff.json("GET", f"/auctions/{self.lots[lot - 1]}")
        return found["outcome"], found["currentBidder"], found["currentBid"]

    def order(self) -> list[str]:
        """The labels of the lots that were sold or passed, in the order in which they were."""
        lots = self.staff.json("GET", f"/sales/{self.gid}/lots")["lots"]
        over = [lot for lot in lots if lot["auction"]["outcome"]]
        return [lot["label"] for lot in sorted(over, key=lambda lot: str(lot["auction"]["closedAt"]))]


@pytest.fixture
def evening(sqlite_house: House, enter: Enter) -> Evening:
    """A live sale that has not begun."""
    return Evening(sqlite_house, enter)


def type_in(page: Page, *lines: str) -> None:
    """Type lines, each with Enter."""
    for line in lines:
        page.locator("#line").press_sequentially(line)
        page.keyboard.press("Enter")


def line(page: Page, text: str) -> Any:
    """The line with this text."""
    return page.locator("#lines li").filter(has=page.get_by_text(text, exact=True)).first


def done(page: Page, *texts: str) -> None:
    """Wait until the house has taken these lines."""
    for text in texts:
        expect(line(page, text).locator(".tag")).to_have_text("done")


def test_an_evening_is_entered_by_keys_alone(evening: Evening) -> None:
    """Sold, passed, several lots and one made on the spot; each line says what became of it, and the open lots are counted."""
    page = evening.page()
    expect(page.locator("#left")).to_have_text("6 lots open")
    expect(page.locator("#line")).to_be_focused()
    type_in(page, "1 34.50 57", "2 -", "3-4,6 20 44", "0 A jar of honey 25 44")
    expect(page.locator("#trouble")).to_be_hidden()
    done(page, "1 34.50 57", "2 -", "3-4,6 20 44", "0 A jar of honey 25 44")
    expect(line(page, "1 34.50 57")).to_contain_text("Lot 1: sold for €34.50 to paddle 57")
    expect(line(page, "3-4,6 20 44")).to_contain_text("Lot 6: sold for €20.00 to paddle 44")
    expect(page.locator("#left")).to_have_text("1 lot open")
    expect(page.locator("#open li")).to_have_text(["5 Lot 5"])
    expect(page.locator("#said")).to_contain_text("Lot 7: sold for €25.00 to paddle 44")
    assert ("sold", "#57", "34.500") == evening.result(1)
    assert ["1", "2", "3", "4", "6", "7"] == evening.order()


def test_mistakes_are_named_before_anything_is_sent(evening: Evening) -> None:
    """What the device knows is said at once, the line stays in the field, and nothing reaches the house."""
    page = evening.page()
    posted: list[str] = []
    page.on("request", lambda one: posted.append(one.url) if one.method == "POST" else None)
    field, trouble = page.locator("#line"), page.locator("#trouble")
    for typed, said in (
        ("1 340", "Write the lot, the price and the paddle"),
        ("x 340 57", "This is not the number of a lot, or a list such as 1-3,5: x"),
        ("9 340 57", "There is no lot 9 in the sale."),
        ("1 34,50 57", "This is not an amount: 34,50."),
        ("1 12.500 57", "12.500 may mean €12.50 or €12,500.00. Write 12.50 or 12500.00."),
        ("1 1.234 57", "Did you mean 1234.00? Amounts are written like 1,234.50 here."),
        ("1 34 57a", "This is not a paddle: 57a"),
        ("1 34 99", "Nobody has the paddle 99 in this sale."),
    ):
        type_in(page, typed)
        expect(trouble).to_contain_text(said)
        expect(field).to_have_value(typed)
        field.fill("")
    dialog = page.get_by_role("dialog")
    type_in(page, "1 1000 57")
    expect(dialog).to_contain_text("€1,000.00 is ten times the estimate or starting price of lot 1, or more.")
    page.keyboard.press("Escape")
    expect(field).to_be_focused()
    expect(field).to_have_value("1 1000 57")
    field.fill("")
    type_in(page, "1 12 57")
    expect(dialog).to_contain_text("€12.00 is below the reserve of lot 1.")
    page.keyboard.press("Escape")
    expect(field).to_be_focused()
    assert [] == posted
    expect(page.locator("#lines li")).to_have_count(0)
    expect(field).to_have_value("1 12 57")  # the browser moves the focus back before the page puts the line back
    # Chromium gives a key to a dialog that has just closed until it redraws.
    expect(dialog).to_be_hidden()
    field.press("Enter")
    expect(dialog).to_be_visible()
    page.keyboard.press("Enter")
    type_in(page, "2 -")  # as fast as anybody: the field is free before the dialog has closed
    done(page, "1 12 57", "2 -")
    assert ("conditional", "#57", "12.000") == evening.result(1)


def test_lines_wait_without_a_network(evening: Evening) -> None:
    """They survive a reload and a closed tab, the page opens again without a network, and each is done once and in order."""
    page = evening.page(service_workers="allow")
    page.evaluate("navigator.serviceWorker.ready")
    wait_for(page, "navigator.serviceWorker.controller !== null")
    page.reload()
    expect(page.locator("#status")).to_be_visible()
    expect(page.locator("#stay")).to_be_hidden()
    wait_for(page, "caches.match('/service-worker.js?kept=' + encodeURIComponent('/sales/[A-Za-z0-9_-]{1,64}/entry'))")
    context = page.context
    go_offline(page)
    type_in(page, "6 20 44", "1 20 57", "3 -")
    expect(page.locator("#queue")).to_contain_text("Offline: 3 lines wait.")
    page.reload()
    expect(page.locator("#title")).to_have_text("An evening")
    expect(page.locator("#queue")).to_contain_text("Offline: 3 lines wait.")
    page.close()
    page = context.new_page()
    page.goto(f"/sales/{evening.gid}/entry")
    expect(page.locator("#lost")).to_contain_text("The house cannot be reached. You can go on")
    type_in(page, "2 21 57", "1 22 57")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Lot 1 is in a line that waits: 1 20 57")
    page.keyboard.press("Escape")
    expect(page.locator("#line")).to_have_value("1 22 57")
    page.locator("#line").fill("")
    type_in(page, "4 30 44")
    line(page, "4 30 44").get_by_role("button", name="Undo").click()
    expect(line(page, "4 30 44").locator(".tag")).to_have_text("dropped")
    other = context.new_page()
    other.goto(f"/sales/{evening.gid}/entry")
    type_in(other, "5 50 44")
    expect(page.locator("#queue")).to_contain_text("Offline: 5 lines wait.")
    early = evening.order()
    assert early in ([], ["6"]), "a page that opens may send one line before Chromium cuts it off"
    evening.enters(labels=["3"], price="33", paddle=44)
    context.set_offline(False)
    done(page, "6 20 44", "1 20 57", "2 21 57", "5 50 44")
    refused = line(page, "3 -")
    expect(refused.locator(".tag")).to_have_text("refused")
    expect(refused).to_contain_text("Lot 3 has a result already: sold for €33.00 to paddle 44.")
    expect(page.locator("#queue")).to_be_hidden()
    assert [*early, "3", *(label for label in ("6", "1", "2", "5") if label not in early)] == evening.order()
    assert ("sold", "#44", "33.000") == evening.result(3)
    assert 1 == len(evening.staff.json("GET", f"/auctions/{evening.lots[0]}/bids")["bids"])
    refused.get_by_role("button", name="Drop the line").click()
    expect(refused.locator(".tag")).to_have_text("dropped")


def test_a_line_whose_answer_is_lost_is_done_once(evening: Evening) -> None:
    """The same key repeats it, also after a reload: the house gives its first answer again."""
    page = evening.page()

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/entry", lambda route: lose(route) if route.request.method == "POST" else route.continue_())
    type_in(page, "0 A jar of honey 25 44")
    expect(page.locator("#queue")).to_contain_text("Offline: 1 line waits.")
    expect(page.locator("#left")).to_have_text("6 lots open")
    line(page, "0 A jar of honey 25 44").get_by_role("button", name="Undo").click()
    expect(page.locator("#trouble")).to_contain_text("This line is on its way.")
    page.unroute("**/entry")
    page.reload()
    done(page, "0 A jar of honey 25 44")
    assert 7 == len(evening.staff.json("GET", f"/sales/{evening.gid}/lots")["lots"])


def test_a_conflict_is_shown_and_decided(evening: Evening) -> None:
    """An absentee maximum, another result and the block of another clerk: people decide on the line by its buttons."""
    page = evening.page(evening.staff)
    evening.staff.json("POST", f"/sales/{evening.gid}/block", json={"act": "call", "seen": evening_tag(evening)})
    type_in(page, "2 20 57")
    refused = line(page, "2 20 57")
    expect(refused).to_contain_text("A lot is on the block.")
    evening.staff.json("POST", f"/sales/{evening.gid}/block", json={"act": "pass", "seen": evening_tag(evening)})
    refused.get_by_role("button", name="Try again").click()
    done(page, "2 20 57")
    evening.enters(labels=["3"], price="33", paddle=44)
    expect(page.locator("#left")).to_have_text("3 lots open")
    type_in(page, "2 25 44")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Lot 2 has a result already: sold for €20.00 to paddle 57.")
    page.keyboard.type("The clerk misheard.")
    page.keyboard.press("Enter")
    done(page, "2 25 44")
    assert ("sold", "#44", "25.000") == evening.result(2)
    line(page, "2 25 44").get_by_role("button", name="Undo").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Enter")
    expect(line(page, "2 25 44").locator(".tag")).to_have_text("taken back")
    assert (None, None, None) == evening.result(2)


def evening_tag(evening: Evening) -> str:
    """The tag of the block."""
    return str(evening.staff.json("GET", f"/sales/{evening.gid}/block")["tag"])


def test_an_absentee_maximum_is_shown(evening: Evening, sqlite_house: House) -> None:
    """It comes from the house, and the result of the hall holds only if people say so."""
    absent = sqlite_house.newcomer()
    absent.json("PUT", f"/sales/{evening.gid}/registration")
    assert absent.bid(evening.lots[0], maximum="50").is_success
    page = evening.page()
    type_in(page, "1 20 57")
    expect(line(page, "1 20 57")).to_contain_text("paddle 100 has bid up to €50.00 on lot 1 from outside the hall")
    line(page, "1 20 57").get_by_role("button", name="The result of the hall holds").click()
    done(page, "1 20 57")
    assert ("sold", "#57", "20.000") == evening.result(1)


def test_the_lines_of_one_person_are_not_sent_by_another(evening: Evening) -> None:
    """Lines wait until who typed them logs in again; the browser keeps neither reserves nor what is settled."""
    page = evening.page()
    type_in(page, "1 20 57")
    done(page, "1 20 57")
    assert "reservePrice" not in page.evaluate("JSON.stringify(localStorage)")
    go_offline(page)
    type_in(page, "2 20 57")
    expect(page.locator("#queue")).to_contain_text("1 line waits")
    base = page.url.partition("/sales")[0]
    page.context.clear_cookies()
    page.context.set_offline(False)
    expect(page.locator("#trouble")).to_contain_text("You are no longer logged in.")
    expect(page.locator("#lines li")).to_have_count(1)
    page.context.add_cookies([{"name": "saleroom_session", "value": evening.staff.token, "url": base}])
    evening.come(page)
    expect(line(page, "2 20 57")).to_contain_text("who has to log in to send it")
    assert (None, None, None) == evening.result(2)
    page.context.clear_cookies()
    page.context.add_cookies([{"name": "saleroom_session", "value": evening.clerk.token, "url": base}])
    evening.come(page)
    done(page, "2 20 57")
    assert ("sold", "#57", "20.000") == evening.result(2)


def test_a_reload_in_a_question_keeps_the_line(evening: Evening) -> None:
    """A line that was typed is in the field again if the page goes while it asks, and only then."""
    page = evening.page()
    field, dialog = page.locator("#line"), page.get_by_role("dialog")
    type_in(page, "1 1000 57")
    expect(dialog).to_be_visible()
    evening.come(page)
    expect(dialog).to_be_hidden()
    expect(field).to_have_value("1 1000 57")
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    page.keyboard.press("Enter")
    done(page, "1 1000 57")
    evening.come(page)
    expect(field).to_have_value("")


def test_a_stream_that_is_cut_without_a_word_hides_no_result(evening: Evening) -> None:
    """No event arrives and no connection ends: the page looks by itself after a minute, and follows again then."""
    page = evening.enter(evening.clerk).page
    page.clock.install()
    page.route("**/events", lambda route: None)  # it is never answered
    evening.come(page)
    lots = page.locator("#open .lot-label")
    expect(lots).to_have_count(6)
    page.clock.run_for(1_000)
    evening.enters(labels=["1"], price="20", paddle=57)
    page.clock.run_for(10_000)
    expect(lots).to_have_count(6)
    page.clock.run_for(56_000)
    expect(lots).to_have_count(5)
    page.unroute("**/events")
    page.clock.run_for(66_000)
    evening.enters(labels=["2"], price="20", paddle=57)  # the stream that was opened since tells it
    page.clock.run_for(1_000)
    expect(lots).to_have_count(4)


@pytest.mark.parametrize(("locale", "color_scheme"), [("en", "light"), ("de", "dark")])
def test_the_page_fits_a_phone(evening: Evening, locale: str, color_scheme: str) -> None:
    """With lines in all states and with a dialog nothing is wider than a phone; in German axe finds no fault.

    It judges light and dark. Its rules ask nothing else of the other words.
    """
    page = evening.page(viewport=PHONE, locale=locale, color_scheme=color_scheme, has_touch=True)
    type_in(page, "1 20 57", "2-4 20 44", "99 1 1")
    expect(page.locator("#lines li")).to_have_count(2)
    expect(page.locator("#lines .tag.open")).to_have_count(2)
    assert locale == "en" or {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.locator("#line").fill("")
    type_in(page, "5 12 57")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert locale == "en" or {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
