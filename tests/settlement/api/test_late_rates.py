"""A rate card or a tax scheme that comes after an invoice: the papers keep what they say, and the journal agrees with them."""

from typing import Any

import pytest

from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.settlement.api.test_giving_up import issue, left

WHY = "It was issued without the rates."


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale of two lots for which nobody has chosen a rate card yet."""
    return Settling(house, 2, is_rated=False)


def owed(settling: Settling, paddle: int) -> tuple[str, list[str]]:
    """Return what a buyer owes, and the lines of what they owe it for."""
    found = settling.desk(paddle)
    return found["owed"], [line["item"] for lot in found["settledLots"] for line in lot["bill"]["buyerLines"]]


def lines(settling: Settling) -> list[tuple[str, str]]:
    """Return what the consignor gets and bears for each lot."""
    found: Any = settling.cashier.json("GET", f"/sales/{settling.gid}/statements/{settling.code}")
    return [(lot["label"], line["item"]) for lot in found["settledLots"] for line in lot["bill"]["consignorLines"]]


@pytest.mark.databases("sqlite")
def test_a_card_that_is_chosen_after_an_invoice(settling: Settling) -> None:
    """The lot on the invoice costs and brings what it did, the other one follows the card; credited, the lot follows it too."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first, "100")
    settling.sell(second, "100")
    invoice = issue(settling, paddle=first)
    settling.desk(second)
    settling.choose()
    assert ("100.000", ["hammer"]) == owed(settling, first)
    assert ("148.750", ["hammer", "premium"]) == owed(settling, second)
    assert "100.000" == left(settling, invoice)
    assert [("1", "hammer"), ("2", "hammer"), ("2", "commission"), ("2", "entry")] == lines(settling)
    settling.cashier.json("POST", f"/documents/{invoice}/credit", json={"lines": [], "reason": WHY})
    assert ("148.750", ["hammer", "premium"]) == owed(settling, first)
    assert "148.750" == left(settling, issue(settling, paddle=first))
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_card_that_is_chosen_after_a_statement(settling: Settling) -> None:
    """The lot on the statement keeps what its consignor was told, also when it goes to another paddle after that."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first, "100")
    statement = issue(settling, consignor=settling.code)
    settling.choose()
    change = {"paddle": second, "reason": WHY}
    settling.manager.json("POST", f"/sales/{settling.gid}/lots/1/correction", json=change)
    assert ("100.000", ["hammer"]) == owed(settling, second)
    assert [("1", "hammer")] == lines(settling)
    assert "100.000" == left(settling, statement)
    settling.cashier.json("POST", f"/documents/{statement}/credit", json={"lines": [], "reason": WHY})
    assert [("1", "hammer"), ("1", "commission"), ("1", "entry")] == lines(settling)
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_tax_scheme_that_is_changed_after_an_invoice(settling: Settling) -> None:
    """The invoice and the desk still say the same tax, until the invoice is credited."""
    settling.choose()
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    invoice = issue(settling, paddle=paddle)
    settling.manager.json("PATCH", f"/sales/{settling.gid}/lots/1", json={"taxScheme": "margin"})
    assert ("148.750", "148.750") == (owed(settling, paddle)[0], left(settling, invoice))
    settling.cashier.json("POST", f"/documents/{invoice}/credit", json={"lines": [], "reason": WHY})
    assert "125.000" == owed(settling, paddle)[0]
    assert [] == settling.faults()
