"""Overdue invoices over HTTP: reminders by the calendar, strikes and bans, and what a late payment ends."""

import re
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User, settings_for
from tests.notices.api.test_choices import give_address
from tests.patience import SECONDS_MAX
from tests.settlement.api.test_desk import Settling
from tests.settlement.camt import credit, statement
from tests.site.visitor import Visitor


@pytest.fixture
def shown(database_url: str, clock: FakeClock) -> Iterator[House]:
    """A house that shows its mails and bans at the first strike, with a clock of its own."""
    found = House(settings_for(database_url, outage_reopens=False, smtp_url="show", strikes_max=1), clock)
    found.start()
    yield found
    found.stop()


class Unpaid:
    """A buyer whose invoice of 14.88 was due four days ago."""

    def __init__(self, house: House, clock: FakeClock) -> None:
        self.settling = Settling(house, 2)
        self.user: User = self.settling.sale.bidder()
        give_address(house, self.user)
        self.paddle = self.user.json("GET", f"/sales/{self.settling.gid}/registration")["paddle"]
        self.settling.sell(self.paddle)
        self.clock = clock
        day = clock.now.date().isoformat()
        order = {"documentKind": "invoice", "paddle": self.paddle, "dueOn": day}
        made = self.settling.cashier.json("POST", f"/sales/{self.settling.gid}/documents", json=order)
        self.invoice = made["document"]
        clock.advance(days=4)

    def listed(self) -> Any:
        """Return the overdue invoices."""
        return self.settling.cashier.json("GET", "/overdue-invoices")

    def remind(self, by: User, **headers: str) -> Any:
        """Do the next step about the invoice, and return the answer."""
        return by.post(f"/documents/{self.invoice}/reminders", headers=headers)

    def until_the_strike(self) -> None:
        """Send both reminders in their time, and wait for the day of the strike."""
        for days in (11, 14):
            assert {"reminded": 1, "struck": 0, "banned": 0} == self.remind(self.settling.cashier).json()
            self.clock.advance(days=days)


def mailed(house: House, text: str) -> str:
    """Return the page of mails once one has this text."""
    until = time.monotonic() + SECONDS_MAX
    while text not in (found := house.plain.get("/mails").text) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.mark.databases("sqlite")
def test_reminders_go_out_by_the_calendar(shown: House, clock: FakeClock) -> None:
    """Each step once, on its day, with a mail in the language of the buyer; cashiers give no strikes."""
    unpaid = Unpaid(shown, clock)
    cashier = unpaid.settling.cashier
    [one] = unpaid.listed()["overdueInvoices"]
    assert ("14.880", 4, [], False, 0) == (
        one["stillOpen"],
        one["daysOverdue"],
        one["remindedOn"],
        one["hasStrike"],
        one["strikes"],
    )
    assert ("reminder", 1, True) == tuple(one["nextStep"][name] for name in ("stepKind", "stepNumber", "isDue"))
    key = {"Idempotency-Key": "the-first-reminder"}
    assert unpaid.remind(cashier, **key).json() == unpaid.remind(cashier, **key).json()
    assert (409, "reminder_not_due") == refusal(unpaid.remind(cashier))
    assert "1. Erinnerung: Rechnung INV-" in mailed(shown, "1. Erinnerung")
    clock.advance(days=11)
    assert {"reminded": 1, "struck": 0, "banned": 0} == cashier.json("POST", "/reminders")
    assert {"reminded": 0, "struck": 0, "banned": 0} == cashier.json("POST", "/reminders")
    clock.advance(days=14)
    assert (403, "missing_right") == refusal(unpaid.remind(cashier))
    assert {"reminded": 0, "struck": 0, "banned": 0} == cashier.json("POST", "/reminders")
    assert 2 == len(unpaid.listed()["overdueInvoices"][0]["remindedOn"])


@pytest.mark.databases("sqlite")
def test_who_does_not_pay_is_banned_until_they_do(shown: House, clock: FakeClock) -> None:
    """At the number of strikes of the house they cannot bid; a late payment ends that, and the strike stays to be seen."""
    unpaid = Unpaid(shown, clock)
    settling, manager = unpaid.settling, unpaid.settling.manager
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == manager.json("POST", "/reminders")
    assert "Nicht bezahlt: Rechnung INV-" in mailed(shown, "Nicht bezahlt")
    [one] = unpaid.listed()["overdueInvoices"]
    assert (None, True, 1) == (one["nextStep"], one["hasStrike"], one["strikes"])
    gid = settling.house.user("grace").auction()
    assert (403, "barred") == refusal(unpaid.user.bid(gid, amount="10"))
    people = settling.sale.staff.json("GET", f"/sales/{settling.gid}/participants")["participants"]
    assert [1] == [one["strikes"] for one in people if one["paddle"] == unpaid.paddle]
    assert settling.pay(unpaid.paddle, ("cash", "14.88")).is_success
    assert unpaid.user.bid(gid, amount="10").is_success
    assert [] == unpaid.listed()["overdueInvoices"]
    assert (409, "not_overdue") == refusal(unpaid.remind(manager))
    known = manager.json("GET", f"/staff/users/{unpaid.user.name}/sanctions")["sanctions"]
    assert ["ban", "strike"] == [one["kind"] for one in known]


@pytest.mark.databases("sqlite")
def test_a_suspension_that_is_over_keeps_nobody_from_the_ban(shown: House, clock: FakeClock) -> None:
    """It has ended by itself, and nobody has lifted it: the strike bans as it bans others."""
    unpaid = Unpaid(shown, clock)
    manager, path = unpaid.settling.manager, f"/staff/users/{unpaid.user.name}/sanctions"
    until = (clock.now + timedelta(days=2)).isoformat()
    manager.json("POST", path, json={"kind": "suspension", "reason": "Loud.", "until": until})
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(manager).json()


def test_who_was_erased_is_reminded_and_gets_no_strike(shown: House, clock: FakeClock) -> None:
    """A letter may still reach them; nobody logs in to the account any more. A strike of before is not given again."""
    for reminds_first in (False, True):
        unpaid = Unpaid(shown, clock)
        manager = unpaid.settling.manager
        if reminds_first:
            unpaid.until_the_strike()
            assert 1 == unpaid.remind(manager).json()["struck"]
        owner = shown.staff(Role.OWNER)
        assert owner.post(f"/staff/users/{unpaid.user.name}/erasure", json={"reason": "They asked."}).is_success
        if not reminds_first:
            unpaid.until_the_strike()
        assert (409, "reminder_not_due") == refusal(unpaid.remind(manager))
        steps = {one["document"]: one["nextStep"] for one in unpaid.listed()["overdueInvoices"]}
        assert steps[unpaid.invoice] is None


@pytest.mark.databases("sqlite")
def test_a_lot_that_is_taken_back_ends_the_ban(shown: House, clock: FakeClock) -> None:
    """Nothing is open of the invoice then, whether its lot is corrected at the desk or its lines are taken back by hand."""
    for path in ("/sales/{sale}/lots/1/correction", "/documents/{invoice}/credit"):
        unpaid = Unpaid(shown, clock)
        manager = unpaid.settling.manager
        unpaid.until_the_strike()
        assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(manager).json()
        where = path.format(sale=unpaid.settling.gid, invoice=unpaid.invoice)
        assert unpaid.settling.cashier.post(where, json={"reason": "Never fetched."}).is_success
        assert unpaid.user.bid(shown.user().auction(), amount="10").is_success


@pytest.mark.databases("sqlite")
def test_an_invoice_that_does_not_fit_ends_its_ban(shown: House, clock: FakeClock) -> None:
    """Its lot is undone and passed: nothing is open of it, no payment is surely for it, and the ban ends without a note."""
    unpaid = Unpaid(shown, clock)
    settling, manager = unpaid.settling, unpaid.settling.manager
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(manager).json()
    gid = shown.user().auction()
    assert (403, "barred") == refusal(unpaid.user.bid(gid, amount="10"))
    for act in ("undo", "undo", "pass"):
        settling.sale.act(act)
    assert {"reminded": 0, "struck": 0, "banned": 0} == manager.json("POST", "/reminders")
    assert unpaid.user.bid(gid, amount="10").is_success
    document = settling.cashier.json("GET", f"/documents/{unpaid.invoice}")
    assert ("0.000", "0.000") == (document["stillOpen"], settling.desk(unpaid.paddle)["owed"])
    paid = statement(credit("14.88", f"{document['documentNumber']} {secrets.token_hex(8)}"))
    sent = settling.cashier.post("/bank-statements", files={"statement": ("camt.xml", paid, "application/xml")})
    assert (0, 1) == (sent.json()["takenPayments"], sent.json()["doubtfulPayments"])


def test_a_strike_can_be_forgiven(shown: House, clock: FakeClock) -> None:
    """With a reason, by those who may ban people; the ban ends with it though nothing was paid."""
    unpaid = Unpaid(shown, clock)
    manager = unpaid.settling.manager
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(manager).json()
    path, why = f"/documents/{unpaid.invoice}/forgiveness", {"reason": "The bank was late."}
    assert (403, "missing_right") == refusal(unpaid.settling.cashier.post(path, json=why))
    assert manager.post(path, json=why).is_success
    assert (409, "no_strike") == refusal(manager.post(path, json=why))
    gid = shown.user("grace").auction()
    assert unpaid.user.bid(gid, amount="10").is_success
    assert [0] == [one["strikes"] for one in unpaid.listed()["overdueInvoices"]]


def test_eight_at_once_send_one_reminder(shown: House, clock: FakeClock) -> None:
    """The others are told that it is not due any more."""
    unpaid = Unpaid(shown, clock)
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: unpaid.remind(unpaid.settling.cashier).status_code, range(8))]
    assert [200, *[409] * 7] == sorted(answers)
    assert 1 == len(unpaid.listed()["overdueInvoices"][0]["remindedOn"])


def test_no_step_is_about_an_invoice_that_does_not_fit(shown: House, clock: FakeClock) -> None:
    """A lot is undone, and its buyer owes for another one: only that is asked for, less what was paid, in the mail too."""
    unpaid = Unpaid(shown, clock)
    settling = unpaid.settling
    settling.sale.act("undo")
    settling.sale.act("undo")
    settling.sale.act("pass")
    settling.sell(unpaid.paddle, "100")
    order = {"documentKind": "invoice", "paddle": unpaid.paddle, "dueOn": clock.now.date().isoformat()}
    second = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=order)["document"]
    assert settling.pay(unpaid.paddle, ("card", "8.75")).is_success
    clock.advance(days=4)
    assert [unpaid.invoice] == [one["document"] for one in settling.desk(unpaid.paddle)["lotsToCredit"]]
    found = unpaid.listed()
    assert [(second, "140.000")] == [(one["document"], one["stillOpen"]) for one in found["overdueInvoices"]]
    assert "140.000" == found["openTotal"] == settling.desk(unpaid.paddle)["owed"]
    assert (409, "not_overdue") == refusal(unpaid.remind(settling.cashier))
    assert {"reminded": 1, "struck": 0, "banned": 0} == settling.cashier.json("POST", "/reminders")
    mails = mailed(shown, "1. Erinnerung")
    assert 1 == mails.count("1. Erinnerung")
    [path] = [line for line in re.findall(r'href="(/mails/[0-9]+)"><bdi>([^<]*)', mails) if "1. Erinnerung" in line[1]]
    assert "140,00" in shown.plain.get(path[0]).text
    documents = [settling.cashier.json("GET", f"/documents/{one}") for one in (unpaid.invoice, second)]
    assert ["0.000", "140.000"] == [one["stillOpen"] for one in documents]
    marks = [f"{documents[0]['documentNumber']} {secrets.token_hex(8)}", secrets.token_hex(8)]
    paid = statement(*(credit("14.88", mark) for mark in marks))
    sent = settling.cashier.post("/bank-statements", files={"statement": ("camt.xml", paid, "application/xml")})
    assert (0, 2) == (sent.json()["takenPayments"], sent.json()["doubtfulPayments"])
    waiting = {
        one["payerText"]: one["proposals"] for one in settling.cashier.json("GET", "/bank-payments")["bankPayments"]
    }
    assert [1, 0] == [len(next(found for text, found in waiting.items() if mark in text)) for mark in marks]


@pytest.mark.databases("sqlite")
def test_invoices_that_are_not_overdue_are_refused(shown: House, clock: FakeClock) -> None:
    """A statement, an invoice of tomorrow, an unknown one, and members."""
    unpaid = Unpaid(shown, clock)
    settling = unpaid.settling
    order = {"documentKind": "statement", "consignor": settling.code}
    issued = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=order)["document"]
    other = settling.bidder()
    settling.sell(other)
    made = settling.cashier.json(
        "POST", f"/sales/{settling.gid}/documents", json={"documentKind": "invoice", "paddle": other}
    )
    assert (clock.now + timedelta(days=14)).date().isoformat() == made["dueOn"]
    for gid in (issued, made["document"]):
        assert (409, "not_overdue") == refusal(settling.cashier.post(f"/documents/{gid}/reminders"))
    assert (404, "unknown_document") == refusal(settling.cashier.post("/documents/nothing/reminders"))
    member = settling.house.newcomer()
    assert (403, "missing_right") == refusal(unpaid.remind(member))
    assert (403, "missing_right") == refusal(member.get("/overdue-invoices"))


@pytest.mark.databases("sqlite")
def test_the_page_of_overdue_invoices(shown: House, clock: FakeClock) -> None:
    """Without scripts: one reminder, then all that is due, a strike, and its forgiveness with a reason."""
    unpaid = Unpaid(shown, clock)
    path, one = "/admin/overdue", f"/admin/overdue/{unpaid.invoice}"
    cashier = Visitor(shown, unpaid.settling.cashier)
    page = cashier.page(path)
    assert "€14.88 of €14.88 is open" in page.main and "4 days ago" in page.main
    assert "Reminders: 1. Strikes: 0." in cashier.sent(page, one).main
    clock.advance(days=11)
    assert "Reminders: 1. Strikes: 0." in cashier.sent(cashier.page(path), path).main
    clock.advance(days=14)
    assert "Only people with the right to ban others give it" in cashier.page(path).main
    manager = Visitor(shown, unpaid.settling.manager)
    done = manager.sent(manager.page(path), one)
    assert "Strikes: 1. Bans: 1." in done.main and "1 strike" in done.main
    refused = manager.sent(done, f"{one}/forgiveness", reason="")
    assert "true" == refused.one("input", name="reason")["aria-invalid"]
    forgiven = manager.sent(refused, f"{one}/forgiveness", reason="The bank was late.")
    assert "1 strike" not in forgiven.main
    people = Visitor(shown, shown.staff(Role.CLERK)).page(f"/admin/sales/{unpaid.settling.gid}/people")
    assert "strike" not in people.main


@pytest.mark.databases("sqlite")
def test_days_are_those_of_the_house(database_url: str, clock: FakeClock) -> None:
    """At noon in UTC the next day has begun in Auckland: today and the day on which an invoice is overdue are those there."""
    house = House(settings_for(database_url, outage_reopens=False, time_zone="Pacific/Auckland"), clock)
    house.start()
    try:
        settling = Settling(house, 1)
        paddle = settling.bidder()
        settling.sell(paddle)
        order = {"documentKind": "invoice", "paddle": paddle}
        path, today = f"/sales/{settling.gid}/documents", clock.now.date()
        yesterday = {**order, "dueOn": today.isoformat()}
        assert {"dueOn": ["day_passed"]} == faults(settling.cashier.post(path, json=yesterday))
        there = today + timedelta(days=1)
        settling.cashier.json("POST", path, json={**order, "dueOn": there.isoformat()})
        for hours, overdue in ((22, 0), (2, 1)):  # 23:00 and 01:00 in Auckland
            clock.advance(hours=hours)
            assert overdue == len(settling.cashier.json("GET", "/overdue-invoices")["overdueInvoices"])
    finally:
        house.stop()
