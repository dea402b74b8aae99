"""Links by mail in a browser: the code in the fragment, and the pages on a phone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from saleroom.accounts.service import addresses
from saleroom.accounts.storage import accounts
from tests.accounts.service.mailed import answer_requests, sent_by
from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House, User

PHONE = {"width": 360, "height": 740}
NEW = "another battery staple"
PATHS = ("/mine/mail-address", "/login", "/password/forgotten", "/password/new", "/address/confirm")


@pytest.fixture
def page(chromium: Browser, mail_house: House) -> Iterator[Page]:
    """A browser at a house that sends mails, which follows the reader's system in dark."""
    visitor = BrowserVisitor(chromium, mail_house.base, viewport=PHONE, color_scheme="dark")
    yield visitor.page
    visitor.leave()


def given(house: House, user: User) -> str:
    """Give a user a mail address, and return the path in the mail that verifies it."""
    login = house.read(accounts.find_login, user.name)
    assert login is not None
    house.write(addresses.give, login.account, f"{user.name}@example.org", "en")
    return str(sent_by(house)[-1]["path"])


def test_the_links_of_both_mails(page: Page, mail_house: House) -> None:
    """A link fills in its code, hides the field, and is gone from the address; one button verifies, a password resets."""
    user = mail_house.newcomer()
    page.goto(given(mail_house, user))
    expect(page.locator("#code")).to_be_hidden()
    assert page.url.endswith("/address/confirm")
    page.get_by_role("button", name="Verify the address").press("Enter")
    expect(page.get_by_role("heading", name="Your mail address is verified")).to_be_visible()
    page.goto("/login")
    page.get_by_role("link", name="Password forgotten?").click()
    page.get_by_label("Username or mail address").fill(user.name)
    page.keyboard.press("Enter")
    expect(page.get_by_text("If there is such an account")).to_be_visible()
    answer_requests(mail_house)
    page.goto(str(sent_by(mail_house)[-1]["path"]))
    expect(page.locator("#code")).to_be_hidden()
    assert page.url.endswith("/password/new")
    page.get_by_label("New password").fill(NEW)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your password has been changed")).to_be_visible()
    answer = mail_house.anyone.post("/login", json={"username": user.name, "password": NEW})
    assert 200 == answer.status_code


def test_no_address_that_the_house_sees_has_the_code(page: Page, mail_house: House) -> None:
    """From opening a link to the end, no request has the code in its address or in its Referer."""
    asked: list[str] = []
    page.on("request", lambda one: asked.append(f"{one.url} {one.headers.get('referer', '')}"))
    path = given(mail_house, mail_house.newcomer())
    page.goto(path)
    page.get_by_role("button", name="Verify the address").click()
    expect(page.get_by_role("heading", name="Your mail address is verified")).to_be_visible()
    secret = path.rpartition(".")[2]
    assert [] == [one for one in asked[1:] if secret in one]
    # A browser's own log of the first request shows the fragment, which it does not send.
    assert secret not in asked[0].partition("#")[0]


def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(page: Page, mail_house: House) -> None:
    """At 360 pixels, in dark, axe finds no fault on any of the pages, and nothing is wider than the screen."""
    user = mail_house.newcomer()
    given(mail_house, user)
    page.context.add_cookies([{"name": "saleroom_session", "value": user.token, "url": mail_house.base}])
    for path in ("/join", "/owner", "/notices/unsubscribe", "/mine/data", *PATHS):
        if path == "/login":
            page.context.clear_cookies()
        page.goto(path)
        assert {} == broken_rules(page), path
        assert 360 == page.evaluate("document.documentElement.scrollWidth"), path
