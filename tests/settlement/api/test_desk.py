"""The cashier's desk over HTTP: what is owed, payments, refunds, payouts, and the accounts of a sale."""

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select, update

from saleroom.accounts.domain.rights import Role
from saleroom.sales.storage.tables import sales
from saleroom.settlement.service.verifying import faults as journal_faults
from saleroom.settlement.storage.tables import journal_entries, journal_postings
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House
from tests.sales.live_sale import LiveSale

TERMS = {
    "premium": {"tiers": [{"above": "0", "percent": "25"}]},
    "commission": {"tiers": [{"above": "0", "percent": "10"}]},
    "entryFee": "1",
    "country": "DE",
    "taxScheme": "standard",
}


class Settling:
    """A live sale with a consignor and a rate card, which is chosen if `is_rated`, and those who settle it."""

    def __init__(self, house: House, count: int = 3, *, is_rated: bool = True) -> None:
        self.house = house
        self.sale = LiveSale(house, count)
        self.gid = self.sale.gid
        self.manager, self.cashier = house.staff(Role.MANAGER), house.staff(Role.CASHIER)
        self.code = f"C{self.gid[:6].upper()}".replace("-", "X").replace("_", "Y")
        self.manager.json("POST", "/consignors", json={"code": self.code, "name": "Erben"})
        self.card = self.manager.json("POST", "/rate-cards", json={"name": self.gid, **TERMS})["card"]
        if is_rated:
            self.choose()
        for label in range(1, count + 1):
            self.manager.json(
                "PATCH", f"/sales/{self.gid}/lots/{label}", json={"consignor": self.code, "reservePrice": None}
            )

    def choose(self) -> None:
        """Have the rate card hold for the sale."""
        self.manager.json("PUT", f"/sales/{self.gid}/rates", json={"card": self.card})

    def bidder(self) -> int:
        """Register somebody, and return the paddle."""
        found = self.sale.bidder().json("GET", f"/sales/{self.gid}/registration")["paddle"]
        assert isinstance(found, int)
        return found

    def sell(self, paddle: int, amount: str = "10") -> None:
        """Call the next lot and sell it to a paddle of the hall."""
        self.sale.act("call")
        if amount != "10":
            self.sale.act("ask", amount=amount)
        self.sale.act("bid", amount=amount, paddle=paddle)
        self.sale.act("sell")

    def desk(self, buyer: object) -> Any:
        """Return what a buyer owes."""
        return self.cashier.json("GET", f"/sales/{self.gid}/desk/{buyer}")

    def pay(self, buyer: object, *payments: tuple[str, str], **headers: str) -> Any:
        """Take payments, and return the answer."""
        body = {"payments": [{"method": method, "amount": amount} for method, amount in payments]}
        return self.cashier.post(f"/sales/{self.gid}/desk/{buyer}/payments", json=body, headers=headers)

    def accounts(self) -> Any:
        """Return the accounts of the sale, whose balances are 0 together."""
        found = self.cashier.json("GET", f"/sales/{self.gid}/accounts")
        assert 0 == sum(Decimal(one["balance"]) for one in found["balances"])
        return found

    def entries(self) -> int:
        """Return how many entries the journal has for the sale."""
        found = select(func.count()).where(journal_entries.c.sale_id == sales.c.id, sales.c.gid == self.gid)
        return int(self.house.write(lambda tx: tx.execute(found).scalar_one()))

    def faults(self) -> list[str]:
        """Return the faults of the journal."""
        return self.house.write(lambda tx: list(journal_faults(tx)))


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale to settle."""
    return Settling(house)


@pytest.mark.databases("sqlite")
def test_a_buyer_pays_in_two_ways_and_gets_change(settling: Settling) -> None:
    """10 euros cost 14.88 with premium and tax; a part by card and a note of 20 leave 5.12 and the change of 14.88 in all."""
    paddle = settling.bidder()
    settling.sell(paddle)
    found = settling.desk(paddle)
    [lot] = found["settledLots"]
    assert ["hammer", "premium"] == [line["item"] for line in lot["bill"]["buyerLines"]]
    assert ("14.880", [], "0.000") == (found["owed"], found["money"], found["change"])
    key = {"Idempotency-Key": "one-payment-of-two"}
    paid = settling.pay(paddle, ("card", "5"), ("cash", "20"), **key)
    assert ("0.000", "10.120") == (paid.json()["owed"], paid.json()["change"])
    assert [("card", "5.000"), ("cash", "9.880")] == [(one["method"], one["moved"]) for one in paid.json()["money"]]
    assert paid.json() == settling.pay(paddle, ("card", "5"), ("cash", "20"), **key).json()
    assert (409, "overpaid") == refusal(settling.pay(paddle, ("card", "1")))
    assert "0.000" == settling.desk(paddle)["owed"]
    books = {one["ledgerAccount"]: one["balance"] for one in settling.accounts()["balances"]}
    # premium 2.50; commission 1 and the fee 1 with 19 % each; the tax of the buyer is 1.90 + 0.48
    assert ("-2.500", "-1.000", "-1.000", "-2.760") == tuple(
        books[name] for name in ("premium", "commission", "fees", "tax")
    )
    entries = settling.entries()
    settling.accounts()
    assert entries == settling.entries() == 3  # the lot and two payments; looking again posts nothing
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_faults_of_payments_say_which_one(settling: Settling) -> None:
    """Each fault of each payment has the number of the payment and the name of the member."""
    sent = {"payments": [{"method": "card", "amount": "1"}, {"method": "gold"}, {"method": "cash", "amount": "-1"}]}
    answer = settling.cashier.post(f"/sales/{settling.gid}/desk/{settling.bidder()}/payments", json=sent)
    assert [
        ("not_a_choice", "2: method"),
        ("required", "2: amount"),
        ("money_negative", "3: amount"),
    ] == [(fault["code"], " ".join(fault["message"].split()[:2])) for fault in answer.json()["message"]["payments"]]


@pytest.mark.databases("sqlite")
def test_an_invoice_is_issued_with_the_payment(settling: Settling) -> None:
    """In one transaction and once by its key; what is on an invoice already is not on another; a refusal issues none."""
    paddle = settling.bidder()
    settling.sell(paddle)
    path = f"/sales/{settling.gid}/desk/{paddle}/payments"
    assert settling.desk(paddle)["toInvoice"]
    refused = {"payments": [{"method": "card", "amount": "15"}], "invoice": True}
    assert (409, "overpaid") == refusal(settling.cashier.post(path, json=refused))
    assert [] == settling.desk(paddle)["documents"]
    sent = {"payments": [{"method": "card", "amount": "4.88"}], "invoice": True, "language": "de"}
    key = {"Idempotency-Key": "a-payment-with-its-invoice"}
    first, again = (settling.cashier.json("POST", path, json=sent, headers=key) for _ in "12")
    assert first == again and not first["toInvoice"]
    assert [first["issuedInvoice"], first["paymentReceipt"]] == [one["document"] for one in first["documents"]]
    invoice = settling.cashier.json("GET", f"/documents/{first['issuedInvoice']}")
    assert ("14.880", "10.000", "Karte") == (
        invoice["total"],
        invoice["stillOpen"],
        invoice["payments"][0]["paidBy"],
    )
    rest = {"payments": [{"method": "card", "amount": "10"}], "invoice": True}
    last = settling.cashier.json("POST", path, json=rest)
    assert (None, "0.000", 3) == (last["issuedInvoice"], last["owed"], len(last["documents"]))
    assert [] == settling.faults()


@pytest.mark.databases("sqlite")
def test_a_part_is_paid_and_the_consignor_gets_theirs(settling: Settling) -> None:
    """A part payment leaves the rest owed; the consignor is paid in parts, never more than the house owes them."""
    paddle = settling.bidder()
    settling.sell(paddle, "100")
    assert "98.750" == settling.pay(paddle, ("bank", "50")).json()["owed"]
    path = f"/sales/{settling.gid}/statements/{settling.code}"
    statement = settling.cashier.json("GET", path)
    assert "86.910" == statement["toPayOut"]
    assert ["hammer", "commission", "entry"] == [
        line["item"] for line in statement["settledLots"][0]["bill"]["consignorLines"]
    ]
    pay_out = f"{path}/payouts"
    assert (409, "not_owed_by_house") == refusal(
        settling.cashier.post(pay_out, json={"method": "cash", "amount": "86.92"})
    )
    key = {"Idempotency-Key": "one-payout-of-two"}
    for _ in range(2):
        left = settling.cashier.json("POST", pay_out, json={"method": "cash", "amount": "80"}, headers=key)
        assert ("6.910", "-80.000") == (left["toPayOut"], left["money"][0]["moved"])
    found = settling.accounts()
    assert [("98.750", 1)] == [(one["owed"], one["lotsBought"]) for one in found["buyers"]]
    assert [("6.910", 1)] == [(one["toPayOut"], one["lotsSold"]) for one in found["consignorBalances"]]
    assert (1, 0, "100.000") == tuple(found[name] for name in ("soldLots", "unsoldLots", "hammerTotal"))
    text = settling.cashier.get(f"/sales/{settling.gid}/accounts.csv").content.decode("utf-8-sig")
    [row] = [*csv.reader(io.StringIO(text))][1:]
    assert ["1", str(paddle), settling.code] == row[:3]
    assert [Decimal(text) for text in ("100", "25", "23.75", "148.75", "13.09", "86.91", "0")] == [
        Decimal(one) for one in row[3:]
    ]


@pytest.mark.parametrize(("bearer", "share"), [("buyer", "40.00"), ("consignor", "0.00")])
def test_the_parts_of_a_row_are_what_the_buyer_pays(house: House, bearer: str, share: str) -> None:
    """In the CSV of the accounts the artist's share has a column if the buyer pays it; it is a deduction otherwise."""
    settling = Settling(house, 1, is_rated=False)
    terms = {**TERMS, "taxScheme": "resale_right", "resaleRight": bearer}
    card = settling.manager.json("POST", "/rate-cards", json={"name": f"{settling.gid} {bearer}", **terms})["card"]
    settling.manager.json("PUT", f"/sales/{settling.gid}/rates", json={"card": card})
    settling.sell(settling.bidder(), "1000")
    text = settling.cashier.get(f"/sales/{settling.gid}/accounts.csv").content.decode("utf-8-sig")
    [row] = [*csv.DictReader(io.StringIO(text))]
    assert share == row["Artist's resale right paid by the buyer"]
    parts = ("Hammer price", "Premium", "Tax", "Artist's resale right paid by the buyer")
    assert Decimal(row["Buyer pays"]) == sum(Decimal(row[one]) for one in parts)
    assert Decimal(row["Consignor gets"]) == Decimal(row["Hammer price"]) - Decimal(row["Deductions"])


@pytest.mark.databases("sqlite")
def test_a_reopened_lot_is_taken_back_and_put_right(settling: Settling) -> None:
    """A lot that is reopened after its payment and sold to somebody else: one is paid back, the other one owes it."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.pay(first, ("cash", "14.88"))
    auctioneer = settling.sale.staff
    path = f"/sales/{settling.gid}/block"
    auctioneer.json("POST", path, json={"act": "reopen", "label": "1", "reason": "Somebody was overlooked."})
    assert ("-14.880", []) == tuple(settling.desk(first)[name] for name in ("owed", "settledLots"))
    settling.sale.act("call", label="1")
    ask = settling.sale.block()["onBlock"]["auction"]["minimumBid"]
    settling.sale.act("bid", amount=ask, paddle=second)
    settling.sale.act("sell")
    refunds = f"/sales/{settling.gid}/desk/{first}/refunds"
    back = {"method": "cash", "amount": "14.88"}
    assert (409, "not_owed_by_house") == refusal(
        settling.cashier.post(refunds, json={"method": "cash", "amount": "14.89"})
    )
    assert "0.000" == settling.cashier.json("POST", refunds, json=back)["owed"]
    assert Decimal(settling.desk(second)["owed"]) > Decimal("14.88")
    assert 1 == settling.accounts()["soldLots"]
    assert [] == settling.faults()


def test_cashiers_at_one_paddle_come_one_after_the_other(house: House) -> None:
    """Eight payments of the whole sum at the same time: one is taken, the others are told that nothing is left."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: settling.pay(paddle, ("card", "14.88")).status_code, range(8))]
    assert [200, *[409] * 7] == sorted(answers)
    assert "0.000" == settling.desk(paddle)["owed"]
    assert 1 == len(settling.desk(paddle)["money"])


@pytest.mark.databases("sqlite")
def test_what_is_no_payment_is_refused(settling: Settling) -> None:
    """Unknown people and sales are 404; amounts, methods and lists that are none are named; nothing is posted."""
    paddle = settling.bidder()
    for payments in ([], [{"method": "cash", "amount": "0"}], [{"method": "shells", "amount": "1"}], 7, [7]):
        answer = settling.cashier.post(f"/sales/{settling.gid}/desk/{paddle}/payments", json={"payments": payments})
        assert ["payments"] == [*faults(answer)]
    assert (409, "overpaid") == refusal(settling.pay(paddle, ("card", "1")))
    for path in (f"/sales/{settling.gid}/desk/99999", f"/sales/{settling.gid}/desk/nobody.here"):
        assert (404, "unknown_participant") == refusal(settling.cashier.get(path))
    assert (404, "unknown_sale") == refusal(settling.cashier.get("/sales/nowhere/accounts"))
    assert (404, "unknown_consignor") == refusal(settling.cashier.get(f"/sales/{settling.gid}/statements/NOBODY"))
    username = settling.sale.bidder().name
    assert "0.000" == settling.desk(username)["owed"]


def test_the_check_of_a_database_finds_a_changed_posting(sqlite_house: House) -> None:
    """An entry of which somebody changes a posting in the database is named, as it does not have its digest any more."""
    settling = Settling(sqlite_house, 1)
    settling.sell(settling.bidder())
    settling.accounts()
    assert [] == settling.faults()

    def change(tx: Any) -> None:
        tx.execute(update(journal_postings).where(journal_postings.c.book == "premium").values(amount=Decimal("9.000")))

    sqlite_house.write(change)
    found = settling.faults()
    assert found and all(re.fullmatch(r"journal entry \d+: it does not have its digest", one) for one in found)


@pytest.mark.databases("sqlite")
def test_two_payments_in_one_way_are_noted_together(settling: Settling) -> None:
    """Two cards pay one lot: the audit log says what both have paid."""
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.pay(paddle, ("card", "4"), ("card", "10.88"))
    noted = settling.house.staff(Role.OWNER).json("GET", "/staff/audit?act=money.taken")["entries"][0]
    assert {"sale": settling.gid, "card": "14.880"} == noted["after"]


@pytest.mark.databases("sqlite")
def test_an_amount_finer_than_the_currency_is_refused_by_its_field(settling: Settling) -> None:
    """A tenth of a cent, also in cash above what is owed, is named where it was sent, and nothing moves."""
    paddle = settling.bidder()
    settling.sell(paddle)
    for payments in ([("card", "4.005")], [("cash", "20.005")], [("card", "4"), ("bank", "1.001")]):
        [(field, [fault])] = faults(settling.pay(paddle, *payments)).items()
        assert ("payments", "minor_unit") == (field, fault)
    assert [] == settling.desk(paddle)["money"]
    settling.pay(paddle, ("card", "14.88"))
    for path in (f"desk/{paddle}/refunds", f"statements/{settling.code}/payouts"):
        sent = {"method": "bank", "amount": "1.005"}
        [(field, [fault])] = faults(settling.cashier.post(f"/sales/{settling.gid}/{path}", json=sent)).items()
        assert ("amount", "minor_unit") == (field, fault)


def test_a_maximum_has_the_surcharge_of_the_way_in_which_it_came(settling: Settling) -> None:
    """The house bids on for one of the book, one online is tied in the hall, and one of the book is raised to the reserve."""
    terms = {**TERMS, "surcharges": {"online": "3", "floor": "1", "absentee": "2"}}
    settling.manager.json("PUT", f"/rate-cards/{settling.card}", json=terms)
    settling.manager.json("PATCH", f"/sales/{settling.gid}/lots/3", json={"reservePrice": "40"})
    staff, hall, online = settling.sale.staff, settling.bidder(), settling.sale.bidder()
    staff.json("POST", f"/sales/{settling.gid}/participants", json={"personName": "Ida", "paddle": 12})
    for label, maximum in (("1", "100"), ("3", "20"), ("3", "60")):
        line = {"paddle": 12, "label": label, "maximum": maximum}
        staff.json("POST", f"/sales/{settling.gid}/book", json=line)
    assert 201 == online.bid(settling.sale.lots[1], maximum="30").status_code
    for amount in ("15", "30", None):
        settling.sale.act("call")
        if amount:
            settling.sale.act("ask", amount=amount)
            settling.sale.act("bid", amount=amount, paddle=hall)
        settling.sale.act("sell")
    paddle = online.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    lots = [*settling.desk(12)["settledLots"], *settling.desk(paddle)["settledLots"]]
    said = [
        (lot["label"], *(line["lineAmount"] for line in lot["bill"]["buyerLines"] if line["item"] != "premium"))
        for lot in lots
    ]
    assert [("1", "20.000", "0.400"), ("3", "40.000", "0.800"), ("2", "30.000", "0.900")] == said
