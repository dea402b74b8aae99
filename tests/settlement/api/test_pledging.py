"""Pledges of a fund-a-need at the cashier's desk, over HTTP: owed as donations, invoiced, undone."""

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.settlement.service.verifying import faults as journal_faults
from tests.bidding.api.answers import refusal
from tests.fixtures_house import House
from tests.sales.api.test_needs import gala, pledged


@pytest.mark.databases("sqlite", "postgresql")
def test_pledges_are_owed_and_invoiced(house: House) -> None:
    """What two gave is owed by each and stands on their invoices; what is undone is taken off; the accounts are 0 together."""
    staff, cashier = house.staff(Role.AUCTIONEER), house.staff(Role.CASHIER)
    gid = gala(staff)
    for paddle in (12, 20):
        pledged(staff, gid, paddle)

    def desk(paddle: int) -> Any:
        return cashier.json("GET", f"/sales/{gid}/desk/{paddle}")

    def invoice(paddle: int) -> Any:
        return cashier.post(f"/sales/{gid}/documents", json={"documentKind": "invoice", "paddle": paddle})

    found = desk(12)
    assert ("5000.000", ["2"]) == (found["owed"], [one["label"] for one in found["settledLots"]])
    [line] = found["settledLots"][0]["bill"]["buyerLines"]
    assert ("donation", "5000.000") == (line["item"], line["lineAmount"])
    first, second = invoice(12).json(), invoice(20).json()
    assert ["5000.000"] * 2 == [one["total"] for one in (first, second)]
    assert ["A new roof: Donation"] == [one["lineText"] for one in first["documentLines"]]
    assert (409, "nothing_to_issue") == refusal(invoice(12))
    balances = {
        one["ledgerAccount"]: one["balance"] for one in cashier.json("GET", f"/sales/{gid}/accounts")["balances"]
    }
    assert ("10000.000", "-10000.000") == (balances["buyers"], balances["donations"])
    cashier.json("POST", f"/documents/{first['document']}/credit", json={"reason": "Another address."})
    assert "5000.000" == invoice(12).json()["total"], "it can be invoiced again"
    staff.json("POST", f"/sales/{gid}/block", json={"act": "undo_pledge", "pledge": 2})
    assert "0.000" == desk(20)["owed"]
    assert "-5000.000" == invoice(20).json()["total"]
    seen = staff.json("GET", f"/sales/{gid}/block")["tag"]
    staff.json("POST", f"/sales/{gid}/block", json={"act": "level", "amount": "7.005", "seen": seen})
    assert 200 == pledged(staff, gid, 12, "7.005").status_code
    assert "5007.010" == desk(12)["owed"], "no balance is finer than a cent"
    said = house.write(lambda tx: [*journal_faults(tx), *document_faults(tx)])
    assert [] == said
