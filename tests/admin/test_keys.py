"""`saleroom keys`: a new key for receipts, and what becomes of those before it; a new secret of the house."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from saleroom.accounts.service import accounts
from saleroom.accounts.service.codes import seal_secret, secret_of
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.storage import audit, second_factors
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.admin import keys
from saleroom.bidding.service import signing
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage.signing_keys import all_keys
from saleroom.bidding.storage.tables import signing_keys
from saleroom.cli import main
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.notices.domain.pushes import Subscription
from saleroom.notices.storage import pushes
from saleroom.storage.database import Database, Transaction

SUBSCRIPTION = Subscription(endpoint="https://push.example/1", p256dh="A" * 87, auth="B" * 22)


@pytest.fixture(autouse=True)
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A house without a broker in a folder of its own, with its tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALEROOM_MQTT", "off")
    assert 0 == main(["migrate"])


def listed(capfd: pytest.CaptureFixture[str]) -> list[list[str]]:
    """What the command lists, without the instants."""
    capfd.readouterr()
    assert 0 == main(["keys", "list"])
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    return [[kid, where] for kid, _, where in rows]


async def test_a_new_key_signs_and_the_one_before_stays_known(database: Database) -> None:
    """The next start signs with the new key; the private half of the one before is gone, and its public half is shown."""
    before = await database.read(SigningKey().signer)
    serving = SigningKey()
    assert before.kid == (await database.read(serving.signer)).kid
    kid = await database.write(keys._renewed)
    after = await database.read(SigningKey().signer)
    assert (kid, before.kid) == (after.kid, (await database.read(serving.signer)).kid)
    assert [kid, before.kid] == [key["kid"] for key in await database.read(signing.public_keys)]
    rows = await database.read(all_keys)
    assert [True, False] == [row.private is not None for row in rows]
    [entry] = await database.read(audit.newest, EntryFilter(None, None), 9, None)
    assert ("key.renewed", None, {"key": before.kid}, {"key": kid}) == (entry.act, entry.by, entry.before, entry.after)


def test_the_commands(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A new key stands above the ones before. If a file has the key, the command says what to do instead."""
    [[first, where]] = listed(capfd)
    assert "database" == where
    assert 0 == main(["keys", "renew"])
    [new, old] = listed(capfd)
    assert (["database"], [first, "gone"]) == (new[1:], old)
    monkeypatch.setenv("SALEROOM_SIGNING_KEY_FILE", str(tmp_path / "key.pem"))
    assert 1 == main(["keys", "renew"])
    assert "put that file away and start the house" in capfd.readouterr().err
    assert [new[0], first] == [kid for kid, _ in listed(capfd)]


def test_the_doctor_reminds_of_an_old_key(capfd: pytest.CaptureFixture[str]) -> None:
    """After two years the doctor says how to replace it; a new key is fine."""
    from saleroom.opening import run
    from saleroom.settings import load

    def age(tx: Transaction) -> None:
        tx.execute(update(signing_keys).values(created_at=tx.now() - timedelta(days=731)))

    async def work(database: Database) -> None:
        await database.write(age)

    for level in ("warn", "ok"):
        if level == "warn":
            run(load({}, {"SALEROOM_MQTT": "off"}, None), work)
        else:
            assert 0 == main(["keys", "renew"])
        capfd.readouterr()
        main(["doctor", "--json"])
        found = json.loads(capfd.readouterr().out)["findings"]
        assert [level] == [one["level"] for one in found if one["check"] == "keys"]


async def test_a_new_secret_keeps_one_time_codes_and_ends_pushes(database: Database) -> None:
    """Codes of apps open with the new secret alone. Push services would take nothing that the new key signs."""
    before = HouseSecret()
    await before.read(database)
    secret, user = b"twenty bytes, no more", await database.write(_with_codes_and_pushes, before)
    assert 1 == await database.write(keys._another_secret)
    after = HouseSecret()
    await after.read(database)
    codes = await database.read(second_factors.find, user)
    assert codes is not None
    opened = [secret_of(_sealing(one), codes) for one in (before, after)]
    assert ([None, secret], []) == (opened, await database.read(pushes.of_user, user))
    assert all(before.key(purpose) != after.key(purpose) for purpose in Purpose)
    [entry] = await database.read(audit.newest, EntryFilter(None, None), 9, None)
    assert ("secret.renewed", None, {}, {}) == (entry.act, entry.by, entry.before, entry.after)


async def test_codes_that_no_secret_opens_stay_as_they_are(database: Database) -> None:
    """A backup can bring codes that another secret has sealed. Recovery codes still count, and the command goes on."""
    stranger = HouseSecret()
    stranger.learn("00" * 32)
    user = await database.write(_with_codes_and_pushes, stranger)
    kept = await database.read(second_factors.find, user)
    await database.write(keys._another_secret)
    assert kept == await database.read(second_factors.find, user)


def test_the_command_asks_before_it_makes_a_new_secret(capfd: pytest.CaptureFixture[str]) -> None:
    """Links, webhooks and pushes end, so nobody does that by mistake."""
    assert 0 == main(["keys", "renew-secret", "--yes"])
    assert "a new secret. 0 browsers no longer get pushes" in capfd.readouterr().out
    assert 0 != main(["keys", "renew-secret"])  # nobody answers


def _sealing(secret: HouseSecret) -> Sealing:
    return Sealing(lambda: secret.key(Purpose.SECOND_FACTORS))


def _with_codes_and_pushes(tx: Transaction, secret: HouseSecret) -> int:
    """Add a user with one-time codes and a browser that gets pushes, and return the number."""
    now = tx.now()
    added = insert(users).values(username="ada", created_at=now).returning(users.c.id)
    user = int(tx.execute(added).scalar_one())
    second_factors.begin(tx, user, seal_secret(_sealing(secret), user, b"twenty bytes, no more"), now)
    token = accounts.token_digest(accounts.new_token_value())
    login = {"user_id": user, "token": token, "created_at": now, "expires_at": now + timedelta(days=1)}
    tx.execute(insert(auth_tokens), login)
    pushes.add(tx, user, token, SUBSCRIPTION)
    return user
