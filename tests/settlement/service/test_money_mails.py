"""Mails about money, over a real mail server: each document says by itself that it is there, if its party wants to know."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from msgspec import structs

from saleroom.notices.domain.choices import MAIL
from saleroom.notices.service import choosing, unsubscribing
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.outbox.message import State
from saleroom.outbox.store import listed
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.content import DocumentKind, Draft, Payment
from saleroom.settlement.domain.journal import Account, Book, EntryKind, Method, of_money
from saleroom.settlement.service.documents import register
from saleroom.settlement.service.money_mails import MAILS
from saleroom.settlement.storage import journal
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person
from tests.fixtures_database import FakeClock
from tests.notices.equipment import ORIGIN, Postman
from tests.outbox.mail_server import Post, mail_server
from tests.sales.service.evenings import evening
from tests.settlement.documents import draft, line

KINDS = {kind.name: kind for kind in MAILS}


@pytest.fixture
def post() -> Post:
    """What the mail server does."""
    return Post()


@pytest.fixture
def port(post: Post) -> Any:
    """The port of a mail server."""
    with mail_server(post) as found:
        yield found


@pytest.fixture
async def postman(clocked_database: Database, port: int, post: Post) -> Postman:
    """A house that sends mails about money."""
    return Postman(clocked_database, port, post, KINDS)


def receipt(amount: str) -> Draft:
    """Return a receipt for money that moved, negative if the house paid."""
    paid = Payment(on=date(2026, 11, 25), amount=eur(amount), method="Cash")
    return structs.replace(draft(kind=DocumentKind.RECEIPT), lines=(), payments=(paid,), bank=None, due_on=None)


class Issuing:
    """Issues documents of one sale for one person."""

    def __init__(self, postman: Postman, person: Person, sale_id: int) -> None:
        self.postman, self.person = postman, person
        self.owner = Owner(sale_id=sale_id, user_id=person.account.id)

    async def issue(self, made: Draft) -> StoredDocument:
        """Issue a document."""
        return await self.postman.database.write(register.issue, made, self.owner, {})

    async def mailed(self) -> list[str]:
        """Send what is due, and return the subjects of new mails."""
        before = len(self.postman.post.mails)
        for _ in range(6):
            await self.postman.rounds()
        return self.postman.post.subjects[before:]


async def issuing(postman: Postman, language: str = "en") -> Issuing:
    """Return somebody with a sale."""
    ada = await postman.known("ada", language)
    return Issuing(postman, ada, (await evening(postman.database)).sale.id)


async def test_each_document_is_told(postman: Postman, clock: FakeClock) -> None:
    """An invoice, its credit note, a statement, a payment and a payout: each mail leads to its document."""
    of = await issuing(postman)
    invoice = await of.issue(draft(line(TaxScheme.MARGIN)))
    assert ["Invoice INV-2026-00001: Herbstauktion"] == [
        re.sub(r"-\d{4}-", "-2026-", subject) for subject in await of.mailed()
    ]
    text = " ".join(postman.text().split())
    assert "for €120.00" in text and "by 9 Dec 2026" in text and f"{ORIGIN}/mine/documents/{invoice.gid}" in text
    assert "Still to be paid" not in text and f"{ORIGIN}/mine/notices" in text
    made = [
        await of.issue(draft(line(TaxScheme.MARGIN), kind=DocumentKind.STATEMENT)),
        await postman.database.write(register.credit, invoice.gid, ()),
        await of.issue(receipt("5")),
        await of.issue(receipt("-7.50")),
    ]
    subjects = [re.sub(r"-\d{4}-", "-2026-", subject) for subject in await of.mailed()]
    assert [
        "Statement STM-2026-00001: Herbstauktion",
        "Credit note CRN-2026-00001: Herbstauktion",
        "Your payment of €5.00",
        "Müller & Söhne has paid you €7.50",
    ] == subjects
    for number, one in enumerate(made, start=1):
        assert f"{ORIGIN}/mine/documents/{one.gid}" in postman.text(number)
    assert [] == await of.mailed()


async def test_a_buyer_who_has_paid_too_much_is_told_what_becomes_of_it(postman: Postman) -> None:
    """The mail about the payment, and that about a credit note, say what the house owes; the one about a payout does not."""
    of = await issuing(postman)
    account = Account(Book.BUYERS, of.person.account.id)
    invoice = await of.issue(draft(line(TaxScheme.MARGIN)))
    await of.mailed()

    def overpay(tx: Transaction) -> None:
        paid = of_money(account, Method.ONLINE, eur("14.88"))
        journal.add(tx, of.owner.sale_id, EntryKind.PAYMENT, paid, of.person.account.id)

    await postman.database.write(overpay)
    await of.issue(receipt("14.88"))
    await postman.database.write(register.credit, invoice.gid, ())
    await of.issue(receipt("-5"))
    subjects = await of.mailed()
    texts = {subject.split()[0]: " ".join(postman.text(number).split()) for number, subject in enumerate(subjects, 1)}
    for mail in ("Your", "Credit"):
        assert (
            "You have paid more than you owe: Müller & Söhne owes you €14.88. You need not do anything:" in texts[mail]
        )
    assert "more than you owe" not in texts["Müller"]


async def test_they_are_in_the_language_of_the_reader(postman: Postman) -> None:
    """A reader of German gets them in German, whatever the language of the document."""
    of = await issuing(postman, "de")
    await of.issue(draft(line(TaxScheme.MARGIN)))
    await of.issue(receipt("5"))
    assert ["Rechnung", "Ihre Zahlung von 5,00\N{NO-BREAK SPACE}€"] == [
        subject.partition(" INV")[0] for subject in await of.mailed()
    ]
    assert "bis zum 09.12.2026" in " ".join(postman.text(0).split())


async def test_people_choose_them_by_kind(postman: Postman) -> None:
    """Who wants no mail of a kind gets none; who stops the mails about lots still hears of money."""
    of = await issuing(postman)
    await postman.database.write(choosing.choose, of.person.token, ChoiceChange(mail={"paid": False}))
    await postman.database.write(unsubscribing.stop, of.person.account.id, MAIL)
    await of.issue(receipt("5"))
    await of.issue(draft(line(TaxScheme.MARGIN)))
    assert ["Invoice"] == [subject.partition(" ")[0] for subject in await of.mailed()]
    chosen = (await postman.database.read(choosing.chosen, of.person.token)).choices
    assert {"paid": False, "invoice": True, "outbid": False} == {
        kind: chosen.wants(MAIL, kind) for kind in ("paid", "invoice", "outbid")
    }
    assert [State.SENT, State.DROPPED] == [one.state for one in await postman.database.read(_words)]


async def test_word_and_document_are_one(postman: Postman) -> None:
    """A document whose transaction fails sends nothing; one for nobody with an account has nobody to tell."""
    of = await issuing(postman)

    def fails(tx: Transaction) -> None:
        register.issue(tx, draft(line(TaxScheme.MARGIN)), of.owner, {})
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError, match="cut off"):
        await postman.database.write(fails)
    nobody = Owner(sale_id=of.owner.sale_id)
    await postman.database.write(register.issue, draft(line(TaxScheme.MARGIN)), nobody, {})
    assert [] == await of.mailed()
    assert [] == await postman.database.read(_words)


def _words(tx: Transaction) -> list[Any]:
    return listed(tx, list(State), 100)
