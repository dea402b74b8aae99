"""Forgotten passwords: who gets a link, what it does, and that nobody learns who has an account."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from saleroom.accounts.domain.errors import InvalidLink, MailOff
from saleroom.accounts.domain.mails import ACCOUNT_LIMITS, DAY, LIFETIMES, MAILBOX_LIMITS, NETWORK_LIMITS, Purpose
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import addresses, recovery
from saleroom.accounts.service.accounts import authenticate, set_digest
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.recovery import Recovery
from saleroom.accounts.service.sweeper import sweep
from saleroom.accounts.service.throttle import AccountMails, FailedLogins
from saleroom.accounts.storage import accounts, mail_addresses, mail_links
from saleroom.kernel.errors import TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.accounts.service.mailed import code, has_mail, mails, says, sign
from tests.bidding.service.people import Person, person
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")

ADA = "Ada@example.org"


@pytest.fixture
async def passwords() -> AsyncIterator[Passwords]:
    """A pool for digests."""
    made = Passwords()
    yield made
    made.close()


async def ask(database: Database, typed: str, place: str | None = None) -> None:
    """Ask for a link from a network, and let the house answer."""
    await database.write(recovery.ask, typed, "en", place)
    await recovery.answer_all(database)


async def digest_of(database: Database, one: Person) -> str | None:
    """The digest of a user's password."""
    return (await database.read(accounts.login_of, one.account.id)).password_digest


@pytest.mark.parametrize("typed", ["{name}", "{NAME}", " {name} ", "ada@example.org", "ADA@EXAMPLE.ORG", f" {ADA}"])
async def test_a_name_or_an_address_gets_a_link(clocked_database: Database, typed: str) -> None:
    """A name and an address, in any case, get a link to the verified address; a request is kept no longer than needed."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    name = ada.account.username
    await ask(clocked_database, typed.format(name=name, NAME=name.upper()))
    assert [("verification", ADA), ("reset", ADA)] == await mails(clocked_database)
    assert [] == await clocked_database.read(mail_links.asked, 10)
    said = await says(clocked_database)
    assert said is not None
    assert (name, f"/password/new#{await code(clocked_database)}") == (said["username"], said["path"])


@pytest.mark.parametrize(
    "typed", ["nobody", "nobody@example.org", "", "@", "a b", "x" * 5000, "\x00", "ada@example.org\nx", "' OR 1=1 --"]
)
async def test_anything_else_gets_nothing(clocked_database: Database, typed: str) -> None:
    """A text that means nobody leaves nothing behind but the answer that everybody gets."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await ask(clocked_database, typed)
    assert 1 == len(await mails(clocked_database))
    assert [] == await clocked_database.read(mail_links.asked, 10)


async def test_an_address_that_is_not_verified_gets_nothing(clocked_database: Database) -> None:
    """Somebody who gave a stranger's address cannot have a link to their account sent there, by name or by address."""
    ada = await person(clocked_database)
    await clocked_database.write(addresses.give, ada.account, ADA, None)
    for typed in (ada.account.username, ADA):
        await ask(clocked_database, typed)
    assert ["verification"] == [kind for kind, _ in await mails(clocked_database)]


async def test_each_account_of_an_address_gets_a_link(clocked_database: Database) -> None:
    """An address of two accounts gets two mails, each with the name of its account; a name gets one."""
    two = [await person(clocked_database) for _ in range(2)]
    for one in two:
        await has_mail(clocked_database, one, ADA)
    await ask(clocked_database, ADA)
    found = [await says(clocked_database, number) for number in (-2, -1)]
    assert [one.account.username for one in two] == [said["username"] for said in found if said is not None]


async def test_a_new_password_ends_all_sessions(clocked_database: Database, passwords: Passwords) -> None:
    """The link sets the password, ends every session, and is told. Without the password nothing had changed before."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await ask(clocked_database, ada.account.username)
    before = await digest_of(clocked_database, ada)
    house = Recovery(clocked_database, passwords, sign, None)
    sent = await code(clocked_database)
    await clocked_database.read(authenticate, ada.token, Right.READ)
    await house.reset(sent, "battery staple", "here")
    assert before != await digest_of(clocked_database, ada)
    assert await passwords.verify(await digest_of(clocked_database, ada), "battery staple")
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, ada.token, Right.READ)
    assert ("password_changed", ADA) == (await mails(clocked_database))[-1]
    with pytest.raises(InvalidLink):
        await house.reset(sent, "another staple", "here")
    assert await passwords.verify(await digest_of(clocked_database, ada), "battery staple")


async def test_a_link_ends_after_half_an_hour(clocked_database: Database, clock: FakeClock) -> None:
    """A link works until the last moment of its half hour; later its mail is not even sent."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await ask(clocked_database, ada.account.username)
    sent = await code(clocked_database)
    clock.now += LIFETIMES[Purpose.RESET]
    with pytest.raises(InvalidLink):
        await clocked_database.write(recovery.reset, sent, "new", sign)
    assert await says(clocked_database) is None
    clock.advance(-1)
    await clocked_database.write(recovery.reset, sent, "new", sign)


async def test_what_ends_a_link(clocked_database: Database) -> None:
    """A later link, another password, another address and no address end a link."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    name = ada.account.username

    async def ends(sent: str) -> None:
        with pytest.raises(InvalidLink):
            await clocked_database.write(recovery.reset, sent, "new", sign)

    await ask(clocked_database, name)
    first = await code(clocked_database)
    await ask(clocked_database, name)
    await ends(first)
    second = await code(clocked_database)
    await clocked_database.write(set_digest, name, "changed by the owner of the house")
    await ends(second)
    await ask(clocked_database, name)
    third = await code(clocked_database)
    await has_mail(clocked_database, ada, "ada@new.example")
    await ends(third)


async def test_a_link_to_an_address_that_was_given_up_is_refused(clocked_database: Database) -> None:
    """A link that was posted to the old address just after the user verified another one sets no password."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    old = await clocked_database.read(mail_addresses.find, ada.account.id)
    assert old is not None
    for change in ("ada@new.example", None):
        if change is None:
            await clocked_database.write(addresses.give, ada.account, None, None)
        else:
            await has_mail(clocked_database, ada, change)
        late = await clocked_database.write(mail_links.add, ada.account.id, Purpose.RESET, old.address, old.given_at)
        with pytest.raises(InvalidLink):
            await clocked_database.write(recovery.reset, late.code("no digest", sign), "new", sign)
    assert "no digest" == await digest_of(clocked_database, ada)


async def test_a_link_gets_its_mail_after_all_earlier_ones_were_deleted(
    clocked_database: Database, clock: FakeClock
) -> None:
    """A quiet house whose old links were swept away sends the next one, though their mails are still on record."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    for asked in range(1, 4):
        await ask(clocked_database, ada.account.username)
        assert asked == [kind for kind, _ in await mails(clocked_database)].count("reset")
        clock.now += mail_links.RETENTION + timedelta(hours=1)
        await clocked_database.write(sweep)


async def test_a_code_that_was_changed_is_refused(clocked_database: Database) -> None:
    """A wrong code, that of another account's link and that of a verification set no password."""
    ada, ben = await person(clocked_database), await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    await clocked_database.write(addresses.give, ben.account, "ben@example.org", None)
    verification = await code(clocked_database)
    await ask(clocked_database, ada.account.username)
    number, _, secret = (await code(clocked_database)).partition(".")
    wrong = (f"{number}.{secret[::-1]}", f"{int(number) - 1}.{secret}", verification, secret, "", "1.", f"-{number}")
    for sent in wrong:
        with pytest.raises(InvalidLink):
            await clocked_database.read(recovery.check, sent, sign)
        with pytest.raises(InvalidLink):
            await clocked_database.write(recovery.reset, sent, "new", sign)
    assert "no digest" == await digest_of(clocked_database, ada)


async def test_the_number_of_a_link_does_not_count(clocked_database: Database) -> None:
    """By two links of one's own nobody can tell whether an address that was asked about between them got one."""
    ada = await person(clocked_database)

    def add(tx: Transaction) -> int:
        return mail_links.add(tx, ada.account.id, Purpose.RESET, ADA, tx.now()).id

    first, second = [await clocked_database.write(add) for _ in range(2)]
    assert abs(first - second) > 1000


async def test_an_account_gets_few_links(clocked_database: Database, clock: FakeClock) -> None:
    """Anyone who asks again and again for somebody else causes few mails, and the last link goes on working."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    most = ACCOUNT_LIMITS[0].most
    for _ in range(most + 3):
        await ask(clocked_database, ada.account.username)
    assert most == [kind for kind, _ in await mails(clocked_database)].count("reset")
    await clocked_database.write(recovery.check, await code(clocked_database), sign)
    for _ in range(30):
        clock.advance(minutes=45)
        await ask(clocked_database, ada.account.username)
    today = [kind for kind, _ in await mails(clocked_database)].count("reset")
    assert ACCOUNT_LIMITS[1].most == today
    clock.now += DAY
    await ask(clocked_database, ada.account.username)
    assert today + 1 == [kind for kind, _ in await mails(clocked_database)].count("reset")


async def resets(database: Database) -> int:
    """How many mails with a link to set a new password were posted."""
    return [kind for kind, _ in await mails(database)].count("reset")


async def test_a_stranger_uses_up_no_link_of_a_known_network(clocked_database: Database, clock: FakeClock) -> None:
    """However often strangers ask, somebody who asks from a network of their logins gets a link, which no stranger ends."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    name = ada.account.username
    limits = FailedLogins(clocked_database, 100)
    async with limits.attempt(name, "192.0.2.1"):
        pass
    for number in range(20):
        clock.advance(hours=1)
        await ask(clocked_database, name, f"198.51.100.{number}")
    assert ACCOUNT_LIMITS[1].most == await resets(clocked_database)
    await ask(clocked_database, name, "192.0.2.2")
    assert ACCOUNT_LIMITS[1].most == await resets(clocked_database)
    await ask(clocked_database, ADA, "192.0.2.1")
    assert ACCOUNT_LIMITS[1].most + 1 == await resets(clocked_database)
    own = await code(clocked_database)
    clock.advance(hours=24, seconds=-1)
    await ask(clocked_database, name, "192.0.2.1")
    own = await code(clocked_database)
    await ask(clocked_database, name, "203.0.113.9")
    assert own != await code(clocked_database)
    await clocked_database.read(recovery.check, own, sign)
    for _ in range(9):
        await ask(clocked_database, name, "192.0.2.1")
    assert ACCOUNT_LIMITS[0].most - 1 + 1 + ACCOUNT_LIMITS[1].most + 2 == await resets(clocked_database)


async def test_a_network_without_logins_causes_few_links(clocked_database: Database, clock: FakeClock) -> None:
    """One network uses up its own links for an account, not those of others; a login makes it known for 30 days."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    name, most = ada.account.username, NETWORK_LIMITS[0].most
    for _ in range(most + 3):
        await ask(clocked_database, name, "192.0.2.1")
        clock.advance(hours=1)
    assert most == await resets(clocked_database)
    await ask(clocked_database, name, "192.0.2.2")
    assert most + 1 == await resets(clocked_database)
    async with FailedLogins(clocked_database, 100).attempt(name, "192.0.2.3"):
        pass
    clock.advance(days=29)
    for _ in range(2 * most):
        clock.advance(hours=1)
        await ask(clocked_database, name, "192.0.2.3")
    known = await resets(clocked_database) - most - 1
    assert 2 * most == known
    clock.advance(days=2)
    for _ in range(2 * most):
        clock.advance(hours=1)
        await ask(clocked_database, name, "192.0.2.3")
    assert known + 2 * most + 1 == await resets(clocked_database)


async def test_links_to_verify_an_address_use_up_none_for_a_password(clocked_database: Database) -> None:
    """Other accounts that give a user's address fill its share of these links alone: the user still gets a new password."""
    ada = await person(clocked_database)
    await has_mail(clocked_database, ada, ADA)
    for _ in range(2 * MAILBOX_LIMITS[0].most):
        rival = await person(clocked_database)
        await clocked_database.write(addresses.give, rival.account, ADA, None)
    await ask(clocked_database, ADA)
    assert 1 == await resets(clocked_database)


async def test_a_mailbox_gets_few_links(clocked_database: Database, clock: FakeClock) -> None:
    """An address of many accounts gets few mails at a time, also if it is asked for by the names."""
    several = [await person(clocked_database) for _ in range(MAILBOX_LIMITS[0].most + 2)]
    for one in several:
        await has_mail(clocked_database, one, ADA)
        clock.now += DAY
    await ask(clocked_database, ADA)
    for one in several:
        await ask(clocked_database, one.account.username)
    assert MAILBOX_LIMITS[0].most == [kind for kind, _ in await mails(clocked_database)].count("reset")


async def test_a_network_asks_only_so_often(clocked_database: Database, passwords: Passwords) -> None:
    """A network that has asked as often as it may is told to wait, for names and addresses that exist and that do not."""
    house = Recovery(clocked_database, passwords, sign, AccountMails(clocked_database, 3))
    for typed in ("ada", "nobody@example.org", "x"):
        await house.ask(typed, None, "2001:db8::1")
    with pytest.raises(TooManyRequests) as refused:
        await house.ask("ada", None, "2001:db8::2")
    assert 3600 == refused.value.facts["retry_after"]
    await house.ask("ada", None, "192.0.2.1")
    assert 4 == len(await clocked_database.read(mail_links.asked, 10))


async def test_a_house_without_mail_says_so(clocked_database: Database, passwords: Passwords) -> None:
    """A house that sends no mail refuses the request for everybody."""
    with pytest.raises(MailOff):
        await Recovery(clocked_database, passwords, sign, None).ask("ada", None, "here")


@pytest.mark.databases("sqlite", "postgresql")
async def test_two_processes_answer_each_request_once(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Requests that two processes answer at the same time get one link each."""
    here, there = open_database(clock=clock), open_database(clock=clock)
    some = [await person(here) for _ in range(12)]
    for one in some:
        await has_mail(here, one, f"{one.account.username}@example.org")
        await here.write(recovery.ask, one.account.username, None)
    await asyncio.gather(*(recovery.answer_all(house) for house in (here, there)))
    sent = [address for kind, address in await mails(here) if kind == "reset"]
    assert sorted(f"{one.account.username}@example.org" for one in some) == sorted(map(str, sent))


@pytest.mark.databases("sqlite", "postgresql")
async def test_two_uses_at_once_in_two_processes_are_one(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Of two uses of one link at the same time, in two processes, one sets the password and the other is refused."""
    here, there = open_database(clock=clock), open_database(clock=clock)
    for _ in range(5):
        ada = await person(here)
        await has_mail(here, ada, f"{ada.account.username}@example.org")
        await ask(here, ada.account.username)
        sent = await code(here)
        both = [house.write(recovery.reset, sent, digest, sign) for house, digest in ((here, "1"), (there, "2"))]
        done = await asyncio.gather(*both, return_exceptions=True)
        [lost] = [index for index, one in enumerate(done) if isinstance(one, InvalidLink)]
        assert ["2", "1"][lost] == await digest_of(here, ada)
        clock.now += timedelta(hours=1)
