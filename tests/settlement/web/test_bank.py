"""Money from the bank on pages, without scripts: a statement is sent, and a doubtful payment is decided."""

import secrets
from typing import Any

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_bank import Banking
from tests.settlement.camt import credit, statement
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def sent(visitor: Visitor, page: Page, data: bytes) -> Page:
    """Send a statement by the form of the page, and return the page that answers."""
    token = page.all("input", name="csrfToken")[0]["value"]
    parts: dict[str, Any] = {"csrfToken": (None, token), "statement": ("a.xml", data, "text/xml")}
    return Page(visitor.http.post("/admin/bank", files=parts))


def test_a_cashier_imports_a_statement_and_decides(house: House) -> None:
    """The page says what the import did, shows the doubtful payment with its invoice, and takes it by one button."""
    banking = Banking(house, 1)
    paddle = banking.bidder()
    banking.sell(paddle)
    number, mark = banking.invoice(paddle), secrets.token_hex(8)
    visitor = Visitor(house, banking.cashier)
    page = visitor.page("/admin/bank")
    wrong = sent(visitor, page, b"<a/>")
    assert "true" == wrong.one("input", id="statement")["aria-invalid"]
    data = statement(credit("10", f"{number} {mark}"), credit("3", f"gift {mark}"))
    done = sent(visitor, page, data)
    assert "New payments: 2. Taken for their invoices: 0. To decide: 2." in done.main
    assert number in done.main and "left to pay €14.88" in done.main
    assert not any(
        number in form.text for form in done.all("form") if "left to pay" in form.text
    )  # forms are not printed
    banking.waiting(f"{number} {mark}")
    path = f"/admin/bank/{banking.waiting(f'{number} {mark}')['bankPayment']}"
    assert "Done." in visitor.sent(done, path).main
    assert "4.880" == banking.desk(paddle)["owed"]
    path = f"/admin/bank/{banking.waiting(f'gift {mark}')['bankPayment']}"
    page = visitor.page("/admin/bank")
    refused = visitor.sent(page, path, sale="", buyer="", reason="")
    assert "Choose a sale and a buyer" in refused.main
    assert "Done." in visitor.sent(page, path, sale="", buyer="", reason="#12 gave it.").main
    decided = banking.cashier.json("GET", "/bank-payments?waiting=false")["bankPayments"]
    assert "#12 gave it." in [one["reason"] for one in decided]


def test_a_payment_that_was_decided_meanwhile_says_what_is_wrong(house: House) -> None:
    """Another tab has decided it, so that its form has no place on the page for the faults of this one."""
    banking, mark = Banking(house, 1), secrets.token_hex(8)
    visitor = Visitor(house, banking.cashier)
    page = sent(visitor, visitor.page("/admin/bank"), statement(credit("3", f"gift {mark}")))
    payment = banking.waiting(f"gift {mark}")["bankPayment"]
    banking.cashier.json("POST", f"/bank-payments/{payment}/decision", json={"reason": "A gift."})
    refused = visitor.sent(page, f"/admin/bank/{payment}", sale="", buyer="", reason="")
    assert "Choose a sale and a buyer" in refused.one("p", role="alert").text
