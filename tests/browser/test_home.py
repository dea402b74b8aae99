"""Home in a real browser: live cards, search, order, pages, and accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from saleroom.bidding.web.home import LOTS_PER_PAGE
from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House, User

Open = Callable[..., Page]


@pytest.fixture
def open_home(enter: Callable[..., BrowserVisitor]) -> Open:
    """Return a function that opens home, with or without a query, in a new browser."""

    def another(path: str = "/", **options: Any) -> Page:
        page = enter(**options).page
        page.goto(path)
        return page

    return another


def later(**by: float) -> str:
    """Return a time from now, as the API reads it."""
    return (datetime.now(UTC) + timedelta(**by)).isoformat()


def first_of_all(page: Page) -> None:
    """Let the page fetch a list a second after its news; other readers take up to seven, so as not to come all at once."""
    page.evaluate("Math.random = () => 0")


def names(page: Page) -> list[str]:
    """Return the names of the lots on the page."""
    return page.locator(".lot-card h2").all_text_contents()


def test_prices_and_results_come_by_themselves(open_home: Open, sqlite_house: House, seller: User) -> None:
    """A bid, a moved end and a result appear on the card without a reload. The focus stays."""
    gid = seller.auction(name="Violin", endsAt=later(seconds=60))
    page = open_home(f"/?author={seller.name}")
    card = page.locator(f"#card-{gid}")
    expect(card).to_contain_text("€10.00 no bids yet")
    end = card.locator("time").get_attribute("datetime")
    page.get_by_role("link", name="Violin").focus()
    sqlite_house.user("grace").bid(gid, amount="12.5")
    expect(card).to_contain_text("€12.50 1 bid")
    assert end != card.locator("time").get_attribute("datetime")
    expect(page.get_by_role("link", name="Violin")).to_be_focused()
    expect(page.locator(".state.changed")).to_have_count(1)
    another = seller.auction(name="Not on this page")
    open_ended = seller.auction()
    page.reload()
    seller.json("POST", f"/auctions/{open_ended}/close", json={})
    expect(page.locator(f"#card-{open_ended}")).to_contain_text("Closed without bids")
    expect(page.locator(f"#card-{another}")).to_contain_text("Open until the seller closes it")


def test_one_finds_by_typing(open_home: Open, sqlite_house: House, seller: User) -> None:
    """The list follows the typed text. Its count is announced, the address has the search, and the focus stays."""
    for name in ("Brass telescope", "Brass lamp", "Oak chest"):
        seller.auction(name=name)
    page = open_home(f"/?author={seller.name}&sort=newest")
    expect(page.locator("#count")).to_have_text("3 lots")
    live = page.evaluate("document.getElementById('count').role")
    page.evaluate("window.untouched = document.getElementById('count')")
    field = page.get_by_label("Search the lots")
    field.press_sequentially("BRASS", delay=20)
    expect(page.locator("#count")).to_have_text("2 lots")
    assert (["Brass lamp", "Brass telescope"], "status") == (names(page), live)
    assert page.evaluate("window.untouched === document.getElementById('count')"), "a new region announces nothing"
    expect(field).to_be_focused()
    query = parse_qs(urlsplit(page.url).query)
    assert {"q": ["BRASS"], "author": [seller.name], "sort": ["newest"]} == query
    page.get_by_role("link", name="Brass lamp").click()
    expect(page).to_have_title("Brass lamp · Saleroom")
    page.go_back()
    expect(page.locator("#count")).to_have_text("2 lots")
    expect(page.get_by_label("Search the lots")).to_have_value("BRASS")
    page.get_by_label("Search the lots").fill("nothing like it")
    expect(page.locator("#catalogue")).to_contain_text("No lot matches “nothing like it”.")
    page.get_by_role("link", name="Show all of them").click()
    expect(page.locator("#count")).to_have_text("3 lots")


def test_the_cards_of_a_search_are_live(open_home: Open, sqlite_house: House, seller: User) -> None:
    """The cards that a search has found are live, like those before it."""
    gid = seller.auction(name="Brass telescope")
    seller.auction(name="Oak chest")
    page = open_home(f"/?author={seller.name}")
    page.get_by_label("Search the lots").press_sequentially("brass")
    expect(page.locator("#count")).to_have_text("1 lot")
    sqlite_house.user("grace").bid(gid, amount="33")
    expect(page.locator(f"#card-{gid}")).to_contain_text("€33.00")


def test_an_order_is_chosen(open_home: Open, seller: User) -> None:
    """A new order sorts the list at once and is in the address. The other lists keep it."""
    for name, price in (("Dear", "90"), ("Cheap", "10"), ("Fair", "50")):
        seller.auction(name=name, startingPrice=price)
    page = open_home(f"/?author={seller.name}")
    page.get_by_label("Order").select_option("Lowest price first")
    expect(page.locator(".lot-card h2").first).to_have_text("Cheap")
    assert ["Cheap", "Fair", "Dear"] == names(page)
    expect(page).to_have_url(re.compile("[?&]sort=price(&|$)"))
    page.get_by_role("link", name="Over").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Lots of {seller.name}")
    expect(page.get_by_label("Order")).to_have_value("price")


def test_one_turns_pages_without_scripts(open_home: Open, seller: User) -> None:
    """Search, order, pages and the way back are links and a form, and work without JavaScript."""
    for number in range(LOTS_PER_PAGE + 2):
        seller.auction(name=f"Lot {number:02}", startingPrice=str(100 - number))
    page = open_home(f"/?author={seller.name}", java_script_enabled=False)
    expect(page.locator(".countdown").first).to_be_hidden()
    page.get_by_label("Order").select_option("Lowest price first")
    page.get_by_label("Search the lots").fill("lot")
    page.get_by_role("button", name="Search").click()
    first = names(page)
    page.get_by_role("link", name="Next page").click()
    assert [f"Lot {number:02}" for number in range(LOTS_PER_PAGE + 1, -1, -1)] == first + names(page)
    page.get_by_role("link", name="First page").click()
    assert first == names(page)


def test_a_lot_that_is_searched_for_by_enter(open_home: Open, seller: User) -> None:
    """Enter in the field searches at once and stays on the page. A click on a card right after typing still opens the lot."""
    seller.auction(name="Brass telescope")
    page = open_home(f"/?author={seller.name}")
    page.get_by_label("Search the lots").fill("brass")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1 lot")
    page.get_by_label("Search the lots").fill("brass tele")
    page.get_by_role("link", name="Brass telescope").click()
    expect(page).to_have_title("Brass telescope · Saleroom")


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing(open_home: Open, sqlite_house: House, seller: User, width: int) -> None:
    """axe finds no fault in any list, full or empty, in light and dark, and nothing is wider than a phone."""
    seller.auction(name="W" * 200, startingPrice="99999999999999998.001", endsAt=later(minutes=3))
    seller.auction(name="Soon", startsAt=later(days=1))
    sold = seller.auction(name="Sold")
    sqlite_house.user("a-very-long-username-of-32-chars").bid(sold, amount="12.5")
    seller.json("POST", f"/auctions/{sold}/close", json={})
    page = open_home(viewport={"width": width, "height": 740})
    found = {}
    for query in ("", "&status=scheduled", "&status=over", "&q=nothing+like+it", "&after=rubbish"):
        page.goto(f"/?author={seller.name}{query}")
        found[query] = broken_rules(page)
        assert width == page.evaluate("document.documentElement.scrollWidth"), query
    assert {query: {} for query in found} == found


def test_the_keyboard_reaches_everything(open_home: Open, seller: User) -> None:
    """Tab reaches each link, field and button in order, and each shows that it has the focus."""
    for number in range(3):
        seller.auction(name=f"Lot {number}")
    page = open_home(f"/?author={seller.name}")
    expected = page.evaluate(
        "[...document.querySelectorAll('a[href], button, select, input:not([type=hidden])')]"
        ".filter(e => e.checkVisibility()).map(e => e.outerHTML)"
    )
    reached = []
    for _ in expected:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.outerHTML"))
        assert page.evaluate(SHOWS_FOCUS), reached[-1]
    assert expected == reached


SHOWS_FOCUS = """() => {
    const around = [];
    for (let e = document.activeElement; e; e = e.parentElement) around.push(getComputedStyle(e));
    return around.some(style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2);
}"""


def test_an_open_list_follows_the_sale(open_home: Open, sqlite_house: House, seller: User) -> None:
    """On an open page a sold lot leaves the list, a new one joins it and is live, and the count is right."""
    sold = seller.auction(name="Violin", startingPrice="10")
    seller.auction(name="Clock", startingPrice="20")
    page = open_home(f"/?author={seller.name}&sort=price")
    first_of_all(page)
    expect(page.locator("#count")).to_have_text("2 lots")
    seller.json("POST", f"/auctions/{sold}/close", json={})
    expect(page.locator("#count")).to_have_text("1 lot")
    assert ["Clock"] == names(page)
    new = seller.auction(name="Newcomer", startingPrice="5")
    expect(page.locator("#count")).to_have_text("2 lots")
    assert ["Newcomer", "Clock"] == names(page)
    sqlite_house.user("grace").bid(new, amount="33")
    expect(page.locator(f"#card-{new}")).to_contain_text("€33.00")


def test_an_empty_list_fills_by_itself(open_home: Open, seller: User) -> None:
    """The page of a seller without lots shows the first one as soon as it is on sale, and the results show the outcome."""
    page, results = (open_home(f"/?author={seller.name}{query}") for query in ("", "&status=over"))
    for one in (page, results):
        first_of_all(one)
    gid = seller.auction(name="The first one")
    expect(page.locator("#count")).to_have_text("1 lot")
    assert ["The first one"] == names(page)
    seller.json("POST", f"/auctions/{gid}/close", json={})
    expect(results.locator("#count")).to_have_text("1 lot")
    expect(page.locator("#count")).to_have_text("No lots")


def test_a_list_waits_while_the_reader_is_at_a_card(open_home: Open, seller: User) -> None:
    """A list is not moved under the pointer: it changes once the pointer rests or leaves."""
    gid = seller.auction(name="Violin", startingPrice="10")
    seller.auction(name="Clock", startingPrice="20")
    page = open_home(f"/?author={seller.name}&sort=price")
    page.clock.install()
    page.locator(".lot-card").nth(1).hover()
    page.evaluate("window.hand = setInterval(() => dispatchEvent(new PointerEvent('pointermove')), 500)")
    seller.json("POST", f"/auctions/{gid}/close", json={})
    expect(page.locator(f"#card-{gid}")).to_contain_text("Closed without bids")
    page.clock.run_for(8_000)
    assert ["Violin", "Clock"] == names(page)
    page.evaluate("clearInterval(window.hand)")
    page.clock.run_for(12_000)
    expect(page.locator("#count")).to_have_text("1 lot")


def test_cards_are_marked_for_their_reader(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, seller: User
) -> None:
    """Each reader's card says whether the reader leads or was outbid, live; a stranger's says neither. A reserve is marked."""
    gid = seller.auction(name="Violin", reservePrice="777")
    grace, linus = sqlite_house.newcomer(), sqlite_house.newcomer()
    pages = {who: enter(user).page for who, user in (("grace", grace), ("linus", linus), ("nobody", None))}
    for page in pages.values():
        page.goto(f"/?author={seller.name}")
        expect(page.locator(".lot-card .marks")).to_have_text("Has a reserve")
    grace.bid(gid, amount="20")
    expect(pages["grace"].locator(".marks")).to_have_text("You lead Reserve not met", use_inner_text=True)
    for _ in range(2):
        linus.bid(gid, maximum="30")
        expect(pages["grace"].locator(".marks")).to_contain_text("Outbid")
        expect(pages["linus"].locator(".marks")).to_contain_text("You lead")
        expect(pages["nobody"].locator(".marks")).to_have_text("Reserve not met")
        pages["grace"].reload()
    grace.bid(gid, maximum="30")
    for _ in range(2):
        expect(pages["grace"].locator(".marks")).to_contain_text("Equal bid")
        pages["grace"].reload()
    grace.bid(gid, amount="800")
    expect(pages["linus"].locator(".marks")).to_contain_text("Outbid")
    expect(pages["nobody"].locator(".marks")).to_have_text("Reserve met")
    # Three digits alone may stand in the random text of a form.
    assert not re.search('777[.]00|"777', "".join(page.content() for page in pages.values()))
    seller.json("POST", f"/auctions/{gid}/close", json={})
    expect(pages["grace"].locator(".marks")).to_have_text("Won")


def test_a_card_has_a_star(enter: Callable[..., BrowserVisitor], sqlite_house: House, seller: User) -> None:
    """The star on a card watches its lot and stays on the page. A stranger sees none. axe finds no fault."""
    user = sqlite_house.newcomer()
    gid = seller.auction(name="Starred", reservePrice="100", endsAt=later(minutes=30))
    user.bid(gid, amount="20")
    page = enter(user).page
    page.goto(f"/?author={seller.name}")
    page.get_by_role("button", name="Watch Starred").click()
    expect(page.get_by_role("button", name="Watching Starred")).to_have_attribute("aria-pressed", "true")
    assert [gid] == [one["gid"] for one in user.json("GET", "/me/watching")["auctions"]]
    assert {} == broken_rules(page)
    page.reload()
    page.get_by_role("button", name="Watching Starred").click()
    expect(page.get_by_role("button", name="Watch Starred")).to_be_visible()
    assert page.url.endswith(f"/?author={seller.name}")
    stranger = enter().page
    stranger.goto(f"/?author={seller.name}")
    expect(stranger.locator(".star")).to_have_count(0)


def test_one_goes_from_lot_to_lot(open_home: Open, sqlite_house: House) -> None:
    """A lot's page leads to the lots before and after it by end; the way back is the same. Results have their own order."""
    seller = sqlite_house.newcomer()
    gids = {
        name: seller.auction(name=name, endsAt=later(days=900, hours=n))
        for n, name in enumerate(("One", "Two", "Three"))
    }
    page = open_home(f"/lots/{gids['One']}")
    for name in ("Two", "Three"):
        page.get_by_role("link", name=f"Next lot: {name}").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.get_by_role("link", name="Previous lot: Two").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two")
    seller.delete(f"/auctions/{gids['Two']}")
    page.goto(f"/lots/{gids['One']}")
    page.get_by_role("link", name="Next lot: Three").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Three")
