"""Charges that a credit note takes back from a lot which stays on its document: desk, accounts and reports agree, over HTTP."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling

WHY = "A scratch that the catalogue did not name."


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale of two lots to settle."""
    return Settling(house, 2)


def issue(settling: Settling, **sent: Any) -> str:
    """Issue a document, and return its gid."""
    kind = "statement" if "consignor" in sent else "invoice"
    path = f"/sales/{settling.gid}/documents"
    return str(settling.cashier.json("POST", path, json={"documentKind": kind, **sent})["document"])


def credit(settling: Settling, gid: str, *lines: int) -> Any:
    """Credit lines of a document, and return the answer."""
    return settling.cashier.post(f"/documents/{gid}/credit", json={"lines": [*lines], "reason": WHY})


def tax(settling: Settling) -> tuple[str, str]:
    """Return the tax of this month by the account of the sale and by its report."""
    accounts, report = settling.accounts(), settling.cashier.json("GET", f"/sales/{settling.gid}/report")
    [balance] = [one["balance"] for one in accounts["balances"] if one["ledgerAccount"] == "tax"]
    return balance, f"{-sum(Decimal(one['owedTax']) for one in report['taxRows']):.3f}"


def left(settling: Settling, gid: str) -> str:
    """Return what is open of a document."""
    return str(settling.cashier.json("GET", f"/documents/{gid}")["stillOpen"])


@pytest.mark.databases("sqlite")
def test_a_premium_that_is_credited_is_no_longer_owed(settling: Settling) -> None:
    """148.75 without the premium of 29.75 is 119 at the desk, on the invoice and in the reports; sent four times it is once."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    invoice = issue(settling, paddle=paddle)
    assert ("148.750", "148.750") == (settling.desk(paddle)["owed"], left(settling, invoice))
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: credit(settling, invoice, 1).status_code, range(4))]
    assert [201, 409, 409, 409] == sorted(answers)
    found = settling.desk(paddle)
    assert ("119.000", "119.000", ["hammer"]) == (
        found["owed"],
        left(settling, invoice),
        [line["item"] for line in found["settledLots"][0]["bill"]["buyerLines"]],
    )
    report = settling.cashier.json("GET", f"/sales/{settling.gid}/report")
    assert ("119.000", "119.000") == (report["chargedTotal"], report["reportLots"][0]["due"])
    assert ("-21.090", "-21.090") == tax(settling)  # 19 of the price, 2.09 of commission and fee
    settling.pay(paddle, ("card", "119"))
    assert ("0.000", "0.000", []) == (settling.desk(paddle)["owed"], left(settling, invoice), settling.faults())


@pytest.mark.databases("sqlite")
def test_a_lot_whose_lines_are_all_credited_is_owed_again_in_full(settling: Settling) -> None:
    """The premium was given up; with the price taken back as well, the lot is on no document, and its next one has both."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    invoice = issue(settling, paddle=paddle)
    credit(settling, invoice, 1)
    credit(settling, invoice)
    assert ("148.750", "0.000") == (settling.desk(paddle)["owed"], left(settling, invoice))
    again = issue(settling, paddle=paddle)
    assert ("148.750", "148.750", []) == (settling.desk(paddle)["owed"], left(settling, again), settling.faults())


@pytest.mark.databases("sqlite")
def test_a_fee_of_a_consignor_is_given_up(settling: Settling) -> None:
    """86.91 without the entry fee of 1.19 is 88.10, also once the lot is another buyer's; without any buyer it is nothing."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first, "100")
    statement = issue(settling, consignor=settling.code)
    assert 201 == credit(settling, statement, 2).status_code
    path = f"/sales/{settling.gid}/statements/{settling.code}"
    assert ("88.100", "88.100") == (
        settling.cashier.json("GET", path)["toPayOut"],
        left(settling, statement),
    )
    settling.manager.json("POST", f"/sales/{settling.gid}/lots/1/correction", json={"reason": WHY, "paddle": second})
    assert "88.100" == settling.cashier.json("GET", path)["toPayOut"]
    assert ("148.750", "0.000", []) == (
        settling.desk(second)["owed"],
        settling.desk(first)["owed"],
        settling.faults(),
    )


@pytest.mark.databases("sqlite")
def test_only_what_the_house_charges_can_be_given_up(settling: Settling) -> None:
    """The price alone is refused, and so is a fee of a lot that another consignor has brought since."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    invoice, statement = issue(settling, paddle=paddle), issue(settling, consignor=settling.code)
    assert (409, "not_of_house") == refusal(credit(settling, invoice, 0))
    settling.manager.json("PATCH", f"/sales/{settling.gid}/lots/1", json={"consignor": None})
    assert (409, "lot_changed") == refusal(credit(settling, statement, 2))
    assert ("148.750", []) == (settling.desk(paddle)["owed"], settling.faults())
