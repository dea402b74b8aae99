"""The cashier's desk on pages, without scripts: a paddle, payments, accounts, payouts."""

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.settlement.api.test_netting import selling_buyer
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

CURRENT = {"aria-current": "page"}


def test_a_cashier_closes_a_buyer(house: House) -> None:
    """A paddle shows the lines and what is left; a part by card and cash with change closes it; the accounts are 0."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    assert path in visitor.page("/admin/desk").links
    assert {path, f"{path}/accounts"} <= set(visitor.page(f"/catalogues/{settling.gid}").links)
    pay, page = f"{path}/payments", visitor.page(f"{path}?buyer=%23{paddle}")
    assert "To pay: €14.88" in page.main and "Buyer's premium" in page.main
    refused = visitor.sent(page, pay, card="much", cash="")
    assert "true" == refused.one("input", id="card")["aria-invalid"]
    refused = visitor.sent(page, pay, card="0.005")
    assert "true" == refused.one("input", id="card")["aria-invalid"] and "more decimals" in refused.main
    refused = visitor.sent(page, pay, card="1.000")
    assert "1.000 may mean €1.00 or €1,000.00. Write 1.00 or 1000.00." == refused.one("small", id="card-help").text
    assert "true" == refused.one("input", id="card")["aria-invalid"]
    assert "Did you mean 4005.00?" in visitor.sent(page, pay, card="4.005").main
    refused = visitor.sent(page, pay, card="20")
    assert "Only €14.88 is left to pay." in refused.main
    refused = visitor.sent(page, pay)
    assert "true" == refused.one("input", id="cash")["aria-invalid"]
    first = visitor.send(page, pay, card="4.88", cash="20")
    again = visitor.send(page, pay, card="4.88", cash="20")
    assert first.headers["location"] == again.headers["location"]
    done = visitor.page(first.headers["location"])
    assert "Change: €10.00." in done.main and "Nothing is left to pay." in done.main
    assert 2 == len(settling.desk(paddle)["money"])
    assert "no such bidder" in visitor.page(f"{path}?buyer=77777").main
    assert 404 == visitor.http.get("/admin/desk/nowhere?buyer=1").status_code


def test_a_star_is_all_that_is_left(house: House) -> None:
    """In one field alone, beside other amounts, and of the sum that the page showed; a button does the same."""
    settling = Settling(house, 3)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    pay, page = f"{path}/payments", visitor.page(f"{path}?buyer={paddle}")
    assert "Only one field can have what is left." in visitor.sent(page, pay, cash="*", card="*").main
    refused = visitor.sent(page, pay, card="14.88", bank="*")
    assert "true" == refused.one("input", id="bank")["aria-invalid"] and "above zero" in refused.main
    settling.sell(paddle)  # the price of another lot is not in the sum that this page shows
    assert "To pay: €14.88" in visitor.sent(page, pay, cash="4.88", card="*").main
    assert [("cash", "4.880"), ("card", "10.000")] == [
        (one["method"], one["moved"]) for one in settling.desk(paddle)["money"]
    ]
    page = visitor.page(f"{path}?buyer={paddle}")
    settling.sell(paddle)
    assert "To pay: €14.88" in visitor.sent(page, pay, all="bank").main
    assert ("bank", "14.880") == tuple(settling.desk(paddle)["money"][-1][name] for name in ("method", "moved"))


def test_the_invoice_is_issued_with_the_payment(house: House) -> None:
    """Once, if it is ticked; both papers are there to print; netting issues it if that pays all; then nothing offers it."""
    settling = Settling(house, 3)
    buyer, seller = settling.bidder(), selling_buyer(settling)
    sold_by = seller.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    settling.sell(buyer, "100")
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    pay, page = f"{path}/payments", visitor.page(f"{path}?buyer={buyer}")
    visitor.send(page, pay, cash="100", invoice=None)
    assert ["receipt"] == [one["documentKind"] for one in settling.desk(buyer)["documents"]]
    page = visitor.page(f"{path}?buyer={buyer}")
    sent = {visitor.send(page, pay, cash="*").headers["location"] for _ in "12"}
    done = visitor.page(sent.pop())
    assert not sent and "Invoice INV-" in done.main and "Receipt for a payment RCP-" in done.main
    assert "Issue the invoice" not in done.main
    settling.manager.json("PATCH", f"/sales/{settling.gid}/lots/2", json={"consignor": None})
    settling.sell(sold_by)
    page = visitor.page(f"{path}?buyer={sold_by}")
    assert "Invoice INV-" in visitor.sent(page, f"{path}/netting").main
    found = settling.desk(sold_by)
    assert ("0.000", ["invoice"]) == (found["owed"], [one["documentKind"] for one in found["documents"]])


def test_a_consignor_is_paid_out(house: House) -> None:
    """The accounts lead to the statement of a consignor; more than the house owes is refused, and a part is paid."""
    settling = Settling(house, 1)
    settling.sell(settling.bidder())
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    accounts = visitor.page(f"{path}/accounts")
    statement = f"{path}/statements/{settling.code}"
    assert statement in accounts.links and "€10.00" in accounts.main
    page = visitor.page(statement)
    assert "Seller's commission" in page.main and "The house owes them €7.62." in page.main
    assert "no more" in visitor.sent(page, statement, amount="8", method="cash").main
    assert "true" == visitor.sent(page, statement, amount="0", method="cash").one("input", id="amount")["aria-invalid"]
    assert "The house owes them €2.62." in visitor.sent(page, statement, amount="5", method="bank").main
    sheet = visitor.http.get(f"{path}/accounts.csv")
    assert "text/csv; charset=utf-8" == sheet.headers["content-type"]
    assert settling.code in sheet.text


def test_a_buyer_is_paid_back(house: House) -> None:
    """What the house owes a buyer after a lot was reopened is paid back at the desk."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.pay(paddle, ("cash", "14.88"))
    reopened = {"act": "reopen", "label": "1", "reason": "Somebody was overlooked."}
    settling.sale.staff.json("POST", f"/sales/{settling.gid}/block", json=reopened)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    page = visitor.page(f"{path}?buyer={paddle}")
    assert "The house owes them €14.88." in page.main
    assert "Nothing is left to pay." in visitor.sent(page, f"{path}/refund", amount="14.88", method="cash").main


def test_a_lot_is_given_to_the_right_paddle(house: House) -> None:
    """By the page of the wrong one, without scripts: faults are shown, and the right one owes it."""
    settling = Settling(house, 1)
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.pay(first, ("cash", "14.88"))
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    page, correction = visitor.page(f"{path}?buyer={first}"), f"{path}/correction"
    refused = visitor.sent(page, correction, "hand-over", lot="1", paddle="many", reason="Misread.")
    assert "true" == refused.one("input", id="paddle")["aria-invalid"]
    assert (
        "theirs already"
        in visitor.sent(page, correction, "hand-over", lot="1", paddle=str(first), reason="Misread.").main
    )
    done = visitor.sent(page, correction, "hand-over", lot="1", paddle=f"#{second}", reason="Misread.", method="cash")
    assert "Nothing is left to pay." in done.main and "Change" not in done.main
    assert "14.880" == settling.desk(second)["owed"]


def test_documents_that_no_longer_fit_are_named(house: House) -> None:
    """A result that was undone leaves the lot on its documents: the desk and the page of the consignor name them."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    orders = (
        {"documentKind": "invoice", "paddle": paddle},
        {"documentKind": "statement", "consignor": settling.code},
    )
    path = f"/sales/{settling.gid}/documents"
    made = [settling.cashier.json("POST", path, json=order)["documentNumber"] for order in orders]
    settling.sale.act("undo")
    visitor, desk = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    for page, number in zip((f"{desk}?buyer={paddle}", f"{desk}/statements/{settling.code}"), made, strict=True):
        assert f"Lot 1: {number}" in visitor.page(page).one("div", role="alert").text


def test_the_pages_of_a_sale_lead_to_each_other(house: House) -> None:
    """Each page on which the money of a sale is settled leads to all others that the reader may open, and says where it is."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    desk = f"/admin/desk/{settling.gid}"
    pages = {desk, *(f"{desk}/{one}" for one in ("pickup", "accounts", "documents", "report"))}
    cashier = Visitor(house, settling.cashier)
    for path in pages:
        page = cashier.page(path)
        assert pages <= set(page.links)
        assert f"{desk}/offers" not in page.links, "a cashier may not open it"
        assert [path] == [e["href"] for e in page.all("a", **CURRENT) if e["href"].startswith(desk)]
    assert pages <= set(cashier.page(f"{desk}/statements/{settling.code}").links)
    assert f"{desk}/pickup?buyer={paddle}" in cashier.page(f"{desk}?buyer={paddle}").links
    offers = Visitor(house, settling.manager).page(f"{desk}/offers")
    assert [f"{desk}/offers"] == [e["href"] for e in offers.all("a", **CURRENT) if e["href"].startswith(desk)]


def test_a_late_cashier_is_told_what_is_wrong(house: House) -> None:
    """Of a payment to a paddle that another cashier has closed, the fault is said above: the fields are gone."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    pay, late = f"{path}/payments", visitor.page(f"{path}?buyer={paddle}")
    assert 303 == visitor.send(visitor.page(f"{path}?buyer={paddle}"), pay, card="14.88").status_code
    refused = visitor.sent(late, pay, cash="much")
    assert (400, 1) == (refused.status, len(refused.all("p", role="alert")))
