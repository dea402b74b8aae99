"""What the bank says of payment files over HTTP: what is rejected is owed again, and nobody is paid twice."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from saleroom.accounts.domain.rights import Role
from saleroom.settlement.storage import retention
from saleroom.settlement.storage.payout_tables import payment_files, payout_reports, payouts
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.settlement.api.test_payouts import Paying, bank_house  # noqa: F401  # the house
from tests.settlement.camt import debit, returned, statement
from tests.settlement.pain002 import block, report, sums, transfer

AGAIN = ("86.910", ("0.000", "0.000"))
"""What is owed to the consignor, what is in transit and what has left the bank, as long as nothing is paid."""
UNDER_WAY = ("0.000", ("-86.910", "0.000"))


class Reporting(Paying):
    """A sale to pay out, whose one payout is under way."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self.give()
        self.file, payout = self.made()
        self.known_by: str = payout["endToEndId"]
        self.message = self.known_by.removesuffix("-0001")

    def report(self, data: bytes, user: User | None = None) -> httpx.Response:
        """Send a report."""
        files = {"report": ("pain002.xml", data, "application/xml")}
        answer = (user or self.cashier).post("/payment-status-reports", files=files)
        assert isinstance(answer, httpx.Response)
        return answer

    def said(self, status: str = "RJCT", code: str = "", *texts: str, **more: Any) -> tuple[int, int, int, list[str]]:
        """Send a report of one status for the payout; return what that did."""
        amount = more.pop("amount", "")
        said = block(self.message, transfer(self.known_by, status, code, *texts, amount=amount))
        return counts(self.report(report(self.message, said, **more)))

    def payout(self) -> Any:
        """Return the payout as its file shows it."""
        return self.cashier.json("GET", f"/payment-files/{self.file}")["payouts"][0]

    def money(self) -> tuple[str, tuple[str, str]]:
        """Return what is owed to the consignor, what is in transit, and what has left the bank."""
        assert [] == self.wrong()
        return self.left(), self.books()

    def number(self) -> int:
        """Return the number of the row of the payout."""
        which = select(payouts.c.id).where(payouts.c.end_to_end == self.known_by)
        return int(self.house.write(lambda tx: tx.execute(which).scalar_one()))

    def check(self, **more: Any) -> httpx.Response:
        """Say that somebody has looked into the payout."""
        sent = {"transfers": [1], "reason": "The bank has taken it back.", **more}
        answer = self.cashier.post(f"/payment-files/{self.file}/checks", json=sent)
        assert isinstance(answer, httpx.Response)
        return answer


def counts(answer: httpx.Response) -> tuple[int, int, int, list[str]]:
    """Return what an import did: rejected, noted, known before, and the doubts."""
    assert 200 == answer.status_code, answer.text
    found = answer.json()
    doubts = [one["doubt"] for one in found["doubtfulPayouts"]]
    return found["rejectedPayouts"], found["notedPayouts"], found["knownPayouts"], doubts


@pytest.fixture
def reporting(bank_house: House) -> Reporting:  # noqa: F811  # it is the fixture
    """A payout under way."""
    return Reporting(bank_house)


@pytest.mark.parametrize("level", ["file", "block", "transfer"])
def test_a_rejected_payout_is_owed_again_once(reporting: Reporting, level: str) -> None:
    """At each level, with the reason of the bank; the same report again does nothing; another file pays it."""
    one, message = reporting, reporting.message
    said = {
        "file": report(message, status="RJCT", code="AC04", text="Konto erloschen", sums=sums(1, "86.91")),
        "block": report(message, block(message, status="RJCT", code="AC04"), status="RJCT", text="Konto erloschen"),
        "transfer": report(message, block(message, transfer(one.known_by, "RJCT", "AC04", "Konto erloschen"))),
    }[level]
    assert UNDER_WAY == one.money()
    assert (1, 0, 0, []) == counts(one.report(said))
    assert AGAIN == one.money()
    payout = one.payout()
    assert ("failed", "The bank has rejected it: AC04.") == (payout["payoutState"], payout["reason"])
    [told] = payout["bankSaid"]
    assert ("RJCT", "AC04", None) == (told["bankStatus"], told["bankReason"], told["doubt"])
    assert (level == "block") == (told["bankText"] is None)
    assert (0, 0, 1, []) == counts(one.report(said))
    assert AGAIN == one.money()
    one.made()
    assert UNDER_WAY == one.money()
    assert (0, 0, 1, []) == counts(one.report(said)), "the new payout has a number of its own"
    assert UNDER_WAY == one.money()


def test_an_accepted_payout_is_with_the_bank_and_told_once(reporting: Reporting) -> None:
    """Each status is noted; the first one says that the bank has the file; a rejection after that is told as well."""
    before = len(reporting.mails())
    for number, status in enumerate(["PDNG", "ACTC", "ACCP", "ACWC", "ACSP", "PART", "ACSC"]):
        assert (0, 1, 0, []) == reporting.said(status, message=f"B{number}")
        assert "sent" == reporting.payout()["payoutState"]
    assert (0, 1, 0, []) == reporting.said("RVNM", message="names")
    assert UNDER_WAY == reporting.money()
    assert ["paid_out"] == [kind for kind, _ in reporting.mails()[before:]]
    assert (1, 0, 0, []) == reporting.said("RJCT", "MD07", message="B9")
    assert AGAIN == reporting.money()
    assert ["paid_out", "payout_failed"] == [kind for kind, _ in reporting.mails()[before:]]
    statuses = [one["bankStatus"] for one in reporting.payout()["bankSaid"]]
    assert ["PDNG", "ACTC", "ACCP", "ACWC", "ACSP", "PART", "ACSC", "RVNM", "RJCT"] == statuses


@pytest.mark.databases("sqlite")
def test_one_of_two_is_rejected(reporting: Reporting) -> None:
    """The other one of the file is accepted in part with it, and booked by the statement later."""
    other = Reporting(reporting.house)
    for one in (reporting, other):
        one.mark(one.file, "failed", reason="Again.")
    path, both = (
        "/payment-files",
        [{"sale": one.gid, "consignor": one.code, "amount": "86.91"} for one in (reporting, other)],
    )
    made = reporting.cashier.json("POST", path, json={"payouts": both})
    first, second = (one["endToEndId"] for one in made["payouts"])
    message = first.removesuffix("-0001")
    said = report(message, block(message, transfer(second, "RJCT", "RC01"), status="PART"), status="PART")
    assert (1, 1, 0, []) == counts(reporting.report(said))
    assert (UNDER_WAY, AGAIN) == (reporting.money(), other.money())
    assert 1 == reporting.send(debit("86.91", first))["bookedPayouts"]
    assert ("0.000", ("0.000", "-86.910")) == reporting.money()


def test_what_does_not_fit_changes_nothing_and_bars_another_payout(reporting: Reporting) -> None:
    """Another amount, a contradiction, an unknown status; a person looks into it, and says why."""
    one, message = reporting, reporting.message
    assert (0, 0, 0, ["other_amount"]) == one.said("RJCT", amount="86.90")
    assert (0, 0, 1, []) == one.said("RJCT", amount="86.90"), "a doubt is raised once"
    wrong = report(message, status="RJCT", sums=sums(2, "86.91"), message="B2")
    assert (0, 0, 0, ["other_amount"]) == counts(one.report(wrong))
    wrong = report(message, block(message, transfer(one.known_by, "ACCP")), status="RJCT", message="B3")
    assert (0, 0, 0, ["contradictory"]) == counts(one.report(wrong))
    assert (0, 0, 0, ["unknown_status"]) == one.said("CANC", message="B4")
    assert (UNDER_WAY, "made", True) == (one.money(), one.payout()["payoutState"], one.payout()["isInDoubt"])
    assert {"reason": ["required"]} == faults(
        one.cashier.post(f"/payment-files/{one.file}/checks", json={"transfers": [1]})
    )
    for places in ([2], [1, 2]):
        assert (409, "payout_not_in_doubt") == refusal(one.check(transfers=places))
    assert one.payout()["isInDoubt"], "all of it is done, or nothing"
    assert one.check().is_success
    assert (409, "payout_not_in_doubt") == refusal(one.check())
    assert (404, "unknown_payment_file") == refusal(
        one.cashier.post("/payment-files/nobody/checks", json={"transfers": [1], "reason": "x"})
    )
    assert (UNDER_WAY, False) == (one.money(), one.payout()["isInDoubt"])
    assert (1, 0, 0, []) == one.said("RJCT", amount="86.91", message="B5")
    assert AGAIN == one.money()


@pytest.mark.databases("sqlite")
def test_a_rejection_of_what_is_booked_waits_for_the_statement(reporting: Reporting) -> None:
    """The money has left the bank: it is owed again once the statement says that it came back, and not before."""
    one, gone = reporting, ("0.000", ("0.000", "-86.910"))
    one.send(debit("86.91", one.known_by))
    assert (0, 0, 0, ["rejected_after_booked"]) == one.said("RJCT", "AC04")
    assert (gone, "booked", True) == (one.money(), one.payout()["payoutState"], one.payout()["isInDoubt"])
    assert 1 == one.send(returned("86.91", one.known_by))["returnedPayouts"]
    assert (AGAIN, False) == (one.money(), one.payout()["isInDoubt"]), "what came back is no doubt any more"
    assert (0, 1, 0, []) == one.said("RJCT", "AC04", message="B2")
    assert AGAIN == one.money()
    one.made()


def booked(found: Any) -> tuple[int, list[str]]:
    """Return how many payouts a statement has booked, and the doubts about its bookings."""
    return found["bookedPayouts"], [each["doubt"] for each in found["doubtfulDebits"]]


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("by", ["report", "person"])
def test_a_booking_of_what_has_failed_bars_another_payout(reporting: Reporting, by: str) -> None:
    """The statement says that it went out all the same: nobody pays again before a person has looked into it, and done so."""
    one = reporting
    if by == "report":
        assert (1, 0, 0, []) == one.said("RJCT", "AM04")
    else:
        one.mark(one.file, "failed", reason="They say so.")
    for _ in range(2):
        assert 1 == len(one.send(debit("86.91", one.known_by))["doubtfulDebits"])
    assert (AGAIN, True) == (one.money(), one.due()["isInDoubt"])
    [*_, told] = one.payout()["bankSaid"]
    assert ("BOOK", "booked_after_failed") == (told["bankStatus"], told["doubt"])
    assert (409, "payout_in_doubt") == refusal(one.make())
    paid, path = {"method": "bank", "amount": "86.91"}, f"/sales/{one.gid}/statements/{one.code}/payouts"
    assert (409, "payout_not_sure") == refusal(one.cashier.post(path, json=paid))
    assert one.cashier.json("POST", path, json={**paid, "isSure": True})["isInDoubt"]
    log = one.house.staff(Role.OWNER).json("GET", "/staff/audit?act=money.paid_out")["entries"]
    assert {"sale": one.gid, "bank": "86.910", "sure": True} in [entry["after"] for entry in log]
    assert ("0.000", ("0.000", "-86.910")) == one.money(), "the books say what the bank has done"
    assert one.check().is_success and not one.payout()["isInDoubt"]
    one.send(debit("86.91", one.known_by))
    assert not one.payout()["isInDoubt"], "the same booking is looked into once"


@pytest.mark.databases("sqlite")
def test_a_second_booking_of_a_payout_is_in_doubt(reporting: Reporting) -> None:
    """Another debit for it, with another reference, waits for a person; files that overlap have no second one."""
    one = reporting
    first, second = (debit("86.91", one.known_by, reference=each) for each in ("R1", "R2"))
    assert (1, []) == booked(one.send(first))
    assert (0, []) == booked(one.send(first))
    assert (0, ["booked_twice"]) == booked(one.send(first, second))
    assert (0, ["booked_twice"]) == booked(one.send(second)), "it waits still"
    assert ("booked", True) == (one.payout()["payoutState"], one.payout()["isInDoubt"])
    back = one.send(returned("86.91", one.known_by))
    assert (0, 1) == (back["returnedPayouts"], back["doubtfulPayments"]), "a person says which of the two came back"
    assert one.check().is_success
    assert (0, []) == booked(one.send(first, second))
    assert (False, ("0.000", ("0.000", "-86.910")), []) == (one.payout()["isInDoubt"], one.money(), one.wrong())


@pytest.mark.databases("sqlite")
def test_two_bookings_that_the_bank_does_not_tell_apart(reporting: Reporting) -> None:
    """In one file they are two, in two files they are one; what a person has marked as booked is on no statement yet."""
    one = reporting
    assert one.mark(one.file, "booked").is_success
    same = debit("86.91", one.known_by)
    for _ in range(2):
        assert (0, []) == booked(one.send(same))
    for _ in range(2):
        assert (0, ["booked_twice"]) == booked(one.send(same, same))


@pytest.mark.databases("sqlite")
def test_an_acceptance_of_what_has_failed_bars_another_payout(reporting: Reporting) -> None:
    """Unless the bank had said so before it rejected it, and the reports were only imported the other way round."""
    one = reporting
    assert (1, 0, 0, []) == one.said("RJCT", "FF01", said_at="2026-11-26T15:00:00", message="B2")
    assert (0, 1, 0, []) == one.said("ACTC", said_at="2026-11-26T09:00:00", message="B1")
    assert (AGAIN, False) == (one.money(), one.payout()["isInDoubt"])
    assert (0, 0, 0, ["accepted_after_failed"]) == one.said("ACSP", said_at="2026-11-26T16:00:00", message="B3")
    assert (409, "payout_in_doubt") == refusal(one.make())
    assert one.check().is_success
    assert (AGAIN, 201) == (one.money(), one.make().status_code)


@pytest.mark.databases("sqlite")
def test_a_decision_of_a_person_settles_the_doubt(reporting: Reporting) -> None:
    """Somebody who marks the payout as failed has looked into it."""
    reporting.said("CANC")
    assert reporting.mark(reporting.file, "failed", reason="The bank says so.").is_success
    assert (AGAIN, False) == (reporting.money(), reporting.payout()["isInDoubt"])
    reporting.made()


@pytest.mark.databases("sqlite")
def test_a_transfer_that_the_file_does_not_have_is_named(reporting: Reporting) -> None:
    """The others of the report are followed all the same."""
    one = reporting
    nobody = f"{one.message}-0002"
    said = report(
        one.message, block(one.message, transfer(nobody), transfer(one.known_by)), block("other", status="RJCT")
    )
    found = one.report(said).json()
    assert (1, [(nobody, None, "unknown_transfer"), ("other", None, "unknown_transfer")]) == (
        found["rejectedPayouts"],
        [(each["endToEndId"], each["transferNumber"], each["doubt"]) for each in found["doubtfulPayouts"]],
    )
    assert AGAIN == one.money()


@pytest.mark.databases("sqlite")
def test_a_report_about_another_file_is_refused(reporting: Reporting) -> None:
    """A file that this house has not made, by its name; a statement, nothing, and somebody without the right."""
    one = reporting
    other = one.report(report("PAY-2026-99999-ABCDEF", block("x", transfer(one.known_by))))
    assert {"report": ["unknown_file"]} == faults(other)
    assert "PAY-2026-99999-ABCDEF" in other.text
    assert {"report": ["is_statement"]} == faults(one.report(statement()))
    pain = report(one.message, status="RJCT")
    wrong = one.cashier.post("/bank-statements", files={"statement": ("a.xml", pain, "text/xml")})
    assert {"statement": ["is_status_report"]} == faults(wrong)
    assert {"report": ["one_statement"]} == faults(one.cashier.post("/payment-status-reports", files={"x": ("a", b"")}))
    assert 413 == one.report(b" " * (5 * 1024 * 1024)).status_code
    assert (403, "missing_right") == refusal(one.report(pain, one.house.staff(Role.CLERK)))
    assert UNDER_WAY == one.money()


def test_two_cashiers_import_at_once(reporting: Reporting) -> None:
    """Eight imports of one rejection, beside two of a statement that says it was booked: one of the two happened, once."""
    one = reporting
    second = one.house.staff(Role.CASHIER)
    said = report(one.message, block(one.message, transfer(one.known_by, "RJCT", "AC04")))
    with ThreadPoolExecutor(8) as pool:
        found = [
            counts(answer) for answer in pool.map(lambda n: one.report(said, (one.cashier, second)[n % 2]), range(8))
        ]
    assert [(0, 0, 1, [])] * 7 + [(1, 0, 0, [])] == sorted(found)
    assert AGAIN == one.money()
    other = Reporting(one.house)
    said = report(other.message, status="RJCT")
    with ThreadPoolExecutor(4) as pool:
        acts = [pool.submit(other.report, said), pool.submit(other.send, debit("86.91", other.known_by))]
        for act in acts:
            act.result()
    state, doubts = other.payout()["payoutState"], {each["doubt"] for each in other.payout()["bankSaid"]} - {None}
    expected = {
        "failed": (AGAIN, {"booked_after_failed"}),
        "booked": (("0.000", ("0.000", "-86.910")), {"rejected_after_booked"}),
    }
    assert expected[state] == (other.money(), doubts)


def test_changed_words_of_a_bank_are_found(reporting: Reporting) -> None:
    """`saleroom verify --database` names a status that was changed, and a rejection that was not followed."""
    one = reporting
    one.said("ACTC")
    which = update(payout_reports).where(payout_reports.c.payout_id == one.number())
    one.house.write(lambda tx: tx.execute(which.values(status="RJCT")))
    assert {"what a bank has said of it was changed", "a bank has rejected it, and it has not failed"} == {
        fault.partition(": ")[2] for fault in one.wrong()
    }
    one.house.write(lambda tx: tx.execute(which.values(status="ACTC")))
    one.house.write(lambda tx: tx.execute(which.values(doubt="contradictory")))
    assert ["what a bank has said of it was changed"] == [fault.partition(": ")[2] for fault in one.wrong()]
    one.house.write(lambda tx: tx.execute(which.values(doubt=None)))
    assert UNDER_WAY == one.money()


def test_the_words_of_a_bank_go_with_the_file(reporting: Reporting) -> None:
    """After the years in which papers are kept; the status stays, and the check of the house still holds."""
    one = reporting
    one.said("RJCT", "AC04", "Konto von Ada")
    its = payment_files.c.gid == one.file
    kept = one.house.write(lambda tx: tx.execute(select(payment_files).where(its)).one())
    old = update(payment_files).where(its)
    one.house.write(lambda tx: tx.execute(old.values(made_at=kept.made_at.replace(year=2000))))
    assert 1 == one.house.write(lambda tx: retention.forget_payment_files(tx, kept.made_at.replace(year=2001), 10))
    [told] = one.payout()["bankSaid"]
    assert ("AC04", None) == (told["bankReason"], told["bankText"])
    found = {fault.partition(": ")[2] for fault in one.wrong()}
    assert {"it does not have its digest"} == found, "this test has changed its day; the rest holds"
    one.house.write(lambda tx: tx.execute(old.values(made_at=kept.made_at, content=kept.content, forgotten_at=None)))
    assert {"transfer 1: what a bank has said of it was changed"} == {fault.partition(", ")[2] for fault in one.wrong()}
    said = update(payout_reports).where(payout_reports.c.payout_id == one.number())
    one.house.write(lambda tx: tx.execute(said.values(said="Konto von Ada")))
    assert AGAIN == one.money()
