"""The erasure of a person, in all areas: what goes, what stays under a pseudonym, and what stands in its way."""

from __future__ import annotations

import asyncio
from datetime import time, timedelta

import msgspec
import pytest
from sqlalchemy import select, text

from saleroom.accounts.domain.errors import LastOwner, LotsRunning, UnknownUser, UsernameTaken
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import accounts, contacts, erasures, sanctions
from saleroom.accounts.storage import accounts as account_rows
from saleroom.accounts.storage import audit, mail_links, second_factors
from saleroom.accounts.storage.tables import users
from saleroom.admin import ledger_check
from saleroom.areas import TABLES, forget
from saleroom.bidding.domain.drafts import DraftForm
from saleroom.bidding.service import auctions, drafts, ledgers, moderation, photos, questions, watching
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.renditions import make
from saleroom.bidding.storage import auctions as auction_rows
from saleroom.bidding.storage import bids as bid_rows
from saleroom.bidding.storage.tables import events
from saleroom.kernel.errors import Unauthenticated
from saleroom.notices.domain.choices import QuietHours
from saleroom.notices.service import choosing
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.outbox import store as outbox
from saleroom.outbox.message import WEBHOOK, Message, State
from saleroom.storage.database import Database, Transaction
from tests.accounts.service.mailed import has_mail, mails
from tests.bidding.service.people import Person, bid, person, sells
from tests.fixtures_database import FakeClock, OpenDatabase, unique
from tests.pictures import plain
from tests.tools.verify.ledgers import verified

HOURS = QuietHours(time(22), time(7), "Europe/Berlin")


async def erased(database: Database, one: Person) -> str:
    """Erase a user by the command line of the house."""
    return await database.write(erasures.erase_by_house, one.account.username, "", forget)


async def furnished(database: Database, clock: FakeClock) -> tuple[Person, str]:
    """Somebody of whom a house has everything, with a lot that is over and that they have bought."""
    ada, bob = await person(database), await person(database, unique("bob"))
    soon = clock.now + timedelta(minutes=5)
    bought, own = await sells(database, ada, ends_at=soon), await sells(database, bob, ends_at=soon)
    await bid(database, bob.bids(bought, "up to 300", key="once"), ada.bids(own, "100"))
    asked = [await database.write(questions.ask, bob.token, bought, one) for one in ("Open?", "Answered?")]
    await database.write(questions.answer, ada.token, bought, asked[1].number, "Yes.")
    clock.advance(minutes=10)
    await database.write(settle_due, reopens=False)
    await has_mail(database, bob, "bob@example.org")
    await database.write(contacts.change, bob.token, "Bob, 0171 123")
    await database.write(watching.watch, bob.token, bought)
    photo = await database.write(photos.keep, bob.token, make(plain()))
    await database.write(drafts.save, bob.token, "draft", DraftForm({"name": "Clock"}, [("0", "5")], [photo.id]))
    await database.write(second_factors.begin, bob.account.id, b"sealed", clock.now)
    await database.write(second_factors.replace_recovery_codes, bob.account.id, ["digest"])
    await database.write(choosing.choose, bob.token, ChoiceChange(mail={"won": False}, quiet=(HOURS,)))
    await database.write(outbox.post, Message(kind="test", key="1", facts={}, receiver=bob.account.id))
    facts = {"price": "300.000", "winner": bob.account.username}
    await database.write(outbox.post, Message(kind="sold", key="2", facts=facts, receiver=ada.account.id))
    event = Message(
        kind="notice.sold", key="3", facts={"data": facts}, receiver=ada.account.id, address="1", channel=WEBHOOK
    )
    await database.write(outbox.post, event)
    await database.write(mail_links.ask, bob.account.username, "de", clock.now)
    await database.write(sanctions.impose, bob.account.username, Sanction.WARNING, "Be polite.")
    await database.write(account_rows.set_seller, bob.account.id, clock.now)
    return bob, bought


def rows_with(tx: Transaction, text: str) -> set[str]:
    """The tables in which a text stands anywhere."""
    found = set()
    for table in TABLES.tables:
        for row in tx.execute(select(table)):
            if any(
                text in (str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)) for value in row
            ):
                found.add(table.name)
    return found


def rows_of(tx: Transaction, number: int) -> set[str]:
    """The columns that refer to a user."""
    return {
        f"{table.name}.{key.parent.name}"
        for table in TABLES.tables
        for key in table.foreign_keys
        if key.column is users.c.id
        if tx.execute(select(table).where(key.parent == number).limit(1)).first()
    }


async def test_nothing_is_left_but_pseudonyms(open_database: OpenDatabase, clock: FakeClock) -> None:
    """No row has the name or the address, in no process; lots, bids and an answered question stay, and ledgers are whole."""
    database, other = open_database(clock=clock), open_database(clock=clock)
    bob, gid = await furnished(database, clock)
    for one in (database, other):
        assert bob.account.username.encode() in await one.read(shown, gid)
    before = await database.read(hashes)
    pseudonym = await erased(database, bob)
    for one in (database, other):
        assert pseudonym.encode() in await one.read(shown, gid)
        assert bob.account.username.encode() not in await one.read(shown, gid)
    assert set() == await database.read(rows_with, bob.account.username)
    told = [word.facts for word in await database.read(outbox.listed, {State.WAITING}, 9) if word.kind.endswith("sold")]
    assert [{"data": {"price": "300.000", "winner": pseudonym}}, {"price": "300.000", "winner": pseudonym}] == told
    for gone in ("0171 123", "Be polite."):
        assert set() == await database.read(rows_with, gone) - {"audit"}
    assert {"outbox"} == await database.read(rows_with, "bob@example.org")  # the last word to them
    assert [("erased", "bob@example.org")] == [one for one in await mails(database) if "@" in (one[1] or "")]
    stays = {"auctions.author_id", "auctions.current_bidder_id", "questions.asker_id", "audit.user_id"}
    assert stays == await database.read(rows_of, bob.account.id)
    assert before == await database.read(hashes)
    assert [] == await database.read(ledger_check.faults_of)
    assert {pseudonym} == {one.bidder for one in await database.read(bid_rows.newest, 1, 9, None)}
    [entry] = await database.read(audit.newest, audit.EntryFilter(), 1, None)
    assert ("user.erased", pseudonym, None) == (entry.act, entry.user, entry.by)
    with pytest.raises(Unauthenticated):
        await database.write(contacts.change, bob.token, "again")


def hashes(tx: Transaction) -> list[str]:
    """The hash of every event in the log."""
    wires = tx.execute(select(events.c.payload).where(events.c.payload.is_not(None)).order_by(events.c.id)).scalars()
    return [msgspec.json.decode(wire)["hash"] for wire in wires]


async def test_a_ledger_verifies_without_a_name(
    clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads a ledger again finds a pseudonym, in an auction that ended or was cancelled, for seller and bidder.

    A ledger that an older house began has the name, and `verify --database` goes on to compare it.
    """
    ada, bob = await person(clocked_database), await person(clocked_database)
    soon = clock.now + timedelta(minutes=5)
    new = await sells(clocked_database, ada, ends_at=soon)
    monkeypatch.setattr(auctions, "new_seed", lambda: "5a" * 32)
    old = await sells(clocked_database, ada, ends_at=soon)
    for gid in (new, old):
        await bid(clocked_database, bob.bids(gid, "up to 300"))
    clock.advance(minutes=10)
    await clocked_database.write(settle_due, reopens=False)
    for one in (bob, ada):
        before = {gid: verified(await ledger(clocked_database, gid)).head for gid in (new, old)}
        await erased(clocked_database, one)
        for gid, head in before.items():
            left = await ledger(clocked_database, gid)
            assert head == verified(left).head
            assert (gid == old) == (one.account.username.encode() in left)
    assert [] == await clocked_database.read(ledger_check.faults_of)


async def ledger(database: Database, gid: str) -> bytes:
    """The ledger of a lot, as anyone reads it."""
    auction = await database.read(auction_rows.get, gid)
    assert auction is not None
    return b"".join([page async for page in ledgers.lines(database, auction)])


def shown(tx: Transaction, gid: str) -> bytes:
    """A lot as anyone sees it, from what the process remembers of it if that is current."""
    found = auction_rows.get(tx, gid)
    assert found is not None
    return auction_rows.public_json(tx, found)


async def test_a_name_that_the_log_never_had_is_a_fault(
    clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older log of somebody who was erased is compared with the digest of the name that they had."""
    monkeypatch.setattr(auctions, "new_seed", lambda: "5a" * 32)
    bob, _ = await furnished(clocked_database, clock)
    await erased(clocked_database, bob)
    forged = users.update().where(users.c.id == bob.account.id).values(former_name="0" * 64)
    await clocked_database.write(lambda tx: tx.execute(forged))
    found = await clocked_database.read(ledger_check.faults_of)
    assert 2 == len(found) and all(bob.account.username in one for one in found)


async def test_a_pseudonym_of_somebody_who_is_there_is_a_fault(clocked_database: Database, clock: FakeClock) -> None:
    """Only the events of somebody who was erased say no name."""
    bob, _ = await furnished(clocked_database, clock)
    await erased(clocked_database, bob)
    forged = users.update().where(users.c.id == bob.account.id).values(former_name=None)
    await clocked_database.write(lambda tx: tx.execute(forged))
    assert 2 == len(await clocked_database.read(ledger_check.faults_of))


async def test_nobody_gets_the_name_again(database: Database) -> None:
    """Neither the name that was erased nor a pseudonym can be registered, and nobody is erased twice."""
    bob = await person(database)
    pseudonym = await erased(database, bob)
    for name in (bob.account.username, pseudonym, "erased.bob"):
        with pytest.raises(UsernameTaken):
            await database.write(accounts.register, name, "no digest")
    for name in (bob.account.username, pseudonym):
        with pytest.raises(UnknownUser):
            await database.write(erasures.erase_by_house, name, "", forget)
        with pytest.raises(UnknownUser):
            await database.write(accounts.set_digest, name, "digest")
    with pytest.raises(Unauthenticated):  # such as a lot that is put up by a request under way
        await database.write(account_rows.lock_user, bob.account.id)


async def test_what_stands_in_its_way(database: Database) -> None:
    """A running lot, a bid on one, also one that was outbid but not one that was voided; and being the last owner."""
    ada, bob, owner = [await person(database) for _ in range(3)]
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"), owner.bids(gid, "200"))
    for one in (ada, bob):
        with pytest.raises(LotsRunning) as refused:
            await erased(database, one)
        assert gid == refused.value.facts["lot"]
    staff = await person(database)
    await database.write(account_rows.set_role, staff.account.id, Role.OWNER)
    await database.write(moderation.void_bid, staff.token, gid, 2, "A slip.")
    await erased(database, bob)
    with pytest.raises(LastOwner):
        await erased(database, staff)
    await database.write(auctions.close, ada.token, gid, None, None)
    await erased(database, ada)
    await erased(database, owner)
    assert [] == await database.read(ledger_check.faults_of)


async def test_bids_in_flight_in_another_process(open_database: OpenDatabase) -> None:
    """Either the bid is decided first and the erasure refused, or the bid finds no token; so with a lot that is put up."""
    here, there = open_database(), open_database()
    ada = await person(here)
    for round_ in range(6):
        bob, gid = await person(here), await sells(here, ada)
        bids = here.write(slowly, bob.bids(gid, "100"))
        others = (erased(here, bob),) if round_ % 2 else (sells(here, bob),)
        acts = (bids, erased(there, bob)) if round_ % 3 else (erased(there, bob), bids)
        done = await asyncio.gather(*acts, *others, return_exceptions=True)
        names = {row.username for row in await here.read(lambda tx: tx.execute(select(users.c.username)).all())}
        is_gone = bob.account.username not in names
        running = await here.read(rows_of, bob.account.id) & {"auctions.author_id", "auctions.current_bidder_id"}
        assert is_gone != bool(running), done
        assert all(isinstance(one, str | LotsRunning | Unauthenticated | UnknownUser) for one in done), done
    assert [] == await here.read(ledger_check.faults_of)


def slowly(tx: Transaction, command: BidCommand) -> str:
    """Place a bid, and commit a little later, as a process does whose machine is busy."""
    [answer] = place_bids(tx, [command])
    if tx.dialect == "postgresql":
        tx.execute(text("SELECT pg_sleep(0.05)"))
    return str(answer)
