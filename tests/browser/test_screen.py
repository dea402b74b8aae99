"""The hall's screen in a real browser: it follows the bids, shows the result, and moves on to the next lot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import cycle, pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from saleroom.bidding.web.screen import RESULT_SECONDS
from tests.browser.people import BrowserVisitor, broken_rules, wait_for_stream
from tests.fixtures_house import House, User
from tests.fixtures_process import Start, Visit
from tests.process import wait_until

Open = Callable[..., Page]


@pytest.fixture
def open_screen(enter: Callable[..., BrowserVisitor]) -> Open:
    """Return a function that opens a lot's screen in a new browser, whose clock the test can turn forward.

    It returns once the screen follows its lot: a request that still waits for its answer would time out when the
    clock is turned by minutes.
    """

    def another(gid: str, query: str = "", **options: Any) -> Page:
        page = enter(**options).page
        page.clock.install()
        page.goto(f"/lots/{gid}/screen{query}")
        if options.get("java_script_enabled", True):
            wait_for_stream(page)
        return page

    return another


TIMERS = """
window.timers = new Set();
for (const kind of ["Timeout", "Interval"]) {
    const [set, clear] = [window[`set${kind}`], window[`clear${kind}`]];
    window[`set${kind}`] = (act, ...rest) => {
        const timer = set((...args) => { if (kind === "Timeout") timers.delete(timer); act(...args); }, ...rest);
        timers.add(timer);
        return timer;
    };
    window[`clear${kind}`] = (timer) => { timers.delete(timer); clear(timer); };
}
"""
"""Keeps the timers of a page that have yet to act."""


def later(**by: float) -> str:
    """Return a time from now, as the API reads it."""
    return (datetime.now(UTC) + timedelta(**by)).isoformat()


def wait_for_the_next(page: Page) -> None:
    """Turn the screen's clock past the time for which a result stays."""
    page.clock.fast_forward(RESULT_SECONDS * 1000 + 100)


def test_a_screen_follows_its_lot_to_the_next(open_screen: Open, sqlite_house: House, seller: User) -> None:
    """Bids, a moved end and the result appear by themselves. Then the next lot takes over, and is live too."""
    first = seller.auction(name="First lot", endsAt=later(seconds=100))
    page = open_screen(first, f"?author={seller.name}")
    state = page.locator("#screen-state")
    expect(state).to_contain_text("€10.00")
    sqlite_house.user("grace").bid(first, amount="25")
    expect(state).to_contain_text("€25.00")
    expect(state).to_contain_text("Leader grace")
    expect(state).to_contain_text("A late bid has moved the end.")
    expect(page.locator("#said")).to_have_text("grace leads with €25.00 A late bid has moved the end.")
    opened = seller.auction(name="Opened at the desk")
    sqlite_house.user("linus").bid(opened, amount="70")
    page.goto(f"/lots/{opened}/screen?author={seller.name}")
    seller.json("POST", f"/auctions/{opened}/close", json={})
    expect(page.locator(".verdict")).to_have_text("Sold")
    expect(state).to_contain_text("€70.00")
    expect(state).to_contain_text("Goes to linus")
    page.evaluate("window.untouched = true")
    wait_for_the_next(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("First lot")
    expect(page).to_have_url(f"{sqlite_house.base}/lots/{first}/screen?author={seller.name}")
    assert page.evaluate("window.untouched"), "to load another page would end the full screen"
    expect(page).to_have_title("First lot · Saleroom")
    sqlite_house.user("linus").bid(first, amount="40")
    expect(state).to_contain_text("€40.00")


def test_a_screen_waits_for_a_next_lot(open_screen: Open, seller: User) -> None:
    """If there is no other lot, the screen says so, asks again, and shows the next lot that opens."""
    gid = seller.auction(name="The last one")
    page = open_screen(gid, f"?author={seller.name}")
    seller.json("POST", f"/auctions/{gid}/close", json={})
    expect(page.locator(".verdict")).to_have_text("Not sold")
    wait_for_the_next(page)
    expect(page.locator("#onward")).to_have_text("No other lot is on sale just now. This screen waits for one.")
    seller.auction(name="One more")
    wait_for_the_next(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("One more")


def test_a_screen_does_not_grow(open_screen: Open, sqlite_house: House, seller: User) -> None:
    """After many bids and lots the page has no more elements, streams or timers than at the beginning."""
    gids = [seller.auction(name="Lot of a long evening") for _ in range(4)]
    page = open_screen(gids[0], f"?author={seller.name}")
    streams: set[Request] = set()
    page.on("request", lambda request: streams.add(request) if "/live" in request.url else None)
    for end in ("requestfinished", "requestfailed"):
        page.on(end, lambda request: streams.difference_update([request]))
    page.add_init_script(TIMERS)
    page.reload()
    wait_until(lambda: len(streams) == 1)

    def fill(gid: str, first: int) -> None:
        for amount in range(first, first + 6):
            sqlite_house.user("grace" if amount % 2 else "linus").bid(gid, amount=str(amount))
        expect(page.locator("#screen-state")).to_contain_text(f"€{first + 5}.00")

    def size() -> list[int]:
        return [*page.evaluate("[document.querySelectorAll('*').length, timers.size]"), len(streams)]

    fill(gids[0], 10)
    before = [size()[0], 3, 1]  # a timer each asks for the next lot, for a new page, and whether the stream is silent
    fill(gids[0], 20)
    wait_until(lambda: size() == before)
    for gid, following in pairwise(gids):
        seller.json("POST", f"/auctions/{gid}/close", json={})
        expect(page.locator(".verdict")).to_be_visible()
        wait_for_the_next(page)
        expect(page.locator(".verdict")).to_have_count(0)
        expect(page).to_have_url(f"{sqlite_house.base}/lots/{following}/screen?author={seller.name}")
        fill(following, 10)
        wait_until(lambda: size() == before)


def test_a_screen_goes_on_after_the_house_was_away(chromium: Browser, start: Start, visit: Visit) -> None:
    """If the house is killed and comes back, the screen follows it again without any input."""
    house = start()
    client = visit(house)
    ada, grace = client.enter("ada"), client.enter("grace")
    gid = client.sell(ada, startingPrice="10")
    visitor = BrowserVisitor(chromium, house.url)
    visitor.page.goto(f"/lots/{gid}/screen")
    client.post(f"/auctions/{gid}/bids", grace, {"amount": "11"})
    expect(visitor.page.locator("#screen-state")).to_contain_text("€11.00")
    house.kill()
    expect(visitor.page.locator("#offline")).to_be_visible()
    house = start("--port", str(urlsplit(house.url).port))
    client.post(f"/auctions/{gid}/bids", client.enter("linus"), {"amount": "20"})
    expect(visitor.page.locator("#screen-state")).to_contain_text("€20.00")
    visitor.leave()


def test_the_time_turns_brass_and_then_red(open_screen: Open, seller: User) -> None:
    """The time left changes its colour in the last five minutes, and again in the last one."""
    page = open_screen(seller.auction(endsAt=later(minutes=7)))
    # The clock of the house does not leap, and the page would ask for its time after each silence.
    page.evaluate("document.querySelector('[hx-sse\\\\:connect]').remove()")
    place = page.locator(".countdown")
    colours = [place.evaluate("e => getComputedStyle(e).color")]
    for _ in range(2):
        # The question for the next lot would time out if it still waited for its answer.
        expect(page.locator("#coming.htmx-request")).to_have_count(0)
        page.clock.fast_forward("03:00")
        expect(place).not_to_have_css("color", colours[-1])
        colours.append(place.evaluate("e => getComputedStyle(e).color"))
    assert 3 == len(set(colours))


def test_a_screen_without_scripts(open_screen: Open, sqlite_house: House, seller: User) -> None:
    """Without JavaScript the screen shows the same, with the end in UTC, and reloads itself."""
    gid = seller.auction(endsAt=later(minutes=30))
    page = open_screen(gid, java_script_enabled=False)
    expect(page.locator("#screen-state")).to_contain_text("UTC")
    expect(page.get_by_role("button", name="Full screen")).to_be_hidden()
    sqlite_house.user("grace").bid(gid, amount="12")
    expect(page.locator("#screen-state")).to_contain_text("€12.00")


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1280, 720), (3840, 2160), (1024, 768)])
def test_nothing_scrolls_or_is_cut_off_on_a_projector(
    open_screen: Open, sqlite_house: House, seller: User, width: int, height: int
) -> None:
    """Long names and high amounts fit the screen, while the lot is open and when it is over."""
    gid = seller.auction(
        name="W" * 200, increment="1", startingPrice="99999999999999000.001", reservePrice="99999999999999999"
    )
    for number in range(5):
        name = "a-very-long-username-of-32-chars" if number % 2 else "grace"
        assert sqlite_house.user(name).bid(gid, amount=f"9999999999999900{number}.001").is_success
    page = open_screen(gid, viewport={"width": width, "height": height})
    for _ in range(2):
        page.locator("#screen-state .amount").wait_for()
        assert [width, height] == page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        )
        assert [] == page.evaluate(CUT_OFF)
        seller.post(f"/auctions/{gid}/close", json={})
        page.locator(".verdict").wait_for()


def test_an_upright_phone_scrolls_only_downwards(open_screen: Open, seller: User) -> None:
    """At 360 pixels nothing is wider than the screen."""
    page = open_screen(seller.auction(name="W" * 200), viewport={"width": 360, "height": 740})
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    assert page.evaluate("document.documentElement.scrollHeight >= document.querySelector('.way').offsetHeight")


def test_the_button_fills_the_screen(open_screen: Open, seller: User) -> None:
    """The button is reached by keyboard, fills the screen and disappears. An idle pointer is hidden."""
    page = open_screen(seller.auction())
    button = page.get_by_role("button", name="Full screen")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_be_hidden()
    assert page.evaluate("document.fullscreenElement === document.documentElement")
    page.clock.fast_forward("00:04")
    title = page.locator("h1")
    expect(title).to_have_css("cursor", "none")
    places = cycle((50, 90))

    def is_shown() -> bool:
        """Move on the pointer: it rests again after three seconds."""
        page.mouse.move(next(places), 50)
        return bool(title.evaluate("e => getComputedStyle(e).cursor !== 'none'"))

    wait_until(is_shown)


def named(house: House) -> str:
    """Return the address of a house under a name, as phones reach it."""
    return house.base.replace("127.0.0.1", "hall.test")


@pytest.mark.parametrize(("width", "height", "least"), [(1920, 1080, 0.26), (1024, 768, 0.34)])
def test_the_code_is_large_enough_for_the_last_row(
    open_screen: Open, sqlite_house: House, seller: User, width: int, height: int, least: float
) -> None:
    """The QR code takes a quarter of the width at least. With the step and the next lot all fits, and little is empty."""
    seller.auction(name="The second one", endsAt=later(minutes=9))
    gid = seller.auction(name="Longcase clock, Yorkshire, about 1790", endsAt=later(minutes=3), reservePrice="20")
    for number in range(6):
        sqlite_house.user("linus" if number % 2 else "grace").bid(gid, amount=str(20 + number))
    viewport = {"width": width, "height": height}
    page = open_screen(gid, f"?author={seller.name}", base_url=named(sqlite_house), viewport=viewport)
    code = page.locator(".code").bounding_box()
    assert code is not None
    assert code["width"] >= least * width
    expect(page.locator("#screen-state")).to_contain_text("Next bid €26.00")
    expect(page.locator("#coming")).to_have_text("Next: The second one")
    assert [] == page.evaluate(CUT_OFF)
    for column in (".aside", "#screen-state"):
        assert page.locator(column).evaluate(FILLED) > 0.8, column


def test_the_next_lot_follows_the_sale(open_screen: Open, seller: User) -> None:
    """If the next lot is over before its turn, the screen names the one after it."""
    gid = seller.auction(name="The first one", endsAt=later(minutes=3))
    second = seller.auction(name="The second one", endsAt=later(minutes=9))
    page = open_screen(gid, f"?author={seller.name}")
    expect(page.locator("#coming")).to_have_text("Next: The second one")
    seller.auction(name="The third one", endsAt=later(minutes=12))
    assert seller.delete(f"/auctions/{second}").is_success
    page.clock.fast_forward("00:21")
    expect(page.locator("#coming")).to_have_text("Next: The third one")


def test_a_screen_that_no_phone_can_reach_says_so(open_screen: Open, sqlite_house: House, seller: User) -> None:
    """Instead of a code for the computer's own address there is a warning that names the setting."""
    gid = seller.auction()
    page = open_screen(gid)
    expect(page.locator(".way")).to_contain_text("public_url")
    expect(page.locator(".code")).to_have_count(0)
    page = open_screen(gid, base_url=named(sqlite_house))
    expect(page.locator(".code")).to_be_visible()
    expect(page.locator(".way")).not_to_contain_text("public_url")


def test_axe_finds_nothing(open_screen: Open, sqlite_house: House, seller: User) -> None:
    """axe finds no fault while the lot is open and with its result. The code is dark on light in either scheme."""
    gid = seller.auction(reservePrice="11", endsAt=later(days=1))
    sqlite_house.user("grace").bid(gid, amount="12")
    page = open_screen(gid, base_url=named(sqlite_house))
    found = [broken_rules(page)]
    over = seller.auction(name="Over")
    sqlite_house.user("grace").bid(over, amount="12")
    seller.json("POST", f"/auctions/{over}/close", json={})
    page.goto(f"/lots/{over}/screen")
    page.locator(".verdict").evaluate("e => Promise.all(e.getAnimations().map(one => one.finished))")
    found.append(broken_rules(page))
    assert [{}, {}] == found
    page.goto(f"/lots/{gid}/screen")
    assert "rgb(255, 255, 255)" == page.locator(".code").evaluate("e => getComputedStyle(e).backgroundColor")


CUT_OFF = """() => [...document.querySelectorAll('.hall .amount data, .hall .leader, .hall .countdown, .hall .verdict, '
  + '.hall .onward, .hall .last tr, .hall .code, .hall .way a')].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.right > innerWidth || box.bottom > innerHeight || box.left < 0 || box.top < 0;
  }).map((e) => e.outerHTML)"""
FILLED = """e => {
    const boxes = [...e.children].map(one => one.getBoundingClientRect()).filter(box => box.height);
    const used = Math.max(...boxes.map(box => box.bottom)) - Math.min(...boxes.map(box => box.top));
    return used / e.getBoundingClientRect().height;
}"""
"""How much of an element's height, from 0 to 1, its children take."""
