"""Logging out in one tab of a real Chromium: nothing private stays on the screen in another, or behind the back button."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, intercept, wait_for
from tests.fixtures_house import House

Enter = Callable[..., BrowserVisitor]


def test_other_tabs_show_nothing_private_any_more(enter: Enter, sqlite_house: House) -> None:
    """Each tab of the reader asks for its page again; one that cannot reach the house is empty at once."""
    user = sqlite_house.newcomer()
    first = enter(user).page
    second, third = first.context.new_page(), first.context.new_page()
    second.goto("/mine/contact")
    second.locator("#contact").fill("0170 1234567")
    third.goto("/mine/sessions#here")
    third.evaluate("sessionStorage.setItem('typed', 'a bid')")
    intercept(third, "**/*", lambda route: route.abort())
    first.goto("/")
    first.get_by_role("button", name="Log out").press("Enter")
    expect(second.get_by_label("Username")).to_be_visible()
    expect(second.get_by_text("0170 1234567")).to_have_count(0)
    wait_for(third, "document.querySelector('.viewer') === null")
    third.wait_for_url("chrome-error://**")


def test_a_login_leaves_other_tabs_as_they_are(enter: Enter, sqlite_house: House) -> None:
    """Only logging out empties a page: a form that is half filled in stays through all else."""
    first = enter(sqlite_house.newcomer()).page
    second = first.context.new_page()
    second.goto("/mine/contact")
    second.locator("#contact").fill("by the gate")
    first.goto("/mine/sessions")
    first.goto("/")
    first.reload()
    expect(second.locator("#contact")).to_have_value("by the gate")
