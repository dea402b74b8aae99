"""Cards online in a real Chromium: the pages fit a phone, and the button leads to the provider by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_database import FakeClock
from tests.fixtures_house import ServeHouse
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


def test_a_buyer_gets_to_the_provider_by_keyboard(enter: Callable[..., BrowserVisitor], paying: Paying) -> None:
    """The button is pressed by keys, and the policy of the page lets its form lead to the provider."""
    page = enter(paying.user, base=paying.house.base).page
    page.goto(f"/mine/documents/{paying.invoice}")
    page.get_by_role("button", name="Pay €14.88 by card").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"^{re.escape(paying.stripe.url)}/"), timeout=LATE_MS)
    assert paying.stripe.sessions[paying.stripe.latest()]["url"] == page.url
