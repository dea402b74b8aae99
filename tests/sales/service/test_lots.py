"""Lots that are put into sales: many take as many statements as one."""

from saleroom.accounts.domain.accounts import Holder
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.service.lots import NewLot, put_in
from saleroom.sales.storage import sales
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.sales.service.evenings import Evening, evening
from tests.statements import counted


def added(tx: Transaction, on: Evening, count: int) -> tuple[list[str], int]:
    """Put so many lots into a published sale; return their labels, and how often lots were read."""
    sale, clerk = sales.get(tx, on.sale.gid), on.clerk.account
    assert sale is not None
    new = [NewLot(terms=LotTerms(name=f"Chair {number}", starting_price=eur("5"))) for number in range(count)]
    made, statements = counted(tx, put_in, Holder(id=clerk.id, username=clerk.username), sale, new, ())
    return [one.label for one in made], sum("FROM lots" in one for one in statements)


async def test_lots_that_are_added_are_read_at_once(database: Database) -> None:
    """Those of a sheet are read again by one statement, in their order, after they are stored and after they are auctions."""
    on = await evening(database)
    assert ["4"] == (one := await database.write(added, on, 1))[0]
    assert (["5", "6", "7", "8", "9"], one[1]) == await database.write(added, on, 5)
