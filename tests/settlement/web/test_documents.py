"""Documents on pages, without scripts: issued at the desk, credited by lines, and downloaded by their buyer."""

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def test_a_cashier_issues_and_credits(house: House) -> None:
    """The invoice from the desk, twice the same form is one; its page says what is open; lines go by a credit note."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    page, issue = visitor.page(f"{path}?buyer={paddle}"), f"{path}/documents"
    faulty = visitor.sent(page, issue, country="Germany")
    assert "true" == faulty.one("input", id="invoice-country")["aria-invalid"]
    past = visitor.sent(page, issue, dueOn="2026-01-31")
    assert "true" == past.one("input", id="invoice-dueOn")["aria-invalid"]
    assert "This day is over. Choose today or a later day" in past.main
    first = visitor.send(page, issue, language="de", country="DE", city="Köln")
    assert (
        first.headers["location"]
        == visitor.send(page, issue, language="de", country="DE", city="Köln").headers["location"]
    )
    assert "on a document already" in visitor.sent(visitor.page(issue), issue, buyer=f"#{paddle}").main
    shown = visitor.page(first.headers["location"])
    assert "Lot 1: Zuschlag" in shown.main and "Köln" in shown.main and "€14.88" in shown.main
    assert "the country of the house is not set" in shown.main
    credit = f"{first.headers['location']}/credit"
    assert "Tick the lines" in visitor.sent(shown, credit, reason="Damaged.").main
    note = visitor.sent(shown, credit, reason="Damaged.", **{"line-0": "on", "line-1": "on"})
    assert "It takes back lines of INV-" in note.main
    assert "€0.00" in visitor.page(f"{path}/documents").main, "nothing of the invoice is open"
    assert [] == visitor.page(first.headers["location"]).all("input", name="reason"), "nothing is left to take back"
    listed = visitor.page(issue)
    assert first.headers["location"] in listed.links and "Documents are dated in UTC." in listed.main
    statement = visitor.sent(listed, issue, documentKind="statement", consignor=settling.code)
    assert "STM-" in statement.main and "Seller's commission" in statement.main
    assert 404 == visitor.http.get("/admin/documents/none").status_code
    assert 404 == visitor.http.get("/admin/desk/none/documents").status_code
    assert "cursor" in visitor.http.get(f"{issue}?cursor=nonsense", headers={"Accept": "text/html"}).text


def test_a_payment_leads_to_its_receipt(house: House) -> None:
    """After the payment the page of the desk has the receipt to print."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    page = visitor.page(f"{path}?buyer={paddle}")
    done = visitor.sent(page, f"{path}/payments", cash="14.88")
    _, link = [one for one in done.links if one.endswith("paper.pdf")]  # the invoice, and the receipt
    answer = visitor.http.get(link)
    assert (200, "application/pdf") == (answer.status_code, answer.headers["content-type"])
    assert 200 == Visitor(house, settling.cashier).http.get(link.removesuffix("/paper.pdf")).status_code


def test_a_buyer_downloads_their_own(house: House) -> None:
    """My saleroom lists invoice and receipt with what is open; a stranger logs in, and another user finds nothing."""
    settling = Settling(house, 1)
    buyer = settling.sale.bidder()
    paddle = buyer.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    settling.sell(paddle)
    sent = {"documentKind": "invoice", "paddle": paddle}
    invoice = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=sent)["document"]
    settling.pay(paddle, ("card", "4.88"))
    visitor, own = Visitor(house, buyer), f"/mine/documents/{invoice}"
    listed = visitor.page("/mine/documents")
    assert own in listed.links and "€10.00" in listed.main and "RCP-" in listed.main
    assert "€10.00" in visitor.page(own).main
    answer = visitor.http.get(f"{own}/paper.pdf")
    assert b"%PDF" == answer.content[:4]
    assert 409 == visitor.http.get(f"{own}/invoice.xml").status_code
    other = Visitor(house, settling.sale.bidder())
    assert "There is no document for you yet" in other.page("/mine/documents").main
    for path in (own, f"{own}/paper.pdf", f"{own}/invoice.xml", "/mine/documents/%00"):
        assert 404 == other.http.get(path).status_code
    assert 403 == visitor.http.get(f"/admin/documents/{invoice}").status_code
    assert 403 == visitor.http.get(f"/admin/documents/{invoice}/paper.pdf").status_code
    for path in ("/mine/documents", own, f"{own}/paper.pdf"):
        assert "/login?next=" in Visitor(house).http.get(path).headers["location"]


def test_numbers_longer_than_any_are_refused(house: House) -> None:
    """A paddle or a place of thousands of digits, by a jammed key or on purpose, is a fault of the form."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    page, issue = visitor.page(f"{path}?buyer={paddle}"), f"{path}/documents"
    digits = "9" * 5000
    assert 400 == visitor.send(page, issue, buyer=digits).status_code
    moved = visitor.send(page, f"{path}/correction", "hand-over", lot="1", paddle=digits, reason="Misread.")
    assert 400 == moved.status_code
    issued = visitor.send(page, issue).headers["location"]
    refused = visitor.sent(visitor.page(issued), f"{issued}/credit", reason="Damaged.", **{f"line-{digits}": "on"})
    assert "Tick the lines" in refused.main


def test_the_address_of_one_form_stays_out_of_the_other(house: House) -> None:
    """What was typed for an invoice is not in the form of a statement too, where it would be the address of a consignor."""
    settling = Settling(house, 1)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}/documents"
    refused = visitor.sent(visitor.page(path), path, buyer="77777", city="Graz")
    assert 409 == refused.status
    assert "Graz" == refused.one("input", id="invoice-city")["value"]
    assert "" == refused.one("input", id="statement-city")["value"]
