"""Bank statements over HTTP: matched, twice, overlapping, at once, and decided by a person."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx

from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.settlement.camt import credit, debit, statement


class Banking(Settling):
    """A sale to settle with bank statements."""

    def send(self, data: bytes) -> httpx.Response:
        """Send a statement."""
        answer = self.cashier.post("/bank-statements", files={"statement": ("camt.xml", data, "application/xml")})
        assert isinstance(answer, httpx.Response)
        return answer

    def invoice(self, paddle: int, **more: str) -> str:
        """Issue the invoice of a buyer, and return its number."""
        order = {"documentKind": "invoice", "paddle": paddle, **more}
        return str(self.cashier.json("POST", f"/sales/{self.gid}/documents", json=order)["documentNumber"])

    def waiting(self, text: str) -> Any:
        """Return the one payment with this text that waits for a person."""
        found = self.cashier.json("GET", "/bank-payments")["bankPayments"]
        [one] = [one for one in found if text in one["payerText"]]
        return one


COUNTS = ("newPayments", "takenPayments", "doubtfulPayments", "knownPayments", "otherEntries")


def counts(answer: httpx.Response) -> tuple[int, ...]:
    """Return what an import did."""
    found = answer.json()
    return tuple(found[name] for name in COUNTS)


def test_a_sure_payment_is_taken_once(house: House) -> None:
    """The invoice's number and amount: it is paid. The same file again, and one that overlaps it, take nothing more."""
    banking = Banking(house, 1)
    paddle = banking.bidder()
    banking.sell(paddle)
    number, mark = banking.invoice(paddle), secrets.token_hex(8)
    paid = credit("14.88", f"{number.replace('-', ' ')} {mark}", reference=f"R{mark}")
    assert (1, 1, 0, 0, 0) == counts(banking.send(statement(paid)))
    desk = banking.desk(paddle)
    assert ("0.000", [("bank", "14.880")]) == (desk["owed"], [(one["method"], one["moved"]) for one in desk["money"]])
    assert (0, 0, 0, 1, 0) == counts(banking.send(statement(paid)))
    other = credit("3.00", f"hello {mark}")
    assert (1, 0, 1, 1, 0) == counts(banking.send(statement(other, paid)))
    again = credit("14.88", f"{number} again {mark}", reference=f"Q{mark}")
    assert (1, 0, 1, 0, 0) == counts(banking.send(statement(again)))  # paid already, so a person decides
    assert 1 == len(banking.desk(paddle)["money"])
    assert [] == banking.faults()


def test_an_invoice_of_which_a_charge_was_given_up_is_paid_without_it(house: House) -> None:
    """14.88 without the premium of 2.98 is 11.90, which pays it; the whole amount waits for a person."""
    banking = Banking(house, 1)
    paddle = banking.bidder()
    banking.sell(paddle)
    number, mark = banking.invoice(paddle), secrets.token_hex(8)
    [invoice] = [one["document"] for one in banking.desk(paddle)["documents"]]
    banking.cashier.json("POST", f"/documents/{invoice}/credit", json={"lines": [1], "reason": "A scratch."})
    assert (1, 0, 1, 0, 0) == counts(banking.send(statement(credit("14.88", f"{number} {mark}"))))
    assert (1, 1, 0, 0, 0) == counts(banking.send(statement(credit("11.90", f"{number} {mark}"))))
    assert ("0.000", []) == (banking.desk(paddle)["owed"], banking.faults())


def test_a_booking_that_is_to_come_is_refused(house: House) -> None:
    """Ten days ahead may be holidays; a later day is a broken file, of which nothing is kept, also if money went out."""
    banking, mark = Banking(house, 1), secrets.token_hex(8)
    today = house.read(lambda tx: tx.now()).date()
    for entry in (credit("3.00", mark), debit("3.00", "PAY-2026-00001-ABCDEF-0001")):
        late = entry.replace("2026-11-20", (today + timedelta(days=11)).isoformat())
        assert {"statement": ["booked_in_future"]} == faults(banking.send(statement(credit("4.00", mark), late)))
    soon = credit("3.00", mark).replace("2026-11-20", (today + timedelta(days=10)).isoformat())
    assert (1, 0, 1, 0, 0) == counts(banking.send(statement(soon)))


def test_a_file_that_is_sent_by_many_at_once_is_one(house: House) -> None:
    """Six imports of one file at the same time take the payment once."""
    banking = Banking(house, 1)
    paddle = banking.bidder()
    banking.sell(paddle)
    data = statement(
        credit("14.88", f"{banking.invoice(paddle)} {secrets.token_hex(8)}"), credit("5", f"tip {secrets.token_hex(8)}")
    )
    with ThreadPoolExecutor(6) as pool:
        found = [counts(answer) for answer in pool.map(lambda _: banking.send(data), range(6))]
    assert [(0, 0, 0, 2, 0)] * 5 + [(2, 1, 1, 0, 0)] == sorted(found)
    assert 1 == len(banking.desk(paddle)["money"])


def test_a_doubtful_payment_is_decided_by_a_person(house: House) -> None:
    """Another amount names its invoice, and waits; it is taken for the buyer once, and what is too much can be paid back."""
    banking = Banking(house, 2)
    first, second = banking.bidder(), banking.bidder()
    banking.sell(first)
    banking.sell(second, "100")
    number, mark = banking.invoice(first), secrets.token_hex(8)
    wrong = banking.invoice(second)
    assert (2, 0, 2, 0, 0) == counts(
        banking.send(statement(credit("20.00", f"{number} {mark}"), credit("148.75", f"for the vase {mark[::-1]}")))
    )
    one, by_amount = banking.waiting(mark), banking.waiting(mark[::-1])
    assert [(number, "14.880", "14.880", str(first))] == [
        (p["documentNumber"], p["amountDue"], p["leftToPay"], p["buyer"]) for p in one["proposals"]
    ]
    assert wrong in [p["documentNumber"] for p in by_amount["proposals"]]
    path = f"/bank-payments/{one['bankPayment']}/decision"
    key = {"Idempotency-Key": f"decide-{mark}-once"}
    for _ in range(2):
        taken = banking.cashier.json("POST", path, json={"sale": banking.gid, "buyer": str(first)}, headers=key)
        assert (False, banking.gid) == (taken["waits"], taken["sale"])
    assert "-5.120" == banking.desk(first)["owed"]
    back = {"method": "bank", "amount": "5.12"}
    assert "0.000" == banking.cashier.json("POST", f"/sales/{banking.gid}/desk/{first}/refunds", json=back)["owed"]
    assert (409, "bank_payment_decided") == refusal(banking.cashier.post(path, json={"reason": "again"}))
    path = f"/bank-payments/{by_amount['bankPayment']}/decision"
    aside = banking.cashier.json("POST", path, json={"reason": "A gift from the city."})
    assert (False, "A gift from the city.", None) == (aside["waits"], aside["reason"], aside["sale"])
    assert "148.750" == banking.desk(second)["owed"]
    decided = banking.cashier.json("GET", "/bank-payments?waiting=false&limit=2")["bankPayments"]
    assert {one["bankPayment"], by_amount["bankPayment"]} == {found["bankPayment"] for found in decided}
    assert [] == banking.faults()


def test_what_cannot_be_decided_is_refused(house: House) -> None:
    """Another currency, unknown payments, sales and buyers, and decisions that are none; files that are none."""
    banking = Banking(house, 1)
    mark = secrets.token_hex(8)
    banking.send(statement(credit("20.00", f"francs {mark}", currency="CHF")))
    path = f"/bank-payments/{banking.waiting(mark)['bankPayment']}/decision"
    paddle = banking.bidder()
    post = banking.cashier.post
    assert (409, "other_currency") == refusal(post(path, json={"sale": banking.gid, "buyer": str(paddle)}))
    assert (404, "unknown_participant") == refusal(post(path, json={"sale": banking.gid, "buyer": "99999"}))
    assert (404, "unknown_sale") == refusal(post(path, json={"sale": "nowhere", "buyer": "1"}))
    assert (404, "unknown_bank_payment") == refusal(post("/bank-payments/nothing/decision", json={"reason": "x"}))
    finer = secrets.token_hex(8)
    banking.send(statement(credit("20.005", f"half a cent {finer}")))
    half = f"/bank-payments/{banking.waiting(finer)['bankPayment']}/decision"
    [(field, [fault])] = faults(post(half, json={"sale": banking.gid, "buyer": str(paddle)})).items()
    assert ("sale", "set_aside") == (field, fault)
    assert [] == banking.desk(paddle)["money"]
    assert not banking.cashier.json("POST", half, json={"reason": "No such coin."})["waits"]
    for body, field in (
        ({}, "sale"),
        ({"sale": banking.gid}, "buyer"),
        ({"buyer": "1"}, "sale"),
        ({"sale": banking.gid, "buyer": "1", "reason": "x"}, "sale"),
        ({"sale": "no such\u0000", "buyer": "1"}, "sale"),
        ({"reason": ""}, "reason"),
    ):
        assert [field] == [*faults(post(path, json=body))]
    assert ["statement"] == [*faults(banking.send(b"<a/>"))]
    assert ["statement"] == [*faults(banking.cashier.post("/bank-statements", files={"other": ("a.xml", b"x")}))]
    assert 413 == banking.send(b" " * (5 * 1024 * 1024)).status_code
