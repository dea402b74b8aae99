"""The desk gathers bids into transactions, and no bidder notices."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, Engine, event

from saleroom.accounts.service.accounts import issue_token, register
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import BidTooLow, UnknownAuction
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.views import BidAnswer
from saleroom.bidding.service import auctions, desk
from saleroom.bidding.service.admission import GATE
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.lookup import lock_one
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage import auctions as rows
from saleroom.bidding.storage import tables
from saleroom.kernel.errors import Busy, Refusal, Unauthenticated
from saleroom.storage import batching
from saleroom.storage.database import Database, Transaction
from saleroom.storage.turns import Rank
from tests.bidding.service.test_waiting import Pause
from tests.fixtures_database import OpenDatabase
from tests.patience import SECONDS_MAX, settled, until


class DeskSale:
    """An auction, and the tokens of its author and three bidders."""

    def __init__(self, gid: str, tokens: Sequence[str]) -> None:
        self.gid = gid
        self.tokens = tokens

    def bid(self, bidder: int, amount: str) -> BidCommand:
        """A bid of an amount by one of the bidders."""
        return BidCommand(self.tokens[bidder], self.gid, BidRequest(Decimal(amount).quantize(Decimal("0.001")), None))


@pytest.fixture
async def sale(database: Database) -> DeskSale:
    """An open auction with a starting price of 1."""

    def furnish(tx: Transaction) -> DeskSale:
        tokens = [issue_token(tx, register(tx, name, "no digest").id).value for name in ("ann", "bob", "cat", "dan")]
        return DeskSale(sold_by(tx, tokens[0]), tokens)

    return await database.write(furnish)


def sold_by(tx: Transaction, token: str) -> str:
    """The gid of a new auction with a starting price of 1, whose author has this token."""
    body = auctions.create(tx, token, Draft(name="Clock", starting_price=Decimal("1.000")), None)
    return str(msgspec.json.decode(body)["gid"])


def decoded(answer: bytes) -> BidAnswer:
    """The answer as its fields."""
    return msgspec.json.decode(answer, type=BidAnswer)


async def test_waiting_bids_share_transactions(
    database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lone bid is decided at once; bids that arrive during its transaction share the next one, in order."""
    batches: list[int] = []

    def counted(tx: Transaction, commands: Sequence[BidCommand], _: SigningKey) -> list[bytes | Refusal]:
        batches.append(len(commands))
        return place_bids(tx, commands)

    monkeypatch.setattr(desk, "place_bids", counted)
    counter = Desk(database)
    first = counter.place(sale.bid(1, "1"))
    while not batches:
        await asyncio.sleep(0)
    answers = await asyncio.gather(first, *(counter.place(sale.bid(1 + n % 3, str(10 * n))) for n in range(1, 21)))
    assert batches == [1, 20]
    assert [f"{max(1, 10 * n)}.000" for n in range(21)] == [decoded(a).auction.current_bid for a in answers]


async def test_a_bad_bid_leaves_its_neighbours_alone(database: Database, sale: DeskSale) -> None:
    """Each bid of a batch gets its own answer: accepted, too low, unknown token, unknown auction."""
    counter = Desk(database)
    nobody = BidCommand("no such token", sale.gid, BidRequest(Decimal("9.000"), None))
    nowhere = BidCommand(sale.tokens[1], "nowhere", BidRequest(Decimal("9.000"), None))
    commands = [sale.bid(1, "5"), sale.bid(2, "5"), nobody, nowhere, sale.bid(2, "50")]
    answers = await asyncio.gather(*(counter.place(c) for c in commands), return_exceptions=True)
    kinds = [type(a) for a in answers]
    assert kinds == [bytes, BidTooLow, Unauthenticated, UnknownAuction, bytes]
    stored = await database.read(rows.get, sale.gid)
    assert stored is not None
    assert (Decimal("50.000"), 2) == (stored.current_bid, stored.bid_count)


async def test_a_batch_that_breaks_is_tried_one_by_one(
    database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one bid breaks the whole transaction, only that bid fails, and no other is lost or placed twice."""

    def breaking(tx: Transaction, commands: Sequence[BidCommand], _: SigningKey) -> list[bytes | Refusal]:
        answers = place_bids(tx, commands)
        if any(command.request.amount == Decimal("20.000") for command in commands):
            raise ZeroDivisionError
        return answers

    monkeypatch.setattr(desk, "place_bids", breaking)
    counter = Desk(database)
    commands = [sale.bid(1 + n % 3, str(10 * n)) for n in range(1, 5)]
    answers = await asyncio.gather(*(counter.place(c) for c in commands), return_exceptions=True)
    assert [bytes, ZeroDivisionError, bytes, bytes] == [type(a) for a in answers]
    stored = await database.read(rows.get, sale.gid)
    assert stored is not None
    assert 3 == stored.bid_count


async def test_bids_get_an_error_even_if_logging_fails(
    database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the log line about a broken batch fails too, its bids still get an error, and the bids behind are decided."""

    def breaking(tx: Transaction, commands: Sequence[BidCommand], _: SigningKey) -> list[bytes | Refusal]:
        if len(commands) > 1:
            raise ZeroDivisionError
        return place_bids(tx, commands)

    def unwritable(*_: object, **__: object) -> None:
        raise OSError("no room on the disk")

    monkeypatch.setattr(desk, "place_bids", breaking)
    monkeypatch.setattr(batching.log, "exception", unwritable)
    counter = Desk(database)
    async with asyncio.timeout(SECONDS_MAX):
        answers = await asyncio.gather(
            *(counter.place(sale.bid(n, str(10 * n))) for n in (1, 2)), return_exceptions=True
        )
        alone = await counter.place(sale.bid(1, "10"))
    assert [OSError, OSError, bytes] == [type(a) for a in (*answers, alone)]


async def test_a_full_desk_says_so_at_once(database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full desk refuses with Busy instead of letting bids queue up."""
    monkeypatch.setattr(desk, "WAITING_MAX", 3)
    counter = Desk(database)
    bids = [counter.place(sale.bid(1 + n % 3, str(10 * n))) for n in range(1, 6)]
    answers = await asyncio.gather(*bids, return_exceptions=True)
    assert [bytes, bytes, bytes, Busy, Busy] == [type(a) for a in answers]


async def test_a_storm_does_not_starve_another_auction(
    database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bid on a quiet auction finds room and joins the next batch, however many bids wait for a busy auction."""
    monkeypatch.setattr(desk, "WAITING_MAX", 20)
    monkeypatch.setattr(desk, "BATCH_MAX", 4)
    quiet = DeskSale(await database.write(sold_by, sale.tokens[0]), sale.tokens)
    order: list[str] = []

    async def placed(name: str, command: BidCommand) -> str:
        try:
            await counter.place(command)
        except Busy:
            return "busy"
        order.append(name)
        return "taken"

    counter = Desk(database)
    storm = [asyncio.create_task(placed(f"storm {n}", sale.bid(1 + n % 3, str(10 * n)))) for n in range(1, 31)]
    await asyncio.sleep(0)
    calm = asyncio.create_task(placed("calm", quiet.bid(1, "5")))
    assert "taken" == await calm
    assert ["taken"] * 20 + ["busy"] * 10 == [await bid for bid in storm]
    assert [f"storm {n}" for n in range(1, 21)] == [name for name in order if name != "calm"]
    assert order.index("calm") < 2 * 4


async def test_a_full_desk_stays_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bids on ever more auctions fill the desk too: the fair share of each auction falls to zero."""
    monkeypatch.setattr(desk, "WAITING_MAX", 8)
    counter = Desk(database)
    request = BidRequest(Decimal("1.000"), None)
    bids = [counter.place(BidCommand("no such token", f"gid{n}", request)) for n in range(40)]
    answers = await asyncio.gather(*bids, return_exceptions=True)
    assert {Unauthenticated: 8, Busy: 32} == Counter(type(a) for a in answers)


async def test_forged_bids_keep_no_honest_one_out(
    database: Database, sale: DeskSale, open_database: OpenDatabase
) -> None:
    """While the desk is held up, thousands of forged bids on unknown auctions are refused, and a real bid is taken."""
    pause, other = Pause(), open_database()

    def holding(tx: Transaction) -> None:
        lock_one(tx, sale.gid)
        pause.within(tx)

    holder = asyncio.create_task(other.write(holding))
    await pause.reached.wait()
    counter = Desk(database)
    held_up = counter.place(sale.bid(2, "1"))
    await settled()  # the desk has taken it
    request = BidRequest(Decimal("1.000"), None)
    forged = [
        counter.place(BidCommand(f"forged {number}", f"gid{number}", request)) for number in range(2 * desk.WAITING_MAX)
    ]
    on_nothing = [counter.place(BidCommand(sale.tokens[3], f"gid{number}", request)) for number in range(99)]
    honest = counter.place(sale.bid(1, "5"))
    await until(lambda: sum(task.done() for task in forged) >= len(forged) - desk.LOOK_FROM, "the forged are refused")
    assert [False, False] == [held_up.done(), honest.done()]
    pause.end()
    await holder
    assert ["1.000", "5.000"] == [decoded(await one).auction.current_bid for one in (held_up, honest)]
    assert {Unauthenticated} == {type(error) for error in await asyncio.gather(*forged, return_exceptions=True)}
    assert {UnknownAuction} == {type(error) for error in await asyncio.gather(*on_nothing, return_exceptions=True)}


async def test_one_bidders_flood_keeps_nobody_out(
    database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one bidder has filled the desk with bids on every lot, another bidder's bid still finds room."""
    monkeypatch.setattr(desk, "WAITING_MAX", 20)
    monkeypatch.setattr(desk, "LOOK_FROM", 2)
    lots = [DeskSale(await database.write(sold_by, sale.tokens[0]), sale.tokens) for _ in range(40)]
    counter = Desk(database)
    gate = await database._writing.take(Rank.HOUSE, None) if database.kind == "sqlite" else None
    flood = [counter.place(lot.bid(1, "5")) for lot in lots]
    calm = counter.place(lots[0].bid(2, "50"))
    if gate is not None:
        await until(lambda: any(task.done() for task in flood), "one of the flood is refused")
        database._writing.leave(gate)
    assert "50.000" == decoded(await calm).auction.current_bid
    assert {bytes, Busy} >= {type(answer) for answer in await asyncio.gather(*flood, return_exceptions=True)}


async def test_bids_pass_the_door_in_order(database: Database, sale: DeskSale, monkeypatch: pytest.MonkeyPatch) -> None:
    """No bid overtakes one that is still being checked on arrival, even if the desk is idle by then."""
    monkeypatch.setattr(desk, "LOOK_FROM", 2)
    counter, look, looked_at = Desk(database), database.read, asyncio.Event()

    async def slow(*asked: Any) -> Any:
        await looked_at.wait()
        return await look(*asked)

    monkeypatch.setattr(database, "read", slow)
    early = [counter.place(sale.bid(1 + number % 3, str(10 + 10 * number))) for number in range(4)]
    await asyncio.gather(*early[:2])
    late = [counter.place(sale.bid(1 + number % 3, str(10 + 10 * number))) for number in (4, 5)]
    await asyncio.sleep(0.1)
    assert not any(task.done() for task in (*early[2:], *late))
    looked_at.set()
    answers = await asyncio.gather(*early, *late)
    assert [f"{10 + 10 * number}.000" for number in range(6)] == [decoded(one).auction.current_bid for one in answers]


async def test_the_statements_of_a_batch(database: Database, sale: DeskSale, database_kind: str) -> None:
    """A batch costs as many statements as one bid, but on SQLite a few more for many rows of the log and the history."""
    statements: list[str] = []
    key = SigningKey()

    def count(connection: Connection, _: object, statement: str, *_rest: object) -> None:
        if connection.engine.url.database == database.url.database:  # houses of other tests still run in this process
            statements.append(statement)

    async def cost(first: int, bids: int) -> int:
        statements.clear()
        answers = await database.write(
            place_bids, [sale.bid(1 + n % 3, str(100_000 * n)) for n in range(first, first + bids)], key
        )
        assert all(isinstance(answer, bytes) for answer in answers)
        return len(statements)

    asked: list[object] = []
    database.provide(GATE, lambda tx, pairs, *, deciding: asked.append(pairs))  # type: ignore[misc]  # it is not called
    # First fill the memory of this process.
    await database.write(place_bids, [sale.bid(1, "1"), sale.bid(2, "10"), sale.bid(3, "100")], key)
    event.listen(Engine, "before_cursor_execute", count)
    try:
        for_one, for_many, for_most = await cost(3, 1), await cost(10, 64), await cost(101, 511)
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert for_one == for_many
    # Lock, tokens, auctions, log, bids; and SQLite's BEGIN or PostgreSQL's clock.
    assert for_one == 6
    assert not asked, "the area of sales says nothing about auctions outside sales"
    assert for_most - for_one == (2 * 3 if database_kind == "sqlite" else 0)


async def test_a_bid_writes_no_column_of_an_index(database: Database, sale: DeskSale) -> None:
    """SQLite writes the index of every column that the statement names, a page each, even if the value stays the same."""
    named: list[str] = []

    def note(connection: Connection, _: object, statement: str, *_rest: object) -> None:
        # Houses of other tests still run in this process.
        ours = connection.engine.url.database == database.url.database
        if ours and statement.startswith("UPDATE auctions SET "):
            named.extend(re.findall(r"(\w+) = ", statement.partition(" FROM ")[0]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for command in (sale.bid(1, "1"), sale.bid(2, "10")):
            await database.write(place_bids, [command])
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    indexed = {column.name for index in tables.auctions.indexes for column in index.columns}
    assert {"current_bid", "price", "head"} <= set(named)
    assert set() == indexed & set(named)
