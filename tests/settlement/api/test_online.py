"""Payments by card online, against a local server that speaks the provider's protocol."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from saleroom.settlement.service.verifying import faults as journal_faults
from tests.bidding.api.answers import refusal
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House
from tests.patience import SECONDS_MAX
from tests.settlement.paying import Paying, provider, quickly, settings_of
from tests.settlement.stripe_server import Stripe, signed


@pytest.fixture
def stripe(clock: FakeClock) -> Iterator[Stripe]:
    """The provider."""
    with provider(clock) as found:
        yield found


@pytest.fixture
def paying(database_url: str, clock: FakeClock, stripe: Stripe, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paying]:
    """A house that takes cards, and an invoice of 14.88."""
    quickly(monkeypatch)
    house = House(settings_of(database_url, stripe), clock)
    house.start()
    made = Paying(house, clock, stripe)
    yield made
    assert [] == house.write(lambda tx: list(journal_faults(tx)))
    house.stop()


def test_a_payment_is_posted_once_a_callback_has_the_house_ask(paying: Paying, stripe: Stripe) -> None:
    """The page is for what is open, in cents, and nothing is paid before the provider says so; then there is a receipt."""
    session = paying.sheet()
    [(_, _, sent)] = [one for one in stripe.asked if one[0] == "POST"]
    price = sent["line_items"]["0"]["price_data"]
    assert ("1488", "eur") == (price["unit_amount"], price["currency"])
    assert f"http://house.test/mine/documents/{paying.invoice}?card=done" == sent["success_url"]
    assert "card" == sent["allowed_payment_method_types"]["0"]
    own = paying.user.json("GET", f"/documents/{paying.invoice}/online-payments")
    assert ("14.880", ["open"]) == (own["payable"], [one["paymentState"] for one in own["ownPayments"]])
    assert (session, []) == (paying.payments()[0]["providerName"], paying.money())
    paid = stripe.pay(session)
    assert 204 == paying.tell("checkout.session.completed", paid).status_code
    one = paying.until("paid")
    assert ("14.880", "pi_" + session, None) == (one["received"], one["providerName"], one["trouble"])
    desk = paying.desk(paying.paddle)
    assert ("0.000", [("online", "14.880")]) == (desk["owed"], paying.money())
    kinds = [each["documentKind"] for each in desk["documents"]]
    assert ["receipt", "invoice"] == kinds
    books = {each["ledgerAccount"]: each["balance"] for each in paying.accounts()["balances"]}
    assert "14.880" == books["online"]
    own = paying.user.json("GET", f"/documents/{paying.invoice}/online-payments")
    assert (None, "14.880") == (own["payable"], own["ownPayments"][0]["received"])
    assert (409, "not_payable_online") == refusal(paying.begin())


@pytest.mark.databases("sqlite")
def test_a_lost_callback_is_found_by_asking(paying: Paying, stripe: Stripe) -> None:
    """No callback comes: some minutes later the house asks by itself."""
    stripe.pay(paying.sheet())
    assert [] == paying.money()
    paying.look(minutes=3)
    assert ("paid", [("online", "14.880")]) == (paying.until("paid")["paymentState"], paying.money())


def test_a_callback_that_is_doubled_late_or_out_of_order_posts_nothing_more(paying: Paying, stripe: Stripe) -> None:
    """The same event ten times at once, an older one after it, and one of weeks later: one entry, one receipt."""
    session = paying.sheet()
    begun = dict(stripe.sessions[session])
    paid = stripe.pay(session)
    body = stripe.event("checkout.session.completed", paid)
    heads = signed(body)
    with ThreadPoolExecutor(10) as pool:
        assert {204} == {answer.status_code for answer in pool.map(lambda _: paying.send(body, heads), range(10))}
    paying.until("paid")
    for kind, about in (
        ("checkout.session.expired", {**begun, "status": "expired"}),
        ("payment_intent.created", begun),
    ):
        paying.told(kind, about)
    paying.clock.advance(days=20)
    paying.told("checkout.session.completed", paid)
    assert ("paid", [("online", "14.880")]) == (paying.payments()[0]["paymentState"], paying.money())
    assert 1 == [one["documentKind"] for one in paying.desk(paying.paddle)["documents"]].count("receipt")


@pytest.mark.databases("sqlite")
def test_a_forged_callback_is_refused_and_changes_nothing(paying: Paying, stripe: Stripe) -> None:
    """No signature, one by another secret, of another body, of an old one, or none at all: 400. Nobody asks the provider."""
    session = paying.sheet()
    stripe.pay(session)
    body = stripe.event("checkout.session.completed", stripe.sessions[session])
    right = signed(body)
    wrong: list[tuple[bytes, dict[str, str]]] = [
        (body, {}),
        (body, {"Stripe-Signature": ""}),
        (body, {"Stripe-Signature": "t=now,v1=00"}),
        (body, {"Stripe-Signature": right["Stripe-Signature"].replace("v1=", "v0=")}),
        (body, signed(body, "whsec_of_another_endpoint")),
        (body, signed(body, at=time.time() - 301)),
        (body.replace(b"complete", b"COMPLETE"), right),
        (b"\xff" + body, right),
        (b"{}", signed(b"{}")),
        (b"[1]", signed(b"[1]")),
        (b"not JSON", signed(b"not JSON")),
    ]
    for sent, headers in wrong:
        answer = paying.house.plain.post("/online-payments/callbacks", content=sent, headers=headers)
        assert (400, "forged_callback") == refusal(answer)
    large = paying.house.plain.post("/online-payments/callbacks", content=b"x" * 300_000, headers=right)
    assert (413, "body_too_large") == refusal(large)
    assert (0, []) == (paying.looked(), paying.money())


@pytest.mark.databases("sqlite")
def test_a_callback_about_somebody_else_changes_nothing(paying: Paying, stripe: Stripe) -> None:
    """Of another house on the same account, of the other mode, and of things that the house does not know."""
    session = paying.sheet()
    other = {
        **stripe.pay(session),
        "id": "cs_of_another",
        "metadata": {"payment": "another"},
        "payment_intent": "pi_other",
    }
    assert 204 == paying.tell("checkout.session.completed", other).status_code
    assert 204 == paying.tell("checkout.session.completed", stripe.sessions[session], livemode=True).status_code
    assert 204 == paying.tell("invoice.paid", {"id": "in_1", "object": "invoice"}).status_code
    for names in (dict[str, str](), None):
        thing = {"id": "acct_1", "object": "account", "metadata": names}
        assert 204 == paying.tell("account.updated", thing).status_code
    assert (0, []) == (paying.looked(), paying.money())


@pytest.mark.databases("sqlite")
def test_asking_again_gives_the_same_page_until_the_amount_changes(paying: Paying, stripe: Stripe) -> None:
    """Two presses at once are one page. After a part payment the old page is closed, as it would take too much."""
    with ThreadPoolExecutor(4) as pool:
        assert 1 == len({answer.json()["payAt"] for answer in pool.map(lambda _: paying.begin(), range(4))})
    first = stripe.latest()
    assert paying.pay(paying.paddle, ("cash", "4.88")).is_success
    second = paying.sheet()
    assert (1488, 1000) == (stripe.sessions[first]["amount_total"], stripe.sessions[second]["amount_total"])
    paying.look(minutes=3)
    assert ("expired", "open") == (stripe.sessions[first]["status"], stripe.sessions[second]["status"])
    assert ["open", "expired"] == [one["paymentState"] for one in paying.payments()]
    stripe.pay(second)
    paying.look(minutes=3)
    assert "0.000" == paying.desk(paying.paddle)["owed"]


@pytest.mark.databases("sqlite")
def test_a_page_that_nobody_pays_expires(paying: Paying, stripe: Stripe) -> None:
    """After two hours it cannot be paid any more, and another press makes another one."""
    first = paying.sheet()
    paying.look(hours=3)
    assert ("expired", "expired") == (stripe.sessions[first]["status"], paying.until("expired")["paymentState"])
    assert first != paying.sheet()


def test_cash_and_card_at_once_leave_a_credit_that_goes_back_to_the_card(paying: Paying, stripe: Stripe) -> None:
    """Both are posted. What was paid twice goes back to the card: posted when the provider has done it, and not twice."""
    session = paying.sheet()
    stripe.pay(session)
    assert paying.pay(paying.paddle, ("cash", "14.88")).is_success
    paying.look(minutes=3)
    assert ("-14.880", [("cash", "14.880"), ("online", "14.880")]) == (
        paying.desk(paying.paddle)["owed"],
        paying.money(),
    )
    stripe.refund_state = "pending"
    assert (409, "not_owed_by_house") == refusal(paying.pay_back("14.89"))
    found = paying.pay_back("10").json()
    assert ("-14.880", "4.880", None) == (found["owed"], found["toPayBack"], found["paymentReceipt"])
    assert (409, "not_owed_by_house") == refusal(paying.pay_back("4.89", "cash"))
    assert "10.000" == paying.until_refunds("pending")[0]["refundAmount"]
    [refund] = stripe.refunds.values()
    assert (1000, f"pi_{session}") == (refund["amount"], refund["payment_intent"])
    assert "-14.880" == paying.desk(paying.paddle)["owed"]
    refund["status"] = "succeeded"
    assert 204 == paying.tell("refund.updated", refund).status_code
    paying.until_refunds("done")
    paying.told("refund.updated", refund)
    assert ("-4.880", [("cash", "14.880"), ("online", "14.880"), ("online", "-10.000")]) == (
        paying.desk(paying.paddle)["owed"],
        paying.money(),
    )
    stripe.refund_state = "succeeded"
    assert paying.pay_back("4.88").is_success
    assert "4.880" == paying.until_refunds("done", "done")[-1]["refundAmount"]
    assert ["1000", "488"] == [
        sent["amount"] for method, path, sent in stripe.asked if path == "/v1/refunds" and method == "POST"
    ]


def test_a_refund_that_fails_is_shown_and_owed_again(paying: Paying, stripe: Stripe) -> None:
    """One that fails at once is never posted; one that fails later is taken back. A refusal shows too."""
    session = paying.sheet()
    stripe.pay(session)
    paying.pay(paying.paddle, ("cash", "14.88"))
    paying.look(minutes=3)
    stripe.refund_state = "failed"
    assert paying.pay_back("4").is_success
    paying.until_refunds("failed")
    assert ("-14.880", "14.880") == (paying.desk(paying.paddle)["owed"], paying.desk(paying.paddle)["toPayBack"])
    stripe.refund_state = "succeeded"
    assert paying.pay_back("5").is_success
    paying.until_refunds("failed", "done")
    assert "-9.880" == paying.desk(paying.paddle)["owed"]
    refund = [*stripe.refunds.values()][-1]
    refund |= {"status": "failed", "failure_reason": "lost_or_stolen_card"}
    paying.tell("refund.failed", refund)
    assert "lost_or_stolen_card" == paying.until_refunds("failed", "failed")[-1]["failure"]
    assert "-14.880" == paying.desk(paying.paddle)["owed"]
    stripe.refund(f"pi_{session}", 400)  # so that less is left at the provider than the house believes
    assert paying.pay_back("14.88").is_success
    *_, refused, other = paying.until_refunds("failed", "failed", "failed", "done")
    assert ("14.880", "charge_already_refunded") == (refused["refundAmount"], refused["failure"])
    assert "4.000" == other["refundAmount"]  # it was made at the provider, and is posted as well
    assert "-10.880" == paying.desk(paying.paddle)["owed"]


@pytest.mark.databases("sqlite")
def test_more_than_was_paid_online_does_not_go_back_there(paying: Paying, stripe: Stripe) -> None:
    """10 by card online and 4.88 in cash: of a lot that is taken back, 10 can go to the card."""
    assert paying.pay(paying.paddle, ("cash", "4.88")).is_success
    stripe.pay(paying.sheet())
    paying.look(minutes=3)
    paying.cashier.json("POST", f"/sales/{paying.gid}/lots/1/correction", json={"reason": "A scratch."})
    answer = paying.pay_back("10.01")
    assert ((409, "not_refundable_online"), "10.000") == (refusal(answer), answer.json()["most"])
    assert paying.pay_back("10").is_success
    paying.until_refunds("done")
    assert "-4.880" == paying.desk(paying.paddle)["owed"]


def test_another_amount_is_posted_and_another_currency_waits_for_a_person(paying: Paying, stripe: Stripe) -> None:
    """What came is what counts: 5 of 14.88 leaves 9.88. Money in another currency is not posted, and says so."""
    stripe.pay(paying.sheet(), amount=500)
    paying.look(minutes=3)
    assert ("5.000", "9.880") == (paying.until("paid")["received"], paying.desk(paying.paddle)["owed"])
    stripe.pay(paying.sheet(), currency="usd")
    paying.look(minutes=3)
    assert "paid in USD" == paying.until("unclear")["trouble"]
    assert [("online", "5.000")] == paying.money()


def test_an_invoice_that_is_credited_meanwhile_leaves_a_credit(paying: Paying, stripe: Stripe) -> None:
    """The lot is taken back while the buyer pays: the money is theirs again."""
    stripe.pay(paying.sheet())
    paying.cashier.json("POST", f"/sales/{paying.gid}/lots/1/correction", json={"reason": "A scratch."})
    paying.look(minutes=3)
    assert ("-14.880", [("online", "14.880")]) == (paying.desk(paying.paddle)["owed"], paying.money())


def test_a_dispute_is_shown_and_one_that_is_lost_is_owed_again(paying: Paying, stripe: Stripe) -> None:
    """Its money cannot be paid back; when it is lost, the buyer owes it again."""
    session = paying.sheet()
    stripe.pay(session)
    paying.look(minutes=3)
    dispute = stripe.dispute(f"pi_{session}", 1488, "needs_response")
    paying.told("charge.dispute.created", dispute)
    assert ("open", "0.000") == (paying.payments()[0]["dispute"], paying.desk(paying.paddle)["owed"])
    lost = stripe.dispute(f"pi_{session}", 1488, "lost")
    paying.told("charge.dispute.closed", lost)
    assert ("lost", "14.880") == (paying.payments()[0]["dispute"], paying.desk(paying.paddle)["owed"])
    paying.told("charge.dispute.closed", lost)
    assert [("online", "14.880"), ("online", "-14.880")] == paying.money()


def test_a_provider_that_is_away_never_stops_people_and_loses_nothing(paying: Paying, stripe: Stripe) -> None:
    """500, 429, no answer and a page that is no JSON: the buyer is told to come back, the house asks again until it knows."""
    stripe.moods += [500, 429, 401]
    for _ in range(3):
        assert (409, "provider_unavailable") == refusal(paying.begin())
    stripe.lost = 1
    assert (409, "provider_unavailable") == refusal(paying.begin())
    session = paying.sheet()  # the one whose answer was lost
    assert 1 == len(stripe.sessions)
    stripe.pay(session)
    stripe.moods += [500, 503, 429]
    stripe.lost = 1
    start = time.monotonic()
    while paying.payments()[0]["paymentState"] != "paid":
        assert time.monotonic() - start < SECONDS_MAX, "the house does not ask again"
        paying.clock.advance(minutes=3)
        time.sleep(0.1)
    assert ([], 0) == (stripe.moods, stripe.lost)
    assert [("online", "14.880")] == paying.money()


def test_a_payment_that_the_provider_does_not_know_waits_for_a_person(paying: Paying, stripe: Stripe) -> None:
    """Such as after a change of the key: its page says so after some days, and nothing is asked any more."""
    paying.sheet()
    stripe.sessions.clear()
    paying.look(minutes=3)
    assert ("open", "resource_missing") == (
        paying.payments()[0]["paymentState"],
        paying.payments()[0]["trouble"],
    )
    paying.look(days=4)
    assert "resource_missing" == paying.until("unclear")["trouble"]


@pytest.mark.databases("sqlite")
def test_only_the_buyer_begins_and_only_those_who_settle_see_all(paying: Paying) -> None:
    """Somebody else's invoice is unknown, and so is a receipt; the list is for those who settle."""
    stranger = paying.house.newcomer()
    assert (404, "unknown_document") == refusal(stranger.post(f"/documents/{paying.invoice}/online-payments"))
    assert (404, "unknown_document") == refusal(stranger.get(f"/documents/{paying.invoice}/online-payments"))
    assert (403, "missing_right") == refusal(stranger.get("/online-payments"))
    assert (404, "unknown_document") == refusal(paying.cashier.post(f"/documents/{paying.invoice}/online-payments"))


@pytest.mark.databases("sqlite")
def test_a_house_without_a_key_takes_no_cards(house: House) -> None:
    """There is no button to press: begin, list and callback are unknown, and the cashier cannot say that it was paid online."""
    user = house.newcomer()
    assert (404, "cards_off") == refusal(user.post("/documents/abc/online-payments"))
    assert (404, "cards_off") == refusal(house.plain.post("/online-payments/callbacks", content=b"{}"))
