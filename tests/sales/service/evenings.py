"""A published sale with lots and people, through the services."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service.admission import GATE
from saleroom.bidding.service.auctions import new_seed
from saleroom.bidding.service.recording import begin_ledger
from saleroom.kernel.parties import Party
from saleroom.sales.domain.lots import Entry, Lot, LotTerms
from saleroom.sales.domain.publication import created, publish
from saleroom.sales.domain.sale import Kind, Registration, Sale, SaleTerms
from saleroom.sales.service.people.admission import gate
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, person


@dataclass
class Evening:
    """A sale of `lots`, by gid, with a clerk."""

    database: Database
    sale: Sale
    lots: list[str]
    clerk: Person


async def evening(database: Database, count: int = 3, **terms: Any) -> Evening:
    """Publish a live sale whose lots start at 100; people register for it unless `terms` say otherwise."""
    database.provide(GATE, gate)
    owner, clerk = await person(database), await person(database)
    await database.write(accounts.set_role, clerk.account.id, Role.CLERK)
    said = {"title": "An evening", "registration": Registration.OPEN, **terms}
    sale, gids = await database.write(published, owner.account.party, count, **said)
    return Evening(database, sale, gids, clerk)


def published(
    tx: Transaction, /, owner: Party, count: int, consignor: int | None = None, reserve: str | None = None, **said: Any
) -> tuple[Sale, list[str]]:
    """Store and publish a live sale with so many lots, which may be those of a consignor and have a reserve."""
    sale = drafted(tx, owner, count, consignor, reserve, **said)
    now = sale.created_at
    events, plan = publish(sale, lots.of_sale(tx, sale.id), now)
    begun = [(lot, created(sale, lot, end, now, new_seed())) for lot, end in plan]
    made = {lot.id: begin_ledger(tx, event, sale_id=sale.id) for lot, event in begun}
    lots.put_up(tx, {number: auction.id for number, auction in made.items()})
    return sales.record(tx, sale, events), [auction.gid for auction in made.values()]


def drafted(
    tx: Transaction, /, owner: Party, count: int, consignor: int | None = None, reserve: str | None = None, **said: Any
) -> Sale:
    """Store the draft of such a sale."""
    now = tx.now()
    terms = SaleTerms(**{"title": "An evening", "kind": Kind.LIVE, "starts_at": now + timedelta(days=1), **said})
    sale = sales.add(tx, Sale(id=0, gid=secrets.token_hex(6), owner=owner, terms=terms, created_at=now))
    lots.add(tx, [_lot(sale, rank, consignor, reserve) for rank in range(1, count + 1)])
    return sale


def _lot(sale: Sale, rank: int, consignor: int | None, reserve: str | None) -> Lot:
    return Lot(
        id=0,
        gid=f"{sale.gid}-{rank}",
        sale_id=sale.id,
        auction_id=None,
        rank=rank,
        entry=Entry(label=str(rank), consignor_id=consignor),
        terms=LotTerms(
            name="A clock", starting_price=eur("100"), reserve_price=None if reserve is None else eur(reserve)
        ),
        withdrawn_for=None,
        created_at=sale.created_at,
    )
