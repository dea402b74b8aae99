"""Payments by card online on pages, without scripts: the button on an invoice, the way back, and the list of the house."""

from collections.abc import Iterator

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.settlement.paying import Paying, provider, quickly, settings_of
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


@pytest.fixture
def paying(database_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paying]:
    """A house that takes cards, and an invoice of 14.88."""
    quickly(monkeypatch)
    with provider(clock) as stripe:
        house = House(settings_of(database_url, stripe), clock)
        house.start()
        yield Paying(house, clock, stripe)
        house.stop()


def test_a_buyer_pays_and_reads_what_is_known(paying: Paying) -> None:
    """The button leads to the provider, which the policy of the page allows; back here the page claims nothing too soon."""
    buyer, path = Visitor(paying.house, paying.user), f"/mine/documents/{paying.invoice}"
    page = buyer.page(path)
    assert "Pay €14.88 by card" in page.main
    answer = buyer.http.get(path)
    assert f"form-action 'self' {paying.stripe.url};" in answer.headers["content-security-policy"]
    assert "form-action 'self';" in buyer.http.get("/mine/documents").headers["content-security-policy"]
    sent = buyer.send(page, f"{path}/card")
    session = paying.stripe.latest()
    assert (303, paying.stripe.sessions[session]["url"]) == (sent.status_code, sent.headers["location"])
    left = buyer.page(f"{path}?card=left")
    assert "You have left the payment page." in left.main and "Pay €14.88 by card" in left.main
    back = buyer.page(f"{path}?card=done")
    assert "The payment is being confirmed." in back.main and "Pay €14.88" not in back.main
    paying.stripe.pay(session)
    assert "The payment is being confirmed." in buyer.page(f"{path}?card=done").main
    paying.look(minutes=3)
    paid = buyer.page(f"{path}?card=done")
    assert "Your payment of €14.88 by card has arrived." in paid.main and "Pay €" not in paid.main
    buyer.http.headers["Accept-Language"] = "de"
    assert "Ihre Kartenzahlung über 14,88" in buyer.page(f"{path}?card=done").main
    refused = buyer.sent(page, f"{path}/card")
    assert "Nothing of this document is open" in refused.main or "Von diesem Dokument ist nichts offen" in refused.main


@pytest.mark.parametrize("is_paid_twice", [False, True])
def test_a_buyer_who_pays_an_older_page_reads_that_it_arrived(paying: Paying, is_paid_twice: bool) -> None:
    """Another amount was open meanwhile, and had a page of its own: nothing is awaited of that, and both are told if paid."""
    buyer, path = Visitor(paying.house, paying.user), f"/mine/documents/{paying.invoice}"
    first = paying.sheet()
    paying.pay(paying.paddle, ("cash", "4.88"))
    second = paying.sheet()
    paying.stripe.pay(first)
    if is_paid_twice:
        paying.stripe.pay(second)
    assert "The payment is being confirmed." in buyer.page(f"{path}?card=done").main
    paying.look(minutes=3)
    page = buyer.page(f"{path}?card=done")
    told = [f"Your payment of {amount} by card has arrived." for amount in ("€10.00", "€14.88")[not is_paid_twice :]]
    assert told == [one.text for one in page.all("p", role="status", class_="card")]
    assert "Pay €" not in page.main and told[0] not in buyer.page(path).main
    if not is_paid_twice:
        paying.look(minutes=10)
    assert told[-1] in buyer.page(f"{path}?card=done").main


def test_a_buyer_who_paid_twice_reads_what_becomes_of_it(paying: Paying) -> None:
    """The list and the page of the invoice say what the house owes them, and what of that is on its way back."""
    buyer, path = Visitor(paying.house, paying.user), f"/mine/documents/{paying.invoice}"
    paying.stripe.pay(paying.sheet())
    assert paying.pay(paying.paddle, ("cash", "14.88")).is_success
    assert "more than you owe" not in buyer.page(path).main + buyer.page("/mine/documents").main
    paying.look(minutes=3)
    for page in (path, "/mine/documents"):
        told = buyer.page(page).main
        assert "You have paid more than you owe. The house owes you €14.88 from this sale:" in told
        assert "You need not do anything: it is paid back to you" in told and "on its way" not in told
    paying.stripe.refund_state = "pending"
    assert paying.pay_back("10").is_success
    paying.until_refunds("pending")
    assert "€10.00 of it is on its way back to your card." in buyer.page(path).main
    assert "need not do anything" in buyer.page(path).main
    assert paying.pay_back("4.88").is_success
    paying.until_refunds("pending", "pending")
    assert "need not do anything" not in buyer.page(path).main
    for refund in paying.stripe.refunds.values():
        refund["status"] = "succeeded"
        paying.told("refund.updated", refund)
    paying.until_refunds("done", "done")
    assert "more than you owe" not in buyer.page(path).main + buyer.page("/mine/documents").main


def test_a_buyer_is_told_that_the_provider_is_away(paying: Paying) -> None:
    """A sentence on the page of the invoice, and the button again."""
    buyer, path = Visitor(paying.house, paying.user), f"/mine/documents/{paying.invoice}"
    page = buyer.page(path)
    paying.stripe.moods.append(503)
    refused = buyer.sent(page, f"{path}/card")
    assert "The card provider cannot be reached now" in refused.main and "Pay €14.88 by card" in refused.main


def test_those_who_settle_see_payments_and_pay_back_to_the_card(paying: Paying) -> None:
    """The list has the state of each; the desk pays back to the card, and shows what becomes of it."""
    session = paying.sheet()
    cashier = Visitor(paying.house, paying.cashier)
    assert "not paid yet" in cashier.page("/admin/cards").main
    paying.stripe.pay(session)
    paying.pay(paying.paddle, ("cash", "14.88"))
    paying.look(minutes=3)
    desk = f"/admin/desk/{paying.gid}"
    page = cashier.page(f"{desk}?buyer={paying.paddle}")
    assert "The house owes them €14.88." in page.main
    paying.stripe.refund_state = "failed"
    done = cashier.sent(page, f"{desk}/refund", amount="10", method="online")
    assert "Done." in done.main
    paying.until_refunds("failed")
    assert "failed" in cashier.page(f"{desk}?buyer={paying.paddle}").main
    paying.stripe.dispute(f"pi_{session}", 1488, "needs_response")
    paying.told("charge.dispute.created", paying.stripe.disputes[-1])
    listed = cashier.page("/admin/cards").main
    assert f"pi_{session}" in listed and "Refund of €10.00: failed" in listed and "disputed" in listed


def test_a_house_without_a_key_shows_no_button(house: House) -> None:
    """Neither on the invoice nor in the menu of the back office."""
    settling = Settling(house, 1)
    user = settling.sale.bidder()
    paddle = user.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    settling.sell(paddle)
    order = {"documentKind": "invoice", "paddle": paddle}
    invoice = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=order)["document"]
    assert "by card" not in Visitor(house, user).page(f"/mine/documents/{invoice}").main
    cashier = Visitor(house, settling.cashier)
    assert "/admin/cards" not in cashier.http.get("/admin/bank").text
    assert "The house takes no cards online." in cashier.page("/admin/cards").main
