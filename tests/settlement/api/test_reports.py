"""Reports over HTTP: added up in both ways, as JSON, CSV and XLSX; and the tax of some days."""

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from openpyxl import load_workbook

from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling


def sold_evening(house: House) -> tuple[Settling, int, int]:
    """Return a sale of which two lots are sold and one is passed, with a part payment, and its two buyers."""
    settling = Settling(house, 4)
    first, second = settling.bidder(), settling.bidder()
    settling.manager.json(
        "PATCH", f"/sales/{settling.gid}/lots/1", json={"estimateFrom": "50", "estimateTo": "80", "taxScheme": "margin"}
    )
    settling.sell(first, "100")
    settling.sell(second)
    settling.sale.act("call")
    settling.sale.act("pass")
    settling.pay(first, ("cash", "50"))
    return settling, first, second


def report(settling: Settling) -> Any:
    """Return the report of the sale."""
    return settling.cashier.json("GET", f"/sales/{settling.gid}/report")


def total(rows: list[Any], member: str) -> Decimal:
    """Return the sum of a member over rows, None counting as 0."""
    return sum((Decimal(one[member] or 0) for one in rows), Decimal(0))


@pytest.mark.databases("sqlite")
def test_a_report_agrees_with_the_accounts(house: House) -> None:
    """The rows of lots, buyers, consignors and tax add up to the totals, and these are the balances of the journal."""
    settling, first, _ = sold_evening(house)
    found = report(settling)
    books = {one["ledgerAccount"]: Decimal(one["balance"]) for one in settling.accounts()["balances"]}
    assert (2, 1, 1, "66.7") == tuple(found[name] for name in ("soldLots", "unsoldLots", "openLots", "sellThrough"))
    assert (0, 0, 1) == tuple(found[f"{name}Estimate"] for name in ("below", "within", "above"))
    assert ["sold", "sold", "unsold", "open"] == [one["lotState"] for one in found["reportLots"]]
    lots, buyers, consignors = (found[name] for name in ("reportLots", "reportBuyers", "reportConsignors"))
    for rows in (lots, buyers, consignors):
        assert Decimal(found["hammerTotal"]) == Decimal("110.000") == total(rows, "hammer")
    assert Decimal(found["chargedTotal"]) == total(lots, "due") == total(buyers, "charged")
    assert Decimal(found["unpaidTotal"]) == total(buyers, "unpaid") == books["buyers"]
    assert Decimal("50.000") == total(buyers, "settled") == Decimal(found["settledTotal"]) == books["cash"]
    assert Decimal(found["creditedTotal"]) == total(lots, "proceeds") == total(consignors, "credited")
    assert Decimal(found["toPayOutTotal"]) == total(consignors, "toPayOut") == -books["consignors"]
    assert total(found["taxRows"], "owedTax") == -books["tax"]
    earned = {one["ledgerAccount"]: Decimal(one["earned"]) for one in found["earnedBy"]}
    assert {name: -books[name] for name in earned} == earned
    assert total(found["taxRows"], "net") == earned["premium"] + earned["commission"] + earned["fees"] + 110
    [row] = [one for one in buyers if one["paddle"] == first]
    assert (1, "100.000", "25.000", "0.000", "125.000", "75.000") == tuple(
        row[name] for name in ("lotsBought", "hammer", "charges", "buyerTax", "charged", "unpaid")
    )


@pytest.mark.databases("sqlite")
def test_a_report_follows_corrections(house: House) -> None:
    """A lot that is reopened is open again in the report, and its buyer has something to get back."""
    settling, first, _ = sold_evening(house)
    report(settling)
    again = {"act": "reopen", "label": "1", "reason": "Somebody was overlooked."}
    settling.sale.staff.json("POST", f"/sales/{settling.gid}/block", json=again)
    found = report(settling)
    assert ("10.000", 1, 2) == tuple(found[name] for name in ("hammerTotal", "soldLots", "openLots"))
    [row] = [one for one in found["reportBuyers"] if one["paddle"] == first]
    assert (0, "0.000", "-50.000") == tuple(row[name] for name in ("lotsBought", "charged", "unpaid"))


@pytest.mark.databases("sqlite")
def test_each_sheet_says_what_the_report_says(house: House) -> None:
    """CSV and XLSX have the figures of the JSON, with the headings of the language."""
    settling, first, _ = sold_evening(house)
    found, path = report(settling), f"/sales/{settling.gid}/report"
    text = settling.cashier.get(f"{path}.csv?sheet=buyers&language=de").content.decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text), delimiter=";")
    assert ("Bieternummer", "Offen") == (head[0], head[-1])
    assert [(str(one["paddle"]), one["unpaid"][:-1].replace(".", ",")) for one in found["reportBuyers"]] == [
        (row[0], row[-1]) for row in rows
    ]
    answer = settling.cashier.get(f"{path}.xlsx")
    book = load_workbook(io.BytesIO(answer.content))
    assert ["Summary", "Lots", "Buyers", "Consignors", "Tax"] == book.sheetnames
    lots = list(book["Lots"].values)
    assert [one["label"] for one in found["reportLots"]] == [str(row[0]) for row in lots[1:]]
    assert [100, 10] == [row[7] for row in lots[1:3]]
    assert ("Hammer prices", 110) in [row[:2] for row in book["Summary"].values]
    assert first in [row[0] for row in book["Buyers"].values]
    assert len(found["taxRows"]) == book["Tax"].max_row - 1
    assert ["sheet"] == [*faults(settling.cashier.get(f"{path}.csv?sheet=secrets"))]


@pytest.mark.databases("sqlite")
def test_the_tax_of_days_is_that_of_their_sales(house: House) -> None:
    """The tax report grows by what this sale owes; other days have none, and days in the wrong order are refused."""
    cashier = Settling(house, 1).cashier
    today = datetime.now(UTC).date()
    days = f"firstDay={today - timedelta(days=1)}&lastDay={today + timedelta(days=1)}"
    before = Decimal(cashier.json("GET", f"/tax-report?{days}")["taxTotal"])
    settling, _, _ = sold_evening(house)
    rows = report(settling)["taxRows"]
    after = cashier.json("GET", f"/tax-report?{days}")
    assert total(rows, "owedTax") == Decimal(after["taxTotal"]) - before
    assert Decimal(after["taxTotal"]) == total(after["taxRows"], "owedTax")
    none = cashier.json("GET", "/tax-report?firstDay=2000-01-01&lastDay=2000-01-31")
    assert ([], "0.000") == (none["taxRows"], none["taxTotal"])
    text = cashier.get(f"/tax-report.csv?{days}").content.decode("utf-8-sig")
    assert len(after["taxRows"]) == len([*csv.reader(io.StringIO(text))]) - 1
    sheet = load_workbook(io.BytesIO(cashier.get(f"/tax-report.xlsx?{days}&language=de").content)).active
    assert sheet is not None and "Steuer" == sheet.cell(1, 7).value
    assert ["lastDay"] == [*faults(cashier.get("/tax-report?firstDay=2026-02-01&lastDay=2026-01-01"))]
    # A day that was not sent is no fault of the request.
    for query, named, code in (
        ("firstDay=2999-01-01", "firstDay", "last_day_missing"),
        ("lastDay=2000-01-31", "lastDay", "first_day_missing"),
    ):
        for kind in ("", ".csv", ".xlsx"):
            assert {named: [code]} == faults(cashier.get(f"/tax-report{kind}?{query}"))
    assert ["firstDay"] == [*faults(cashier.get("/tax-report?firstDay=2026-02-30&lastDay=2026-03-01"))]
    last = cashier.json("GET", "/tax-report")
    assert last["firstDay"].endswith("-01") and last["firstDay"][:7] == last["lastDay"][:7] < str(today)
    assert (404, "unknown_sale") == refusal(cashier.get("/sales/nowhere/report"))


@pytest.mark.databases("sqlite")
def test_a_name_that_no_xml_can_say_spoils_no_report(house: House) -> None:
    """A bidder or a lot may have a code point without a character in the name: the sheets leave it out."""
    settling = Settling(house, 1)
    admitted = {"personName": "Ada\uffff", "bidsBy": "floor", "paddle": 700}
    settling.manager.json("POST", f"/sales/{settling.gid}/participants", json=admitted)
    settling.sell(700)
    book = load_workbook(io.BytesIO(settling.cashier.get(f"/sales/{settling.gid}/report.xlsx").content))
    assert "Ada" in [row[2] for row in book["Buyers"].values]
