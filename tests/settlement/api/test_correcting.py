"""A sold lot corrected at the desk in one act, before and after its payment, over HTTP."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House
from tests.settlement.api.test_desk import TERMS, Settling

WHY = "The number was misread."


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale of two lots to settle."""
    return Settling(house, 2)


def correct(settling: Settling, label: str = "1", **said: Any) -> Any:
    """Correct the sale of a lot, and return the answer."""
    headers = said.pop("headers", {})
    path = f"/sales/{settling.gid}/lots/{label}/correction"
    return settling.cashier.post(path, json={"reason": WHY, **said}, headers=headers)


def documents(settling: Settling) -> list[tuple[str, str, str | None]]:
    """Return the kind, the total and what is open of each document of the sale."""
    found = settling.cashier.json("GET", f"/sales/{settling.gid}/documents")["documents"]
    return [(one["documentKind"], one["total"], one["stillOpen"]) for one in found if one["documentKind"] != "receipt"]


@pytest.mark.databases("sqlite")
def test_a_lot_goes_to_the_right_paddle_after_its_payment(settling: Settling) -> None:
    """The first buyer is paid back, the right one owes the same, the consignor gets the same; sent twice is once."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first, "100")
    settling.sell(second)
    settling.pay(first, ("card", "148.75"))
    settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json={"documentKind": "invoice", "paddle": first})
    before = settling.accounts()
    key = {"Idempotency-Key": "one-correction"}
    done = correct(settling, paddle=second, method="card", headers=key).json()
    assert done == correct(settling, paddle=second, method="card", headers=key).json()
    assert ("0.000", [], ["148.750", "-148.750"]) == (
        done["owed"],
        done["settledLots"],
        [one["moved"] for one in done["money"]],
    )
    receipt = settling.cashier.json("GET", f"/documents/{done['paymentReceipt']}")
    assert "-148.750" == receipt["paid"]
    assert [("invoice", "148.750", "0.000"), ("credit_note", "148.750", None)] == documents(settling)
    right = settling.desk(second)
    assert ("163.630", ["1", "2"]) == (right["owed"], [lot["label"] for lot in right["settledLots"]])
    after = settling.accounts()
    assert before["consignorBalances"] == after["consignorBalances"] and before["hammerTotal"] == after["hammerTotal"]
    assert [("premium", "-27.500")] == [
        (one["ledgerAccount"], one["balance"]) for one in after["balances"] if one["ledgerAccount"] == "premium"
    ]
    assert [] == settling.faults()


def test_a_lot_is_taken_back_and_refunded(settling: Settling) -> None:
    """Nobody buys it: its lines are taken back from the invoice and the statement, and the buyer is paid back."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    settling.sell(paddle)
    settling.pay(paddle, ("cash", "163.63"))
    for sent in (
        {"documentKind": "invoice", "paddle": paddle},
        {"documentKind": "statement", "consignor": settling.code},
    ):
        settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=sent)
    done = correct(settling, method="cash").json()
    assert ("0.000", ["2"]) == (done["owed"], [lot["label"] for lot in done["settledLots"]])
    assert "-148.750" == done["money"][-1]["moved"]
    assert [("invoice", "163.630", "0.000"), ("credit_note", "148.750", None), ("credit_note", "86.910", None)] == [
        one for one in documents(settling) if one[0] != "statement"
    ]
    found = settling.accounts()
    assert (1, 1, "10.000") == tuple(found[name] for name in ("soldLots", "unsoldLots", "hammerTotal"))
    assert (409, "lot_not_sold") == refusal(correct(settling))
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_lot_is_corrected_after_the_sale_has_ended(settling: Settling) -> None:
    """The mistake is found when the buyer pays, days later: the lot goes to the right paddle, or comes back."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.sell(first)
    settling.sale.act("end")
    settling.pay(first, ("card", "29.76"))
    assert correct(settling, paddle=second, method="card").is_success
    assert ("14.880", ["1"]) == (
        settling.desk(second)["owed"],
        [lot["label"] for lot in settling.desk(second)["settledLots"]],
    )
    assert correct(settling, "2", method="cash").is_success
    assert ("0.000", []) == (settling.desk(first)["owed"], settling.desk(first)["settledLots"])
    found = settling.accounts()
    assert (1, 1) == (found["soldLots"], found["unsoldLots"])
    assert "closed" == settling.cashier.json("GET", f"/sales/{settling.gid}")["status"]
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_before_the_payment_nothing_is_paid_back(settling: Settling) -> None:
    """The balance follows the lot; a way to pay back is no fault when nothing is owed."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    done = correct(settling, paddle=second, method="cash").json()
    assert ("0.000", [], None) == (done["owed"], done["money"], done["paymentReceipt"])
    assert "14.880" == settling.desk(second)["owed"]


@pytest.mark.databases("sqlite")
def test_what_cannot_be_corrected_is_refused(settling: Settling) -> None:
    """An unknown lot or paddle, an open lot, the same buyer, no reason, a member: each is told so, and nothing changes."""
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.accounts()
    entries = settling.entries()
    assert (404, "unknown_lot") == refusal(correct(settling, "77", paddle=paddle))
    assert (409, "unknown_paddle") == refusal(correct(settling, paddle=9999))
    assert (409, "lot_not_sold") == refusal(correct(settling, "2", paddle=paddle))
    assert (409, "same_buyer") == refusal(correct(settling, paddle=paddle))
    assert {"reason"} == faults(correct(settling, reason="")).keys()
    member = settling.sale.bidder()
    answer = member.post(f"/sales/{settling.gid}/lots/1/correction", json={"reason": WHY})
    assert (403, "missing_right") == refusal(answer)
    assert entries == settling.entries()
    assert "14.880" == settling.desk(paddle)["owed"]


def test_cashiers_correct_one_lot_at_once(settling: Settling) -> None:
    """Eight at a time: one does it, the others are told that the lot is theirs already; the money is paid back once."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.pay(first, ("cash", "14.88"))
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: correct(settling, paddle=second, method="cash").status_code, range(8))]
    assert [200, *[409] * 7] == sorted(answers)
    assert Decimal(0) == sum(Decimal(one["moved"]) for one in settling.desk(first)["money"])
    assert [] == settling.faults()


def issued(settling: Settling, **order: Any) -> Any:
    """Issue a document, and return the answer."""
    return settling.cashier.post(f"/sales/{settling.gid}/documents", json=order)


@pytest.mark.databases("sqlite")
def test_a_document_that_no_longer_fits_is_named_until_it_is_credited(settling: Settling) -> None:
    """A result that is undone leaves the documents of its lot: the desk of both buyers names them, and no other is issued."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first, "100")
    invoice = issued(settling, documentKind="invoice", paddle=first).json()
    statement = issued(settling, documentKind="statement", consignor=settling.code).json()
    path = f"/sales/{settling.gid}/statements/{settling.code}"
    for act in ("undo", "undo"):
        settling.sale.act(act)

    def named(found: Any) -> list[tuple[str, str]]:
        return [(one["label"], one["documentNumber"]) for one in found["lotsToCredit"]]

    assert [("1", invoice["documentNumber"])] == named(settling.desk(first))
    assert [("1", statement["documentNumber"])] == named(settling.cashier.json("GET", path))
    settling.sale.act("bid", amount="100", paddle=second)
    settling.sale.act("sell")
    assert [] == named(settling.cashier.json("GET", path))
    for paddle in (first, second):
        assert [("1", invoice["documentNumber"])] == named(settling.desk(paddle))
    assert (409, "lot_on_document") == refusal(issued(settling, documentKind="invoice", paddle=second))
    settling.cashier.json("POST", f"/documents/{invoice['document']}/credit", json={"reason": WHY})
    assert [[], []] == [named(settling.desk(paddle)) for paddle in (first, second)]
    assert (409, "nothing_to_issue") == refusal(issued(settling, documentKind="invoice", paddle=first))
    assert "148.750" == issued(settling, documentKind="invoice", paddle=second).json()["total"]
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_charge_that_is_given_up_leaves_a_document_that_fits(settling: Settling) -> None:
    """The desk names an invoice at another price, and none whose credit note says what is owed now."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    invoice = issued(settling, documentKind="invoice", paddle=paddle).json()
    settling.cashier.json("POST", f"/documents/{invoice['document']}/credit", json={"lines": [1], "reason": WHY})
    assert [] == settling.desk(paddle)["lotsToCredit"]
    settling.sale.act("undo")
    settling.sale.act("undo")
    settling.sale.act("ask", amount="120")
    settling.sale.act("bid", amount="120", paddle=paddle)
    settling.sale.act("sell")
    assert ["1"] == [one["label"] for one in settling.desk(paddle)["lotsToCredit"]]


def surcharged(settling: Settling) -> None:
    """Have each way of bidding cost another surcharge."""
    terms = {**TERMS, "surcharges": {"online": "3", "floor": "1", "absentee": "2", "phone": "5"}}
    settling.manager.json("PUT", f"/rate-cards/{settling.card}", json=terms)


def surcharges(settling: Settling, buyer: object) -> list[tuple[str, str]]:
    """Return the surcharge of each lot of a buyer."""
    lots = settling.desk(buyer)["settledLots"]
    lines = [(lot["label"], line) for lot in lots for line in lot["bill"]["buyerLines"]]
    return [(label, line["lineAmount"]) for label, line in lines if line["item"] == "surcharge"]


@pytest.mark.databases("sqlite")
def test_a_lot_that_was_won_from_outside_the_hall_is_corrected(settling: Settling) -> None:
    """By a bid of the book and by one online: either goes to a paddle at its price, with the surcharge of the hall."""
    surcharged(settling)
    staff, online = settling.sale.staff, settling.sale.bidder()
    staff.json("POST", f"/sales/{settling.gid}/participants", json={"personName": "Ida", "paddle": 12})
    staff.json("POST", f"/sales/{settling.gid}/book", json={"paddle": 12, "label": "1", "maximum": "100"})
    settling.sale.act("call")
    settling.sale.act("sell")
    settling.sale.act("call")
    assert 201 == online.bid(settling.sale.lots[1], amount="10").status_code
    settling.sale.act("sell")
    paddle = online.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    assert [("1", "0.200")] == surcharges(settling, 12)
    assert [("2", "0.300")] == surcharges(settling, paddle)
    right, third = settling.bidder(), settling.bidder()
    for label in ("1", "2"):
        assert correct(settling, label, paddle=right).is_success
    assert [("1", "0.100"), ("2", "0.100")] == surcharges(settling, right)
    assert ["0.000", "0.000"] == [settling.desk(one)["owed"] for one in (12, paddle)]
    for label in ("1", "2"):
        assert correct(settling, label, paddle=third).is_success
    assert [("1", "0.100"), ("2", "0.100")] == surcharges(settling, third)
    assert [] == settling.faults()


def test_a_lot_is_taken_back_whatever_bids_from_outside_stand(settling: Settling) -> None:
    """Of its buyer online, who does not pay, and of somebody below the buyer in the hall: nobody buys it."""
    online, hall = settling.sale.bidder(), settling.bidder()
    settling.sale.act("call")
    assert 201 == online.bid(settling.sale.lots[0], amount="10").status_code
    settling.sale.act("sell")
    settling.sale.act("call")
    assert 201 == online.bid(settling.sale.lots[1], amount="10").status_code
    settling.sale.act("bid", amount="15", paddle=hall)
    settling.sale.act("sell")
    settling.sale.act("end")
    for label in ("1", "2"):
        assert correct(settling, label).is_success
    assert (0, 2) == tuple(settling.accounts()[name] for name in ("soldLots", "unsoldLots"))
    shown = [settling.cashier.json("GET", f"/auctions/{gid}") for gid in settling.sale.lots[:2]]
    assert [None, None] == [one["currentBidder"] for one in shown]
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_misread_paddle_of_the_telephone_keeps_its_surcharge(settling: Settling) -> None:
    """The bid came by telephone, whosever it was, also when it is corrected a second time."""
    surcharged(settling)
    first, second, third = (settling.bidder() for _ in range(3))
    settling.sale.act("call")
    settling.sale.act("bid", amount="10", paddle=first, channel="phone")
    settling.sale.act("sell")
    for paddle in (second, third):
        assert correct(settling, paddle=paddle).is_success
        assert [("1", "0.500")] == surcharges(settling, paddle)
    assert [] == settling.faults()
