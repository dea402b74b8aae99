"""The hall of a live sale in a real Chromium: the screen follows the block, and a bidder takes the ask by one press."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.browser.people import FOLLOWS, BrowserVisitor, broken_rules, go_offline, intercept, wait_for_stream
from tests.fixtures_house import House, User
from tests.sales.live_sale import LiveSale

Enter = Callable[..., BrowserVisitor]
PHONE = {"width": 360, "height": 740}
PROJECTOR = {"width": 1280, "height": 720}
PLACES = """[...document.querySelectorAll('.next-lots .photo, .coming')].map(
    (one) => [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom])"""
SETTLED = 700
"""After so many milliseconds a button takes a press."""


def opened(enter: Enter, sale: LiveSale, user: User | None, path: str = "live", **options: object) -> Page:
    """Open a page of the hall, once it follows the block."""
    page = enter(user, **options).page
    page.goto(f"/sales/{sale.gid}/{path}")
    wait_for_stream(page)
    return page


def bid_button(page: Page, words: str) -> None:
    """Wait until the button has these words and takes a press, and press it."""
    expect(page.locator("#ask-now button")).to_have_text(words)
    page.wait_for_timeout(SETTLED)
    page.locator("#ask-now button").click()


def test_the_screen_follows_the_block(enter: Enter, sqlite_house: House) -> None:
    """Call, bids, warnings, the hammer, the pause and the end appear by themselves; so do the next lots."""
    sale = LiveSale(sqlite_house, 2)
    screen, following = opened(enter, sale, None, "screen"), opened(enter, sale, None, "next")
    state = screen.locator("#hall-state")
    expect(state).to_contain_text("The sale begins soon")
    sale.act("call")
    expect(state).to_contain_text("Lot 1")
    expect(state).to_contain_text("€10.00")
    expect(following.locator(".next-lots li")).to_have_count(1)
    expect(following.get_by_role("heading", level=1)).to_have_text("After lot 1")
    sale.act("bid", amount="10")
    expect(state.locator(".leader")).to_have_text("the hall")
    bidder = sale.bidder()
    bidder.bid(sale.lots[0], amount="15")
    expect(state.locator(".leader")).to_contain_text("paddle")
    expect(state.locator(".leader")).to_contain_text("online")
    sale.act("warn")
    expect(state.locator(".stage")).to_have_text("Fair warning")
    sale.act("warn")
    expect(state.locator(".stage")).to_have_text("Final call")
    sale.act("sell")
    expect(state.locator(".verdict")).to_have_text("Sold")
    expect(state.locator(".price")).to_contain_text("€15.00")
    expect(screen.locator("#said")).to_have_text("Lot 1: Sold, €15.00.")
    sale.act("call")
    sale.staff.json("POST", f"/sales/{sale.gid}/pause")
    expect(state).to_contain_text("Pause")
    sale.staff.json("POST", f"/sales/{sale.gid}/resume")
    sale.act("pass")
    expect(state.locator(".verdict")).to_have_text("Passed")
    sale.act("end")
    expect(state).to_contain_text("The sale is over")


def test_a_screen_survives_a_cut_network(enter: Enter, sqlite_house: House) -> None:
    """A screen without a connection says so; once there is one, it shows the block as it is then."""
    sale = LiveSale(sqlite_house)
    sale.act("call")
    page = opened(enter, sale, None, "screen")
    expect(page.locator("#hall-state")).to_contain_text("Lot 1")
    go_offline(page)
    page.evaluate(f"{FOLLOWS}.cancel()")
    expect(page.locator("#offline")).to_be_visible()
    sale.act("skip")
    sale.act("call")
    page.context.set_offline(False)
    expect(page.locator("#hall-state .lot-label")).to_have_text("Lot 2")
    expect(page.locator("#offline")).to_be_hidden()


def test_a_bidder_bids_and_is_outbid(enter: Enter, sqlite_house: House) -> None:
    """One press bids the ask and says that it leads; a bid of the hall says outbid, and the button has the next ask."""
    sale = LiveSale(sqlite_house)
    page = opened(enter, sale, sale.bidder(), viewport=PHONE)
    expect(page.locator("#ask-now button")).to_have_count(0)
    sale.act("call")
    bid_button(page, "Bid €10.00")
    expect(page.locator("#ask-result")).to_have_attribute("data-result", "leading")
    expect(page.locator("#ask-now")).to_contain_text("You lead at €10.00.")
    sale.act("bid", amount="15")
    expect(page.locator("#ask-now")).to_contain_text("You were outbid.")
    expect(page.locator("#ask-result")).to_have_count(0)
    expect(page.locator("#said")).to_contain_text("You were outbid. the hall leads at €15.00. The ask is €20.00.")
    page.wait_for_timeout(SETTLED)
    page.locator("#ask-now button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#ask-result")).to_have_text("Your bid stands: you lead at €20.00.")
    sale.act("sell")
    expect(page.locator(".own-result")).to_have_text("You won this lot for €20.00.")


def test_another_ask_is_refused_with_the_new_one(enter: Enter, sqlite_house: House) -> None:
    """A bid that another one overtakes on its way is refused, and the button names the new ask at once."""
    sale = LiveSale(sqlite_house)
    page = opened(enter, sale, sale.bidder())
    sale.act("call")

    def overtake(route: Route) -> None:
        sale.act("bid", amount="10")
        route.continue_()

    intercept(page, "**/ask", overtake)
    bid_button(page, "Bid €10.00")
    expect(page.locator("#ask-result")).to_have_attribute("data-result", "refused")
    expect(page.locator("#ask-said")).to_have_text("Too late: the ask is €15.00 now. Your bid was not taken.")
    expect(page.locator("#ask-now button")).to_have_text("Bid €15.00")


def test_a_press_for_one_lot_never_bids_on_the_next(enter: Enter, sqlite_house: House) -> None:
    """A press that begins on one lot's button and ends on the next one's, or comes right after the change, bids on neither."""
    sale = LiveSale(sqlite_house)
    page = opened(enter, sale, sale.bidder())
    sale.act("call")
    button = page.locator("#ask-now button")
    expect(button).to_have_text("Bid €10.00")
    page.wait_for_timeout(SETTLED)
    button.hover()
    page.mouse.down()
    sale.act("skip")
    sale.act("call")
    expect(page.locator(".on-block .lot-label")).to_have_text("Lot 2")
    page.wait_for_timeout(SETTLED)
    page.mouse.up()
    page.evaluate(f"""new MutationObserver((_, watcher) => {{
        const button = document.querySelector("#ask-now button[data-ask^='{sale.lots[2]}']");
        if (!button) return;
        watcher.disconnect();
        document.getElementById("ask-said").replaceChildren();
        button.dispatchEvent(new PointerEvent("pointerdown", {{ bubbles: true }}));
        button.click();
    }}).observe(document.body, {{subtree: true, childList: true, attributes: true}})""")
    sale.act("skip")
    sale.act("call")
    expect(page.locator(".on-block .lot-label")).to_have_text("Lot 3")
    expect(page.locator("#ask-said")).to_have_text("The button has just changed. Read it, then press again.")
    assert [0, 0, 0] == [sale.staff.json("GET", f"/auctions/{lot}")["bidCount"] for lot in sale.lots]


def test_a_lost_answer_is_asked_for(enter: Enter, sqlite_house: House) -> None:
    """If the answer to a bid is lost, the page says so, and asks until it knows that the bid has arrived, once."""
    sale = LiveSale(sqlite_house)
    page = opened(enter, sale, sale.bidder())
    sale.act("call")
    seen: list[str] = []

    def lose(route: Route) -> None:
        seen.append(route.request.post_data or "")
        if len(seen) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    intercept(page, "**/ask", lose)
    bid_button(page, "Bid €10.00")
    expect(page.locator("#ask-result")).to_have_text("Your bid stands: you lead at €10.00.")
    assert "asked=1" in seen[-1]
    assert 1 == sale.staff.json("GET", f"/auctions/{sale.lots[0]}")["bidCount"]


def test_the_page_of_the_lot_takes_the_ask(enter: Enter, sqlite_house: House) -> None:
    """On the block the page of a lot has the same button in place of the form, and follows the ask."""
    sale = LiveSale(sqlite_house)
    page = enter(sale.bidder()).page
    page.goto(f"/lots/{sale.lots[0]}")
    expect(page.locator("#amount")).to_be_visible()
    sale.act("call")
    expect(page.locator("#amount")).to_have_count(0)
    sale.act("bid", amount="10")
    bid_button(page, "Bid €15.00")
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €15.00.")
    expect(page.locator("#ask-now button")).to_have_count(0)
    sale.act("bid", amount="20")
    expect(page.locator("#ask-now button")).to_have_text("Bid €25.00")


def test_the_screens_fill_the_window(enter: Enter, sqlite_house: House) -> None:
    """On a projector the screens are as high as the window, the next lots stand apart, and nothing is cut, also in a pause."""
    sale = LiveSale(sqlite_house, 7)
    sale.act("call")
    sale.act("bid", amount="10")
    screen = opened(enter, sale, None, "screen", viewport=PROJECTOR, locale="de")
    following = opened(enter, sale, None, "next", viewport=PROJECTOR, locale="de")
    sale.staff.json("POST", f"/sales/{sale.gid}/pause")
    for page in (screen, following):
        expect(page.locator("#hall-state")).to_contain_text("Pause")
        assert PROJECTOR["height"] == page.evaluate("document.getElementById('hall-state').offsetHeight")
    expect(following.locator(".next-lots li")).to_have_count(5)
    places = following.evaluate(PLACES)
    assert all(below[0] >= above[1] for above, below in itertools.pairwise(places)), places
    assert places[-1][1] <= PROJECTOR["height"]


def test_the_pages_of_the_hall_are_accessible(enter: Enter, sqlite_house: House) -> None:
    """axe finds no fault on the three pages, in light and in dark, and on a phone none is wider than it, in German."""
    sale = LiveSale(sqlite_house)
    bidder = sale.bidder()
    sale.act("call")
    sale.act("bid", amount="10")
    sale.act("warn")
    for path in ("screen", "next", "live"):
        page = opened(enter, sale, bidder, path, viewport=PHONE, locale="de")
        assert {} == broken_rules(page), path
        assert 360 == page.evaluate("document.documentElement.scrollWidth"), path
