"""The pages in two languages, in a real Chromium: by the browser's setting, and by the choice in the footer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House

PHONE = {"width": 360, "height": 740}
OpenPage = Callable[..., Page]


@pytest.fixture
def visit(chromium: Browser, sqlite_house: House) -> Iterator[Callable[..., BrowserVisitor]]:
    """Return a function that opens a new browser. Its console must be without errors at the end of the test."""
    visitors: list[BrowserVisitor] = []

    def another(**options: Any) -> BrowserVisitor:
        visitors.append(BrowserVisitor(chromium, sqlite_house.base, **options))
        return visitors[-1]

    yield another
    for visitor in visitors:
        visitor.leave()


@pytest.fixture(scope="module")
def gid(sqlite_house: House) -> str:
    """A lot with a bid, a reserve and an end."""
    ends = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = sqlite_house.user("ada").auction(name="Standuhr", startingPrice="1234.5", reservePrice="2000", endsAt=ends)
    sqlite_house.user("grace").bid(made, amount="1240")
    return made


def words(page: Page) -> tuple[str, str, str]:
    """Return the language of a page, the label of its login link, and its price."""
    page.locator("time[data-local]").first.wait_for()
    login = page.locator("header a[href^='/login']").inner_text()
    return page.locator("html").get_attribute("lang") or "", login, page.locator("main data").first.inner_text()


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("en-GB", ("en-GB", "Log in", "€1,240.00")),
        ("en-US", ("en-US", "Log in", "€1,240.00")),
        ("de-DE", ("de-DE", "Anmelden", "1.240,00\u00a0€")),
        ("de-CH", ("de-CH", "Anmelden", "EUR\u00a01\u2019240.00")),
        ("fr-FR", ("en-GB", "Log in", "€1,240.00")),
    ],
)
def test_a_page_speaks_as_the_browser_asks(
    visit: Callable[..., BrowserVisitor], gid: str, locale: str, expected: tuple[str, str, str]
) -> None:
    """A page has the words and amounts of the browser's language and region. If the house lacks the language, it is English."""
    page = visit(locale=locale).page
    page.goto(f"/lots/{gid}")
    assert expected == words(page)


def test_a_language_is_chosen_at_the_foot(visit: Callable[..., BrowserVisitor], gid: str) -> None:
    """A choice shows the same page in the other language, holds on the next pages, and can be undone."""
    page = visit(locale="en-GB").page
    page.goto(f"/lots/{gid}?from=here")
    page.get_by_role("link", name="Deutsch").click()
    page.wait_for_url(f"**/lots/{gid}?from=here")
    assert ("de", "Anmelden", "1.240,00\u00a0€") == words(page)
    expect(page.locator("button.copy")).to_have_text("Kopieren")
    page.goto("/register")
    expect(page.get_by_role("heading", level=1)).to_have_text("Registrieren")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Register")


def test_logging_in_leads_back_to_the_lot(visit: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """After the login a visitor is back at the page they wanted, even after registering and a mistake."""
    visitor = visit()
    visitor.page.goto("/mine?page=bids")
    visitor.page.wait_for_url("**/login?next=**")
    visitor.page.locator("main").get_by_role("link", name="Register").click()
    visitor.fill_in("comes.back", "short")
    expect(visitor.page.get_by_label("Password", exact=True)).to_be_focused()
    # The browser itself requires eight characters, so it has sent nothing.
    visitor.fill_in("comes.back")
    visitor.page.wait_for_url("**/mine?page=bids")


def test_a_password_can_be_shown(visit: Callable[..., BrowserVisitor]) -> None:
    """A checkbox shows the password. Without scripts there is no checkbox, and the form is the same."""
    page = visit().page
    page.goto("/login")
    page.get_by_label("Password", exact=True).fill("a secret")
    page.get_by_label("Show the password").check()
    assert "text" == page.get_by_label("Password", exact=True).get_attribute("type")
    page.get_by_label("Show the password").uncheck()
    assert "password" == page.get_by_label("Password", exact=True).get_attribute("type")
    plain = visit(java_script_enabled=False).page
    plain.goto("/login")
    expect(plain.get_by_label("Show the password")).to_be_hidden()


@pytest.mark.parametrize("path", ["/login", "/register", "/", "/lots/{gid}", "/lots/none"])
def test_german_fits_a_phone(visit: Callable[..., BrowserVisitor], gid: str, path: str) -> None:
    """German has long words: even so nothing is wider than a small phone, and axe finds no fault."""
    page = visit(locale="de-DE", viewport=PHONE).page
    page.goto(path.format(gid=gid))
    assert PHONE["width"] >= page.evaluate("document.documentElement.scrollWidth")
    assert {} == broken_rules(page)


def test_faults_are_told_in_german(visit: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """An alert reports a wrong password in the reader's language, and a fault is bound to its field."""
    sqlite_house.user("ada")
    page = visit(locale="de-DE").page
    page.goto("/login")
    page.get_by_label("Benutzername").fill("ada")
    page.get_by_label("Passwort", exact=True).fill("verkehrt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Benutzername oder Passwort ist falsch")
    assert {} == broken_rules(page)
    page.goto("/register")
    page.get_by_label("Benutzername").fill("ä")
    page.get_by_label("Passwort", exact=True).fill("lang genug")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Benutzername")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Benutzername")).to_have_accessible_description(
        "Der Benutzername muss 3 bis 32 Zeichen haben: "
        "Buchstaben a bis z, Ziffern, Punkte, Unterstriche und Bindestriche."
    )
    assert {} == broken_rules(page)


@pytest.mark.parametrize(("locale", "left"), [("en-GB", r"^[1-5]?\d secs? left$"), ("de-DE", r"^noch [1-5]?\d Sek\.$")])
def test_a_countdown_says_what_is_left(
    visit: Callable[..., BrowserVisitor], sqlite_house: House, locale: str, left: str
) -> None:
    """A countdown says "14 secs left": under a minute without "0 mins"."""
    gid = sqlite_house.user("ada").auction(endsAt=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    page = visit(locale=locale).page
    page.goto(f"/lots/{gid}")
    clock = page.locator(".facts .countdown")
    clock.evaluate("place => { place.dataset.until = new Date(Date.now() + 55000).toISOString() }")
    expect(clock).to_have_text(re.compile(left))
