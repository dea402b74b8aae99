"""What paper shows, read from either database."""

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.kernel.errors import MissingRight
from saleroom.sales.domain.paper import PaperKind
from saleroom.sales.service.paper import labelling, papers
from saleroom.sales.service.paper.papers import Letterhead, PaperOrder
from saleroom.storage.database import Database
from tests.sales.service.evenings import evening

HEAD = Letterhead(house="House", currency="EUR", origin="https://bids.example")


async def test_each_kind_is_read_of_a_sale_that_nobody_has_touched(database: Database) -> None:
    """No bid, no participant, no photo, no printed label: none of them is needed."""
    night = await evening(database)
    await database.write(accounts.set_role, night.clerk.account.id, Role.AUCTIONEER)
    for kind in PaperKind:
        for order in (PaperOrder(kind=kind), PaperOrder(kind=kind, language="de", zone="Europe/Berlin")):
            found = await database.read(papers.read, night.clerk.token, night.sale.gid, order, HEAD)
            assert 3 == len(found.data.get("lots", "123"))
    buyers = PaperOrder(kind=PaperKind.RESULTS, buyers=True)
    assert {} == (await database.read(papers.read, night.clerk.token, night.sale.gid, buyers, HEAD)).photos


async def test_prints_of_labels_are_noted_twice(database: Database) -> None:
    """The later note counts, on either database; a clerk without the right notes nothing."""
    night = await evening(database)
    first = ("1", "0" * 32), ("2", "1" * 32)
    with pytest.raises(MissingRight):
        await database.write(labelling.note_printed, night.clerk.token, night.sale.gid, dict(first))
    await database.write(accounts.set_role, night.clerk.account.id, Role.CATALOGUER)
    await database.write(labelling.note_printed, night.clerk.token, night.sale.gid, dict(first))
    found = await database.read(labelling.listed, night.clerk.token, night.sale.gid, (), HEAD.origin)
    assert ["0" * 32, "1" * 32, None] == [one.printed_digest for one in found]
    now = {one.number: one.digest for one in found}
    assert 3 == await database.write(labelling.note_printed, night.clerk.token, night.sale.gid, now)
    assert [] == await database.read(labelling.listed, night.clerk.token, night.sale.gid, (), HEAD.origin, changed=True)
