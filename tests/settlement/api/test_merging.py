"""Two who are the same person over HTTP: what a guest owes, has paid and has papers about follows into their account."""

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select, update

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage.tables import sanctions, users
from saleroom.admin.person_export import archive
from saleroom.sales.domain.events import SaleClosed
from saleroom.sales.service.people.merging import faults as merger_faults
from saleroom.sales.storage import sales
from saleroom.sales.storage.tables import mergers
from saleroom.settlement.storage import reminders
from saleroom.settlement.storage.tables import journal_entries, journal_postings
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.settlement.api.test_desk import Settling
from tests.settlement.api.test_pickups import at_the_door, hand_out
from tests.site.visitor import Visitor


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale to settle."""
    return Settling(house)


class Undone(Exception):
    """A change that was looked at is taken back."""


class Guest:
    """Somebody without an account in the hall, and later with one."""

    def __init__(self, settling: Settling, paddle: int = 12) -> None:
        self.settling, self.paddle = settling, paddle
        self.path = f"/sales/{settling.gid}/participants"
        made = self.staff.json("POST", self.path, json={"personName": "Eva Guest", "paddle": paddle})
        self.gid, self.username = made["participant"], made["username"]

    @property
    def staff(self) -> User:
        """Those at the door."""
        return self.settling.sale.staff

    def account(self) -> tuple[User, str]:
        """Return an account of the person, and what it is in the sale."""
        user = self.settling.house.newcomer()
        made = self.staff.json("POST", self.path, json={"username": user.name, "bidsBy": "online"})
        return user, made["participant"]

    def merge(self, into: str, source: str | None = None) -> Any:
        """Make a participant one with another."""
        return self.staff.post(f"{self.path}/{source or self.gid}/merger", json={"into": into})


def issue(settling: Settling, paddle: int) -> str:
    """Issue the invoice of a paddle, and return it."""
    body = {"documentKind": "invoice", "paddle": paddle, "name": "Eva Guest"}
    return str(settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=body)["document"])


def close(settling: Settling) -> None:
    """End the sale."""

    def work(tx: Transaction) -> None:
        found = sales.lock(tx, settling.gid)
        assert found is not None
        sales.record(tx, found, [SaleClosed(at=tx.now())])

    settling.house.write(work)


def rows(settling: Settling) -> list[Any]:
    """Return the journal of the house, row by row."""

    def read(tx: Transaction) -> list[Any]:
        return [*tx.execute(select(journal_entries)).all(), *tx.execute(select(journal_postings)).all()]

    return settling.house.write(read)


def test_money_and_papers_follow_a_guest(settling: Settling) -> None:
    """Invoice, part payment, pick-up and balance are the account's, on every list; no row of the journal has changed."""
    guest = Guest(settling)
    settling.sell(12)
    settling.sell(12)
    invoice = issue(settling, 12)
    settling.pay(12, ("cash", "20"))
    assert hand_out(settling, "1").is_success
    before = rows(settling)
    user, account = guest.account()
    assert guest.merge(account).is_success
    assert ("9.760", 12, user.name) == tuple(settling.desk(12)[name] for name in ("owed", "paddle", "username"))
    assert settling.desk(12) == settling.desk(user.name) == settling.desk(guest.username)
    assert {invoice} < {one["document"] for one in user.json("GET", "/me/documents")["documents"]}
    assert "9.760" == user.json("GET", f"/documents/{invoice}")["stillOpen"]
    assert [("1", True, True), ("2", False, False)] == at_the_door(settling)
    assert (409, "handed_out") == refusal(hand_out(settling, "1"))
    [buyer] = settling.accounts()["buyers"]
    assert (12, user.name, 2, "9.760") == tuple(buyer[name] for name in ("paddle", "username", "lotsBought", "owed"))
    report = settling.cashier.json("GET", f"/sales/{settling.gid}/report")
    assert [(user.name, "9.760")] == [(one["username"], one["unpaid"]) for one in report["reportBuyers"]]
    assert before == rows(settling), "looking has posted or changed something"
    assert "0.000" == settling.pay(user.name, ("card", "9.76")).json()["owed"]
    assert hand_out(settling, "2").is_success
    assert [] == settling.faults() == settling.house.write(lambda tx: [*merger_faults(tx)])
    own = json.loads(_archive(settling.house, user.name).read("documents.json"))
    assert 3 == len(own), "the invoice and two receipts"
    moved = json.loads(_archive(settling.house, user.name).read("journal_postings.json"))
    assert 4 == len(moved), "two lots and two payments"
    assert 2 == len(json.loads(_archive(settling.house, user.name).read("pickups.json")))
    assert 1 == len(json.loads(_archive(settling.house, user.name).read("mergers.json")))
    again = {"username": guest.username, "bidsBy": "online"}
    assert (409, "merged_already") == refusal(guest.staff.post(guest.path, json=again))


def _archive(house: House, name: str) -> zipfile.ZipFile:
    def write(tx: Transaction) -> io.BytesIO:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archived:
            archive(tx, name, archived)
        return target

    return zipfile.ZipFile(house.write(write))


@pytest.mark.databases("sqlite")
def test_a_credit_and_a_correction_after_a_merger(settling: Settling) -> None:
    """A charge that was given up stays given up; the lot goes to another paddle, and its line is credited to the account."""
    guest, other = Guest(settling), settling.bidder()
    settling.sell(12)
    invoice = issue(settling, 12)
    user, account = guest.account()
    assert guest.merge(account).is_success
    credit = settling.cashier.post(f"/documents/{invoice}/credit", json={"lines": [1], "reason": "No premium."})
    assert credit.is_success, credit.text
    assert "11.900" == settling.desk(user.name)["owed"]
    change = {"paddle": other, "reason": "The wrong paddle."}
    assert settling.cashier.post(f"/sales/{settling.gid}/lots/1/correction", json=change).is_success
    assert ("0.000", "14.880") == (settling.desk(user.name)["owed"], settling.desk(other)["owed"])
    kinds = [one["documentKind"] for one in user.json("GET", "/me/documents")["documents"]]
    assert ["credit_note", "credit_note", "invoice"] == kinds
    assert [] == settling.faults()


def test_two_with_an_invoice_each_are_one_after_the_sale(settling: Settling) -> None:
    """While the sale runs their bids stay two. Then both invoices are one person's, the oldest is paid first; paddles stay."""
    guest = Guest(settling)
    user = settling.sale.bidder()
    mine = user.json("GET", f"/sales/{settling.gid}/registration")
    settling.sell(12)
    settling.sell(mine["paddle"], "20")
    first, second = issue(settling, mine["paddle"]), issue(settling, 12)
    assert (409, "bids_stay") == refusal(guest.merge(mine["participant"]))
    close(settling)
    assert guest.merge(mine["participant"]).is_success
    assert (409, "merged_already") == refusal(guest.merge(mine["participant"]))
    assert (409, "merged_already") == refusal(guest.merge(guest.gid, mine["participant"]))
    assert "44.630" == settling.desk(12)["owed"] == settling.desk(mine["paddle"])["owed"]
    assert mine["paddle"] == settling.desk(12)["paddle"]
    settling.pay(12, ("card", "30"))
    left = {
        one["document"]: one["stillOpen"] for one in settling.desk(12)["documents"] if one["documentKind"] == "invoice"
    }
    assert {first: "0.000", second: "14.630"} == left
    people = guest.staff.json("GET", guest.path)["participants"]
    assert mine["participant"] == next(one["mergedInto"] for one in people if one["paddle"] == 12)
    change = {"paddle": mine["paddle"], "reason": "The same person."}
    assert (409, "same_buyer") == refusal(
        settling.manager.post(f"/sales/{settling.gid}/lots/1/correction", json=change)
    )
    page = Visitor(settling.house, guest.staff).page(f"/admin/sales/{settling.gid}/people")
    assert f"The same person as #{mine['paddle']}, who settles for both." in page.main
    assert [] == settling.faults()


def test_a_chain_leads_to_its_end(settling: Settling) -> None:
    """A guest is merged into another guest, and that one into an account: all of it is the account's."""
    guest = Guest(settling)
    settling.sell(12)
    settling.pay(12, ("cash", "10"))
    second = Guest(settling, 13)
    assert guest.merge(second.gid).is_success
    user, account = guest.account()
    assert second.merge(account).is_success
    assert "4.880" == settling.desk(user.name)["owed"] == settling.desk(guest.username)["owed"]
    found = settling.house.write(lambda tx: tx.execute(select(mergers.c.target_id)).scalars().all())
    assert 1 == len({*found[-2:]})
    assert [] == settling.house.write(lambda tx: [*merger_faults(tx)])


@pytest.mark.databases("sqlite")
def test_who_is_merged_into_a_kept_paddle_is_found_right(settling: Settling) -> None:
    """A paddle that was merged and stays, as both had bid, takes somebody whom another was merged into: no fault is found."""
    guest, user = Guest(settling), settling.sale.bidder()
    mine = user.json("GET", f"/sales/{settling.gid}/registration")
    settling.sell(12)
    settling.sell(mine["paddle"], "20")
    second, third = Guest(settling, 13), Guest(settling, 14)
    assert third.merge(second.gid).is_success
    close(settling)
    assert guest.merge(mine["participant"]).is_success
    assert second.merge(guest.gid).is_success
    assert [mine["paddle"]] * 2 == [settling.desk(one.username)["paddle"] for one in (second, third)]
    assert [] == settling.house.write(lambda tx: [*merger_faults(tx)])


def test_a_changed_merger_is_found(settling: Settling) -> None:
    """Somebody who makes debts another's in the database is told of by the check; so is a merger that is gone."""
    guest, other = Guest(settling), Guest(settling, 14)
    _, account = guest.account()
    assert guest.merge(account).is_success

    said: list[list[str]] = []

    def change(tx: Transaction) -> None:
        found = select(users.c.id).where(users.c.username.in_([guest.username, other.username])).order_by(users.c.id)
        source, stranger = tx.execute(found).scalars()
        own = mergers.c.source_id == source
        tx.execute(update(mergers).where(own).values(target_id=stranger))
        said.append([*merger_faults(tx)])
        tx.execute(mergers.delete().where(own))
        said.append([*merger_faults(tx)])
        raise Undone

    with pytest.raises(Undone):
        settling.house.write(change)
    assert [1, 1] == [len(one) for one in said]
    assert [] == settling.house.write(lambda tx: [*merger_faults(tx)])


def test_mergers_and_payments_at_once(settling: Settling) -> None:
    """One of two mergers of a guest is done; each payment meanwhile counts once, under either name of the guest."""
    guest = Guest(settling)
    settling.sell(12)
    accounts = [guest.account() for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        merged = [pool.submit(guest.merge, account) for _, account in accounts]
        paid = [pool.submit(settling.pay, who, ("card", "1")) for who in [12, guest.username] * 3]
    assert [200, 404] == sorted(one.result().status_code for one in merged)
    assert {200} == {one.result().status_code for one in paid}
    owed = [Decimal(settling.desk(user.name)["owed"]) for user, _ in accounts]
    assert [Decimal(0), Decimal("8.880")] == sorted(owed)
    assert [] == settling.faults()


def test_strikes_and_debts_follow(settling: Settling) -> None:
    """What is overdue is the account's, with the strike that the guest got."""
    guest = Guest(settling)
    settling.sell(12)
    invoice = issue(settling, 12)
    user, account = guest.account()

    def strike(tx: Transaction) -> None:
        number = tx.execute(select(users.c.id).where(users.c.username == guest.username)).scalar_one()
        row = {"user_id": number, "kind": "strike", "reason": "Not paid", "at": tx.now(), "subject": invoice}
        tx.execute(sanctions.insert(), row)

    settling.house.write(strike)
    assert guest.merge(account).is_success
    found = settling.house.write(reminders.debtors)
    number = settling.house.write(
        lambda tx: tx.execute(select(users.c.id).where(users.c.username == user.name)).scalar_one()
    )
    assert [Decimal("14.880")] == [amount for (_, who), amount in found.items() if who == number]
    people = guest.staff.json("GET", guest.path)["participants"]
    assert [1] == [one["strikes"] for one in people if one["username"] == user.name]


@pytest.mark.databases("sqlite")
def test_a_guest_who_brought_a_lot_is_netted_as_the_account(settling: Settling) -> None:
    """What the guest gets for their own lot pays what the account owes; nobody becomes one who bid on their own lot."""
    guest = Guest(settling)
    settling.manager.json("PATCH", f"/consignors/{settling.code}", json={"username": guest.username})
    user, account = guest.account()
    buyer = settling.bidder()
    settling.sell(buyer, "100")
    merger = f"{guest.path}/{guest.gid}/merger"
    clerk = settling.house.staff(Role.CLERK)
    assert (403, "missing_right") == refusal(clerk.post(merger, json={"into": account}))  # it says where the money goes
    settling.manager.json("POST", merger, json={"into": account})
    found = settling.desk(user.name)
    assert settling.code == found["ownLots"]["consignor"]
    bidding = Guest(settling, 15)
    settling.sell(15)
    assert (403, "own_auction") == refusal(bidding.merge(account))
