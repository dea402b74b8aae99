"""The book through the services, on both databases: clerks at once, a call at the same moment, and a merger."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from saleroom.bidding.domain.errors import OnBlock
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.book import BookLine
from saleroom.sales.domain.errors import NotInBook, SaleOver
from saleroom.sales.service import book
from saleroom.sales.service.live import hall
from saleroom.sales.service.people import merging, participants
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import person, stored
from tests.sales.service.evenings import Evening, evening
from tests.sales.service.live.test_block import do, paddle, sound


async def line(on: Evening, number: int, maximum: str | None, label: str = "1") -> Any:
    """Enter a line as the clerk."""
    said = BookLine(paddle=number, label=label, maximum=None if maximum is None else eur(maximum))
    return msgspec.json.decode(await on.database.write(book.enter, on.clerk.token, on.sale.gid, said))


async def test_two_clerks_with_the_same_line_enter_one_bid(database: Database) -> None:
    """Ten copies of two lines at once: each is one bid, and at the tie one of them leads; the ledger is sound."""
    on = await evening(database)
    await paddle(on, 11)
    await paddle(on, 12)
    await asyncio.gather(*(line(on, number, "300") for number in (11, 12) * 10))
    lot = await stored(database, on.lots[0])
    assert (3, eur("300"), eur("300")) == (lot.bid_count, lot.current_bid, lot.maximum)
    lines = (await database.read(book.listed, on.clerk.token, on.sale.gid, 50)).lines.rows
    assert [True, False] == sorted((one.leads for one in lines), reverse=True)
    await do(on, Act.CALL)
    assert "absentee" == (await database.read(hall.shown, on.sale.gid)).leads_by
    await sound(on)


async def test_a_repeated_line_gets_its_first_answer(database: Database) -> None:
    """Also once the lot has another number or the sale is over: the first answer may have been lost."""
    on = await evening(database)
    await paddle(on, 11)
    asked = on.clerk.token, on.sale.gid, BookLine(paddle=11, label="1", maximum=eur("300"))
    once = IdempotencyKey("k" * 16, b"line")
    first = await database.write(book.enter, *asked, once)
    await do(on, Act.CALL)
    await do(on, Act.SELL)
    for _ in on.lots[1:]:
        await do(on, Act.CALL)
        await do(on, Act.PASS)
    await do(on, Act.END)
    assert first == await database.write(book.enter, *asked, once)
    with pytest.raises(SaleOver):
        await database.write(book.enter, *asked, IdempotencyKey("l" * 16, b"line"))


async def test_a_line_at_the_moment_of_the_call(database: Database) -> None:
    """It counts before the call, or is refused after it; never in between."""
    on = await evening(database)
    await paddle(on, 11)

    async def late() -> bool:
        try:
            await line(on, 11, "300")
        except OnBlock:
            return False
        return True

    entered, called = await asyncio.gather(late(), do(on, Act.CALL))
    seen = called["onBlock"]["auction"]["currentBidder"]
    assert ("#11" if entered else None) == seen
    await sound(on)


async def test_a_line_of_a_guest_goes_with_a_merger(database: Database) -> None:
    """Once the guest has an account, its name is in the book, and the line can be raised, lowered and taken back."""
    on = await evening(database)
    guest = await paddle(on, 11)
    await line(on, 11, "300")
    bob = await person(database)
    known = await database.write(participants.register, bob.token, on.sale.gid)
    pair = (guest, known.participant.gid)
    await database.write(merging.merge, on.clerk.token, on.sale.gid, *pair)
    [found] = (await database.read(book.listed, on.clerk.token, on.sale.gid, 50)).lines.rows
    assert (11, True, True) == (found.paddle, found.leads, found.stands)
    raised = await line(on, 11, "400")
    assert ("400.000", True) == (raised["bookMaximum"], raised["leads"])
    assert "200.000" == (await line(on, 11, "200"))["bookMaximum"]
    assert not (await line(on, 11, None))["stands"]
    lot = await stored(database, on.lots[0])
    assert (None, None) == (lot.leader, lot.current_bid)
    await sound(on)


async def test_after_a_retraction_a_line_counts_again(database: Database) -> None:
    """On the block a bid is retracted and the lot skipped: none stands, so the same line is a new bid."""
    on = await evening(database)
    await paddle(on, 11)
    await line(on, 11, "300")
    await do(on, Act.CALL)
    await do(on, Act.RETRACT, paddle=11)
    await do(on, Act.SKIP)
    with pytest.raises(NotInBook):
        await line(on, 11, None)
    assert (await line(on, 11, "300"))["leads"]
    await sound(on)
