"""People and auctions put straight into the tables, for tests that are about the records and not about a door."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from sqlalchemy import func, insert, select

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Event
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.recording import advance, begin_ledger
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction
from tests.bidding.domain.playing import T0, party
from tests.fixtures_database import unique
from tests.histories import PEOPLE


def add_people(tx: Transaction) -> None:
    """Store the people of `PEOPLE` under the numbers that `playing.party` gives them, unless they are there."""
    if tx.execute(select(users.c.id).limit(1)).first() is None:
        parties = [party(who) for who in range(len(PEOPLE))]
        tx.execute(insert(users), [{"id": one.id, "username": one.name, "created_at": T0} for one in parties])
        if tx.dialect == "postgresql":  # its sequence does not know which numbers are taken
            tx.execute(select(func.setval(func.pg_get_serial_sequence("users", "id"), parties[-1].id)))


def add_author(tx: Transaction, name: str | None = None) -> Party:
    """Store one more person, with an unused name."""
    name = name or unique("author")
    row = {"username": name, "created_at": T0}
    return Party(tx.execute(insert(users).returning(users.c.id), row).scalar_one(), name)


def add_auction(tx: Transaction, author: Party, **terms: Any) -> Auction:
    """Store an auction that began at T0 and its creation in the log; it starts at 100.000 unless `terms` say otherwise."""
    draft = Draft(**{"name": "Longcase clock", "starting_price": Decimal("100.000"), **terms})
    created = selling.create(unique("gid"), author, draft, T0)
    return begin_ledger(tx, created)


def go_on(tx: Transaction, auction: Auction, events: Iterable[Event]) -> Auction:
    """Record what happens to an auction."""
    return advance(tx, auction, events)
