"""Questions in real browsers: asked, answered and told to open pages without a reload; nothing that is typed is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from saleroom.bidding.web import live
from saleroom.feed import sessions, streams
from tests.browser.people import BrowserVisitor, broken_rules
from tests.browser.test_bid_box import LOGGED_OUT, end_session, log_in_again
from tests.fixtures_house import House, User

Enter = Callable[..., BrowserVisitor]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the streams ask soon whether there is more."""
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.2)
    monkeypatch.setattr(live, "STORY_SECONDS", 0.0)


def ask(page: Page, text: str) -> None:
    """Ask with the form."""
    page.get_by_text("Ask the seller", exact=True).click()
    page.get_by_label("Your question").fill(text)
    page.get_by_role("button", name="Send the question").click()


def test_a_question_from_asking_to_reading(enter: Enter, sqlite_house: House, seller: User) -> None:
    """Nobody reloads: the asker, the seller and a reader see each step; the focus and the announcements follow."""
    gid = seller.auction()
    asker, own, reader = (enter(user).page for user in (sqlite_house.newcomer(), seller, None))
    for page in (asker, own, reader):
        page.goto(f"/lots/{gid}")
    ask(asker, "Does it run?")
    expect(asker.get_by_role("status").get_by_text("Your question has been sent.")).to_be_focused()
    expect(asker.locator(".waiting")).to_contain_text("Not answered yet. Only you and the seller see it.")
    own.get_by_role("link", name="There is a new question. Show it.").click()
    own.get_by_label("Your answer").fill("It does.")
    assert {} == broken_rules(own)
    own.get_by_role("button", name="Publish the answer").click()
    expect(own.get_by_text("Your answer is published.")).to_be_focused()
    for page in (asker, own, reader):
        expect(page.locator("#lot-answers")).to_contain_text("It does.")
    expect(asker.locator(".waiting")).to_have_count(0)
    expect(reader.locator("#announce")).to_have_text("The seller has answered a question.")
    seller.json("POST", f"/auctions/{gid}/remarks", json={"text": "The key is missing."})
    for page in (asker, own, reader):
        expect(page.locator("#lot-remarks")).to_contain_text("The key is missing.")
    assert [{}, {}] == [broken_rules(page) for page in (asker, reader)]


def test_a_page_whose_session_has_ended_follows_as_a_visitor(
    enter: Enter, sqlite_house: House, seller: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a logout elsewhere, the seller's open page still shows each price, and no longer that somebody has asked."""
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 0.1)
    gid, user = seller.auction(), sqlite_house.newcomer()
    page = enter(seller).page
    page.goto(f"/lots/{gid}")
    user.bid(gid, amount="12")
    expect(page.locator("#lot-panel")).to_contain_text("12")
    with page.expect_request("**/live*"):
        seller.json("DELETE", "/me/sessions")
    user.json("POST", f"/auctions/{gid}/questions", json={"text": "Does it run?"})
    sqlite_house.newcomer().bid(gid, amount="77")
    expect(page.locator("#lot-panel")).to_contain_text("77")
    expect(page.get_by_role("link", name="There is a new question. Show it.")).to_have_count(0)


def test_answers_are_typed_one_by_one(enter: Enter, sqlite_house: House, seller: User) -> None:
    """A text that is refused stays at its fault; what is typed at one question stays while another is answered or declined."""
    gid = seller.auction()
    user = sqlite_house.newcomer()
    for text in ("First?", "Second?", "Third?"):
        user.json("POST", f"/auctions/{gid}/questions", json={"text": text})
    page = enter(seller).page
    page.goto(f"/lots/{gid}")
    first, second = (page.get_by_label("Your answer").nth(number) for number in (0, 1))
    second.fill("Second.")
    first.fill("  ")
    page.get_by_role("button", name="Publish the answer").first.click()
    expect(page.locator("[aria-invalid=true]")).to_be_focused()
    expect(second).to_have_value("Second.")
    page.get_by_role("button", name="Decline the question").first.click()
    expect(page.get_by_text("Declined.")).to_be_focused()
    expect(page.get_by_label("Your answer").first).to_have_value("Second.")
    page.get_by_role("button", name="Publish the answer").first.click()
    expect(page.locator("#lot-answers")).to_contain_text("Second.")
    expect(page.get_by_label("Your answer")).to_have_count(1)


@pytest.mark.parametrize("how", ["ended", "session", "all"])
def test_a_session_that_ended(enter: Enter, sqlite_house: House, seller: User, how: str) -> None:
    """The form says that the session has ended and keeps the question; a login leads back to it."""
    gid = seller.auction()
    user = sqlite_house.newcomer()
    page = enter(user).page
    page.goto(f"/lots/{gid}")
    page.get_by_text("Ask the seller", exact=True).click()
    end_session(page, user, how)
    page.get_by_label("Your question").fill("Does it run?")
    page.get_by_role("button", name="Send the question").click()
    expect(page.locator("#lot-questions [data-problem]")).to_contain_text(LOGGED_OUT)
    expect(page.get_by_label("Your question")).to_have_value("Does it run?")
    log_in_again(page, user)
    page.wait_for_url(f"**/lots/{gid}")
    expect(page.get_by_label("Your question")).to_have_value("Does it run?")
    page.get_by_role("button", name="Send the question").click()
    expect(page.locator(".waiting")).to_contain_text("Does it run?")


def test_the_end_takes_the_forms_away(enter: Enter, sqlite_house: House, seller: User) -> None:
    """When a lot is over, an open page has no form for questions any more."""
    gid = seller.auction()
    page = enter(sqlite_house.newcomer()).page
    page.goto(f"/lots/{gid}")
    expect(page.get_by_text("Ask the seller", exact=True)).to_be_visible()
    seller.json("POST", f"/auctions/{gid}/close", json={})
    expect(page.get_by_text("Ask the seller", exact=True)).to_have_count(0)
