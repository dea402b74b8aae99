"""The import of a catalogue within its transaction."""

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Headings, find_headings
from saleroom.sales.domain.photo_files import PhotoName, SentPhoto
from saleroom.sales.service.files import importing
from saleroom.sales.service.files.importing import CatalogueUpload, HouseRules
from saleroom.storage import database as storage
from saleroom.storage.database import Database
from tests.loop_turns import loop_turns
from tests.sales.service.evenings import evening

AT_ONCE = 20
LOTS = range(10, 10 + 10 * AT_ONCE)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_others_have_their_turn_while_an_import_is_calculated(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL rows, and photos, are read in the thread of the event loop: few of them between two of its turns."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(importing, "ROWS_AT_ONCE", AT_ONCE)
    on = await evening(database)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    table: list[list[Cell]] = [["Lot", "Title", "Starting price"]]
    table += [[str(number), f"Clock {number}", "100"] for number in LOTS]
    headings = find_headings(table)
    assert isinstance(headings, Headings)
    photos = [SentPhoto(PhotoName(str(number), 1), f"{number}.jpg", f"{number}") for number in LOTS]
    async with loop_turns() as turns:
        for sent in (
            CatalogueUpload(rows=turns.watched(table), headings=headings),
            CatalogueUpload(photos=turns.watched(photos)),
        ):
            turns.met.clear()
            await database.read(importing.look, on.clerk.token, on.sale.gid, sent, HouseRules(("€",)))
            assert len(LOTS) <= turns.met.total()
            assert AT_ONCE >= max(turns.met.values())
