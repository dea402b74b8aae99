"""Failures of an evening that do no harm: a price of ten times too much, a console that dies, numbers that change."""

import asyncio

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.errors import AskChanged, BeyondLimit
from saleroom.kernel.errors import Refusal
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.errors import BegunAlready, BlockChanged, UnknownLot
from saleroom.sales.service import ordering
from saleroom.sales.service.live import block
from saleroom.sales.service.people import participants
from saleroom.sales.storage import lots as lot_rows
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, person
from tests.fixtures_database import OpenDatabase
from tests.sales.service.evenings import Evening, evening
from tests.sales.service.live.test_block import do, lots, offers, paddle, play, refused, sound, tag

ROUNDS = 12
READERS = 3


async def auctioneer(database: Database) -> Person:
    """A member of the staff who may order lots."""
    found = await person(database)
    await database.write(accounts.set_role, found.account.id, Role.AUCTIONEER)
    return found


async def test_a_price_with_one_zero_too_many(database: Database) -> None:
    """No bidder online pays it, a limit refuses it, and the clerk takes it back: all that stood stands again."""
    on = await evening(database)
    await paddle(on, 112, limit=eur("500"))
    await paddle(on, 113)
    online = await person(database)
    await database.write(participants.register, online.token, on.sale.gid)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 113}))
    [before, *_] = await lots(on)
    await do(on, Act.ASK, amount="1100")
    typed = await offers(database, online, on.lots[0], amount="110")
    assert isinstance(typed, AskChanged)
    await refused(BeyondLimit, on, Act.BID, amount="1100", paddle=112)
    await play(on, (Act.BID, {"amount": "1100"}), (Act.WARN, {}), (Act.UNDO, {}), (Act.UNDO, {}), (Act.UNDO, {}))
    [after, *_] = await lots(on)
    assert (before.leader, before.current_bid, before.maximum, before.ask, before.stage) == (
        after.leader,
        after.current_bid,
        after.maximum,
        after.ask,
        after.stage,
    )
    assert isinstance(await offers(database, online, on.lots[0], amount="110"), bytes)
    await sound(on)


async def test_another_console_goes_on_in_the_middle_of_a_lot(open_database: OpenDatabase) -> None:
    """A console dies with an act under way: another one shows what was done, and the same act sent again does nothing."""
    first = open_database()
    on = await evening(first)
    await paddle(on, 112)
    await play(on, (Act.CALL, {}), (Act.WARN, {}))
    seen = await tag(on)
    done = await do(on, Act.BID, key="dead", seen=seen, amount="100")  # its console never hears of it
    other = Evening(open_database(), on.sale, on.lots, on.clerk)
    shown = await other.database.read(block.shown, None, on.sale.gid)
    assert shown.on_block is not None and shown.on_block.auction is not None
    assert ("called", "#floor", "110.000") == (
        shown.on_block.auction.stage,
        shown.on_block.auction.current_bidder,
        shown.on_block.auction.minimum_bid,
    )
    assert done == await do(other, Act.BID, key="dead", seen=seen, amount="100")
    await refused(BlockChanged, other, Act.WARN, seen=seen)
    await play(other, (Act.NAME, {"paddle": 112}), (Act.SELL, {}))
    assert 1 == (await lots(other))[0].bid_count
    await sound(other)


async def test_numbers_change_while_labels_are_read(open_database: OpenDatabase) -> None:
    """A reader sees all old numbers or all new ones; a call by an old number is refused; in a running sale they stay."""
    writing, reading = open_database(), open_database()
    on = await evening(writing, 5)
    staff, stop = await auctioneer(writing), asyncio.Event()
    whole = [[str(first + place) for place in range(5)] for first in (1, 101)]
    seen: list[list[str]] = []

    async def read() -> None:
        while not stop.is_set():
            seen.append(await reading.read(lot_rows.labels, on.sale.id))

    async def renumber() -> None:
        for turn in range(ROUNDS):
            first = (101, 1)[turn % 2]
            await writing.write(ordering.set_order, staff.token, on.sale.gid, None, renumber_from=first)
        await writing.write(ordering.set_order, staff.token, on.sale.gid, None, renumber_from=101)
        stop.set()

    await asyncio.gather(renumber(), *(read() for _ in range(READERS)))
    assert seen
    assert [] == [labels for labels in seen if labels not in whole]
    await refused(UnknownLot, on, Act.CALL, label="2")
    shown = await do(on, Act.CALL, label="102")
    assert on.lots[1] == shown["onBlock"]["gid"]
    with pytest.raises(Refusal) as running:
        await writing.write(ordering.set_order, staff.token, on.sale.gid, None, renumber_from=1)
    assert isinstance(running.value, BegunAlready)
    await sound(on)
