"""Sales of many lots: what is read of all of them lets others have their turn."""

from collections.abc import Callable
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain import moderation, pausing
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.service import recording
from saleroom.bidding.storage import auctions, event_log
from saleroom.sales.domain.paper import PaperKind
from saleroom.sales.domain.sale import Kind
from saleroom.sales.service import clocks, managing
from saleroom.sales.service.files import exporting
from saleroom.sales.service.paper import papers
from saleroom.sales.service.paper.papers import Letterhead, PaperOrder
from saleroom.storage import database as storage
from saleroom.storage.database import Database, Transaction
from tests.loop_turns import loop_turns
from tests.sales.service.evenings import drafted, evening

AT_ONCE = 20
LOTS = 10 * AT_ONCE
HEAD = Letterhead(house="Saleroom", currency="EUR", origin="https://bids.example")
Read = Callable[[Transaction, str, str], Any]


def paper(kind: PaperKind) -> Read:
    """Return the use case that reads some paper."""
    return lambda tx, token, gid: papers.read(tx, token, gid, PaperOrder(kind=kind), HEAD)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("module", "name", "read"),
    [
        (papers, "_starting", paper(PaperKind.CATALOGUE)),
        (papers, "_levels", paper(PaperKind.RUN_SHEET)),
        (papers, "_state", paper(PaperKind.RESULTS)),
        (exporting, "values_of", lambda tx, token, gid: exporting.catalogue(tx, token, gid, "en")),
        (exporting, "_result", lambda tx, token, gid: exporting.results(tx, token, gid, "en")),
    ],
)
async def test_others_have_their_turn_while_all_lots_are_read(
    database: Database, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, read: Read
) -> None:
    """On PostgreSQL all lots of a sale are calculated in the thread of the event loop: few of them between two of its turns."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    on = await evening(database, LOTS)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    async with loop_turns() as turns:
        monkeypatch.setattr(module, name, turns.noting(getattr(module, name)))
        await database.read(read, on.clerk.token, on.sale.gid)
    assert LOTS <= turns.met.total()
    assert AT_ONCE >= max(turns.met.values())


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("module", "name"), [(recording, "begin"), (auctions, "row_of"), (event_log, "row_of")])
async def test_others_have_their_turn_while_a_sale_is_published(
    database: Database, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    """On PostgreSQL the auctions of a long sale are begun, and made into rows, a few at a time."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    on = await evening(database, 1)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    sale = await database.write(drafted, on.sale.owner, LOTS)
    async with loop_turns() as turns:
        monkeypatch.setattr(module, name, turns.noting(getattr(module, name)))
        await database.write(managing.publish, on.clerk.token, sale.gid)
    assert LOTS == turns.met.total()
    assert AT_ONCE >= max(turns.met.values())


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_others_have_their_turn_while_a_sale_is_cancelled(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL the lots of a long sale are cancelled a few at a time, each of them once."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    on = await evening(database, LOTS)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    async with loop_turns() as turns:
        monkeypatch.setattr(moderation, "cancel", turns.noting(moderation.cancel))
        await database.write(managing.cancel, on.clerk.token, on.sale.gid, "The hall is flooded.")
    assert LOTS == turns.met.total()
    assert AT_ONCE >= max(turns.met.values())
    found = await database.read(auctions.get_many, on.lots)
    assert {Status.CANCELLED} == {one.status for one in found.values()}


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("word", ["pause", "resume"])
async def test_others_have_their_turn_while_all_clocks_stand_still_or_go_on(
    database: Database, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """On PostgreSQL the lots of a long sale are paused, and go on, a few at a time, each of them once."""
    monkeypatch.setattr(storage, "AT_ONCE", AT_ONCE)
    on = await evening(database, LOTS, kind=Kind.TIMED)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    if word == "resume":
        await database.write(clocks.pause, on.clerk.token, on.sale.gid)
    async with loop_turns() as turns:
        monkeypatch.setattr(pausing, word, turns.noting(getattr(pausing, word)))
        await database.write(getattr(clocks, word), on.clerk.token, on.sale.gid)
    assert LOTS == turns.met.total()
    assert AT_ONCE >= max(turns.met.values())
    found = await database.read(auctions.get_many, on.lots)
    assert {word == "pause"} == {one.paused_at is not None for one in found.values()}
