"""Automatic reminders: a house that does the steps of its calendar by itself, each once, in however many processes."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.storage import accounts, audit, mail_addresses
from saleroom.notices.domain.choices import ALL
from saleroom.notices.storage import choices
from saleroom.outbox import store
from saleroom.outbox.message import MAIL
from saleroom.outbox.tables import outbox
from saleroom.settlement.domain.reminders.reminding import Automatic, Calendar
from saleroom.settlement.service.reminders import automatic_reminding
from saleroom.settlement.service.reminders.automatic_reminding import do_due, due_sales, look
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.storage.database import Database, Transaction
from tests.bidding.api.answers import refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, settings_for
from tests.patience import SECONDS_MAX
from tests.settlement.api.test_reminders import Unpaid, mailed
from tests.site.visitor import Visitor

BY_HOUSE = Calendar(automatic=Automatic.REMINDERS)


@pytest.fixture
def shown(database_url: str, clock: FakeClock, request: pytest.FixtureRequest) -> Iterator[House]:
    """A house that shows its mails, with a clock of its own; the setting is that of the test, otherwise `off`."""
    setting = getattr(request, "param", "off")
    more = {"smtp_url": "show", "strikes_max": 1, "automatic_reminders": setting}
    found = House(settings_for(database_url, outage_reopens=False, **more), clock)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the house look all the time."""
    monkeypatch.setattr(automatic_reminding, "LOOK_SECONDS", 0.02)


def steps(house: House) -> tuple[int, int]:
    """Return how many steps are stored, and how many words of them go out by mail; those for webhooks are soon gone."""

    def read(tx: Transaction) -> tuple[int, int]:
        words = select(outbox.c.id).where(outbox.c.kind == "overdue", outbox.c.channel == MAIL)
        return len(tx.execute(select(reminders.c.id)).all()), len(tx.execute(words).all())

    return house.read(read)


def until(house: House, expected: tuple[int, int]) -> None:
    """Wait until so many steps are there; then look whether there are more soon after."""
    end = time.monotonic() + SECONDS_MAX
    while steps(house) != expected and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    assert expected == steps(house)


@pytest.mark.databases("sqlite")
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("shown", ["strikes"], indirect=True)
def test_the_house_does_each_step_by_itself(shown: House, clock: FakeClock) -> None:
    """On its day and once: two reminders, then the strike, which bans. Paying ends that, and nothing more comes."""
    unpaid = Unpaid(shown, clock)
    until(shown, (1, 1))
    assert "1. Erinnerung: Rechnung INV-" in mailed(shown, "1. Erinnerung")
    clock.advance(days=10)
    until(shown, (1, 1))
    clock.advance(days=1)
    until(shown, (2, 2))
    clock.advance(days=14)
    until(shown, (3, 3))
    assert "Nicht bezahlt: Rechnung INV-" in mailed(shown, "Nicht bezahlt")
    [one] = unpaid.listed()["overdueInvoices"]
    assert (None, True, 1) == (one["nextStep"], one["hasStrike"], one["strikes"])
    noted = shown.read(audit.newest, audit.EntryFilter(act=Act.REMINDER_SENT.value), 9, None)
    assert [None, None] == [one.by for one in noted]
    known = unpaid.settling.manager.json("GET", f"/staff/users/{unpaid.user.name}/sanctions")["sanctions"]
    assert {"ban", "strike"} == {one["kind"] for one in known}
    assert unpaid.settling.pay(unpaid.paddle, ("cash", "14.88")).is_success
    clock.advance(days=100)
    until(shown, (3, 3))


@pytest.mark.databases("sqlite")
def test_the_look_ends_the_ban_for_an_invoice_that_does_not_fit(shown: House, clock: FakeClock) -> None:
    """Its lot is undone and passed, and nobody does anything at the desk; a ban for what is open stays."""
    unpaid = Unpaid(shown, clock)
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(unpaid.settling.manager).json()
    gid = shown.user().auction()

    async def looks() -> None:
        database = Database(shown.settings.database, clock=clock)
        try:
            await look(database, BY_HOUSE, 2)
        finally:
            await database.close()

    asyncio.run(looks())
    assert (403, "barred") == refusal(unpaid.user.bid(gid, amount="10"))
    for act in ("undo", "undo", "pass"):
        unpaid.settling.sale.act(act)
    asyncio.run(looks())
    assert unpaid.user.bid(gid, amount="10").is_success
    [lifted] = shown.read(audit.newest, audit.EntryFilter(act=Act.BAR_LIFTED.value), 9, None)
    assert lifted.by is None


@pytest.mark.databases("sqlite")
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("shown", ["reminders"], indirect=True)
def test_a_reminder_reaches_those_who_switched_such_mails_off_before(shown: House, clock: FakeClock) -> None:
    """A step counts only if the person was told, so the choice of a former version no longer keeps the mail from them."""
    unpaid = Unpaid(shown, clock)
    of = shown.read(accounts.find_login, unpaid.user.name)
    assert of is not None
    shown.write(choices.choose, of.account.id, MAIL, {"overdue": False, ALL: False})
    until(shown, (1, 1))
    assert "1. Erinnerung: Rechnung INV-" in mailed(shown, "1. Erinnerung")


@pytest.mark.databases("sqlite")
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("shown", ["reminders"], indirect=True)
def test_strikes_are_left_for_a_person(shown: House, clock: FakeClock) -> None:
    """If the setting says reminders alone."""
    unpaid = Unpaid(shown, clock)
    for days, sent in ((0, 1), (11, 2), (14, 2)):
        clock.advance(days=days)
        until(shown, (sent, sent))
    [one] = unpaid.listed()["overdueInvoices"]
    assert ("strike", True) == (one["nextStep"]["stepKind"], one["nextStep"]["isDue"])
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.settling.manager.json("POST", "/reminders")


@pytest.mark.databases("sqlite")
@pytest.mark.usefixtures("often")
def test_a_house_without_the_setting_reminds_nobody(shown: House, clock: FakeClock) -> None:
    """A house of before goes on as it was."""
    Unpaid(shown, clock)
    time.sleep(0.5)
    assert (0, 0) == steps(shown)


def test_two_processes_send_one_reminder(shown: House, clock: FakeClock) -> None:
    """All of them look at once, again and again; so does a cashier."""
    unpaid = Unpaid(shown, clock)

    async def looks() -> list[int]:
        databases = [Database(shown.settings.database, clock=clock) for _ in range(3)]
        for one in databases:
            one.switch_on(store.SENT_BY[MAIL])
        try:
            return [
                *await asyncio.gather(*(look(one, BY_HOUSE, 2) for one in databases for _ in range(4))),
                *await asyncio.gather(*(look(one, BY_HOUSE, 2) for one in databases)),
            ]
        finally:
            await asyncio.gather(*(one.close() for one in databases))

    assert 1 == sum(asyncio.run(looks()))
    assert (1, 1) == steps(shown)
    assert 409 == unpaid.remind(unpaid.settling.cashier).status_code


@pytest.mark.databases("sqlite")
def test_a_longer_calendar_gives_no_second_strike(shown: House, clock: FakeClock) -> None:
    """The house sends a third reminder from now on: nothing more is done about an invoice that has its strike."""
    unpaid = Unpaid(shown, clock)
    unpaid.until_the_strike()
    assert {"reminded": 0, "struck": 1, "banned": 1} == unpaid.remind(unpaid.settling.manager).json()
    clock.advance(days=60)
    longer = Calendar(reminder_days=(3, 14, 21), strike_day=28, automatic=Automatic.STRIKES)
    assert {} == shown.read(due_sales, longer)


def test_a_process_that_ends_within_it_leaves_nothing(shown: House, clock: FakeClock) -> None:
    """Step and word are one transaction: the next look does both."""
    Unpaid(shown, clock)
    [(sale_id, pairs)] = shown.read(due_sales, BY_HOUSE).items()

    def ends(tx: Transaction) -> None:
        assert 1 == do_due(tx, sale_id, pairs, BY_HOUSE, 2)
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        shown.write(ends)
    assert (0, 0) == steps(shown)
    assert [1, 0] == [shown.write(do_due, sale_id, pairs, BY_HOUSE, 2) for _ in range(2)]
    assert (1, 1) == steps(shown)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("by", ["address", "server"])
def test_what_no_mail_would_tell_is_left_for_a_person(shown: House, clock: FakeClock, by: str) -> None:
    """A buyer without a verified address, whom the page names; and everybody in a house that sends no mails."""
    unpaid = Unpaid(shown, clock)
    assert unpaid.listed()["overdueInvoices"][0]["hasMail"]
    if by == "address":
        for user in shown.read(due_users):
            shown.write(mail_addresses.take_away, user)
        assert not unpaid.listed()["overdueInvoices"][0]["hasMail"]
        page = Visitor(shown, unpaid.settling.cashier).page("/admin/overdue")
        assert "No mail reaches this buyer." in page.main
    else:
        shown._database._switches.discard(store.SENT_BY[MAIL])  # as in a house without a mail server
    assert {} == shown.read(due_sales, BY_HOUSE)
    assert {"reminded": 1, "struck": 0, "banned": 0} == unpaid.remind(unpaid.settling.cashier).json()


def test_what_was_corrected_is_not_reminded_of(shown: House, clock: FakeClock) -> None:
    """The hammer was undone after the invoice: nobody owes it, though nobody has looked at the desk since."""
    unpaid = Unpaid(shown, clock)
    [(sale_id, pairs)] = shown.read(due_sales, BY_HOUSE).items()
    unpaid.settling.sale.act("undo")
    assert (409, "not_overdue") == refusal(unpaid.remind(unpaid.settling.cashier))
    assert 0 == shown.write(do_due, sale_id, pairs, BY_HOUSE, 2)
    assert (0, 0) == steps(shown)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("shown", ["strikes"], indirect=True)
def test_the_page_says_what_the_house_does(shown: House, clock: FakeClock) -> None:
    """So that nobody waits for what is done by hand, or does what the house does."""
    page = Visitor(shown, Unpaid(shown, clock).settling.cashier).page("/admin/overdue")
    assert "The house sends reminders and gives strikes by itself" in page.main


def due_users(tx: Transaction) -> list[int]:
    """Return the users whom the house reminds now."""
    return [user for pairs in due_sales(tx, BY_HOUSE).values() for _, user in pairs]
