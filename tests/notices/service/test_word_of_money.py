"""Words about money on browsers and at webhooks: the same as by mail, by the choices of their receivers, each once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from saleroom.notices.domain.choices import QuietHours, parse_time
from saleroom.notices.domain.kinds import KINDS, OF_LOTS
from saleroom.notices.service import choosing
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.outbox.message import CHANNELS, State
from saleroom.outbox.store import listed
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.service import money_mails
from saleroom.settlement.service.documents import register
from saleroom.settlement.service.reminders import reminding
from saleroom.settlement.service.unsold import offering
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person
from tests.fixtures_database import FakeClock
from tests.notices.equipment import ORIGIN
from tests.notices.hooks import Hooks
from tests.notices.push_service import PushService
from tests.notices.receiver import Receiver
from tests.notices.service.test_pushes import Courier, authority, service  # noqa: F401  # fixtures
from tests.sales.service.evenings import evening
from tests.settlement.documents import draft, line
from tests.settlement.service.test_money_mails import receipt

MONEY = (*money_mails.MAILS, *reminding.MAILS, *offering.MAILS)


class NotifiedPerson:
    """Somebody with two browsers and a webhook, who has a sale."""

    def __init__(self, courier: Courier, hooks: Hooks, person: Person, sale_id: int) -> None:
        self.courier, self.hooks, self.person = courier, hooks, person
        self.database = courier.database
        self.owner = Owner(sale_id=sale_id, user_id=person.account.id)

    async def issue(self, kind: DocumentKind = DocumentKind.INVOICE) -> StoredDocument:
        """Issue a document."""
        return await self.database.write(register.issue, draft(line(TaxScheme.MARGIN), kind=kind), self.owner, {})

    async def rounds(self) -> None:
        """Send all that is due."""
        for _ in range(4):
            await self.courier.rounds()
            await self.hooks.deliver()

    @property
    def pushed(self) -> list[tuple[str, str]]:
        """The browsers with the title and the text of each message, without the number of the document."""
        return [(one.browser, f"{one.said['title']}|{one.said['body']}") for one in self.courier.service.received]

    @property
    def posted(self) -> list[dict[str, Any]]:
        """What the webhook got."""
        return self.hooks.receiver.bodies


@pytest.fixture
async def told(
    clocked_database: Database,
    service: PushService,  # noqa: F811  # it is the fixture
    authority: tuple[Path, Path],  # noqa: F811  # it is the fixture
    receiver: Receiver,
) -> AsyncIterator[NotifiedPerson]:
    """Ada, whose second browser is German."""
    courier = Courier(clocked_database, service, authority[0], kinds=MONEY)
    hooks = Hooks(clocked_database, receiver, MONEY)
    await courier.rounds()
    ada = await courier.known("ada")
    await courier.subscribe(Person(ada.account, ada.token), "ada")
    await hooks.made(ada)
    yield NotifiedPerson(courier, hooks, ada, (await evening(clocked_database)).sale.id)
    await courier.pusher.posts.close()
    await hooks.deliverer.posts.close()


@pytest.mark.databases("sqlite")
async def test_an_invoice_is_told_on_browsers_and_at_webhooks(told: NotifiedPerson) -> None:
    """The words are those of the mail, the page that of the invoice; programs read its figures."""
    invoice = await told.issue()
    await told.rounds()
    [one] = told.courier.service.received
    number = invoice.document.number
    assert (f"Invoice {number}: Herbstauktion", f"/mine/documents/{invoice.gid}", "86400", "normal") == (
        one.said["title"],
        one.said["url"],
        one.headers["TTL"],
        one.headers["Urgency"],
    )
    assert one.said["body"].startswith(f"Here is your invoice {number} for €120.00 from this sale: Herbstauktion")
    assert "by 9 Dec 2026" in one.said["body"] and "http" not in one.said["body"]
    [body] = told.posted
    assert "notice.invoice" == body["type"]
    data = body["data"]
    assert (invoice.gid, number, "120.000", "120.000", f"{ORIGIN}/mine/documents/{invoice.gid}") == tuple(
        data[name] for name in ("document", "documentNumber", "total", "stillOpen", "url")
    )
    await told.rounds()
    assert (1, 1) == (len(told.pushed), len(told.posted))


@pytest.mark.databases("sqlite")
async def test_each_kind_about_money_is_told(told: NotifiedPerson) -> None:
    """By both channels, with the same page."""
    invoice, statement = await told.issue(), await told.issue(DocumentKind.STATEMENT)
    facts = {"document": invoice.gid, "level": 1, "strike": False}
    await told.database.write(money_mails.post, "overdue", f"{invoice.gid}:1", told.person.account.id, facts)
    await told.database.write(register.issue, receipt("5"), told.owner, {})
    await told.database.write(register.issue, receipt("-7.50"), told.owner, {})
    await told.rounds()
    assert ["notice.invoice", "notice.statement", "notice.overdue", "notice.paid", "notice.paid_out"] == [
        body["type"] for body in told.posted
    ]
    assert {"Invoice", "Statement", "Reminder", "Your", "House"} == {said.partition(" ")[0] for _, said in told.pushed}
    [overdue] = [body["data"] for body in told.posted if body["type"] == "notice.overdue"]
    assert (1, "reminder", invoice.gid) == (overdue["stepNumber"], overdue["stepKind"], overdue["document"])
    assert ["5.000", "7.500"] == [body["data"]["amount"] for body in told.posted[-2:]]
    urls = {body["data"]["url"].removeprefix(ORIGIN) for body in told.posted}
    assert urls == {one.said["url"] for one in told.courier.service.received}
    assert f"/mine/documents/{statement.gid}" in urls


async def test_people_choose_by_kind_and_channel(told: NotifiedPerson) -> None:
    """Who wants no invoice on browsers gets none there; the quiet hours hold; webhooks are for the kinds that they name."""
    await told.database.write(choosing.choose, told.person.token, ChoiceChange(push={"invoice": False}))
    await told.hooks.made(told.person, "notice.statement", path="/statements")
    await told.issue()
    await told.issue(DocumentKind.STATEMENT)
    await told.rounds()
    assert ["Statement"] == [said.partition(" ")[0] for _, said in told.pushed]
    assert ["notice.invoice", "notice.statement", "notice.statement"] == sorted(body["type"] for body in told.posted)


async def test_quiet_hours_hold(told: NotifiedPerson, clock: FakeClock) -> None:
    """A message about money waits for their end; a program never sleeps."""
    quiet = QuietHours(parse_time("11:00"), parse_time("14:00"), "UTC")  # type: ignore[arg-type]  # these are times
    await told.database.write(choosing.choose, told.person.token, ChoiceChange(quiet=(quiet,)))
    await told.issue()
    await told.rounds()
    assert (0, 1) == (len(told.pushed), len(told.posted))
    clock.advance(hours=2, minutes=1)
    await told.rounds()
    assert (1, 1) == (len(told.pushed), len(told.posted))


@pytest.mark.databases("sqlite")
async def test_a_reminder_of_what_is_paid_is_told_nowhere(told: NotifiedPerson) -> None:
    """What is no longer so is dropped on each channel."""
    invoice = await told.issue()
    facts = {"document": invoice.gid, "level": 1, "strike": False}
    await told.database.write(money_mails.post, "overdue", "1", told.person.account.id, facts)
    await told.database.write(register.credit, invoice.gid, ())
    await told.rounds()
    assert "notice.overdue" not in [body["type"] for body in told.posted]
    assert not [said for _, said in told.pushed if "eminder" in said]


async def test_all_channels_are_one_transaction(told: NotifiedPerson) -> None:
    """A document whose transaction fails tells nobody; the same cause twice is told once by each channel."""

    def fails(tx: Transaction) -> None:
        register.issue(tx, draft(line(TaxScheme.MARGIN)), told.owner, {})
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError, match="cut off"):
        await told.database.write(fails)
    assert [] == await told.database.read(_words)
    invoice = await told.issue()
    for _ in range(2):
        await told.database.write(money_mails.tell_of_document, invoice)
    assert ["push", "webhook"] == sorted(one.channel for one in await told.database.read(_words))


@pytest.mark.databases("sqlite")
async def test_a_changed_bank_account_is_told_by_mail_alone(told: NotifiedPerson) -> None:
    """It is about the account itself."""
    await told.database.write(money_mails.tell_of_account, told.person.account.id, "A17")
    assert [] == await told.database.read(_words)


async def test_a_word_that_is_tried_again_says_the_same(told: NotifiedPerson, clock: FakeClock) -> None:
    """A server of webhooks that was away gets the event as it was, though the invoice was paid meanwhile."""
    told.hooks.receiver.answers = ["503"]
    invoice = await told.issue()
    await told.hooks.deliver()
    await told.database.write(register.credit, invoice.gid, ())
    clock.advance(timedelta(minutes=1).total_seconds())
    for _ in range(3):
        await told.hooks.deliver()
    bodies = [one for one in told.posted if one["type"] == "notice.invoice"]
    assert 2 == len(bodies) and bodies[0] == bodies[1]


def test_every_kind_about_money_has_words() -> None:
    """Each kind that people choose among has a mail, and so what the other channels say."""
    assert KINDS.keys() - OF_LOTS.keys() <= {kind.name for kind in MONEY}
    assert {"mail", "push", "webhook"} == {*CHANNELS}


def _words(tx: Transaction) -> list[Any]:
    return listed(tx, list(State), 100)
