"""The import of a catalogue within its transaction."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Headings, find_headings
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto
from saleroom.sales.service.files import importing
from saleroom.sales.service.files.importing import CatalogueUpload, HouseRules
from saleroom.storage.database import IN_A_ROW, Database
from tests.sales.service.evenings import evening

LOTS = 10 * IN_A_ROW
T = TypeVar("T")


class Turns:
    """How often the event loop has had a turn for others, and in which of those turns each item was read."""

    def __init__(self) -> None:
        self.count = 0
        self.met = Counter[int]()

    async def pass_by(self) -> None:
        """Take turns until cancelled."""
        while True:
            self.count += 1
            await asyncio.sleep(0)


class Watched(list[T]):
    """A list that notes the turn in which each of its items is read."""

    turns: Turns

    def __iter__(self) -> Iterator[T]:
        """Yield the items."""
        for one in super().__iter__():
            self.turns.met[self.turns.count] += 1
            yield one


def watched(items: Sequence[T], turns: Turns) -> Watched[T]:
    """Return a list whose items are noted in `turns`."""
    made = Watched(items)
    made.turns = turns
    return made


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_others_have_their_turn_while_an_import_is_calculated(database: Database) -> None:
    """On PostgreSQL rows, and photos, are read in the thread of the event loop: few of them between two of its turns."""
    on = await evening(database)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    table: list[list[Cell]] = [["Lot", "Title", "Starting price"]]
    table += [[str(number), f"Clock {number}", "100"] for number in range(10, 10 + LOTS)]
    headings, turns = find_headings(table), Turns()
    assert isinstance(headings, Headings)
    photos = [SentPhoto(PhotoName(str(number), 1), f"{number}.jpg", f"{number}") for number in range(10, 10 + LOTS)]
    passing = asyncio.create_task(turns.pass_by())
    for sent in (
        CatalogueUpload(rows=watched(table, turns), headings=headings),
        CatalogueUpload(photos=watched(photos, turns)),
    ):
        turns.met.clear()
        await database.read(importing.look, on.clerk.token, on.sale.gid, sent, HouseRules(("€",)))
        assert LOTS <= turns.met.total()
        assert IN_A_ROW >= max(turns.met.values())
    passing.cancel()
