"""A buyer who also sells, cash without small coins, and a lot that no amount can say, over HTTP."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House, ServeHouse
from tests.settlement.api.test_desk import Settling


def selling_buyer(settling: Settling) -> Any:
    """Return a buyer who is the consignor of the sale, with a paddle."""
    user = settling.sale.bidder()
    settling.manager.json("PATCH", f"/consignors/{settling.code}", json={"username": user.name})
    return user


def book(settling: Settling, name: str) -> str:
    """Return the balance of an account."""
    return str(next(one["balance"] for one in settling.accounts()["balances"] if one["ledgerAccount"] == name))


@pytest.mark.databases("sqlite")
def test_a_buyer_who_also_sells_is_netted(house: House) -> None:
    """The smaller sum is set off, once however many send it; both sides say so, and it pays the invoice."""
    settling = Settling(house, 2)
    seller, other = selling_buyer(settling), settling.bidder()
    settling.sell(other, "100")
    settling.accounts()
    for label in ("2",):
        settling.manager.json("PATCH", f"/sales/{settling.gid}/lots/{label}", json={"consignor": None})
    paddle = seller.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    settling.sell(paddle)
    found = settling.desk(paddle)
    assert ("14.880", settling.code, "86.910") == (
        found["owed"],
        found["ownLots"]["consignor"],
        found["ownLots"]["toPayOut"],
    )
    sent = {"documentKind": "invoice", "paddle": paddle}
    invoice = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=sent)["document"]
    path = f"/sales/{settling.gid}/desk/{paddle}/netting"
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: settling.cashier.post(path).status_code, range(4))]
    assert [200, 409, 409, 409] == sorted(answers)
    found = settling.desk(paddle)
    assert ("0.000", [("netting", "14.880")]) == (
        found["owed"],
        [(one["method"], one["moved"]) for one in found["money"]],
    )
    statement = settling.cashier.json("GET", f"/sales/{settling.gid}/statements/{settling.code}")
    assert ("72.030", [("netting", "-14.880")]) == (
        statement["toPayOut"],
        [(one["method"], one["moved"]) for one in statement["money"]],
    )
    shown = settling.cashier.json("GET", f"/documents/{invoice}")
    assert ("14.880", "0.000") == (shown["settled"], shown["stillOpen"])
    assert (409, "nothing_to_net") == refusal(settling.cashier.post(f"/sales/{settling.gid}/desk/{other}/netting"))
    assert (None, []) == (settling.desk(other)["ownLots"], settling.faults())


def test_cash_is_rounded_in_francs(serve_house: ServeHouse) -> None:
    """14.88 francs are 14.90 in cash, but 14.88 by card; a part is not rounded; the house pays out 7.60 of 7.62."""
    settling = Settling(serve_house(currency="CHF"), 2)
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.sell(second)
    found = settling.desk(first)
    assert ("14.880", "14.900") == (found["owed"], found["owedInCash"])
    assert "4.880" == settling.pay(first, ("cash", "10")).json()["owed"]
    paid = settling.pay(first, ("cash", "20")).json()
    assert ("0.000", "15.100") == (paid["owed"], paid["change"])
    assert [("cash", "10.000"), ("rounding", "-0.020"), ("cash", "4.900")] == [
        (one["method"], one["moved"]) for one in paid["money"]
    ]
    assert "-0.020" == book(settling, "rounding")
    card = settling.pay(second, ("card", "14.88")).json()
    assert ("0.000", 1) == (card["owed"], len(card["money"]))
    path = f"/sales/{settling.gid}/statements/{settling.code}"
    owed = Decimal(settling.cashier.json("GET", path)["toPayOut"])
    rounded = (owed / Decimal("0.05")).quantize(Decimal(1)) * Decimal("0.05")
    assert owed == Decimal("15.24") and rounded == Decimal("15.25")
    out = settling.cashier.json("POST", f"{path}/payouts", json={"method": "cash", "amount": str(rounded)})
    assert ("0.000", "-0.010") == (out["toPayOut"], book(settling, "rounding"))
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_corrected_lot_is_paid_back_in_coins(serve_house: ServeHouse) -> None:
    """14.88 francs by card are paid back as 14.90 in cash, as no coin is smaller than 0.05; by card as they are."""
    settling = Settling(serve_house(currency="CHF"), 2)
    buyers = [settling.bidder() for _ in range(2)]
    for paddle in buyers:
        settling.sell(paddle)
        settling.pay(paddle, ("card", "14.88"))
    back = [
        settling.cashier.json(
            "POST", f"/sales/{settling.gid}/lots/{label}/correction", json={"reason": "Misread.", "method": method}
        )["money"][1:]
        for label, method in (("1", "cash"), ("2", "card"))
    ]
    assert [[("rounding", "0.020"), ("cash", "-14.900")], [("card", "-14.880")]] == [
        [(one["method"], one["moved"]) for one in moved] for moved in back
    ]
    assert ["0.000", "0.000"] == [settling.desk(paddle)["owed"] for paddle in buyers]
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_lot_that_costs_too_much_is_named(house: House) -> None:
    """With its premium it has 18 digits: desk, statement and accounts name it, and the other lots are settled."""
    settling = Settling(house, 2)
    paddle = settling.bidder()
    settling.sell(paddle, "90000000000000000")
    settling.sell(paddle)
    found = settling.desk(paddle)
    assert (["1"], ["2"], "14.880") == (
        found["tooLargeLots"],
        [one["label"] for one in found["settledLots"]],
        found["owed"],
    )
    assert ["1"] == settling.accounts()["tooLargeLots"]
    path = f"/sales/{settling.gid}/statements/{settling.code}"
    assert ["1"] == settling.cashier.json("GET", path)["tooLargeLots"]
