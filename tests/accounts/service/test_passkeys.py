"""Passkeys: what a right answer does, and that no wrong one does anything."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import func, select
from structlog.testing import capture_logs

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import (
    InvalidPasskey,
    PasskeyNotAdded,
    TooManyPasskeys,
    UnknownPasskey,
    UnknownUser,
    WrongPassword,
)
from saleroom.accounts.domain.passkeys import CHALLENGE_LIFETIME, PASSKEYS_MAX
from saleroom.accounts.domain.rights import Right, Role, Scope
from saleroom.accounts.service import access_tokens, one_time_codes, passkeys, sweeper
from saleroom.accounts.service.access_tokens import AccessTokenTerms
from saleroom.accounts.service.accounts import IssuedToken, authenticate, set_digest
from saleroom.accounts.service.codes import STAFF_NEEDS_CODES
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.throttle import FREE_FAILURES
from saleroom.accounts.storage import accounts, second_factors
from saleroom.accounts.storage import passkeys as rows
from saleroom.accounts.storage.tables import audit as audit_table
from saleroom.accounts.storage.tables import used_challenges
from saleroom.kernel.errors import MissingRight, TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.accounts.authenticator import PRESENT, Device
from tests.accounts.service.mailed import has_mail, mails, says
from tests.accounts.service.passkey_hall import BROWSER, ELSEWHERE, HERE, HOUSE, PASSWORD, Hall
from tests.bidding.service.people import Person
from tests.fixtures_database import FakeClock


@pytest.fixture
def hall(clocked_database: Database, clock: FakeClock, passwords: Passwords) -> Hall:
    """An empty house."""
    return Hall(clocked_database, clock, passwords)


on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""For tests that are the same on every database."""


async def test_a_passkey_from_its_adding_to_its_end(hall: Hall) -> None:
    """It logs in without password and code, in any process; the list says when; once it is removed, it opens nothing."""
    token = await hall.enter()
    device = await hall.add(token)
    [one] = await hall.database.read(passkeys.own, token)
    assert ("Phone", None, "bids.example", 1) == (one.name, one.used_at, one.party, one.sign_count)
    hall.clock.advance(60)
    with capture_logs() as lines:
        opened = await hall.log_in(device)
    told = [one for one in lines if "user" in one]  # a house that another test has started may write lines meanwhile
    assert [("somebody logged in", "ada", HERE)] == [(one["event"], one["user"], one["address"]) for one in told]
    assert "ada" == (await hall.database.read(authenticate, opened.value, Right.ACCOUNT)).username
    [one] = await hall.database.read(passkeys.own, token)
    assert (hall.clock.now, 2) == (one.used_at, one.sign_count)
    asked = await hall.passkeys.ask(BROWSER, HOUSE)
    await hall.process().log_in(asked.ticket, BROWSER, device.get(asked.options), HOUSE, HERE)
    await hall.passkeys.remove(token, PASSWORD, one.id, HERE)
    with pytest.raises(InvalidPasskey):
        await hall.log_in(device)
    with pytest.raises(UnknownPasskey):
        await hall.passkeys.remove(token, PASSWORD, one.id, HERE)
    assert "ada" == (await hall.database.read(authenticate, opened.value, Right.ACCOUNT)).username


@on_sqlite
async def test_what_a_browser_is_asked(hall: Hall) -> None:
    """Devices verify their user and keep the passkey; they learn no number of the user, and are not asked who somebody is."""
    token = await hall.enter()
    device = await hall.add(token)
    asked = json.loads((await hall.begin(token)).options)
    assert ("required", "required") == tuple(
        asked["authenticatorSelection"][name] for name in ("residentKey", "userVerification")
    )
    assert ("none", "bids.example", 32) == (asked["attestation"], asked["rp"]["id"], len(device.handle))
    assert 1 == len(asked["excludeCredentials"])
    login = json.loads((await hall.passkeys.ask(BROWSER, HOUSE)).options)
    assert ([], "required", "bids.example") == (
        login["allowCredentials"],
        login["userVerification"],
        login["rpId"],
    )


WRONG: dict[str, dict[str, Any]] = {
    "another origin": {"says": {"origin": ELSEWHERE.origin}},
    "the origin by http": {"says": {"origin": "http://bids.example"}},
    "another port": {"says": {"origin": "https://bids.example:444"}},
    "another house": {"party": ELSEWHERE.id},
    "another challenge": {"says": {"challenge": "AAAA"}},
    "another ceremony": {"says": {"type": "payment.get"}},
    "a frame": {"says": {"crossOrigin": True}},
}


@on_sqlite
async def test_a_wrong_answer_logs_nobody_in(hall: Hall) -> None:
    """A signature by the right key for anything but this page, this challenge and this user is refused, and logged."""
    device = await hall.add(await hall.enter())
    for name, wrong in {**WRONG, "another user": {"handle": b"another"}, "no user": {"handle": None}}.items():
        with capture_logs() as lines:
            answer = await asyncio.gather(hall.log_in(device, **wrong), return_exceptions=True)
        assert isinstance(answer[0], InvalidPasskey), name
        assert ["a login by passkey failed"] == [one["event"] for one in lines]
        await hall.log_in(device)


@on_sqlite
async def test_a_wrong_answer_adds_no_passkey(hall: Hall) -> None:
    """No passkey for another page, another challenge or with an attestation that nobody asked for is added."""
    token = await hall.enter()
    asked, device = await hall.begin(token), Device(HOUSE.origin)
    for name, wrong in {**WRONG, "SafetyNet": {"form": "android-safetynet"}, "no form": {"form": "what"}}.items():
        sent = hall.passkeys.add(token, asked.ticket, device.create(asked.options, **wrong), HOUSE, HERE)
        [answer] = await asyncio.gather(sent, return_exceptions=True)
        assert isinstance(answer, PasskeyNotAdded), name
    assert [] == await hall.database.read(passkeys.own, token)
    await hall.passkeys.add(token, asked.ticket, device.create(asked.options), HOUSE, HERE)


@on_sqlite
async def test_a_device_that_does_not_verify_its_user(hall: Hall) -> None:
    """A device that asks for no fingerprint, face or PIN adds nothing and logs nobody in: it would be one factor."""
    token = await hall.enter()
    device = Device(HOUSE.origin, flags=PRESENT)
    with pytest.raises(PasskeyNotAdded):
        await hall.add(token, device)
    device.flags = 0x04  # verified, and not present
    with pytest.raises(PasskeyNotAdded):
        await hall.add(token, device)
    device = await hall.add(token)
    device.flags = PRESENT
    with pytest.raises(InvalidPasskey):
        await hall.log_in(device)


async def test_a_challenge_counts_once(hall: Hall) -> None:
    """Of many who send one right answer at the same time, to two processes, one logs in; the same holds for a new passkey."""
    token = await hall.enter()
    asked, device = await hall.begin(token), Device(HOUSE.origin, counts=False)
    answer = device.create(asked.options)
    sent = [one.add(token, asked.ticket, answer, HOUSE, HERE) for one in (hall.passkeys, hall.process()) for _ in "12"]
    found = await asyncio.gather(*sent, return_exceptions=True)
    assert 3 == sum(isinstance(one, PasskeyNotAdded) for one in found), found
    another = Device(HOUSE.origin).create(asked.options)
    with pytest.raises(PasskeyNotAdded):
        await hall.passkeys.add(token, asked.ticket, another, HOUSE, HERE)
    asked = await hall.passkeys.ask(BROWSER, HOUSE)
    answer = device.get(asked.options)
    processes = (hall.passkeys, hall.process())
    tries = [one.log_in(asked.ticket, BROWSER, answer, HOUSE, HERE) for one in processes for _ in "12"]
    opened = await asyncio.gather(*tries, return_exceptions=True)
    assert 1 == sum(isinstance(one, IssuedToken) for one in opened), opened
    assert 3 == sum(isinstance(one, InvalidPasskey) for one in opened), opened


@on_sqlite
async def test_a_challenge_of_another_browser_or_use(hall: Hall) -> None:
    """A challenge is good in the browser and for the use that it was made for, for five minutes."""
    ada, eve = await hall.enter(), await hall.enter("eve")
    device = await hall.add(ada)
    asked = await hall.passkeys.ask(BROWSER, HOUSE)
    answer = device.get(asked.options)
    adding = await hall.begin(ada)
    late = timedelta(seconds=1) + CHALLENGE_LIFETIME
    for ticket, browser, advance in (
        (asked.ticket, "another browser", timedelta()),
        (b"", BROWSER, timedelta()),
        (os.urandom(200), BROWSER, timedelta()),
        (adding.ticket, BROWSER, timedelta()),
        (asked.ticket, BROWSER, late),
    ):
        hall.clock.advance(advance.total_seconds())
        with pytest.raises((InvalidPasskey, TooManyRequests)):
            await hall.passkeys.log_in(ticket, browser, answer, HOUSE, HERE)
    for token, ticket in (
        (eve, (await hall.begin(ada)).ticket),
        (ada, asked.ticket),
        (ada, adding.ticket),
        (ada, b"x"),
    ):
        with pytest.raises(PasskeyNotAdded):
            await hall.passkeys.add(token, ticket, Device(HOUSE.origin).create(adding.options), HOUSE, HERE)


@on_sqlite
async def test_the_passkey_of_somebody_else(hall: Hall) -> None:
    """Eve's device cannot log in as Ada, whatever it says of itself, and nobody adds a passkey that Ada has."""
    ada, eve = await hall.enter(), await hall.enter("eve")
    hers, eves = await hall.add(ada), await hall.add(eve)
    eves.handle = hers.handle
    with pytest.raises(InvalidPasskey):
        await hall.log_in(eves)
    eves.credential_id = hers.credential_id
    with pytest.raises(InvalidPasskey):
        await hall.log_in(eves)
    with pytest.raises(PasskeyNotAdded):
        await hall.add(eve, eves)
    [one] = await hall.database.read(passkeys.own, ada)
    with pytest.raises(UnknownPasskey):
        await hall.passkeys.remove(eve, PASSWORD, one.id, HERE)
    await hall.log_in(hers)


@on_sqlite
async def test_a_counter_that_goes_back(hall: Hall) -> None:
    """A copy of a passkey is refused and noted; the device that is ahead goes on. Others need not count."""
    token = await hall.enter()
    device = await hall.add(token)
    await hall.log_in(device)
    device.count = 0
    with capture_logs() as lines, pytest.raises(InvalidPasskey):
        await hall.log_in(device)
    assert "may have been copied" in lines[0]["event"]
    device.count = 7
    await hall.log_in(device)
    plain = await hall.add(token, Device(HOUSE.origin, counts=False))
    for _ in "12":
        await hall.log_in(plain)


@on_sqlite
async def test_answers_that_are_none(hall: Hall) -> None:
    """Whatever is sent in place of an answer is refused in the same way, and too many tries have to wait as at any login."""
    token = await hall.enter()
    good = (await hall.add(token)).get((await hall.passkeys.ask(BROWSER, HOUSE)).options)
    parts = json.loads(good)
    deep = "[" * 9000
    strange = ["", "{}", "[]", "null", "\x00", deep, good[:-9], json.dumps({**parts, "response": {}})]
    strange += [json.dumps({**parts, "id": value, "rawId": value}) for value in ("", "A", "ä", "AAAA" * 400, None, 7)]
    for name in ("clientDataJSON", "authenticatorData", "signature", "userHandle"):
        strange += [
            json.dumps({**parts, "response": {**parts["response"], name: value}}) for value in ("", "%", "AAAA", 7)
        ]
    asked = await hall.begin(token)
    for number, answer in enumerate(strange):
        ticket = (await hall.passkeys.ask(BROWSER, HOUSE)).ticket
        with pytest.raises(InvalidPasskey):
            await hall.passkeys.log_in(ticket, BROWSER, answer, HOUSE, f"198.51.100.{number + 1}")
        with pytest.raises(PasskeyNotAdded):
            await hall.passkeys.add(token, asked.ticket, answer, HOUSE, HERE)
    for _ in range(FREE_FAILURES):
        with pytest.raises(InvalidPasskey):
            await hall.passkeys.log_in(b"", BROWSER, good, HOUSE, HERE)
    with pytest.raises(TooManyRequests):
        await hall.passkeys.log_in(b"", BROWSER, good, HOUSE, HERE)


@on_sqlite
async def test_adding_needs_the_password_and_room(hall: Hall) -> None:
    """A thief of a session adds none, and nobody has more than the limit, also if all came at the same time."""
    token = await hall.enter()
    with pytest.raises(WrongPassword):
        await hall.passkeys.begin(token, "wrong horse", "Phone", HOUSE, HERE)
    with pytest.raises(Unauthenticated):
        await hall.passkeys.begin("dead", PASSWORD, "Phone", HOUSE, HERE)
    account = await hall.database.read(authenticate, token, Right.ACCOUNT)
    first, last = await hall.begin(token), await hall.begin(token)
    phone = rows.PasskeyRow(
        user_id=account.id,
        credential_id=b"",
        public_key=b"k",
        handle=b"h",
        party=HOUSE.id,
        sign_count=0,
        name="Phone",
        created_at=hall.clock.now,
    )
    for number in range(PASSKEYS_MAX - 1):
        await hall.database.write(rows.add, structs.replace(phone, credential_id=bytes([number])))
    device = Device(HOUSE.origin)
    await hall.passkeys.add(token, first.ticket, device.create(first.options), HOUSE, HERE)
    with pytest.raises(TooManyPasskeys):
        await hall.passkeys.add(token, last.ticket, Device(HOUSE.origin).create(last.options), HOUSE, HERE)
    with pytest.raises(TooManyPasskeys):
        await hall.begin(token)


@on_sqlite
async def test_it_counts_as_both_factors(hall: Hall) -> None:
    """With one-time codes on it needs no code. Where staff needs codes, the session that it opened has the staff's rights.

    Those by the password alone have not, even though there is a passkey; and that session no longer, once it is removed.
    """
    token = await hall.enter()
    account = await hall.database.read(authenticate, token, Right.ACCOUNT)
    await hall.database.write(accounts.set_role, account.id, Role.OWNER)
    hall.database.switch_on(STAFF_NEEDS_CODES)
    device = await hall.add(token)
    opened = (await hall.log_in(device)).value
    robot = AccessTokenTerms("robot", frozenset({Scope.STAFF}), 7)
    made = await access_tokens.make(hall.accounts, opened, PASSWORD, HERE, robot)
    weak = await access_tokens.make(hall.accounts, token, PASSWORD, HERE, robot)
    for strong in (opened, made.value):
        await hall.database.read(authenticate, strong, Right.READ_OUTBOX)
    for one in (token, weak.value, (await hall.accounts.log_in("ada", PASSWORD, HERE)).value):
        with pytest.raises(MissingRight):
            await hall.database.read(authenticate, one, Right.READ_OUTBOX)
    [key] = await hall.database.read(passkeys.own, token)
    await hall.passkeys.remove(token, PASSWORD, key.id, HERE)
    for one in (opened, made.value):
        with pytest.raises(MissingRight):
            await hall.database.read(authenticate, one, Right.READ_OUTBOX)
    device = await hall.add(token)
    await hall.database.write(second_factors.begin, account.id, b"sealed", hall.clock.now)
    await hall.database.write(second_factors.confirm, account.id, hall.clock.now)
    await hall.log_in(device)


@on_sqlite
async def test_the_user_is_told(hall: Hall) -> None:
    """Adding and removing are told by mail; the owner's command removes all, and is noted. Another password changes nothing."""
    token = await hall.enter()
    account = await hall.database.read(authenticate, token, Right.ACCOUNT)
    await has_mail(hall.database, Person(account, token), "ada@example.org")
    before = len(await mails(hall.database))
    device = await hall.add(token, name="Ada's key")
    assert "Ada's key" == (await says(hall.database) or {})["passkey"]
    [one] = await hall.database.read(passkeys.own, token)
    await hall.passkeys.remove(token, PASSWORD, one.id, HERE)
    hall.clock.advance(1)
    device = await hall.add(token)
    await hall.database.write(set_digest, "ada", "another digest")
    opened = await hall.log_in(device)
    hall.clock.advance(1)
    assert 1 == await hall.database.write(passkeys.remove_all, "ada")
    assert 0 == await hall.database.write(passkeys.remove_all, "ada")
    with pytest.raises(UnknownUser):
        await hall.database.write(passkeys.remove_all, "nobody")
    told = [kind for kind, _ in (await mails(hall.database))[before:]]
    assert ["passkey_added", "passkey_removed", "passkey_added", "password_changed", "passkey_removed"] == told
    [noted] = [one for one in await hall.database.read(_noted) if one == Act.PASSKEYS_REMOVED]
    assert noted
    with pytest.raises(InvalidPasskey):
        await hall.log_in(device)
    assert [] == await hall.database.read(passkeys.own, opened.value)
    assert one_time_codes.Security(None, 0) == await hall.database.read(one_time_codes.security, opened.value)


@on_sqlite
async def test_used_challenges_are_swept(hall: Hall) -> None:
    """A used challenge is kept until it would have expired, and no longer. Asking for one writes nothing."""

    def count(tx: Transaction) -> int:
        return int(tx.execute(select(func.count()).select_from(used_challenges)).scalar_one())

    await hall.passkeys.ask(BROWSER, HOUSE)
    assert 0 == await hall.database.read(count)
    await hall.add(await hall.enter())
    await hall.database.write(sweeper.sweep)
    assert 1 == await hall.database.read(count)
    hall.clock.advance(CHALLENGE_LIFETIME.total_seconds())
    await hall.database.write(sweeper.sweep)
    assert 0 == await hall.database.read(count)


def _noted(tx: Transaction) -> list[str]:
    return [str(row.act) for row in tx.execute(select(audit_table.c.act))]
