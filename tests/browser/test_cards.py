"""Cards online in a real Chromium: the pages fit a phone, and the button leads to the provider by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_database import FakeClock
from tests.fixtures_house import PASSWORD, ServeHouse
from tests.settlement.paying import Paying, cards_of, provider, quickly

LATE_MS = 60_000


@pytest.fixture
def paying(serve_house: ServeHouse, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paying]:
    """A house that takes cards, and an invoice of 14.88."""
    quickly(monkeypatch)
    with provider(clock) as stripe:
        yield Paying(serve_house(clock, outage_reopens=False, **cards_of(stripe)), clock, stripe)


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], paying: Paying) -> None:
    """axe finds no fault on a page, in light and in dark, and in neither language is one wider than the screen."""
    mine, desk = f"/mine/documents/{paying.invoice}", f"/admin/desk/{paying.gid}?buyer={paying.paddle}"
    buyer, cashier = (enter(one, base=paying.house.base).page for one in (paying.user, paying.cashier))
    fits_a_phone(buyer, mine)
    session = paying.sheet()
    fits_a_phone(buyer, f"{mine}?card=done")
    paying.stripe.pay(session)
    paying.pay(paying.paddle, ("cash", "14.88"))
    paying.look(minutes=3)
    fits_a_phone(buyer, f"{mine}?card=done")
    paying.stripe.refund_state = "failed"
    assert paying.pay_back("10").is_success
    paying.until_refunds("failed")
    paying.stripe.dispute(f"pi_{session}", 1488, "needs_response")
    paying.told("charge.dispute.created", paying.stripe.disputes[-1])
    fits_a_phone(cashier, "/admin/cards")
    fits_a_phone(cashier, desk)


def test_a_buyer_pays_on_a_phone_whatever_comes_between(enter: Callable[..., BrowserVisitor], paying: Paying) -> None:
    """The way back, two taps, leaving the provider's page, and logins: one page is paid once, and its buyer is told."""
    screen = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = enter(paying.user, base=paying.house.base, locale="de", color_scheme="dark", **screen).page
    mine, told = f"/mine/documents/{paying.invoice}", page.locator("main").get_by_role("status")
    provider_page, pay = (
        re.compile(f"^{re.escape(paying.stripe.url)}/"),
        page.get_by_role("button", name="mit Karte bezahlen"),
    )

    def log_in() -> None:
        page.get_by_label("Benutzername").fill(paying.user.name)
        page.get_by_label("Passwort", exact=True).fill(PASSWORD)
        page.keyboard.press("Enter")

    page.goto(mine)
    above, below = pay.bounding_box(), page.get_by_text("Das Haus sieht").bounding_box()
    assert above and below and above["y"] + above["height"] < below["y"]
    page.context.clear_cookies(name="saleroom_session")
    pay.tap()
    log_in()
    expect(page.locator("[data-problem]")).to_have_text(
        "Sie waren abgemeldet, deshalb ist nichts geschehen. Tun Sie es noch einmal."
    )
    pay.tap()
    expect(page).to_have_url(provider_page, timeout=LATE_MS)
    page.go_back()
    pay.dblclick()
    expect(page).to_have_url(provider_page, timeout=LATE_MS)
    page.goto(f"{mine}?card=left")
    expect(told).to_contain_text("Sie haben die Bezahlseite verlassen.")
    pay.tap()
    expect(page).to_have_url(provider_page, timeout=LATE_MS)
    [session] = paying.stripe.sessions
    paying.stripe.pay(session)
    page.context.clear_cookies(name="saleroom_session")
    page.goto(f"{mine}?card=done")
    log_in()
    expect(told).to_contain_text("Die Zahlung wird bestätigt.")
    expect(pay).to_have_count(0)
    paying.look(minutes=3)
    page.get_by_role("link", name="Noch einmal nachsehen").tap()
    expect(told).to_contain_text("Ihre Kartenzahlung über 14,88 € ist eingegangen.")
    assert [("online", "14.880")] == paying.money()


def test_a_buyer_gets_to_the_provider_by_keyboard(enter: Callable[..., BrowserVisitor], paying: Paying) -> None:
    """The button is pressed by keys, and the policy of the page lets its form lead to the provider."""
    page = enter(paying.user, base=paying.house.base).page
    page.goto(f"/mine/documents/{paying.invoice}")
    page.get_by_role("button", name="Pay €14.88 by card").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"^{re.escape(paying.stripe.url)}/"), timeout=LATE_MS)
    assert paying.stripe.sessions[paying.stripe.latest()]["url"] == page.url
