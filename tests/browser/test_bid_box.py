"""The bid box in real browsers, when something comes between the bidder and the bid: a cut line, a lost session, others."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.people import BrowserVisitor, broken_rules, go_offline, intercept
from tests.browser.test_lot import bid, later
from tests.fixtures_house import PASSWORD, House, User

Enter = Callable[..., BrowserVisitor]
LOGGED_OUT = "You are no longer logged in."


def check(page: Page, amount: str = "", maximum: str = "") -> None:
    """Fill in the bid box, and go on to the confirmation."""
    if amount:
        page.get_by_label("Your bid").fill(amount)
    if maximum:
        page.get_by_label("Bid for me up to").fill(maximum)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Please check your bid")).to_be_visible()


def log_in_again(page: Page, user: User) -> None:
    """Follow the link to log in, and log in."""
    page.locator("[data-problem]").get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill(user.name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")


def end_session(page: Page, user: User, how: str) -> None:
    """End the session of an open page: in the house, or by the loss of its cookie, or of all cookies."""
    if how == "ended":
        user.json("DELETE", "/logout")
    elif how == "session":
        page.context.clear_cookies(name="saleroom_session")
    else:
        page.context.clear_cookies()


@pytest.fixture
def lot(sqlite_house: House) -> str:
    """An auction with one bid of €100."""
    gid = sqlite_house.user("ada").auction(startingPrice="100", increment="10")
    sqlite_house.user("hedy").bid(gid, amount="100")
    return gid


@pytest.mark.parametrize("how", ["ended", "session", "all"])
@pytest.mark.parametrize("step", ["first", "confirmation"])
def test_a_session_that_ended_is_told_in_the_box(
    enter: Enter, sqlite_house: House, lot: str, how: str, step: str
) -> None:
    """The box says that the session has ended, and keeps the amounts; a login leads back to the lot, with them."""
    user = sqlite_house.newcomer()
    page = enter(user).page
    page.goto(f"/lots/{lot}")
    page.get_by_label("Your bid").fill("130")
    page.get_by_label("Bid for me up to").fill("170")
    if step == "confirmation":
        check(page)
    end_session(page, user, how)
    page.locator("#lot-box form button").first.click()
    expect(page.locator("#lot-box [data-problem]")).to_contain_text(LOGGED_OUT)
    expect(page.get_by_label("Username")).to_have_count(0)
    if step == "first":
        expect(page.get_by_label("Your bid")).to_have_value("130")
    log_in_again(page, user)
    page.wait_for_url(f"**/lots/{lot}")
    expect(page.get_by_label("Your bid")).to_have_value("130")
    expect(page.get_by_label("Bid for me up to")).to_have_value("170")
    bid(page)
    expect(page.locator("#lot-result")).to_contain_text("Your bid stands: you lead at €130.00. Your limit is €170.00.")


@pytest.mark.parametrize("how", ["ended", "session", "all"])
def test_a_session_that_ended_is_told_beside_the_star(enter: Enter, sqlite_house: House, lot: str, how: str) -> None:
    """The star stays as it is, and beside it stands why; a login leads back to the same page."""
    user = sqlite_house.newcomer()
    page = enter(user).page
    page.goto(f"/lots/{lot}")
    end_session(page, user, how)
    page.get_by_role("button", name="Watch Longcase clock").click()
    expect(page.locator("[data-problem]")).to_contain_text(LOGGED_OUT)
    expect(page.get_by_role("button", name="Watch Longcase clock")).to_have_attribute("aria-pressed", "false")
    log_in_again(page, user)
    page.wait_for_url(f"**/lots/{lot}")
    expect(page.get_by_label("Your bid")).to_be_visible()


def test_a_session_that_ended_empties_no_list(enter: Enter, sqlite_house: House, lot: str) -> None:
    """An open list of one's own lots stays when it cannot be brought up to date, and says why."""
    user = sqlite_house.newcomer()
    user.bid(lot, amount="150")
    page = enter(user).page
    page.goto("/mine")
    expect(page.locator("#my-lots")).to_contain_text("Longcase clock")
    end_session(page, user, "ended")
    sqlite_house.user("hedy").bid(lot, amount="170")
    expect(page.locator("[data-problem]")).to_contain_text(LOGGED_OUT)
    expect(page.locator("#my-lots")).to_contain_text("Longcase clock")
    log_in_again(page, user)
    page.wait_for_url("**/mine")


@pytest.mark.parametrize("step", ["first", "confirmation"])
def test_a_login_in_another_tab_loses_no_bid(enter: Enter, sqlite_house: House, lot: str, step: str) -> None:
    """After another login, the first step goes on; what the old session confirmed is to be confirmed once more."""
    user = sqlite_house.newcomer()
    page = enter(user).page
    page.goto(f"/lots/{lot}")
    page.get_by_label("Your bid").fill("130")
    if step == "confirmation":
        check(page)
    tab = page.context.new_page()
    page.context.clear_cookies(name="saleroom_session")
    tab.goto("/login")
    tab.get_by_label("Username").fill(user.name)
    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/")
    if step == "confirmation":
        page.get_by_role("button", name="Bid €130.00").click()
        expect(page.locator("#lot-box")).to_contain_text("Nothing was done yet: check your bid once more.")
        assert 1 == sqlite_house.anyone.json("GET", f"/auctions/{lot}")["bidCount"]
    else:
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €130.00.")


@pytest.mark.parametrize("status", [413, 200])
def test_a_page_of_a_proxy_is_never_put_into_the_box(enter: Enter, sqlite_house: House, lot: str, status: int) -> None:
    """If something between answers with a page of its own, the box stays and says that there was no answer."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    intercept(
        page,
        "**/bid",
        lambda route: route.fulfill(status=status, content_type="text/html", body="<html><h1>nginx</h1>"),
    )
    page.get_by_label("Your bid").fill("130")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#lot-box [data-problem]")).to_contain_text("There was no answer.")
    expect(page.get_by_label("Your bid")).to_have_value("130")
    expect(page.get_by_text("nginx")).to_have_count(0)
    page.unroute("**/bid")
    check(page)
    page.route("**/bid", lambda route: route.fulfill(status=status, content_type="text/html", body="<html>"), times=1)
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("form.confirm .way")).to_contain_text("Not sent yet: try again.")


def test_a_bid_without_a_line_says_so_and_is_sent_once(enter: Enter, sqlite_house: House, lot: str) -> None:
    """A cut line is told at the confirmation; when it is back the page asks, says "not sent", and the retry counts."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    check(page, "130")
    key = page.locator("form.confirm [name=key]").input_value()
    go_offline(page)
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("form.confirm .way")).to_contain_text("No connection.")
    expect(page.locator("[data-problem]")).to_have_count(0)
    page.context.set_offline(False)
    expect(page.locator("form.confirm .way")).to_contain_text("Not sent yet: try again.")
    assert 1 == sqlite_house.anyone.json("GET", f"/auctions/{lot}")["bidCount"]
    assert key == page.locator("form.confirm [name=key]").input_value()
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €130.00.")
    assert 2 == sqlite_house.anyone.json("GET", f"/auctions/{lot}")["bidCount"]


def test_a_lost_answer_is_asked_for(enter: Enter, sqlite_house: House, lot: str) -> None:
    """If the bid arrives and its answer does not, the page asks until it knows, and shows the result: one bid."""
    page = enter(sqlite_house.newcomer()).page
    page.route("**/live?*", lambda route: route.abort())
    page.goto(f"/lots/{lot}")
    check(page, "130")
    seen: list[str] = []

    def lose(route: Route) -> None:
        sent = route.request.post_data or ""
        seen.append("asked" if "asked=1" in sent else "bid")
        if len(seen) == 1:
            route.fetch()
        if len(seen) < 3:
            route.abort()
        else:
            route.fallback()

    page.route("**/bid", lose)
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €130.00.")
    assert ["bid", "asked", "asked"] == seen
    assert 2 == sqlite_house.anyone.json("GET", f"/auctions/{lot}")["bidCount"]


def test_a_slow_line_says_that_the_bid_is_being_sent(enter: Enter, sqlite_house: House, lot: str) -> None:
    """While the answer is on its way the box says "Sending…"; then it shows the result."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    check(page, "130")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    intercept(page, "**/bid", hold)
    page.get_by_role("button", name="Bid €130.00").click()
    expect(page.locator("form.confirm .way")).to_have_text("Sending…")
    expect(page.locator("form.confirm button")).to_have_attribute("aria-busy", "true")
    assert {} == broken_rules(page)
    held[0].fallback()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €130.00.")


def test_the_first_step_on_a_slow_line_says_so_too(enter: Enter, sqlite_house: House) -> None:
    """The button that was pressed is busy until the answer comes. After a lost answer it can be pressed again."""
    gid = sqlite_house.user("ada").auction(startingPrice="100", buyNowPrice="500")
    page = enter(sqlite_house.newcomer(), viewport={"width": 320, "height": 640}).page
    page.goto(f"/lots/{gid}")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    intercept(page, f"**/lots/{gid}/b*", hold)
    for form, name in ((page.locator("form.bid"), "Continue"), (page.locator("form.buy"), "Buy now")):
        button, way = form.get_by_role("button", name=name), form.get_by_role("status")
        expect(way).to_have_text("")
        button.click()
        expect(way).to_have_text("Sending…")
        expect(button).to_have_attribute("aria-busy", "true")
        if form.get_attribute("class") == "bid":
            assert {} == broken_rules(page)
            assert 320 == page.evaluate("document.documentElement.scrollWidth")
        held.pop().abort()
        expect(button).to_have_attribute("aria-busy", "false")
        expect(way).to_have_text("")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("form.bid .way")).to_have_text("Sending…")
    held.pop().fallback()
    expect(page.get_by_role("heading", name="Please check your bid")).to_be_visible()


@pytest.mark.parametrize("live", [True, False])
def test_a_bid_that_was_overtaken_goes_on_in_one_step(enter: Enter, sqlite_house: House, lot: str, live: bool) -> None:
    """If somebody bids meanwhile, the confirmation offers the next possible bid: by itself, or after a click too late."""
    page = enter(sqlite_house.newcomer()).page
    if not live:
        page.route("**/live?*", lambda route: route.abort())
    page.goto(f"/lots/{lot}")
    check(page, "110")
    sqlite_house.user("ida").bid(lot, amount="150")
    if not live:
        page.get_by_role("button", name="Bid €110.00").click()
    expect(page.locator("#lot-box [role=alert]")).to_contain_text("Overtaken: bid €160.00 or more.")
    expect(page.get_by_role("button", name="Bid €110.00")).to_have_count(0)
    page.get_by_role("button", name="Bid €160.00").click()
    expect(page.locator("#lot-result")).to_contain_text("Your bid stands: you lead at €160.00.")


def test_a_limit_that_is_still_high_enough_stays(enter: Enter, sqlite_house: House, lot: str) -> None:
    """If somebody bids less than a limit that waits for its confirmation, the limit stays, and its bid rises."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    check(page, "110", "300")
    sqlite_house.user("ida").bid(lot, amount="150")
    expect(page.locator("form.confirm")).to_contain_text("You bid at least €160.00 at once.")
    page.get_by_role("button", name="Bid up to €300.00").click()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €160.00. Your limit is €300.00.")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_absurd_bid_is_typed_again(enter: Enter, sqlite_house: House, scripts: bool) -> None:
    """A bid of many times the price is placed only if its amount is typed once more."""
    gid = sqlite_house.user("ada").auction(startingPrice="3")
    page = enter(sqlite_house.newcomer(), java_script_enabled=scripts).page
    page.goto(f"/lots/{gid}")
    check(page, "99")
    expect(page.locator("form.confirm")).to_contain_text("This is 33 times the present price: sure?")
    page.get_by_label("Type the amount once more").fill("9")
    page.get_by_role("button", name="Bid €99.00").click()
    expect(page.locator("#again-fault")).to_contain_text("This is not the amount of your bid.")
    assert 0 == sqlite_house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]
    page.get_by_label("Type the amount once more").fill("99")
    page.get_by_role("button", name="Bid €99.00").click()
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €99.00.")


def test_the_focus_goes_to_the_result_and_on(enter: Enter, sqlite_house: House, lot: str) -> None:
    """After the confirmation the focus is on the result, which is a status; when that is over, on the standing."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    bid(page, "130")
    result = page.locator("#lot-result")
    expect(result).to_be_focused()
    expect(result).to_have_attribute("role", "status")
    expect(page.locator("#lot-panel")).to_contain_text("€130.00")
    expect(result).to_be_focused()
    expect(page.locator("#lot-standing")).to_be_hidden()
    sqlite_house.user("ida").bid(lot, amount="150")
    expect(page.locator("#lot-standing")).to_contain_text("You were outbid.")
    expect(page.locator("#lot-standing")).to_be_focused()
    expect(result).to_have_count(0)


def test_the_rule_for_late_bids_goes_with_the_end(enter: Enter, sqlite_house: House) -> None:
    """After the end nothing is said about late bids any more, even if the box itself is lost on its way."""
    ada = sqlite_house.user("ada")
    gid = ada.auction(endsAt=later(days=1), softClose={"window": 60, "extension": 60})
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{gid}")
    expect(page.locator("#lot-rule")).to_contain_text("in the last minute")
    intercept(page, "**/box", lambda route: route.abort())
    ada.patch(f"/auctions/{gid}", json={"endsAt": later(seconds=2)})
    expect(page.locator("#lot-standing")).to_contain_text("Not sold")
    for part in ("#lot-rule", "#lot-questions"):
        expect(page.locator(part)).to_be_hidden()


def test_steps_are_one_click_away(enter: Enter, sqlite_house: House, lot: str) -> None:
    """Beside the bid are buttons for some steps more, which follow the price and lead to the confirmation."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    expect(page.get_by_role("button", name="+ 1 step: €120.00")).to_be_visible()
    sqlite_house.user("ida").bid(lot, amount="150")
    page.get_by_role("button", name="+ 5 steps: €210.00").click()
    page.get_by_role("button", name="Bid €210.00").click()
    expect(page.locator("#lot-result")).to_contain_text("you lead at €210.00.")


def test_the_title_of_the_tab_says_outbid(enter: Enter, sqlite_house: House, lot: str) -> None:
    """A bidder who looks at another tab reads in the title that somebody has bid more, until they lead again."""
    user = sqlite_house.newcomer()
    user.bid(lot, amount="130")
    page = enter(user).page
    page.goto(f"/lots/{lot}")
    expect(page).to_have_title("Longcase clock · Saleroom")
    sqlite_house.user("ida").bid(lot, amount="150")
    expect(page).to_have_title("Outbid · Longcase clock · Saleroom")
    page.reload()
    expect(page).to_have_title("Outbid · Longcase clock · Saleroom")
    user.bid(lot, amount="200")
    expect(page).to_have_title("Longcase clock · Saleroom")


def test_a_visitor_reads_the_next_bid_as_it_is(enter: Enter, sqlite_house: House, lot: str) -> None:
    """The least bid in a stranger's box follows the price."""
    page = enter().page
    page.goto(f"/lots/{lot}")
    expect(page.locator("#lot-box")).to_contain_text("Bid €110.00 or more.")
    sqlite_house.user("ida").bid(lot, amount="150")
    expect(page.locator("#lot-box")).to_contain_text("Bid €160.00 or more.")


@pytest.mark.parametrize(("language", "words"), [("en", r"^\d+ secs? left$"), ("de", r"^noch \d+ Sek\.$")])
def test_the_last_seconds_are_told_as_people_say_it(
    enter: Enter, sqlite_house: House, language: str, words: str
) -> None:
    """In the last minute the time left has no minutes."""
    gid = sqlite_house.user("ada").auction(endsAt=later(seconds=50))
    page = enter(locale=language).page
    page.goto(f"/lots/{gid}")
    expect(page.locator("#lot-panel .clock .countdown")).to_have_text(re.compile(words))


def test_a_double_click_takes_the_focus_to_the_confirmation(enter: Enter, sqlite_house: House, lot: str) -> None:
    """A second click, while the first is on its way or on the button that has just come, moves no focus from the heading."""
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{lot}")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    intercept(page, "**/bid", hold)
    page.get_by_label("Your bid").fill("130")
    place = page.get_by_role("button", name="Continue").bounding_box()
    assert place is not None
    middle = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    with page.expect_request("**/bid"):
        page.mouse.click(*middle)
    page.mouse.click(*middle)
    held[0].continue_()
    heading = page.get_by_role("heading", name="Please check your bid")
    expect(heading).to_be_focused()
    assert 1 == len(held)
    button = page.get_by_role("button", name="Bid €130.00")
    button.evaluate("one => one.classList.add('fresh')")
    button.click(force=True)
    expect(heading).to_be_focused()
    assert 1 == len(held)
