"""`saleroom keys`: a new key for receipts, and what becomes of those before it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from saleroom.accounts.storage import audit
from saleroom.accounts.storage.audit import Which
from saleroom.admin import keys
from saleroom.bidding.service import signing
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage.signing_keys import all_keys
from saleroom.bidding.storage.tables import signing_keys
from saleroom.cli import main
from saleroom.storage.database import Database, Transaction


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
    [entry] = await database.read(audit.newest, Which(None, None), 9, None)
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
