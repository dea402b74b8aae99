"""Documents and money over HTTP: what is paid of an invoice, receipts of payments, one's own list, and the electronic form."""

from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from lxml import etree
from pypdf import PdfReader

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House, ServeHouse
from tests.settlement.api.test_desk import Settling


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale to settle."""
    return Settling(house)


def issue(settling: Settling, kind: str = "invoice", **said: Any) -> Any:
    """Issue a document, and return it."""
    return settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json={"documentKind": kind, **said})


def state(settling: Settling, document: Any) -> tuple[str, str]:
    """Return what is paid and what is open of a document by now."""
    found = settling.cashier.json("GET", f"/documents/{document['document']}")
    return found["settled"], found["stillOpen"]


@pytest.mark.databases("sqlite")
def test_an_invoice_shows_what_is_paid_and_what_is_open(settling: Settling) -> None:
    """What was paid before is on it, later money is not; the oldest one is paid first; a credit note lowers what is open."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    settling.pay(paddle, ("bank", "48.75"))
    first = issue(settling, paddle=paddle)
    assert ("148.750", "48.750", "100.000") == tuple(first[it] for it in ("total", "paid", "amountDue"))
    assert [("Transfer", "48.750")] == [(one["paidBy"], one["paymentAmount"]) for one in first["payments"]]
    settling.sell(paddle)
    second = issue(settling, paddle=paddle)
    assert [] == second["payments"], "what was paid before is for the first one"
    settling.pay(paddle, ("cash", "110"))
    assert (("148.750", "0.000"), ("10.000", "4.880")) == (state(settling, first), state(settling, second))
    assert "48.750" == settling.cashier.json("GET", f"/documents/{first['document']}")["paid"], "it says what it said"
    rows = {one["document"]: one["stillOpen"] for one in settling.desk(paddle)["documents"]}
    assert ("0.000", "4.880") == (rows[first["document"]], rows[second["document"]])
    credit = {"lines": [1], "reason": "No premium for a friend."}
    settling.cashier.json("POST", f"/documents/{second['document']}/credit", json=credit)
    assert ("10.000", "1.900") == state(settling, second)


@pytest.mark.databases("sqlite")
def test_a_payment_issues_a_receipt(settling: Settling) -> None:
    """One for all ways of a payment, in its language, without a gap; a refund and a payout have theirs; nothing twice."""
    paddle = settling.bidder()
    settling.sell(paddle)
    key = {"Idempotency-Key": "a-receipt-of-one"}
    body = {"payments": [{"method": "card", "amount": "5"}, {"method": "cash", "amount": "20"}], "language": "de"}
    path = f"/sales/{settling.gid}/desk/{paddle}/payments"
    paid, again = (settling.cashier.json("POST", path, json=body, headers=key) for _ in range(2))
    receipt = settling.cashier.json("GET", f"/documents/{paid['paymentReceipt']}")
    assert paid == again
    assert ("receipt", [], "14.880") == tuple(receipt[it] for it in ("documentKind", "documentLines", "paid"))
    assert ("14.880", "0.000") == tuple(receipt[it] for it in ("total", "amountDue"))
    assert [("Karte", "5.000"), ("Bar", "9.880")] == [
        (one["paidBy"], one["paymentAmount"]) for one in receipt["payments"]
    ]
    out = settling.cashier.json(
        "POST", f"/sales/{settling.gid}/statements/{settling.code}/payouts", json={"method": "cash", "amount": "2"}
    )
    payout = settling.cashier.json("GET", f"/documents/{out['paymentReceipt']}")
    assert ("-2.000", "0.000") == (payout["total"], payout["amountDue"])
    assert ("-2.000", settling.code, "Erben") == (payout["paid"], payout["account"], payout["party"]["partyName"])
    first, second = (int(one["documentNumber"][-5:]) for one in (receipt, payout))
    assert 1 == second - first
    assert (409, "overpaid") == refusal(settling.pay(paddle, ("card", "1")))
    assert (409, "not_to_credit") == refusal(
        settling.cashier.post(f"/documents/{receipt['document']}/credit", json={"reason": "No."})
    )
    assert (409, "no_electronic_form") == refusal(settling.cashier.get(f"/documents/{receipt['document']}/invoice.xml"))
    words = PdfReader(BytesIO(settling.cashier.get(f"/documents/{receipt['document']}/paper.pdf").content))
    assert all(one in words.pages[0].extract_text() for one in ("Quittung RCP-", "Karte", "Bezahlt"))


def test_a_buyer_lists_their_own(settling: Settling) -> None:
    """Invoice and receipt, the latest first, page by page; nobody else's, and one without a paddle is found by name."""
    buyer = settling.sale.bidder()
    settling.sell(buyer.json("GET", f"/sales/{settling.gid}/registration")["paddle"])
    invoice = issue(settling, username=buyer.name)
    receipt = settling.pay(buyer.name, ("card", "14.88")).json()["paymentReceipt"]
    page = buyer.json("GET", "/me/documents?limit=1")
    assert [receipt] == [one["document"] for one in page["documents"]]
    page = buyer.json("GET", f"/me/documents?cursor={page['next']}")
    assert ([invoice["document"]], None) == ([one["document"] for one in page["documents"]], page["next"])
    assert "0.000" == page["documents"][0]["stillOpen"]
    assert [] == settling.sale.bidder().json("GET", "/me/documents")["documents"]
    assert (401, "unauthenticated") == refusal(settling.house.anyone.get("/me/documents"))
    assert (404, "unknown_participant") == refusal(
        settling.cashier.post(
            f"/sales/{settling.gid}/documents", json={"documentKind": "invoice", "username": "nobody.here"}
        )
    )


def test_the_electronic_form_of_an_invoice(serve_house: ServeHouse) -> None:
    """It is the XML that is inside the PDF: with the number, the total and what was paid."""
    settling = Settling(
        serve_house(house_name="Haus", house_country="DE", house_vat_id="DE136695976", house_city="Berlin"), 1
    )
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.pay(paddle, ("cash", "4.88"))
    invoice = issue(settling, paddle=paddle, country="DE")
    answer = settling.cashier.get(f"/documents/{invoice['document']}/invoice.xml")
    assert f'attachment; filename="{invoice["documentNumber"]}.xml"' == answer.headers["content-disposition"]
    found = etree.fromstring(answer.content)
    texts = {etree.QName(one).localname: one.text for one in found.iter() if one.text and isinstance(one.tag, str)}
    assert ("14.88", "4.88", "10.00") == tuple(
        texts[name] for name in ("GrandTotalAmount", "TotalPrepaidAmount", "DuePayableAmount")
    )
    printed = PdfReader(BytesIO(settling.cashier.get(f"/documents/{invoice['document']}/paper.pdf").content))
    assert [answer.content] == printed.attachments["factur-x.xml"]
    assert Decimal(invoice["amountDue"]) == Decimal(10)
