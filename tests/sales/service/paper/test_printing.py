"""Printing: strangers do not hold up staff, few wait, paper for everybody is made once, and a failure is said."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.kernel.errors import Busy
from saleroom.sales.domain.paper import PaperKind
from saleroom.sales.service.paper import press
from saleroom.sales.service.paper.papers import Paper, PaperOrder
from saleroom.sales.service.paper.press import WAITING_MAX
from saleroom.sales.service.paper.printing import Printer
from saleroom.storage.database import Database
from tests.sales.service.evenings import Evening, evening

pytestmark = pytest.mark.databases("sqlite")
CATALOGUE, RUN_SHEET = PaperOrder(kind=PaperKind.CATALOGUE), PaperOrder(kind=PaperKind.RUN_SHEET)


class Slow(Printer):
    """A printer that is slow, and that counts."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "House", "EUR")
        self.made = 0
        self.gate = asyncio.Event()

    async def _made(self, paper: Paper) -> bytes:
        self.made += 1
        await self.gate.wait()
        return b"%PDF"


@pytest.fixture
async def night(database: Database) -> Evening:
    """A published sale."""
    return await evening(database)


@pytest.fixture
async def slow(database: Database) -> AsyncIterator[Slow]:
    """A slow printer."""
    printer = Slow(database)
    yield printer
    printer.close()


async def test_strangers_do_not_hold_up_staff(night: Evening, slow: Slow) -> None:
    """While a catalogue for a stranger is made, and more of them wait than may, staff print."""
    await night.database.write(accounts.set_role, night.clerk.account.id, Role.CLERK)
    waiting = [
        asyncio.create_task(slow.make(None, night.sale.gid, CATALOGUE, "https://a")) for _ in range(WAITING_MAX + 3)
    ]
    staff = asyncio.create_task(slow.make(night.clerk.token, night.sale.gid, RUN_SHEET, "https://a"))
    async with asyncio.timeout(10):
        while slow.made < 2 or sum(one.done() for one in waiting) < 2:
            await asyncio.sleep(0.01)
    slow.gate.set()
    assert b"%PDF" == await staff
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert 2 <= sum(isinstance(one, Busy) for one in answers) <= 3
    assert slow.made == 2, "the others got the same paper"


async def test_paper_for_everybody_is_made_once_until_it_changes(night: Evening, slow: Slow) -> None:
    """The same order gives the same paper; another language is other paper; that of staff is made each time."""
    slow.gate.set()
    for order in (CATALOGUE, CATALOGUE, PaperOrder(kind=PaperKind.CATALOGUE, language="de")):
        await slow.make(None, night.sale.gid, order, "https://a")
    assert 2 == slow.made
    for _ in range(2):
        await slow.make(night.clerk.token, night.sale.gid, RUN_SHEET, "https://a")
    assert 4 == slow.made


async def test_a_process_that_takes_too_much_is_ended_and_said(night: Evening, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer names the remedy, and the next paper is made."""
    printer = Printer(night.database, "House", "EUR")
    with monkeypatch.context() as patched:
        patched.setattr(press, "SECONDS_MAX", 0.0)
        with pytest.raises(Busy, match="fewer lots"):
            await printer.make(None, night.sale.gid, CATALOGUE, "https://a")
    made = await printer.make(None, night.sale.gid, CATALOGUE, "https://a")
    assert made.startswith(b"%PDF-")
    printer.close()


async def test_a_closing_house_prints_no_more(night: Evening) -> None:
    """Its processes end."""
    printer = Printer(night.database, "House", "EUR")
    printer.close()
    with pytest.raises(Busy):
        await printer.make(None, night.sale.gid, CATALOGUE, "https://a")


async def test_nothing_stays_on_the_disk(night: Evening, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder of a paper goes with it, also if the one who asked is gone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    printer = Printer(night.database, "House", "EUR")
    asked = asyncio.create_task(printer.make(None, night.sale.gid, CATALOGUE, "https://a"))
    async with asyncio.timeout(10):
        while not printer._press._running:
            await asyncio.sleep(0.001)
    asked.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asked
    assert [] == list(tmp_path.glob("saleroom-paper-*"))
    printer.close()
