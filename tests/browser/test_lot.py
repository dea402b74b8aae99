"""A lot's page in real browsers: users bid against each other, and each page is up to date without a reload."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.people import BrowserVisitor, broken_rules, intercept, wait_for_stream
from tests.fixtures_house import House
from tests.fixtures_process import Start, Visit
from tests.pictures import plain

Browse = Callable[..., BrowserVisitor]


@pytest.fixture
def browse(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> Browse:
    """Return a function that opens a page in a new browser, for a user who logs in with the form or for a stranger."""

    def come(name: str | None = None, path: str = "/", **options: Any) -> BrowserVisitor:
        visitor = enter(**options)
        if name is not None:
            visitor.log_in(sqlite_house.user(name).name)
        visitor.page.goto(path)
        return visitor

    return come


def later(**by: float) -> str:
    """Return a time from now, as the API reads it."""
    return (datetime.now(UTC) + timedelta(**by)).isoformat()


def bid(page: Page, amount: str = "", maximum: str = "") -> None:
    """Fill in the bid box, check the preview, and confirm it."""
    if amount:
        page.get_by_label("Your bid").fill(amount)
    if maximum:
        page.get_by_label("Bid for me up to").fill(maximum)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Please check your bid")).to_be_visible()
    page.locator("form.confirm button").click()


def test_two_people_bid_against_each_other(browse: Browse, sqlite_house: House) -> None:
    """Each page shows the leader, the outbid user, the price, the history and the next bid at once, without a reload."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    grace, linus = browse("grace", f"/lots/{gid}"), browse("linus", f"/lots/{gid}")
    bid(grace.page, "15")
    expect(grace.page.locator("#lot-box")).to_contain_text("Your bid stands: you lead at €15.00.")
    expect(grace.page.locator("#lot-standing")).to_contain_text("You lead at €15.00.")
    expect(linus.page.locator("#lot-panel")).to_contain_text("€15.00")
    expect(linus.page.get_by_label("Your bid")).to_have_value("16.00")
    expect(linus.page.locator("#announce")).to_contain_text("The price is now €15.00.")
    bid(linus.page, maximum="40")
    # The limit is shown beside it until the stream reports the bid, perhaps at once.
    expect(linus.page.locator("#lot-standing")).to_contain_text("You lead at €16.00.")
    expect(grace.page.locator("#lot-standing")).to_contain_text("You were outbid. linus leads at €16.00.")
    expect(grace.page.locator("#announce")).to_contain_text("You were outbid.")
    bid(grace.page, "30")
    expect(grace.page.locator("#lot-box")).to_contain_text("You were outbid at once")
    expect(grace.page.locator("#lot-standing")).to_contain_text("linus leads at €31.00.")
    expect(linus.page.locator("#lot-panel")).to_contain_text("€31.00")
    expect(linus.page.locator("#lot-history tbody tr")).to_have_count(4)
    assert ["31.000", "30.000", "16.000", "15.000"] == [
        row.get_attribute("data-amount") for row in linus.page.locator("#lot-history tbody tr").all()
    ]


def test_a_refused_bid_says_why(browse: Browse, sqlite_house: House) -> None:
    """A low bid or a malformed amount is refused at its field. If the price has risen since the preview, an alert says so."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    page = browse("grace").page
    page.route("**/live?*", lambda route: route.abort())  # a stream may always lag behind the click
    page.goto(f"/lots/{gid}")
    for wrong, why in (("9", "Bid €10.00 or more."), ("a lot", "Enter an amount"), ("1,5", "Did you mean")):
        page.get_by_label("Your bid").fill(wrong)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#amount-fault")).to_contain_text(why)
        expect(page.get_by_label("Your bid")).to_have_value(wrong)
    page.get_by_label("Your bid").fill("12")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Please check your bid")).to_be_focused()
    sqlite_house.user("linus").bid(gid, amount="20")
    page.locator("form.confirm button").click()
    expect(page.get_by_role("alert")).to_contain_text("Overtaken: bid €21.00 or more.")
    assert 1 == sqlite_house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]


def test_a_typed_amount_is_left_alone(browse: Browse, sqlite_house: House) -> None:
    """While a user types an amount, the price beside the field changes, and the typed text stays."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    page = browse("grace", f"/lots/{gid}").page
    page.get_by_label("Your bid").fill("99")
    sqlite_house.user("linus").bid(gid, amount="20")
    expect(page.locator("#lot-panel")).to_contain_text("€20.00")
    expect(page.get_by_label("Your bid")).to_have_value("99")


def test_the_leader_raises_the_limit(browse: Browse, sqlite_house: House) -> None:
    """Leaders see their limit and can raise it without a change of the price. A lower limit is refused."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    sqlite_house.user("grace").bid(gid, maximum="50")
    page = browse("grace", f"/lots/{gid}").page
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €10.00. Your limit is €50.00")
    page.get_by_label("Raise your limit to").fill("40")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#maximum-fault")).to_contain_text("You have a limit of €50.00 already.")
    page.get_by_label("Raise your limit to").fill("80")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Set the limit of €80.00").click()
    expect(page.locator("#lot-box")).to_contain_text("Your limit is now €80.00. You lead at €10.00.")


def test_a_late_bid_moves_the_end_and_says_so(browse: Browse, sqlite_house: House) -> None:
    """A bid in the last minutes moves the end. Every page shows the new end and announces it."""
    gid = sqlite_house.user("ada").auction(endsAt=later(seconds=60))
    page = browse("grace", f"/lots/{gid}").page
    before = page.locator("#lot-panel .clock time").get_attribute("datetime")
    sqlite_house.user("linus").bid(gid, amount="20")
    expect(page.locator("#lot-notice")).to_contain_text("The end has moved.")
    expect(page.locator("#announce")).to_contain_text("The end has moved.")
    after = page.locator("#lot-panel .clock time").get_attribute("datetime")
    assert before is not None
    assert after is not None
    assert before < after


def test_the_result_comes_by_itself(browse: Browse, sqlite_house: House) -> None:
    """At the close winner, loser, seller and stranger each see the result, and nobody can bid any more."""
    gid = sqlite_house.user("ada").auction()
    sqlite_house.user("linus").bid(gid, amount="12")
    sqlite_house.user("grace").bid(gid, amount="20")
    pages = {who: browse(who, f"/lots/{gid}").page for who in ("grace", "linus", "ada", None)}
    expect(pages["linus"].get_by_label("Your bid")).to_be_visible()
    sqlite_house.user("ada").json("POST", f"/auctions/{gid}/close", json={})
    expect(pages["grace"].locator("#lot-standing")).to_contain_text("You won this lot for €20.00. The seller is ada.")
    expect(pages["linus"].locator("#lot-standing")).to_contain_text(
        "You did not win. The lot went to grace for €20.00."
    )
    expect(pages["ada"].locator("#lot-standing")).to_contain_text("Sold to grace for €20.00.")
    expect(pages[None].locator("#lot-panel")).to_contain_text("to grace")
    for page in pages.values():
        expect(page.locator("#lot-panel")).to_contain_text("Hammer price")
        expect(page.locator("#lot-box form")).to_have_count(0)


def test_a_scheduled_lot_opens_by_itself(browse: Browse, sqlite_house: House) -> None:
    """The bid box appears when the lot opens, without a reload."""
    ada = sqlite_house.user("ada")
    gid = ada.auction(startsAt=later(days=1))
    page = browse("grace", f"/lots/{gid}").page
    expect(page.locator("#lot-box")).to_contain_text("Bidding has not started yet.")
    ada.json("PATCH", f"/auctions/{gid}", json={"startsAt": later(seconds=5)})
    expect(page.get_by_label("Your bid")).to_be_visible()


def test_one_buys_at_once(browse: Browse, sqlite_house: House) -> None:
    """A buyer confirms the price, and then the lot is theirs."""
    gid = sqlite_house.user("ada").auction(buyNowPrice="250")
    page = browse("grace", f"/lots/{gid}").page
    page.get_by_role("button", name="Buy now for €250.00").click()
    expect(page.locator("form.confirm")).to_contain_text("You buy this lot now for €250.00, and the auction is over.")
    page.get_by_role("button", name="Buy for €250.00").click()
    expect(page.locator("#lot-standing")).to_contain_text("You bought this lot for €250.00.")


def test_the_first_bid_ends_what_holds_until_then(browse: Browse, sqlite_house: House) -> None:
    """With the first bid, bidders' pages lose the buy-now price, and the seller's page loses the way to change the lot."""
    gid = sqlite_house.user("ada").auction(buyNowPrice="250")
    bidder, seller = browse("grace", f"/lots/{gid}").page, browse("ada", f"/lots/{gid}").page
    expect(bidder.get_by_role("button", name="Buy now for €250.00")).to_be_visible()
    expect(seller.get_by_role("link", name="Edit, cancel or close")).to_be_visible()
    sqlite_house.user("linus").bid(gid, amount="12")
    expect(bidder.get_by_role("button", name="Buy now for €250.00")).to_have_count(0)
    expect(seller.get_by_role("link", name="Manage this lot")).to_be_visible()


def test_a_stranger_is_led_to_the_lot_by_logging_in(browse: Browse, sqlite_house: House) -> None:
    """A stranger sees the minimum bid, logs in, and is back at the lot."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    visitor = browse(None, f"/lots/{gid}")
    visitor.page.get_by_role("link", name="Log in to bid").click()
    visitor.fill_in(sqlite_house.user("grace").name)
    visitor.page.wait_for_url(f"**/lots/{gid}")
    expect(visitor.page.get_by_label("Your bid")).to_have_value("10.00")


def test_one_bids_without_scripts(browse: Browse, sqlite_house: House) -> None:
    """Without JavaScript the same forms have the same steps, and the page shows whether the user leads."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    page = browse("grace", f"/lots/{gid}", java_script_enabled=False).page
    expect(page.locator("#lot-panel .clock")).to_contain_text("UTC")
    bid(page, "15", "30")
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €15.00. Your limit is €30.00")
    sqlite_house.user("linus").bid(gid, amount="60")
    page.reload()
    expect(page.locator("#lot-standing")).to_contain_text("You were outbid. linus leads at €60.00.")


def test_one_bids_by_the_keyboard_on_a_phone(browse: Browse, sqlite_house: House) -> None:
    """Tab and Enter alone place a bid at 360 pixels. Nothing is wider than the screen at any step."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1), name="W" * 200)
    page = browse("grace", f"/lots/{gid}", viewport={"width": 360, "height": 740}).page
    page.get_by_label("Your bid").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("12.50")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Please check your bid")).to_be_focused()
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Bid €12.50")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €12.50.")
    assert 360 == page.evaluate("document.documentElement.scrollWidth")


def test_a_page_goes_on_after_the_house_was_away(chromium: Browser, start: Start, visit: Visit) -> None:
    """While the house is away the page says so. When it is back, the page catches up without a reload."""
    house = start()
    client = visit(house)
    ada, grace = client.enter("ada"), client.enter("grace")
    gid = client.sell(ada, startingPrice="10")
    visitor = BrowserVisitor(chromium, house.url)
    visitor.page.goto(f"/lots/{gid}")
    client.post(f"/auctions/{gid}/bids", grace, {"amount": "11"})
    expect(visitor.page.locator("#lot-panel")).to_contain_text("€11.00")
    house.kill()
    expect(visitor.page.locator("#offline")).to_be_visible()
    house = start("--port", str(urlsplit(house.url).port))
    client.post(f"/auctions/{gid}/bids", grace, {"maximum": "50"})
    client.post(f"/auctions/{gid}/bids", client.enter("linus"), {"amount": "20"})
    expect(visitor.page.locator("#lot-panel")).to_contain_text("€21.00")
    expect(visitor.page.locator("#offline")).to_be_hidden()
    visitor.leave()


@pytest.mark.parametrize("path", ["/lots/{}", "/lots/{}/screen", "/"])
def test_a_stream_that_falls_silent_is_opened_again(browse: Browse, sqlite_house: House, path: str) -> None:
    """A network that is cut without a word ends no stream: the page says that its prices may be old, and connects again."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    page = browse().page
    page.clock.install()
    page.goto(path.format(gid))
    wait_for_stream(page)
    page.clock.run_for(30_000)
    expect(page.locator("#offline")).to_be_hidden()
    # The page may connect again before this test could look: so the page itself notes what it said.
    page.evaluate(
        """() => {
            const place = document.getElementById("offline");
            new MutationObserver(() => { window.told ||= place.textContent; }).observe(place, { childList: true });
        }"""
    )
    with page.expect_request(lambda request: "/live" in request.url):
        # On a slow machine, news from the house comes in between, and the silence begins again.
        for _ in range(100):
            page.clock.run_for(5_000)
            if page.evaluate("window.told"):
                break
        page.clock.run_for(5_000)
    assert page.evaluate("window.told") == "The connection was lost. What you see may be old; trying again…"
    expect(page.locator("#offline")).to_be_hidden()


def test_a_box_that_was_lost_on_the_way_is_asked_for_again(browse: Browse, sqlite_house: House) -> None:
    """The bid box follows the leader. If its answer is lost, the page requests it again, even without a new event."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    grace = sqlite_house.user("grace")
    visitor = browse("grace", f"/lots/{gid}")
    intercept(visitor.page, "**/box", lambda route: route.abort(), times=1)
    with visitor.page.expect_event("requestfailed"):
        grace.bid(gid, amount="15")
    expect(visitor.page.locator("#lot-standing")).to_contain_text("You lead at €15.00.")
    expect(visitor.page.get_by_label("Your bid")).to_be_visible()
    visitor.page.get_by_label("Your bid").focus()
    visitor.page.get_by_label("Your bid").blur()
    expect(visitor.page.locator("#lot-box")).to_have_attribute("data-role", "leading")
    visitor.leave()


def test_the_plot_draws_the_price(browse: Browse, sqlite_house: House) -> None:
    """From the second bid on there is a plot with a name for screen readers, and it follows the bids."""
    gid = sqlite_house.user("ada").auction(endsAt=later(days=1))
    sqlite_house.user("linus").bid(gid, amount="12")
    page = browse("grace", f"/lots/{gid}").page
    expect(page.locator("#plot")).to_be_hidden()
    sqlite_house.user("grace").bid(gid, amount="20")
    expect(page.get_by_role("img", name="Price over time")).to_be_visible()
    assert page.locator("#plot canvas").count() == 1


def test_axe_finds_nothing_at_any_step(browse: Browse, sqlite_house: House) -> None:
    """axe finds no fault in the box, its faults, its confirmation, its result and the end, in light and dark."""
    gid = sqlite_house.user("ada").auction(buyNowPrice="250", reservePrice="90")
    page = browse("grace", f"/lots/{gid}").page
    found = [broken_rules(page)]
    page.get_by_label("Your bid").fill("9")
    page.get_by_role("button", name="Continue").click()
    page.locator("#amount-fault").wait_for()
    found.append(broken_rules(page))
    bid(page, "30")
    expect(page.locator("#lot-standing")).to_contain_text("You lead at €30.00.")
    found.append(broken_rules(page))
    sqlite_house.user("linus").bid(gid, amount="60")
    expect(page.locator("#lot-standing")).to_contain_text("You were outbid.")
    found.append(broken_rules(page))
    sqlite_house.user("ada").json("POST", f"/auctions/{gid}/close", json={})
    expect(page.locator("#lot-standing")).to_contain_text("Not sold")
    found.append(broken_rules(page))
    assert [{}] * 5 == found


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_price_that_nobody_saw_is_not_paid(browse: Browse, sqlite_house: House, scripts: bool) -> None:
    """If the price changes between the confirmation and the click, nothing is bought, and the page says what has changed."""
    ada = sqlite_house.user("ada")
    gid = ada.auction(name="Clock", buyNowPrice="50", startingPrice="10")
    page = browse("grace", java_script_enabled=scripts).page
    page.route("**/live?*", lambda route: route.abort())  # a stream may always lag behind the click
    page.goto(f"/lots/{gid}")
    page.get_by_role("button", name="Buy now for €50.00").click()
    expect(page.get_by_role("button", name="Buy for €50.00")).to_be_visible()
    ada.patch(f"/auctions/{gid}", json={"buyNowPrice": "99999", "name": "Box", "description": "Empty"})
    page.get_by_role("button", name="Buy for €50.00").click()
    alert = page.locator("#lot-box [role=alert]")
    expect(alert).to_contain_text("This lot was changed after you saw it. Nothing was bought.")
    expect(alert).to_contain_text("The buy-now price was €50.00 and is now €99,999.00.")
    expect(alert).to_contain_text("The lot was called “Clock” and is now called “Box”.")
    expect(page.get_by_role("heading", name="Box", exact=True)).to_be_visible()
    expect(page.locator("#lot-about")).to_contain_text("Empty")
    assert "open" == ada.json("GET", f"/auctions/{gid}")["status"]
    if scripts:
        assert {} == broken_rules(page)
    page.get_by_role("button", name="Buy for €99,999.00").click()
    expect(page.locator("#lot-standing")).to_contain_text("You bought this lot for €99,999.00.")


def test_an_older_message_does_not_undo_the_answer_to_a_bid(browse: Browse, sqlite_house: House) -> None:
    """A message of the stream that was sent before the reader's own bid, and comes after its answer, changes nothing."""
    gid = sqlite_house.user("ada").auction(startingPrice="10")
    page = browse("grace").page

    def panel(version: int, words: str) -> str:
        return f'data: <div id="lot-panel" hx-swap-oob="true" data-least="1" data-version="{version}">{words}</div>\n\n'

    body = panel(7, "A newer state") + panel(6, "An older state") + "event: time\ndata: 2026-01-01T00:00:00Z\n\n"
    headers = {"Content-Type": "text/event-stream"}
    page.route("**/live?*", lambda route: route.fulfill(status=200, headers=headers, body=body))
    page.add_init_script('addEventListener("time", () => { document.documentElement.dataset.told = "yes"; }, true)')
    page.goto(f"/lots/{gid}")
    expect(page.locator("html[data-told=yes]")).to_have_count(1)
    expect(page.locator("#lot-panel")).to_have_text("A newer state")


def test_a_lot_that_is_changed_changes_on_its_page(browse: Browse, sqlite_house: House) -> None:
    """An open page shows and announces a new name, description and photos as soon as the seller has changed them."""
    ada = sqlite_house.user("ada")
    gid = ada.auction(name="Clock", startingPrice="10")
    page = browse("grace", f"/lots/{gid}").page
    expect(page.locator("#lot-photos")).to_be_hidden()
    ids = [ada.post("/photos", content=plain((900, 600 + n)), headers={"Content-Type": "image/png"}) for n in range(2)]
    ada.request("PUT", f"/auctions/{gid}/photos", json={"photos": [answer.json()["id"] for answer in ids]})
    expect(page.locator("#lot-photos .views img")).to_have_count(2)
    expect(page.locator("#announce")).to_contain_text("The seller has changed this lot.")
    ada.patch(f"/auctions/{gid}", json={"name": "Watch", "description": "Gold"})
    expect(page.get_by_role("heading", name="Watch", exact=True)).to_be_visible()
    expect(page.locator("#lot-about")).to_contain_text("Gold")
    bid(page, "15")
    expect(page.locator("#lot-box")).to_contain_text("Your bid stands: you lead at €15.00.")


def test_a_local_address_to_share_has_a_warning(browse: Browse, sqlite_house: House) -> None:
    """Where the house's own address is shared, a warning names the setting; another address has none."""
    gid = sqlite_house.user("ada").auction()
    page = browse("ada", f"/lots/{gid}?listed").page
    warning = page.get_by_text("Phones cannot open the address of this page")
    expect(warning).to_have_count(2)
    named = sqlite_house.base.replace("127.0.0.1", "sale.test")
    other = browse(None, f"{named}/lots/{gid}").page
    expect(other.locator(".address")).to_contain_text("sale.test")
    expect(other.get_by_text("Phones cannot open")).to_have_count(0)
