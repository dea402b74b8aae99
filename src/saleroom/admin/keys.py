"""`saleroom keys`: the keys that receipts are signed with, listed; a new one; and a new secret of the house."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.codes import seal_again
from saleroom.accounts.service.sealing import Sealing
from saleroom.admin.findings import Finding, fine, off, warned
from saleroom.admin.notice_checks import read
from saleroom.bidding.service import signing
from saleroom.bidding.storage import signing_keys
from saleroom.bidding.storage.signing_keys import KeyRow
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.kernel.errors import Refusal
from saleroom.kernel.instants import instant
from saleroom.kernel.terminal import plain
from saleroom.notices.storage import pushes
from saleroom.opening import run, with_tables
from saleroom.settings import Settings
from saleroom.storage import secrets
from saleroom.storage.database import Database, Transaction

RENEWED_AFTER = timedelta(days=730)
"""How long one key signs at most (NIST SP 800-57, part 1, 5.3.6: one to three years)."""


def listed(settings: Settings) -> Sequence[tuple[str, str, str]]:
    """Return the thumbprint of each key, since when it signs, and where its private half is; the newest first."""

    async def work(database: Database) -> list[KeyRow]:
        await with_tables(database)
        return await database.read(signing_keys.all_keys)

    return [(row.kid, instant(row.created_at), _where(settings, row)) for row in run(settings, work)]


def _where(settings: Settings, row: KeyRow) -> str:
    if row.private is not None:
        return "database"
    return "gone" if settings.signing_key_file is None else "file"


def renew(settings: Settings) -> str:
    """Make a new key in the database and return a line that says so. Raises Refusal if a file has the key."""
    if settings.signing_key_file is not None:
        file = plain(str(settings.signing_key_file))
        raise Refusal(f"the key is in {file}: put that file away and start the house, which makes another one there")

    async def work(database: Database) -> str:
        await with_tables(database)
        return await database.write(_renewed)

    kid = run(settings, work)
    return f"The new key is {kid}. A house that serves signs with it once it is started again."


def _renewed(tx: Transaction) -> str:
    before = next(iter(signing_keys.all_keys(tx)), None)
    kid = signing.renew(tx).kid
    note(tx, None, Act.KEY_RENEWED, "receipts", {} if before is None else {"key": before.kid}, {"key": kid})
    return kid


def refuse_without_house(settings: Settings) -> None:
    """Raise Refusal unless there is a house, before anybody is asked about its secret."""
    run(settings, with_tables)


def renew_secret(settings: Settings) -> str:
    """Make a new secret of the house and return a line that says so."""

    async def work(database: Database) -> int:
        await with_tables(database)
        return await database.write(_another_secret)

    ended = run(settings, work)
    return f"The house has a new secret. {ended} browsers no longer get pushes, and each webhook has a new secret."


def _another_secret(tx: Transaction) -> int:
    """Put another secret in place, keep the one-time codes of users, and return how many subscriptions to pushes are gone."""
    before, after = HouseSecret(), HouseSecret()
    before.learn(secrets.find_or_make(tx))
    after.learn(secrets.renew(tx))
    seal_again(tx, *(Sealing(partial(one.key, Purpose.SECOND_FACTORS)) for one in (before, after)))
    ended = pushes.end_all(tx)  # push services take nothing for them that another key has signed
    note(tx, None, Act.SECRET_RENEWED, "house", {}, {})
    return ended


async def check(settings: Settings, _: str | None) -> Sequence[Finding]:
    """The key that signs receipts is less than two years old."""
    age = await read(settings, _age)
    if age is None:
        return [off("keys", "there is no key for receipts that can be read; see database and tables")]
    if age > RENEWED_AFTER:
        what = f"receipts have been signed with one key for {age.days} days"
        return [warned("keys", what, "make a new one with saleroom keys renew, and start the house again")]
    return [fine("keys", "the key for receipts is less than two years old")]


def _age(tx: Transaction) -> timedelta | None:
    newest = next(iter(signing_keys.all_keys(tx)), None)
    return None if newest is None else tx.now() - newest.created_at
