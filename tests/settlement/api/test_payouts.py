"""Payouts by payment files over HTTP: never twice, booked and returned by the bank, and guarded accounts."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage.tables import audit
from saleroom.outbox.message import MAIL
from saleroom.outbox.tables import outbox
from saleroom.settlement.service.bank.payout_check import payout_faults
from saleroom.settlement.service.bank.sepa import transfers_in
from saleroom.settlement.service.verifying import faults as journal_faults
from saleroom.settlement.storage.payout_tables import payment_files, payout_accounts
from tests import fixtures_house
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import PASSWORD, House, ServeHouse, User, settings_for
from tests.settlement.api.test_desk import Settling
from tests.settlement.camt import IBAN, REVERSAL, debit, returned, statement

THEIRS = "DE89370400440532013000"
MASKED = "DE…3000"


@pytest.fixture(scope="module")
def bank_house(
    house_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    """A running house on each database that has an account, and sends mails to a server that does not answer."""
    mail = {"smtp_url": "smtp://127.0.0.1:9", "mail_sender": "house@example.org"}
    for url in fixtures_house._urls(house_kind, request, tmp_path_factory.mktemp("house")):
        yield from fixtures_house._served(House(settings_for(url, house_iban=IBAN, **mail)))


class Paying(Settling):
    """A live sale whose consignor is a user, and one lot of which is sold: the house owes them 86.91."""

    def __init__(self, house: House, count: int = 1) -> None:
        super().__init__(house, count)
        self.owner = house.newcomer()
        self.manager.json("PATCH", f"/consignors/{self.code}", json={"username": self.owner.name})
        self.sell(self.bidder(), "100")
        self.owed = self.due()["toPayOut"]

    def due(self) -> Any:
        """Return what is due to the consignor."""
        self.accounts()
        found = self.cashier.json("GET", "/payouts/due")["duePayouts"]
        return next((one for one in found if (one["sale"], one["consignor"]) == (self.gid, self.code)), None)

    def give(self, iban: str | None = THEIRS, holder: str = "Erben Müßig") -> httpx.Response:
        """Enter the account as staff."""
        path = f"/consignors/{self.code}/payout-account"
        return self.cashier.request("PUT", path, json={"accountHolder": holder, "iban": iban})

    def make(self, amount: str = "", user: User | None = None, key: str = "") -> httpx.Response:
        """Make a file."""
        chosen = {"sale": self.gid, "consignor": self.code, "amount": amount or self.owed}
        headers = {"Idempotency-Key": key} if key else {}
        answer = (user or self.cashier).post("/payment-files", json={"payouts": [chosen]}, headers=headers)
        assert isinstance(answer, httpx.Response)
        return answer

    def made(self) -> tuple[str, Any]:
        """Make a file that must succeed; return it and its one payout."""
        answer = self.make()
        assert 201 == answer.status_code, answer.text
        return answer.json()["paymentFile"], answer.json()["payouts"][0]

    def mark(self, file: str, mark: str, **more: Any) -> httpx.Response:
        """Mark the payouts of a file."""
        answer = self.cashier.post(f"/payment-files/{file}/marks", json={"mark": mark, **more})
        assert isinstance(answer, httpx.Response)
        return answer

    def send(self, *entries: str) -> Any:
        """Import a statement."""
        files = {"statement": ("camt.xml", statement(*entries), "application/xml")}
        return self.cashier.json("POST", "/bank-statements", files=files)

    def left(self) -> str:
        """Return what the house owes the consignor by their statement."""
        return str(self.cashier.json("GET", f"/sales/{self.gid}/statements/{self.code}")["toPayOut"])

    def books(self) -> tuple[str, str]:
        """Return the balances of what is in transit, and of the bank."""
        found = {one["ledgerAccount"]: one["balance"] for one in self.accounts()["balances"]}
        return found["in_transit"], found["bank"]

    def wrong(self) -> list[str]:
        """Return the faults of the journal and of the files."""
        return self.house.write(lambda tx: [*journal_faults(tx), *payout_faults(tx)])

    def mails(self) -> list[tuple[str, str]]:
        """Return the mails about money to the consignor, each with what it has."""
        which = select(outbox).where(
            outbox.c.channel == MAIL, outbox.c.kind.in_(("paid_out", "payout_failed", "payout_account"))
        )
        rows = self.house.write(lambda tx: [dict(row) for row in tx.execute(which.order_by(outbox.c.id)).mappings()])
        return [(row["kind"], str(row)) for row in rows if self.gid in str(row) or self.code in str(row)]


@pytest.fixture
def paying(bank_house: House) -> Paying:
    """A sale to pay out."""
    return Paying(bank_house)


@pytest.mark.databases("sqlite")
def test_a_file_pays_and_the_bank_books_it(paying: Paying) -> None:
    """From the account of the consignor over the transit to the bank; the file is the same each time, and mails once."""
    assert (MASKED, "86.910") == (paying.give().json()["iban"].replace(THEIRS, MASKED), paying.owed)
    assert (MASKED, False) == (paying.due()["maskedIban"], paying.due()["isUnderWay"])
    file, payout = paying.made()
    assert ("86.910", MASKED, "made") == (payout["transferred"], payout["maskedIban"], payout["payoutState"])
    assert ("0.000", ("-86.910", "0.000"), None) == (paying.left(), paying.books(), paying.due())
    first = paying.cashier.get(f"/payment-files/{file}/pain.xml")
    assert first.content == paying.cashier.get(f"/payment-files/{file}/pain.xml").content
    [(known_by, amount, iban)] = transfers_in(first.text)
    assert (payout["endToEndId"], "86.91", THEIRS) == (known_by, f"{amount}", iban)
    number = paying.cashier.json("GET", f"/payment-files/{file}")["fileNumber"]
    assert f'attachment; filename="{number}.xml"' == first.headers["content-disposition"]
    assert "sent" == paying.mark(file, "sent").json()["payouts"][0]["payoutState"]
    assert 1 == paying.send(debit("86.91", known_by))["bookedPayouts"]
    assert (("0.000", "-86.910"), 0) == (paying.books(), paying.send(debit("86.91", known_by))["bookedPayouts"])
    assert ["payout_account", "paid_out"] == [kind for kind, _ in paying.mails()]
    statement_ = paying.cashier.json("GET", f"/sales/{paying.gid}/statements/{paying.code}")
    assert [("in_transit", "-86.910")] == [(one["method"], one["moved"]) for one in statement_["money"]]
    assert [] == paying.wrong()


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("extra", ["", REVERSAL], ids=["returned", "reversed"])
def test_what_comes_back_is_owed_again_and_paid_again(paying: Paying, extra: str) -> None:
    """The bank returns or reverses what it has booked; it is owed once, even if that is said twice. Another file pays it."""
    paying.give()
    _, payout = paying.made()
    entries = debit("86.91", payout["endToEndId"]), returned("86.91", payout["endToEndId"], extra=extra)
    found = paying.send(*entries)
    assert (1, 1, 0) == (found["bookedPayouts"], found["returnedPayouts"], found["doubtfulPayments"])
    again = paying.send(*entries)
    assert (0, 0, []) == (again["bookedPayouts"], again["returnedPayouts"], again["doubtfulDebits"])
    assert ("86.910", ("0.000", "0.000")) == (paying.left(), paying.books())
    paying.made()
    assert ("0.000", []) == (paying.left(), paying.wrong())


@pytest.mark.databases("sqlite")
def test_a_failed_payout_is_owed_again(paying: Paying) -> None:
    """It needs a reason. A debit for it all the same, or one with another amount, is shown and changes nothing."""
    paying.give()
    file, payout = paying.made()
    assert {"reason": ["required"]} == faults(paying.mark(file, "failed"))
    [other] = paying.send(debit("86.90", payout["endToEndId"]))["doubtfulDebits"]
    assert ("86.900", payout["endToEndId"]) == (other["transferred"], other["endToEndId"])
    assert "failed" == paying.mark(file, "failed", reason="Closed.").json()["payouts"][0]["payoutState"]
    assert ("86.910", ("0.000", "0.000")) == (paying.left(), paying.books())
    assert 1 == len(paying.send(debit("86.91", payout["endToEndId"]))["doubtfulDebits"])
    for mark in ("sent", "booked"):
        assert (409, "payout_decided") == refusal(paying.mark(file, mark))
    assert (409, "payout_decided") == refusal(paying.mark(file, "booked", transfers=[2]))
    assert ["payout_account"] == [kind for kind, _ in paying.mails()]
    assert [] == paying.wrong()


def test_nobody_is_paid_twice(paying: Paying) -> None:
    """Eight at once by two cashiers make one file; a request that is repeated gets the first answer."""
    paying.give()
    two = [paying.cashier, paying.house.staff(Role.CASHIER)]
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda turn: paying.make(user=two[turn % 2]), range(8))]
    assert [201, *[409] * 7] == sorted(one.status_code for one in answers)
    assert {"payout_under_way", "not_owed_by_house"} >= {
        one.json()["code"] for one in answers if one.status_code == 409
    }
    assert (409, "payout_under_way") == refusal(paying.make("0.01"))
    [made] = [one.json()["paymentFile"] for one in answers if one.status_code == 201]
    paying.mark(made, "failed", reason="Again.")
    key = secrets.token_hex(8)
    with ThreadPoolExecutor(4) as pool:
        same = [*pool.map(lambda _: paying.make(key=key), range(4))]
    assert {201} == {one.status_code for one in same} and 1 == len({one.text for one in same})
    assert (("-86.910", "0.000"), []) == (paying.books(), paying.wrong())


def test_a_file_of_several_is_made_or_not_at_all(paying: Paying) -> None:
    """One without an account, one that is owed less, one twice: nothing is posted, and no number is lost."""
    other = Paying(paying.house)
    paying.give()
    path, one = "/payment-files", {"sale": paying.gid, "consignor": paying.code, "amount": paying.owed}
    two = {"sale": other.gid, "consignor": other.code, "amount": other.owed}
    for chosen, code in (
        ([one, two], "no_payout_account"),
        ([one, one], "payout_under_way"),
        ([{**one, "amount": "40"}, {**one, "amount": "46.91"}], "payout_under_way"),
        ([{**one, "amount": "86.92"}], "not_owed_by_house"),
    ):
        assert (409, code) == refusal(paying.cashier.post(path, json={"payouts": chosen}))
    assert {"payouts": ["minor_unit"]} == faults(
        paying.cashier.post(path, json={"payouts": [{**one, "amount": "0.001"}]})
    )
    assert (404, "unknown_sale") == refusal(paying.cashier.post(path, json={"payouts": [{**one, "sale": "none"}]}))
    assert {"payouts": ["payouts_length"]} == faults(paying.cashier.post(path, json={"payouts": []}))
    assert ("86.910", ("0.000", "0.000")) == (paying.left(), paying.books())
    other.give()
    made = paying.cashier.json("POST", path, json={"payouts": [one, two]})
    assert ("173.820", [1, 2]) == (made["fileTotal"], [each["transferNumber"] for each in made["payouts"]])
    [first, *_] = paying.cashier.json("GET", path)["paymentFiles"]
    assert made == first
    assert ([], []) == (paying.wrong(), other.wrong())


def test_a_changed_file_is_found(paying: Paying) -> None:
    """`saleroom verify --database` names a file of which a byte was changed."""
    paying.give()
    file, _ = paying.made()
    which = update(payment_files).where(payment_files.c.gid == file)
    changed = which.values(content=payment_files.c.content + " ")
    paying.house.write(lambda tx: tx.execute(changed))
    assert any("what it says is not what was written" in one for one in paying.wrong())
    paying.house.write(lambda tx: tx.execute(which.values(content=select_without_blank(tx, file))))
    assert [] == paying.wrong()


def select_without_blank(tx: Any, file: str) -> str:
    """Return the content of a file without the blank at its end."""
    found = tx.execute(select(payment_files.c.content).where(payment_files.c.gid == file)).scalar_one()
    return str(found)[:-1]


def test_a_file_that_is_forgotten_is_not_there(paying: Paying) -> None:
    """It is listed with its amounts, and cannot be downloaded any more; one that nobody made is unknown."""
    paying.give()
    file, _ = paying.made()
    which = update(payment_files).where(payment_files.c.gid == file)
    row = paying.house.write(lambda tx: tx.execute(select(payment_files).where(payment_files.c.gid == file)).one())
    paying.house.write(lambda tx: tx.execute(which.values(content="", forgotten_at=tx.now())))
    assert (409, "file_forgotten") == refusal(paying.cashier.get(f"/payment-files/{file}/pain.xml"))
    found = paying.cashier.json("GET", f"/payment-files/{file}")
    assert (True, "86.910") == (found["isForgotten"], found["fileTotal"])
    assert any("it was forgotten too early" in one for one in paying.wrong())
    paying.house.write(lambda tx: tx.execute(which.values(content=row.content, forgotten_at=None)))
    assert [] == paying.wrong()
    for path in ("/payment-files/nobody", "/payment-files/nobody/pain.xml"):
        assert (404, "unknown_payment_file") == refusal(paying.cashier.get(path))
    assert (404, "unknown_payment_file") == refusal(paying.mark("nobody", "sent"))


def test_a_consignor_changes_the_account_with_the_password(paying: Paying) -> None:
    """It is masked for them; a wrong password or IBAN changes nothing. A mail tells of a change without the number."""
    path, ada = f"/me/payout-accounts/{paying.code}", paying.owner
    sent = {"accountHolder": "Ada", "iban": THEIRS, "password": PASSWORD}
    assert (403, "wrong_password") == refusal(ada.request("PUT", path, json={**sent, "password": "wrong"}))
    assert {"iban": ["iban_digits"]} == faults(ada.request("PUT", path, json={**sent, "iban": THEIRS[:-1] + "1"}))
    assert (404, "unknown_consignor") == refusal(ada.request("PUT", "/me/payout-accounts/NOBODY", json=sent))
    stranger = paying.house.newcomer()
    assert (404, "unknown_consignor") == refusal(stranger.request("PUT", path, json=sent))
    assert [] == paying.mails()
    answer = ada.request("PUT", path, json=sent)
    assert [(MASKED, "Ada")] == [(one["iban"], one["accountHolder"]) for one in answer.json()["payoutAccounts"]]
    assert THEIRS not in answer.text
    [(kind, said)] = paying.mails()
    assert ("payout_account", False) == (kind, THEIRS in said)
    assert THEIRS == paying.cashier.json("GET", f"/consignors/{paying.code}/payout-account")["iban"]
    ada.json("PUT", path, json={"iban": None, "password": PASSWORD})
    assert None is ada.json("GET", "/me/payout-accounts")["payoutAccounts"][0]["iban"]


def test_no_number_is_in_the_audit_log_and_it_goes_with_its_person(paying: Paying) -> None:
    """Staff's change is noted with the end alone. If the consignor erases their account, the number is gone."""
    paying.give()
    noted = select(audit).where(audit.c.subject == f"consignor {paying.code}")
    rows = paying.house.write(lambda tx: str([dict(row) for row in tx.execute(noted).mappings()]))
    assert ("payout_account.changed" in rows, MASKED in rows, THEIRS in rows) == (True, True, False)
    assert THEIRS not in paying.cashier.get("/payouts/due").text
    kept = select(payout_accounts.c.iban).where(payout_accounts.c.holder == f"Erben {paying.code}")
    paying.give(holder=f"Erben {paying.code}")
    assert [THEIRS] == paying.house.write(lambda tx: [*tx.execute(kept).scalars()])
    paying.owner.json("POST", "/me/erasure", json={"password": PASSWORD})
    assert [] == paying.house.write(lambda tx: [*tx.execute(kept).scalars()])


def test_a_house_without_euros_or_an_account_is_told(serve_house: ServeHouse) -> None:
    """SEPA carries euros alone, and comes from an account."""
    for settings, code in (({"currency": "CHF", "house_iban": IBAN}, "only_euros"), ({}, "no_house_account")):
        paying = Paying(serve_house(**settings))
        paying.give()
        assert (409, code) == refusal(paying.make())
        assert paying.owed == paying.left()


@pytest.mark.databases("sqlite")
def test_a_payout_that_fails_after_its_word_is_told(paying: Paying) -> None:
    """Who heard that they are paid hears that they are not: once, also if it comes back from the bank; others hear nothing."""
    paying.give()
    before = len(paying.mails())
    file, _ = paying.made()
    assert paying.mark(file, "failed", reason="The bank refused the file.").is_success
    assert [] == paying.mails()[before:], "nobody was told that it is paid"
    file, _ = paying.made()
    assert paying.mark(file, "sent").is_success
    assert paying.mark(file, "failed", reason="Wrong account.").is_success
    assert ["paid_out", "payout_failed"] == [kind for kind, _ in paying.mails()[before:]]
    assert "Wrong account" not in paying.mails()[-1][1]
    _, one = paying.made()
    paying.send(debit(paying.owed, one["endToEndId"]))
    paying.send(returned(paying.owed, one["endToEndId"]))
    assert ["paid_out", "payout_failed"] * 2 == [kind for kind, _ in paying.mails()[before:]]
    assert [] == paying.wrong()


@pytest.mark.databases("sqlite")
def test_what_is_due_comes_by_pages(bank_house: House) -> None:
    """A page has whole sales, the latest first; no sale is left out, however old; the total is that of all."""
    sales = [Paying(bank_house) for _ in range(3)]
    cashier, found, cursor, totals = sales[0].cashier, [], "", set()
    while True:
        page = cashier.json("GET", f"/payouts/due?limit=1{cursor}")
        found += [one["sale"] for one in page["duePayouts"]]
        assert 1 == len({one["sale"] for one in page["duePayouts"]})
        totals.add(page["dueTotal"])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert [one.gid for one in reversed(sales)] == found[:3]
    assert 1 == len(totals) and len(found) == len({*found})
    assert 400 == cashier.get("/payouts/due?cursor=nonsense").status_code
