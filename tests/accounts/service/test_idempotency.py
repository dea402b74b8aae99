"""Idempotency: the same key and request get the first answer again, with one effect."""

import asyncio
from collections.abc import Callable

import pytest
from sqlalchemy import text

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.accounts.storage.accounts import lock_user
from saleroom.bidding.domain.errors import AuctionOver, BidTooLow, TooManyAuctions
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.auctions import OfferingRules, close, create
from saleroom.bidding.service.bidding import buy_now, place_bids
from saleroom.bidding.storage.listing import Filter, Sort, page
from saleroom.kernel.errors import Invalid, Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after, eur
from tests.bidding.service.people import Person, bid, logged, once_of, person, read, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase

DRAFT = Draft(name="Longcase clock", starting_price=eur("100"))
_WAITING = text("""SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted
    AND pid IN (SELECT pid FROM pg_stat_activity, pg_stat_clear_snapshot() WHERE datname = current_database())""")
"""How many sessions of a PostgreSQL database wait for a lock."""


async def count(database: Database) -> int:
    """Return the number of auctions."""
    return len((await database.read(page, Filter(), Sort.NEWEST, 100, None))[0])


async def test_a_repeat_gets_the_first_answer(database: Database) -> None:
    """Creating twice under one key makes one auction, and both answers are the same bytes."""
    ada = await person(database)
    first = await database.write(create, ada.token, DRAFT, once_of("k", "draft"))
    assert first == await database.write(create, ada.token, DRAFT, once_of("k", "draft"))
    assert 1 == await count(database)
    await database.write(create, ada.token, DRAFT, once_of("another", "draft"))
    await database.write(create, ada.token, DRAFT, None)
    assert 3 == await count(database)


async def test_another_request_under_the_same_key(database: Database) -> None:
    """A key that was used for another request is refused, and nothing happens."""
    ada = await person(database)
    await database.write(create, ada.token, DRAFT, once_of("k", "draft"))
    with pytest.raises(IdempotencyMismatch):
        await database.write(create, ada.token, DRAFT, once_of("k", "another draft"))
    assert 1 == await count(database)


async def test_keys_are_scoped_to_the_user(database: Database) -> None:
    """Two users may use the same key independently."""
    for _ in range(2):
        somebody = await person(database)
        answer = read(await database.write(create, somebody.token, DRAFT, once_of("k", "draft")))
        assert somebody.account.username == answer["author"]


async def test_a_refusal_does_not_use_up_the_key(clocked_database: Database, clock: FakeClock) -> None:
    """A refusal does not use up the key: the same request may succeed later."""
    ada, bob = [await person(clocked_database) for _ in range(2)]
    gid = await sells(clocked_database, ada, starts_at=after(60))
    assert ["auction_not_started"] == await bid(clocked_database, bob.bids(gid, "100", "k"))
    clock.advance(60)
    assert ["accepted"] == await bid(clocked_database, bob.bids(gid, "100", "k"))
    past = Draft(name="Stool", starting_price=eur("1"), ends_at=after(10))
    with pytest.raises(Invalid):
        await clocked_database.write(create, ada.token, past, once_of("c", "past"))
    clock.now = after(9)
    await clocked_database.write(create, ada.token, past, once_of("c", "past"))


@pytest.fixture
async def ada(database: Database) -> Person:
    """The seller."""
    return await person(database)


@pytest.fixture
async def bob(database: Database) -> Person:
    """The bidder."""
    return await person(database)


async def test_a_repeat_after_the_close(database: Database, ada: Person, bob: Person) -> None:
    """Repeats of closing, buying and bidding get their first answers, even after the auction is over."""
    closing, buying = await sells(database, ada), await sells(database, ada, buy_now_price="500")
    [placed] = await database.write(place_bids, [bob.bids(closing, "up to 150", "b")])
    closed = await database.write(close, ada.token, closing, None, once_of("c", "now"))
    bought = await database.write(buy_now, bob.token, buying, once_of("y", "buy"))
    for gid, acts in ((closing, 3), (buying, 3)):
        before = await logged(database, gid)
        assert acts == len(before)
        assert [placed] == await database.write(place_bids, [bob.bids(closing, "up to 150", "b")])
        assert closed == await database.write(close, ada.token, closing, None, once_of("c", "now"))
        assert bought == await database.write(buy_now, bob.token, buying, once_of("y", "buy"))
        assert before == await logged(database, gid)
    with pytest.raises(AuctionOver):
        await database.write(close, ada.token, closing, None, once_of("d", "now"))


async def test_a_repeat_after_being_outbid(database: Database, ada: Person, bob: Person) -> None:
    """A repeat has the facts of the first answer, and does not bid again."""
    cy = await person(database)
    gid = await sells(database, ada)
    [first] = await database.write(place_bids, [bob.bids(gid, "100", "k")])
    await bid(database, cy.bids(gid, "200"))
    before = await stored(database, gid)
    [again] = await database.write(place_bids, [bob.bids(gid, "100", "k")])
    assert first == again
    assert read(again)["leading"]
    [afresh] = await database.write(place_bids, [bob.bids(gid, "100")])
    assert isinstance(afresh, BidTooLow)
    assert before == await stored(database, gid)


async def test_repeats_within_one_batch(database: Database, ada: Person, bob: Person) -> None:
    """Within one transaction a repeat gets the first answer, and another request under its key is refused."""
    gid = await sells(database, ada)
    commands = [
        bob.bids(gid, "up to 150", "k"),
        bob.bids(gid, "up to 150", "k"),
        bob.bids(gid, "up to 180", "k"),
        bob.bids(gid, "up to 180", "l"),
    ]
    first, again, other, more = await database.write(place_bids, commands)
    assert first == again
    assert isinstance(other, IdempotencyMismatch)
    assert read(more)["bid"] is None
    assert ["auction.created", "bid.placed", "maximum.raised"] == [e.TYPE for e in await logged(database, gid)]


async def test_a_refused_bid_frees_its_key_within_a_batch(database: Database, ada: Person, bob: Person) -> None:
    """The first accepted request owns the key, even if an earlier request with it was refused."""
    gid = await sells(database, ada)
    low, high, again = await database.write(
        place_bids, [bob.bids(gid, "99", "k"), bob.bids(gid, "100", "k"), bob.bids(gid, "99", "k")]
    )
    assert ("bid_too_low", "idempotency_mismatch") == (getattr(low, "code", None), getattr(again, "code", None))
    assert "100.000" == read(high)["bid"]["amount"]


Act = Callable[[Transaction, str, str, IdempotencyKey], bytes | Refusal]
ACTS: dict[str, Act] = {
    "create": lambda tx, token, gid, once: create(tx, token, DRAFT, once),
    "buy": buy_now,
    "bid": lambda tx, token, gid, once: place_bids(tx, [Person(None, token).bids(gid, "up to 150", once.key)])[0],  # type: ignore[arg-type]  # the token is enough
}


@pytest.mark.parametrize("what", ACTS)
async def test_repeats_at_once_in_several_processes(open_database: OpenDatabase, what: str) -> None:
    """The same key at once from several processes has one effect, and all get the same answer."""
    several = [open_database() for _ in range(3)]
    ada, bob = [await person(several[0]) for _ in range(2)]
    gid = await sells(several[0], ada, buy_now_price="500")
    answers = await asyncio.gather(
        *(one.write(ACTS[what], bob.token, gid, IdempotencyKey("k", b"up to 150")) for one in several * 4)
    )
    assert 1 == len(set(answers))
    assert (2 if what == "create" else 1) == await count(several[0])
    events = {"create": 1, "buy": 3, "bid": 2}
    assert events[what] == len(await logged(several[0], gid))


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_duplicate_that_waits_for_the_first_is_not_refused_for_it(open_database: OpenDatabase) -> None:
    """The last lot that an author may make, sent twice at once to two processes, is made, and both answers say so.

    Both requests have looked for the key when they wait for the lock of their author.
    """
    houses = [open_database(), open_database()]
    ada = await person(houses[0])
    rules = OfferingRules(auctions_max=1)
    waiting = asyncio.Event()

    def hold_until_both_wait(tx: Transaction) -> None:
        lock_user(tx, ada.account.id)
        waiting.set()
        while tx.execute(_WAITING).scalar_one() < len(houses):
            pass

    held = asyncio.create_task(houses[0].write(hold_until_both_wait))
    await waiting.wait()
    key = once_of("k", "draft")
    first, again = await asyncio.gather(*(one.write(create, ada.token, DRAFT, key, rules=rules) for one in houses))
    await held
    assert first == again
    assert 1 == await count(houses[0])
    with pytest.raises(TooManyAuctions):
        await houses[0].write(create, ada.token, DRAFT, once_of("another", "draft"), rules=rules)
