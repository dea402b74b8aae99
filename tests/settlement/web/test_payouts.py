"""Payouts on pages, without scripts: ticked, made, downloaded, marked; and bank accounts of staff's and of one's own."""

import re
from typing import Any

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import PASSWORD, ServeHouse
from tests.settlement.api.test_payouts import MASKED, THEIRS, Paying
from tests.settlement.camt import IBAN, credit, debit
from tests.settlement.pain002 import block, report, transfer
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def test_a_cashier_makes_a_file_and_follows_it(serve_house: ServeHouse) -> None:
    """The account is entered, the payout ticked, the file downloaded and given to the bank; it fails and is due again."""
    paying = Paying(serve_house(house_iban=IBAN))
    visitor = Visitor(paying.house, paying.cashier)
    assert "Enter the account" in visitor.page("/admin/payouts").main
    path = f"/admin/payouts/accounts/{paying.code}"
    refused = visitor.sent(visitor.page(path), path, accountHolder="Ada", iban=THEIRS[:-1])
    assert "too short or too long" in refused.main
    saved = visitor.sent(refused, path, iban=THEIRS)
    assert THEIRS in saved.main and "COBADEFFXXX" in saved.main
    page = visitor.page("/admin/payouts")
    assert MASKED in page.main and THEIRS not in page.main
    assert "Choose at least one payout" in visitor.sent(page, "/admin/payouts", "", (), **_without("pay-1")).main
    file = visitor.sent(page, "/admin/payouts")
    assert re.fullmatch(r"PAY-\d{4}-00001", file.one("h2", id="file").text)
    [link] = [one for one in file.links if one.endswith("pain.xml")]
    assert "pain.001.001.09" in visitor.http.get(link).text
    own = link.removesuffix("/pain.xml")
    assert "given to the bank" in visitor.sent(file, own, mark="sent").main
    answer = visitor.http.post(own, data=_form(visitor, own, "failed"))
    assert 400 == answer.status_code
    failed = visitor.http.post(own, data={**_form(visitor, own, "failed"), "reason": "Closed."})
    assert 303 == failed.status_code
    assert "failed: Closed." in visitor.page(own).main
    assert "€86.91 in all" in visitor.page("/admin/payouts").main


def _form(visitor: Visitor, path: str, mark: str) -> dict[str, str]:
    """Return the fields of the form that marks the first payout."""
    page = visitor.page(path)
    token, key = (page.all("input", name=name)[0]["value"] for name in ("csrfToken", "key"))
    return {"csrfToken": token, "key": key, "transfer": "1", "mark": mark}


def test_a_cashier_imports_what_the_bank_says(serve_house: ServeHouse) -> None:
    """A wrong file has its fault beside the field; a rejection is shown with its reason; a doubt waits for a person."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    file, payout = paying.made()
    known_by = payout["endToEndId"]
    visitor = Visitor(paying.house, paying.cashier, **{"Accept-Language": "en"})
    wrong = _sent(visitor, b"<a/>")
    assert "true" == wrong.one("input", id="report")["aria-invalid"]
    message = known_by.removesuffix("-0001")
    page = _sent(visitor, report(message, block(message, transfer(known_by, "CANC"))))
    assert "The house does not know this status. Nothing was changed by it." in page.main
    own = f"/admin/payouts/{file}"
    assert "true" == visitor.sent(page, f"{own}/checks").one("input", id="c1-reason")["aria-invalid"]
    assert "Somebody has looked into it." in visitor.sent(page, f"{own}/checks", reason="They called.").main
    said = report(message, block(message, transfer(known_by, "RJCT", "AC04", "Konto <erloschen>")), message="B2")
    page = _sent(visitor, said)
    assert "The bank has rejected 1 payouts" in page.main
    assert "rejected: The account is closed. (AC04)" in page.main and "Konto <erloschen>" in page.main
    assert "failed: The bank has rejected it" not in page.main, "the bank's reason is enough"
    german = Visitor(paying.house, paying.cashier, **{"Accept-Language": "de"})
    assert "abgelehnt: Das Konto ist aufgelöst. (AC04)" in german.page(own).main
    paying.send(debit("86.91", known_by))
    assert "A payout is in doubt" in visitor.page("/admin/payouts").main
    assert "The consignor may have the money." in visitor.page(own).main


def _sent(visitor: Visitor, data: bytes) -> Page:
    """Send a report by the form of the page, and return the page that answers."""
    token = visitor.page("/admin/payouts").all("input", name="csrfToken")[0]["value"]
    parts: dict[str, Any] = {"csrfToken": (None, token), "report": ("a.xml", data, "text/xml")}
    return Page(visitor.http.post("/admin/payouts/reports", files=parts))


def test_a_consignor_gives_and_removes_the_account(serve_house: ServeHouse) -> None:
    """The page says when there is nothing to pay out; the password is asked for, and the number is masked."""
    paying = Paying(serve_house(house_iban=IBAN))
    stranger = Visitor(paying.house, paying.house.newcomer())
    assert "You bring no lots" in stranger.page("/mine/payouts").main
    visitor, path = Visitor(paying.house, paying.owner), f"/mine/payouts/{paying.code}"
    page = visitor.page("/mine/payouts")
    given = {"accountHolder": "Ada", "iban": THEIRS}
    wrong = visitor.sent(page, path, **given, password="not mine")
    assert "true" == wrong.one("input", id="a1-password")["aria-invalid"]
    saved = visitor.sent(page, path, **given, password=PASSWORD)
    assert MASKED in saved.main and THEIRS not in saved.main and "is saved" in saved.main
    data = {"csrfToken": saved.all("input", name="csrfToken")[0]["value"], "do": "remove", "password": PASSWORD}
    assert 303 == visitor.http.post(path, data=data).status_code
    assert "You have given no account yet" in visitor.page("/mine/payouts").main


def test_the_pages_speak_german(serve_house: ServeHouse) -> None:
    """The back office and the reader's own page."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    visitor = Visitor(paying.house, paying.cashier, **{"Accept-Language": "de"})
    page = visitor.page("/admin/payouts")
    assert "Was das Haus Einlieferern schuldet" in page.main
    assert "in der Datei" in visitor.sent(page, "/admin/payouts").main
    own = Visitor(paying.house, paying.owner, **{"Accept-Language": "de"})
    assert "Bankkonto von" in own.page("/mine/payouts").main


def _without(*names: str) -> dict[str, Any]:
    """Return the changes that leave fields out."""
    return dict.fromkeys(names)


def test_the_page_of_the_bank_shows_a_payout_that_was_booked_twice(serve_house: ServeHouse) -> None:
    """In each language with the amount and the day as the reader writes them, until somebody has noted what was found out."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    _, payout = paying.made()
    known_by = payout["endToEndId"]
    money = credit("9901.70", "danke")
    paying.send(*(debit("86.91", known_by, reference=each) for each in ("R1", "R2")), money)
    visitor = Visitor(paying.house, paying.cashier)
    page = visitor.page("/admin/bank")
    assert f"{known_by}: €86.91 went out on 20 Nov 2026. The bank has booked this payout twice." in page.main
    assert "€9,901.70 · Ada Lovelace" in page.main and "20 Nov 2026 · danke" in page.main
    german = Page(visitor.http.get("/admin/bank", headers={"Accept-Language": "de"}))
    assert f"{known_by}: 86,91 € gingen am 20.11.2026 ab. Die Bank hat diese Auszahlung zweimal gebucht." in german.main
    assert "9.901,70 € · Ada Lovelace" in german.main
    assert paying.cashier.json("GET", f"/sales/{paying.gid}/statements/{paying.code}")["isInDoubt"]
    [file] = [one for one in page.links if one.startswith("/admin/payouts/")]
    of_file = visitor.page(file)
    assert (
        "The bank, 20 Nov 2026: booked by the statement €86.91 R2 The bank has booked this payout twice."
        in of_file.main
    )
    assert "Somebody has looked into it." in visitor.sent(of_file, f"{file}/checks", reason="They give it back.").main
    assert "booked this payout twice" not in visitor.page("/admin/bank").main


def test_the_desk_asks_before_it_pays_out_in_doubt(serve_house: ServeHouse) -> None:
    """It warns in words, refuses without the tick, and pays with it."""
    paying = Paying(serve_house(house_iban=IBAN))
    paying.give()
    file, payout = paying.made()
    paying.mark(file, "failed", reason="They say so.")
    path = f"/admin/desk/{paying.gid}/statements/{paying.code}"
    visitor = Visitor(paying.house, paying.cashier)
    assert [] == visitor.page(path).all("input", name="isSure")
    paying.send(debit("86.91", payout["endToEndId"]))
    page = visitor.page(path)
    assert "they may have the money already" in page.main
    refused = visitor.sent(page, path, isSure=None, amount="86.91", method="bank")
    assert "tick to pay anyway" in refused.main and "86.910" == paying.left()
    assert "The house owes them nothing." in visitor.sent(page, path, amount="86.91", method="bank", isSure="on").main
