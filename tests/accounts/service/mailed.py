"""What the outbox holds for people, as a test reads it: the mails in order, and the codes of their links."""

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from saleroom.accounts.service import addresses, recovery
from saleroom.accounts.service.account_mails import MAILS
from saleroom.accounts.storage import mail_links
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.outbox.message import State, Word
from saleroom.outbox.store import listed
from saleroom.storage import secrets
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person
from tests.fixtures_house import House

KINDS = {kind.name: kind for kind in MAILS}


def sign(text: str) -> str:
    """What only this test's house can compute."""
    return hashlib.sha256(f"house {text}".encode()).hexdigest()[:22]


async def mails(database: Database) -> list[tuple[str, str | None]]:
    """Every mail that was posted, in order, as its kind and its address."""
    return [(word.kind, word.address) for word in await database.read(_words)]


async def says(database: Database, number: int = -1) -> Mapping[str, Any] | None:
    """What a mail says, the last one unless a `number` says which; None if it is of no more use."""

    def read(tx: Transaction) -> Mapping[str, Any] | None:
        word = _words(tx)[number]
        return KINDS[word.kind].context(tx, word, sign)

    return await database.read(read)


async def code(database: Database, number: int = -1) -> str:
    """The code in a mail with a link."""
    found = await says(database, number)
    assert found is not None, "the link has ended"
    return str(found["code"])


async def has_mail(database: Database, one: Person, address: str) -> None:
    """Give a user a verified mail address."""
    await database.write(addresses.give, one.account, address, "en")
    await database.write(addresses.verify, await code(database), "en", sign)


def _words(tx: Transaction) -> list[Word]:
    return listed(tx, list(State), 1000)[::-1]


def sent_by(house: House) -> list[Mapping[str, Any]]:
    """What the mails of a running house say, in order, those of no more use left out."""

    def read(tx: Transaction) -> list[Mapping[str, Any]]:
        secret = HouseSecret()
        secret.learn(secrets.find_or_make(tx))
        own = partial(secret.sign, Purpose.MAILS)
        found = [(word, KINDS[word.kind].context(tx, word, own)) for word in _words(tx)]
        return [{"kind": word.kind, "to": word.address, **said} for word, said in found if said is not None]

    return house.write(read)


def answer_requests(house: House) -> None:
    """Have a running house answer all requests for a link, also those that earlier tests have left."""
    while house.read(mail_links.asked, 1):
        house.write(recovery.answer_next)
