"""My saleroom in a real Chromium: it follows bids, stars lots and ends sessions, also on a phone and by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import PASSWORD, House, User
from tests.site.visitor import picture

PHONE = {"width": 360, "height": 740}
PATHS = (
    "/mine",
    "/mine/selling",
    "/mine/watching",
    "/mine/sessions",
    "/mine/security",
    "/mine/access-tokens",
    "/mine/password",
    "/mine/webhooks",
)
SEEN = (*PATHS, "/mine/notices")
"""With a page whose fields for times have a stop of the keyboard for each of their parts."""

Browse = Callable[..., Page]


@pytest.fixture
def browse(enter: Callable[..., BrowserVisitor]) -> Browse:
    """Return a function that opens a page as a user, in a new browser."""

    def come(user: User, path: str = "/mine", **options: Any) -> Page:
        page = enter(user, **options).page
        page.goto(path)
        return page

    return come


@pytest.fixture
def furnished(sqlite_house: House) -> User:
    """A user who bids, sells and watches, with the longest names and amounts."""
    reader, other = sqlite_house.newcomer(), sqlite_house.user("a-very-long-username-of-32-chars")
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for name, terms in {"W" * 200: {"endsAt": ends}, "Clock": {}, "Lamp": {"reservePrice": "1000000"}}.items():
        gid = other.auction(name=name, **terms)
        reader.bid(gid, maximum="99999999999999999")
        reader.json("PUT", f"/auctions/{gid}/watch")
        own = reader.auction(name=name, **terms)
        other.bid(own, amount="50000000000000000.001")
        if not terms:
            other.json("POST", f"/auctions/{gid}/close", json={})
            reader.json("POST", f"/auctions/{own}/close", json={})
    headers = {"Content-Type": "image/jpeg"}
    photo = reader.json("POST", "/photos", content=picture(), headers=headers)["id"]
    fresh = reader.auction(name="Fresh")
    reader.json("PUT", f"/auctions/{fresh}/photos", json={"photos": [photo]})
    other.bid(other_lot := sqlite_house.user("ada").auction(name="Outbid"), amount="10")
    reader.bid(other_lot, amount="20")
    other.bid(other_lot, amount="50000000000000000.001")
    sqlite_house.log_in(reader.name)
    return reader


def test_the_page_of_bids_follows_new_bids(browse: Browse, sqlite_house: House) -> None:
    """An outbid user sees it at once without a reload, with the next bid. So does a user who leads again."""
    grace, hedy = sqlite_house.newcomer(), sqlite_house.newcomer()
    gid = sqlite_house.user("ada").auction(name="Followed")
    grace.bid(gid, amount="20")
    page = browse(grace)
    row = page.locator(".my-lot")
    expect(row).to_contain_text("You lead")
    expect(page.get_by_role("status").first).to_be_empty()
    hedy.bid(gid, amount="30")
    expect(row).to_contain_text("Outbid")
    expect(row.get_by_role("link", name="Bid €31.00 or more")).to_be_visible()
    expect(page.locator(".attention")).to_have_text("Somebody else leads on 1 lot.")
    grace.bid(gid, amount="40")
    expect(row).to_contain_text("You lead")
    expect(page.locator(".attention")).to_be_empty()
    sqlite_house.user("ada").json("POST", f"/auctions/{gid}/close", json={})
    expect(row).to_contain_text("Won")
    expect(page.get_by_role("heading", name="Won and lost")).to_be_visible()


def test_the_sellers_lots_follow_the_bids(browse: Browse, sqlite_house: House) -> None:
    """The first bid on the user's lot shows at once, and the link to change it disappears. The focus stays."""
    ada = sqlite_house.newcomer()
    gids = [ada.auction(name=name) for name in ("Followed", "Other")]
    page = browse(ada, "/mine/selling")
    page.get_by_role("link", name="Other", exact=True).focus()
    sqlite_house.user("grace").bid(gids[0], amount="20")
    row = page.locator(".my-lot").filter(has_text="Followed")
    expect(row).to_contain_text("grace leads.")
    expect(row.get_by_role("link", name="Change or cancel")).to_have_count(0)
    expect(page.get_by_role("link", name="Other", exact=True)).to_be_focused()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_star_turns(browse: Browse, sqlite_house: House, *, scripts: bool) -> None:
    """Enter on the star watches the lot and shows so, and a second time undoes both. With scripts it keeps the focus."""
    user = sqlite_house.newcomer()
    gid = sqlite_house.user("ada").auction(name="Starred")
    page = browse(user, f"/lots/{gid}", java_script_enabled=scripts)
    star = page.locator("form.star button")
    expect(star).to_have_accessible_name("Watch Starred")
    expect(star).to_have_attribute("aria-pressed", "false")
    star.press("Enter")
    star = page.get_by_role("button", name="Watching Starred")
    expect(star).to_have_attribute("aria-pressed", "true")
    expect(star).to_have_accessible_name("Watching Starred")
    expect(star).to_contain_text("Watching")
    if scripts:
        expect(star).to_be_focused()
    assert page.url.endswith(f"/lots/{gid}")
    assert [gid] == [one["gid"] for one in user.json("GET", "/me/watching")["auctions"]]
    star.press("Enter")
    expect(page.get_by_role("button", name="Watch Starred")).to_have_attribute("aria-pressed", "false")
    assert [] == user.json("GET", "/me/watching")["auctions"]


def test_log_out_everywhere(browse: Browse, sqlite_house: House) -> None:
    """After a confirmation the user is at home and logged out, and so is the other browser."""
    user = sqlite_house.newcomer()
    there = browse(sqlite_house.log_in(user.name))
    here = browse(user, "/mine/sessions")
    expect(here.locator(".sessions li")).to_have_count(2)
    here.get_by_text("Log out everywhere", exact=True).click()
    here.get_by_role("group").filter(has_text="Log out everywhere").get_by_label("Your password").fill(PASSWORD)
    here.get_by_role("button", name="Yes, log out everywhere").click()
    expect(here.get_by_role("banner").get_by_role("link", name="Log in")).to_be_visible()
    assert here.url.endswith("/")
    there.reload()
    expect(there.get_by_role("heading", name="Log in")).to_be_visible()


def test_another_password(browse: Browse, sqlite_house: House) -> None:
    """By keyboard: a fault moves the focus to its field, a success is announced, and the other browser is logged out."""
    user = sqlite_house.newcomer()
    there = browse(sqlite_house.log_in(user.name))
    here = browse(user, "/mine/sessions", color_scheme="dark", viewport=PHONE)
    here.get_by_role("link", name="Change your password").press("Enter")
    current, new = here.get_by_label("Current password"), here.get_by_label("New password")
    for typed in ("not my password", PASSWORD):
        current.fill(typed)
        new.fill("another battery staple")
        here.get_by_label("Show the passwords").check()
        assert ["text"] * 2 == [field.get_attribute("type") for field in (current, new)]
        new.press("Enter")
        if typed != PASSWORD:
            expect(here.locator("#currentPassword-help")).to_contain_text("This is not your current password.")
            expect(current).to_be_focused()
            assert ["", ""] == [field.input_value() for field in (current, new)]
            assert {} == broken_rules(here)
    expect(here.get_by_role("heading", name="Your password has been changed")).to_be_visible()
    expect(here.get_by_text("All other devices were logged out.")).to_be_focused()
    assert {} == broken_rules(here)
    here.get_by_role("link", name="Where you are logged in").press("Enter")
    expect(here.locator(".sessions li")).to_have_count(1)
    there.reload()
    expect(there.get_by_role("heading", name="Log in")).to_be_visible()


@pytest.mark.parametrize("path", SEEN)
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(browse: Browse, furnished: User, path: str) -> None:
    """At 360 pixels and in both schemes, axe finds no fault on a full page, and nothing is wider than the screen."""
    page = browse(furnished, path, viewport=PHONE)
    page.wait_for_load_state("load")
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")


def test_axe_finds_nothing_where_there_is_nothing(browse: Browse, sqlite_house: House) -> None:
    """axe finds no fault on the pages of a new user, nor where the link to a calendar is shown, which has the focus."""
    page = browse(sqlite_house.newcomer())
    for path in PATHS:
        page.goto(path)
        assert {} == broken_rules(page)
    page.goto("/mine/watching")
    page.get_by_role("button", name="Make a link").press("Enter")
    expect(page.get_by_role("status")).to_be_focused()
    assert page.get_by_label("Calendar", exact=True).input_value().endswith(".ics")
    assert {} == broken_rules(page)


@pytest.mark.parametrize("path", PATHS)
def test_the_keyboard_reaches_everything(browse: Browse, furnished: User, path: str) -> None:
    """Tab reaches each link, field and button in order."""
    page = browse(furnished, path, java_script_enabled=False)
    wanted = "main :is(a[href], button, summary, input, select):not([tabindex='-1'])"
    expected = page.evaluate(
        "wanted => [...document.querySelectorAll(wanted)].filter(one => one.checkVisibility()).map(one => one.outerHTML)",
        wanted,
    )
    page.locator("main").focus()
    reached = []
    for _ in expected:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.outerHTML"))
    assert expected == reached
