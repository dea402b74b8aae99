"""Sales of many lots at the desk: what is read of all of them lets others have their turn."""

from random import Random
from typing import Any

import pytest

from saleroom.settlement.service import desk, reporting, reports
from saleroom.settlement.storage import journal
from saleroom.storage import database as storage
from saleroom.storage.database import Database
from tests.loop_turns import loop_turns
from tests.settlement.sold_sales import sold

AT_ONCE = 20


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("module", "name", "use_case", "asked"),
    [
        (journal, "decode_settled", desk.shown, ("3", "EUR")),
        (journal, "StoredPosting", reports.accounts, (2,)),
        (reporting, "_estimated", reporting.of_sale, (2,)),
        (reporting, "ReportLotView", reporting.of_sale, (2,)),
    ],
)
async def test_others_have_their_turn_while_the_journal_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, use_case: Any, asked: tuple[Any, ...]
) -> None:
    """On PostgreSQL all entries of a sale are read in the thread of the event loop: few of them between two of its turns."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    sale = await sold(database, Random(3), 3 * AT_ONCE, "EUR")
    await database.write(desk.shown, sale.token, sale.gid, "3", "EUR")
    async with loop_turns() as turns:
        monkeypatch.setattr(module, name, turns.noting(getattr(module, name)))
        await database.write(use_case, sale.token, sale.gid, *asked)
    assert 2 * AT_ONCE <= turns.met.total()
    assert AT_ONCE >= max(turns.met.values())
