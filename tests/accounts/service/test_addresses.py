"""Mail addresses: given, verified by a link, changed, taken away, and how many mails somebody can cause."""

import asyncio

import pytest

from saleroom.accounts.domain.errors import InvalidLink
from saleroom.accounts.domain.mails import ACCOUNT_LIMITS, DAY, HOUR, LIFETIMES, MAILBOX_LIMITS, Purpose
from saleroom.accounts.service import addresses
from saleroom.accounts.service.addresses import MailState
from saleroom.accounts.storage import mail_addresses
from saleroom.kernel.errors import TooManyRequests
from saleroom.storage.database import Database
from tests.accounts.service.mailed import code, has_mail, mails, says, sign
from tests.bidding.service.people import person
from tests.fixtures_database import T0, FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")

ADA, NEW = "ada@example.org", "ada@new.example"


async def test_an_address_is_used_once_it_is_verified(clocked_database: Database, clock: FakeClock) -> None:
    """A link goes to the new address; before it is opened the address counts for nothing, afterwards it is the user's."""
    ada = await person(clocked_database)
    given = await clocked_database.write(addresses.give, ada.account, ADA, "de")
    assert MailState(unverified=ADA, link_expires_at=T0 + DAY) == given
    assert given == await clocked_database.read(addresses.own, ada.token)
    assert {} == await clocked_database.read(mail_addresses.verified, [ada.account.id])
    assert [("verification", ADA)] == await mails(clocked_database)
    found = await clocked_database.write(addresses.verify, await code(clocked_database), "de", sign)
    assert (ada.account.username, ADA) == (found.username, found.address)
    assert MailState(address=ADA, verified_at=T0) == await clocked_database.read(addresses.own, ada.token)
    assert "de" == (await clocked_database.read(mail_addresses.verified, [ada.account.id]))[ada.account.id].language


async def test_a_link_counts_once(clocked_database: Database) -> None:
    """A second use of a link is refused, and its mail is of no more use."""
    ada = await person(clocked_database)
    await clocked_database.write(addresses.give, ada.account, ADA, None)
    sent = await code(clocked_database)
    await clocked_database.write(addresses.verify, sent, None, sign)
    with pytest.raises(InvalidLink):
        await clocked_database.write(addresses.verify, sent, None, sign)
    assert await says(clocked_database) is None


async def test_a_link_ends_after_a_day(clocked_database: Database, clock: FakeClock) -> None:
    """A link works until the last moment of its day, and not after it."""
    ada = await person(clocked_database)
    await clocked_database.write(addresses.give, ada.account, ADA, None)
    sent = await code(clocked_database)
    clock.now += LIFETIMES[Purpose.VERIFICATION]
    with pytest.raises(InvalidLink):
        await clocked_database.write(addresses.verify, sent, None, sign)
    assert MailState() == await clocked_database.read(addresses.own, ada.token)
    clock.advance(-1)
    await clocked_database.write(addresses.verify, sent, None, sign)


@pytest.mark.parametrize(
    "change",
    [
        lambda sent: sent[:-1] + ("A" if sent[-1] != "A" else "B"),
        lambda sent: f"{int(sent.partition('.')[0]) + 1}.{sent.partition('.')[2]}",
        lambda sent: sent.partition(".")[2],
        lambda sent: f"{sent}x",
        lambda sent: f"9{'9' * 17}.{sent.partition('.')[2]}",
        lambda sent: "",
        lambda sent: "\x00",
    ],
)
async def test_a_code_that_was_changed_is_refused(clocked_database: Database, change: object) -> None:
    """A code with another letter, another number, or without one opens nothing, and does not use the link up."""
    ada = await person(clocked_database)
    await clocked_database.write(addresses.give, ada.account, ADA, None)
    sent = await code(clocked_database)
    assert callable(change)
    with pytest.raises(InvalidLink):
        await clocked_database.write(addresses.verify, change(sent), None, sign)
    await clocked_database.write(addresses.verify, f" {sent}\n", None, sign)


async def test_the_later_link_ends_the_earlier_one(clocked_database: Database) -> None:
    """Of two links of an account only the later one works, also if both go to the same address."""
    ada = await person(clocked_database)
    for address in (ADA, NEW):
        await clocked_database.write(addresses.give, ada.account, address, None)
    earlier = await says(clocked_database, 0)
    assert earlier is None
    await clocked_database.write(addresses.verify, await code(clocked_database), None, sign)
    assert NEW == (await clocked_database.read(addresses.own, ada.token)).address


async def test_the_old_address_stays_until_the_new_one_is_verified_and_is_told(clocked_database: Database) -> None:
    """A change that is not verified changes nothing. One that is verified is told to the old address, without the new one."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await clocked_database.write(addresses.give, ada.account, NEW, None)
    assert ADA == (await clocked_database.read(addresses.own, ada.token)).address
    await clocked_database.write(addresses.verify, await code(clocked_database), None, sign)
    assert [("verification", ADA), ("verification", NEW), ("address_changed", ADA)] == await mails(clocked_database)
    said = await says(clocked_database)
    assert said is not None
    assert (ada.account.username, False) == (said["username"], said["removed"])
    assert NEW not in str(said)


async def test_an_address_that_is_taken_away_is_told(clocked_database: Database) -> None:
    """An address that is taken away is told, and a link that waits ends with it."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await clocked_database.write(addresses.give, ada.account, NEW, None)
    waiting = await code(clocked_database)
    assert MailState() == await clocked_database.write(addresses.give, ada.account, None, None)
    assert ("address_changed", ADA) == (await mails(clocked_database))[-1]
    with pytest.raises(InvalidLink):
        await clocked_database.write(addresses.verify, waiting, None, sign)
    assert MailState() == await clocked_database.write(addresses.give, ada.account, None, None)
    assert 3 == len(await mails(clocked_database))


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_same_address_causes_no_mail(clocked_database: Database) -> None:
    """A user who gives the address that is theirs already gets no mail, and a link to another one ends."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await clocked_database.write(addresses.give, ada.account, NEW, None)
    kept = await clocked_database.write(addresses.give, ada.account, ADA, None)
    assert isinstance(kept, MailState)
    assert (ADA, None) == (kept.address, kept.unverified)
    assert 2 == len(await mails(clocked_database))


@pytest.mark.databases("sqlite", "postgresql")
async def test_several_accounts_may_have_one_address(clocked_database: Database) -> None:
    """A second account that gives an address gets the same answer as the first, and verifies it for itself."""
    one, other = await person(clocked_database), await person(clocked_database)
    await has_mail(clocked_database, one, ADA)
    given = await clocked_database.write(addresses.give, other.account, ADA, None)
    assert MailState(unverified=ADA, link_expires_at=T0 + DAY) == given
    await clocked_database.write(addresses.verify, await code(clocked_database), None, sign)
    found = await clocked_database.read(mail_addresses.users_with, "ADA@example.org")
    assert [one.account.id, other.account.id] == [each.user_id for each in found]


async def test_an_account_causes_few_mails(clocked_database: Database, clock: FakeClock) -> None:
    """An account that has caused as many mails as it may is told how long to wait, and may then go on."""
    ada = await person(clocked_database)
    for number in range(ACCOUNT_LIMITS[0].most):
        await clocked_database.write(addresses.give, ada.account, f"ada{number}@example.org", None)
        clock.advance(60)
    refused = await clocked_database.write(addresses.give, ada.account, ADA, None)
    assert isinstance(refused, TooManyRequests)
    assert HOUR.total_seconds() - 180 == refused.facts["retry_after"]
    clock.advance(HOUR.total_seconds() - 180)
    assert not isinstance(await clocked_database.write(addresses.give, ada.account, ADA, None), TooManyRequests)


async def test_a_mailbox_gets_few_mails_whoever_asks(clocked_database: Database) -> None:
    """However many accounts give a stranger's address, in whatever spelling, few mails go there; no answer shows it."""
    answers = []
    for number in range(MAILBOX_LIMITS[0].most + 3):
        one = await person(clocked_database)
        address = f"Stranger+{number}@example.org" if number % 2 else "stranger@example.org"
        given = await clocked_database.write(addresses.give, one.account, address, None)
        assert isinstance(given, MailState)
        answers.append((given.unverified == address, given.link_expires_at))
    assert {(True, T0 + DAY)} == set(answers)
    assert MAILBOX_LIMITS[0].most == len(await mails(clocked_database))


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_mailbox_gets_few_mails_from_accounts_that_ask_at_once(open_database: OpenDatabase) -> None:
    """Accounts that give a stranger's address in the same moment, in two processes, have no more mails sent there."""
    houses = [open_database(), open_database()]
    some = [await person(houses[0]) for _ in range(2 * MAILBOX_LIMITS[0].most)]
    await asyncio.gather(*(houses[at % 2].write(addresses.give, one.account, ADA, None) for at, one in enumerate(some)))
    assert MAILBOX_LIMITS[0].most == len(await mails(houses[0]))


@pytest.mark.databases("sqlite", "postgresql")
async def test_two_uses_at_once_in_two_processes_are_one(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Of two uses of one link at the same time, in two processes, exactly one counts."""
    here, there = open_database(clock=clock), open_database(clock=clock)
    for _ in range(5):
        ada = await person(here)
        await here.write(addresses.give, ada.account, f"{ada.account.username}@example.org", None)
        sent = await code(here)
        both = [one.write(addresses.verify, sent, None, sign) for one in (here, there)]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert 1 == sum(isinstance(one, InvalidLink) for one in done)
