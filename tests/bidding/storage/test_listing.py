"""Lists by page: no page skips or repeats an auction while prices, ends and statuses change between the pages."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.util import await_only

from saleroom.bidding.domain import bidding, closing, selling
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.events import Event
from saleroom.bidding.storage import auctions
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort, count, page
from saleroom.kernel.errors import Refusal
from saleroom.kernel.money import LIMIT
from saleroom.kernel.parties import Party
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import BOB, after
from tests.bidding.domain.playing import T0, money
from tests.fixtures_database import OpenDatabase
from tests.fixtures_hypothesis import on_a_database
from tests.storage.rows import add_auction, add_author, add_people, go_on

FEW = on_a_database(12)
SORTS = pytest.mark.parametrize("sort", Sort)


def _bid(auction: Auction, author: Party, n: int) -> list[Event]:
    least = auction.minimum_bid or money(1)
    return bidding.place_bid(auction, BOB, BidRequest(None, min(least + money(n), LIMIT)), after(1))


def _announce(auction: Auction, author: Party, n: int) -> list[Event]:
    return selling.announce_end(auction, author, after(3600 + n), after(1))


def _amend(auction: Auction, author: Party, n: int) -> list[Event]:
    return selling.amend(auction, author, {"starting_price": money(n)}, after(1))


CHANGES: list[Callable[[Auction, Party, int], list[Event]]] = [
    _bid,
    _bid,
    _announce,
    _amend,
    lambda auction, author, n: selling.cancel(auction, author, after(1)),
    lambda auction, author, n: selling.close_now(auction, author, after(1)),
    lambda auction, author, n: settle(auction, after(1800 + n)),
    lambda auction, author, n: closing.reopen_after_outage(auction, after(0), after(7200 + n)),
]


def change(tx: Transaction, gid: str, author: Party, kind: int, n: int) -> None:
    """Make a change that moves an auction in a list, unless the rules forbid it."""
    auction = auctions.lock(tx, [gid])[gid]
    try:
        events = CHANGES[kind](auction, author, n)
    except Refusal:
        return
    go_on(tx, auction, events)


def expected(found: list[Auction], sort: Sort) -> list[int]:
    """The order that a list promises, for the auctions as they are."""

    def by_end(auction: Auction) -> tuple[int, timedelta, int]:
        if auction.status in (Status.CLOSED, Status.CANCELLED):
            return 2, T0 - (auction.ends_at or auction.created_at), auction.id
        return (1, timedelta(0), auction.id) if auction.ends_at is None else (0, auction.ends_at - T0, auction.id)

    keys: dict[Sort, Callable[[Auction], Any]] = {
        Sort.ENDING: by_end,
        Sort.NEWEST: lambda auction: -auction.id,
        Sort.PRICE: lambda auction: (auction.current_bid or auction.starting_price, auction.id),
    }
    return [auction.id for auction in sorted(found, key=keys[sort])]


def begin(tx: Transaction, terms: list[tuple[int, int | None]]) -> tuple[Party, list[str]]:
    """A new author, with an auction for each of `terms` (thousandths, seconds to the end)."""
    add_people(tx)
    author = add_author(tx)
    gids = []
    for price, end in terms:
        ends_at = None if end is None else after(end)
        gids.append(add_auction(tx, author, starting_price=money(price), ends_at=ends_at).gid)
    return author, gids


Change = tuple[int, int, int]  # the index of an auction, the index of a change, a number for the change
_terms = st.tuples(st.integers(0, 3) | st.integers(0, 10**20 - 1), st.none() | st.integers(1, 5000))
_changes = st.tuples(st.integers(0, 99), st.integers(0, len(CHANGES) - 1), st.integers(0, 5000))


@SORTS
@FEW
@given(
    st.lists(_terms, min_size=1, max_size=9),
    st.lists(_changes, max_size=12),
    st.lists(st.lists(_changes, max_size=4), min_size=10, max_size=10),
    st.integers(1, 4),
)
async def test_pages_neither_skip_nor_repeat(
    database: Database,
    sort: Sort,
    terms: list[tuple[int, int | None]],
    before: list[Change],
    between: list[list[Change]],
    limit: int,
) -> None:
    """All pages together are the list as it was at the first page, each auction once, whatever changes in between."""
    author, gids = await database.write(begin, terms)

    async def happen(changes: list[Change]) -> None:
        for which, kind, n in changes:
            await database.write(change, gids[which % len(gids)], author, kind, n)

    await happen(before)
    which = Filter(author=author.name)
    promised = expected((await database.read(page, which, Sort.NEWEST, 100, None))[0], sort)
    listed: list[int] = []
    mark: ListPlace | None = None
    for changes in between:
        found, mark = await database.read(page, which, sort, limit, mark)
        assert len(found) == limit or mark is None
        listed += [auction.id for auction in found]
        if mark is None:
            break
        await happen(changes)
        await database.write(lambda tx: add_auction(tx, author, starting_price=money(1)))
    assert promised == listed


@SORTS
async def test_pages_while_another_process_writes(open_database: OpenDatabase, sort: Sort) -> None:
    """While another process keeps writing, the pages still have each auction once and in order."""
    reader, writer = open_database(), open_database()
    author, gids = await writer.write(begin, [(n * 7 % 5, 60 + n % 3 if n % 2 else None) for n in range(20)])
    random, done = Random(7), False

    async def write() -> None:
        while not done:
            kind = random.choice([0, 0, 1, 2, 3, 7])
            await writer.write(change, random.choice(gids), author, kind, random.randrange(5000))

    writing = asyncio.create_task(write())
    try:
        for _ in range(6):
            listed: list[int] = []
            mark: ListPlace | None = None
            while True:
                found, mark = await reader.read(page, Filter(author=author.name), sort, 3, mark)
                listed += [auction.id for auction in found]
                if mark is None:
                    break
            assert len(gids) == len(listed)
            assert len(gids) == len(set(listed))
    finally:
        done = True
        await writing


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@SORTS
async def test_a_late_commit_does_not_move_pages(open_database: OpenDatabase, sort: Sort) -> None:
    """A change that began before the first page and is committed after it, behind later changes, moves no auction."""
    reader, slow, quick = open_database(), open_database(), open_database()
    author, gids = await quick.write(begin, [(1000 * n, 600 * n) for n in range(1, 7)])
    begun, go = asyncio.Event(), asyncio.Event()

    def linger(tx: Transaction) -> None:
        add_auction(tx, author, starting_price=money(1))
        change(tx, gids[0], author, CHANGES.index(_bid), 5_000_000)
        begun.set()
        await_only(go.wait())

    lingering = asyncio.create_task(slow.write(linger))
    await begun.wait()
    await quick.write(change, gids[5], author, CHANGES.index(_bid), 0)
    which = Filter(author=author.name)
    promised = expected((await reader.read(page, which, Sort.NEWEST, 100, None))[0], sort)
    found, mark = await reader.read(page, which, sort, 2, None)
    go.set()
    await lingering
    listed = [auction.id for auction in found]
    while mark is not None:
        found, mark = await reader.read(page, which, sort, 2, mark)
        listed += [auction.id for auction in found]
    assert 6 == len(promised)
    assert promised == listed


@SORTS
async def test_a_filter_by_status_while_statuses_change(database: Database, sort: Sort) -> None:
    """In the list of open auctions, an auction that stays open is listed once, and one that closes at most once."""
    author, gids = await database.write(begin, [(n, None) for n in range(12)])
    which = Filter(author=author.name, status="open")
    found, mark = await database.read(page, which, sort, 3, None)
    listed = [auction.gid for auction in found]
    closed = {gids[2], gids[7], gids[10]}
    for gid in closed:
        await database.write(change, gid, author, len(CHANGES) - 3, 0)
        auction = await database.read(auctions.get, gid)
        assert auction is not None and auction.status == Status.CLOSED
    while mark is not None:
        found, mark = await database.read(page, which, sort, 3, mark)
        assert {"open"} == {auction.status for auction in found}
        listed += [auction.gid for auction in found]
    assert len(listed) == len(set(listed))
    assert set(gids) - closed <= set(listed)


async def test_filters(database: Database) -> None:
    """Lists are filtered by status, author and text (in name and description, without case; `%` and `_` are literal)."""

    def sell(tx: Transaction) -> None:
        ada, bob = (add_author(tx, name) for name in ("ada", "bob"))
        add_auction(tx, ada, name="Longcase Clock", description="50% walnut")
        add_auction(tx, ada, name="Stool", description="with a CLOCK\nbeside it", starts_at=after(60))
        add_auction(tx, bob, name="snake_case", description="500 walnuts")

    await database.write(sell)

    async def names(**filters: Any) -> list[str]:
        found, mark = await database.read(page, Filter(**filters), Sort.NEWEST, 10, None)
        assert mark is None
        return [auction.name for auction in found]

    assert ["snake_case", "Stool", "Longcase Clock"] == await names()
    assert ["Stool", "Longcase Clock"] == await names(author="ada")
    assert [] == await names(author="nobody")
    assert ["Stool"] == await names(status="scheduled")
    assert ["Stool", "Longcase Clock"] == await names(text="clock")
    assert ["Longcase Clock"] == await names(text="50%")
    assert ["snake_case"] == await names(text="e_c")
    assert ["Stool"] == await names(text="clock", status="scheduled", author="ada")


async def test_auctions_that_are_over_come_newest_end_first(database: Database) -> None:
    """`over` lists only closed or cancelled auctions, the newest end first, or only the others; by pages too."""
    author, gids = await database.write(begin, [(1, end) for end in (None, 60, 300, 120, None)])
    for gid, kind in ((gids[1], len(CHANGES) - 2), (gids[3], 4), (gids[0], len(CHANGES) - 3)):
        await database.write(change, gid, author, kind, 0)

    async def listed(*, over: bool) -> list[str]:
        found: list[str] = []
        mark: ListPlace | None = None
        while True:
            part, mark = await database.read(page, Filter(author=author.name, over=over), Sort.ENDING, 1, mark)
            found += [auction.gid for auction in part]
            if mark is None:
                return found

    assert [gids[2], gids[4]] == await listed(over=False)
    assert [gids[3], gids[1], gids[0]] == await listed(over=True)


async def test_a_list_is_counted_as_far_as_is_asked(database: Database) -> None:
    """The count is of the whole list, whatever the page, and stops at its limit."""
    author, gids = await database.write(begin, [(1, None)] * 5)
    await database.write(change, gids[0], author, len(CHANGES) - 3, 0)
    which = Filter(author=author.name)
    assert [5, 3] == [await database.read(count, which, limit) for limit in (100, 3)]
    assert 4 == await database.read(count, Filter(author=author.name, over=False), 100)
    assert 0 == await database.read(count, Filter(author="nobody"), 100)


async def test_the_limit_is_the_size_of_a_page(database: Database) -> None:
    """A page has at most `limit` auctions; the last page has no mark, even if it is full."""
    author, gids = await database.write(begin, [(1, None)] * 4)
    which = Filter(author=author.name)
    found, mark = await database.read(page, which, Sort.PRICE, 2, None)
    assert (gids[:2], True) == ([auction.gid for auction in found], mark is not None)
    found, mark = await database.read(page, which, Sort.PRICE, 2, mark)
    assert (gids[2:], None) == ([auction.gid for auction in found], mark)


FORGED = [
    ListPlace("1", 1, ""),
    ListPlace("1", 1, "-1"),
    ListPlace("1", 1, "1:"),
    ListPlace("1", 1, "1 OR 1=1"),
    ListPlace("1", 1, "1" * 40),
    ListPlace("", 1, "HORIZON"),
    ListPlace("x", 1, "HORIZON"),
    ListPlace("-1", 1, "HORIZON"),
    ListPlace("1e5", 1, "HORIZON"),
    ListPlace("1" * 30, 1, "HORIZON"),
    ListPlace("NaN", 1, "HORIZON"),
    ListPlace("9999999999999999999", 1, "HORIZON"),
    *(ListPlace("1", 1, horizon) for horizon in ("5:1:", "1:5:9", "1:9:5,3", "1:9:,", "0:0:", "1:9:5,,6")),
]


async def test_a_forged_mark_is_refused(database: Database) -> None:
    """A mark that no page gave is a ValueError, never an error of the database."""
    horizon = {"sqlite": "0", "postgresql": "1:1:"}[database.kind]
    for mark, sort in product(FORGED, Sort):
        forged = ListPlace(mark.key, mark.id, mark.horizon.replace("HORIZON", horizon))
        with pytest.raises(ValueError, match="not of this"):
            await database.read(page, Filter(), sort, 10, forged)


@pytest.mark.parametrize("number", [-1, 1 << 63])
def test_a_mark_of_no_row_cannot_be_read(number: int) -> None:
    """A mark whose row number cannot be in the table is refused before a database sees it."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(f'["1", {number}, "1"]', type=ListPlace)
