"""Equal bids in a real browser: the earlier one leads, and every page says so."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor
from tests.fixtures_house import House, User


def test_of_equal_bids_the_earlier_one_leads(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, seller: User
) -> None:
    """The later bidder reads that an equal bid was earlier. The leader stands on top of the history and the hall's screen."""
    gid = seller.auction()
    sqlite_house.user("linus").bid(gid, maximum="90")
    page = enter(sqlite_house.user("grace")).page
    page.goto(f"/lots/{gid}")
    page.locator("#amount").fill("90")
    page.keyboard.press("Enter")
    page.locator("form.confirm button").click()
    answer = page.locator("#lot-box .standing")
    expect(answer).to_contain_text("linus made an equal bid before you")
    expect(answer).not_to_contain_text("higher")
    screen = enter().page
    for one, rows in ((page, "#lot-history tbody tr"), (screen, ".hall .last tbody tr")):
        if one is screen:
            one.goto(f"/lots/{gid}/screen")
        expect(one.locator(rows).first).to_contain_text("linus")
        expect(one.locator(rows).first).to_contain_text("bid first")
        expect(one.locator(rows).nth(1)).to_contain_text("grace")
        expect(one.locator(rows).nth(1)).not_to_contain_text("bid first")
    page.goto(f"/lots/{gid}")
    expect(page.locator("#lot-standing")).to_contain_text("An equal bid came before yours. linus leads at €90.00.")
    page.goto(f"/lots/{gid}/bids")
    expect(page.locator("main tbody tr").first).to_contain_text("linus")


def test_a_tie_is_told_by_itself(enter: Callable[..., BrowserVisitor], sqlite_house: House, seller: User) -> None:
    """An open page says so when its reader's bid, which came in elsewhere, equals the leader's."""
    gid, reader = seller.auction(), sqlite_house.newcomer()
    reader.bid(gid, maximum="40")
    page = enter(reader).page
    page.goto(f"/lots/{gid}")
    sqlite_house.user("linus").bid(gid, maximum="90")
    expect(page.locator("#lot-standing")).to_contain_text("You were outbid.")
    reader.bid(gid, maximum="90")
    expect(page.locator("#lot-standing")).to_contain_text("An equal bid came before yours. linus leads at €90.00.")
    expect(page.locator("#announce")).to_contain_text("An equal bid came before yours.")
