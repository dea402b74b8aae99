"""What authors do, through the use cases: permissions, storage and answers."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from saleroom.bidding.domain.errors import HasBids, NotAuthor, UnknownAuction
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.auctions import amend, cancel, close, create
from saleroom.bidding.service.bidding import buy_now
from saleroom.kernel.errors import Refusal, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after, eur
from tests.bidding.service.people import bid, logged, person, read, sells, stored
from tests.fixtures_database import FakeClock

pytestmark = pytest.mark.databases("sqlite")

Act = Callable[[Transaction, str, str], Any]
ACTS: dict[str, Act] = {
    "amend": lambda tx, token, gid: amend(tx, token, gid, {"name": "Bracket clock"}),
    "cancel": cancel,
    "close": lambda tx, token, gid: close(tx, token, gid, None, None),
    "announce": lambda tx, token, gid: close(tx, token, gid, after(days=9999), None),
}


async def test_the_author_sees_the_whole_auction(database: Database) -> None:
    """The author sees the whole auction, the reserve too; its gid is 72 random bits in URL-safe characters."""
    ada = await person(database)
    draft = Draft(name="Longcase clock", starting_price=eur("100"), reserve_price=eur("150"))
    answers = [read(await database.write(create, ada.token, draft, None)) for _ in range(20)]
    assert {("150.000", ada.account.username, 1)} == {(a["reservePrice"], a["author"], a["version"]) for a in answers}
    gids = {answer["gid"] for answer in answers}
    assert 20 == len(gids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{12}", gid) for gid in gids)


async def test_creating_is_dated_by_the_house(clocked_database: Database, clock: FakeClock) -> None:
    """The creation is dated by the transaction's clock."""
    ada = await person(clocked_database)
    clock.advance(microseconds=1)
    gid = await sells(clocked_database, ada)
    auction = await stored(clocked_database, gid)
    assert (clock.now, [clock.now]) == (auction.created_at, [e.at for e in await logged(clocked_database, gid)])


@pytest.mark.parametrize("act", ACTS)
async def test_only_the_author_acts_on_an_auction(database: Database, act: str) -> None:
    """Only the author, with a live token, can act on the auction; any other request is refused and changes nothing."""
    ada, bob = [await person(database) for _ in range(2)]
    gid = await sells(database, ada)
    before = await stored(database, gid)
    for token, where, refusal in (
        ("no token", gid, Unauthenticated),
        ("no token", "nowhere", Unauthenticated),
        (ada.token, "nowhere", UnknownAuction),
        (bob.token, gid, NotAuthor),
    ):
        with pytest.raises(refusal):
            await database.write(ACTS[act], token, where)
    assert before == await stored(database, gid)
    await database.write(ACTS[act], ada.token, gid)
    changed = await stored(database, gid)
    assert before.version + 1 == changed.version
    assert changed == replay(changed.id, await logged(database, gid))


async def test_a_cancelled_auction_stays_in_the_records(database: Database) -> None:
    """The row and its history stay, and no further action on the auction is possible."""
    ada, bob = [await person(database) for _ in range(2)]
    gid = await sells(database, ada, buy_now_price="500")
    await database.write(cancel, ada.token, gid)
    assert "cancelled" == (await stored(database, gid)).status
    assert ["auction.created", "auction.cancelled"] == [event.TYPE for event in await logged(database, gid)]
    assert ["auction_closed"] == await bid(database, bob.bids(gid, "100"))
    for act in (*ACTS.values(), lambda tx, token, gid: buy_now(tx, bob.token, gid, None)):
        with pytest.raises(Refusal) as caught:
            await database.write(act, ada.token, gid)
        assert "auction_closed" == caught.value.code


async def test_bids_end_the_amending(database: Database) -> None:
    """After the first bid, amending and cancelling are refused and change nothing."""
    ada, bob = [await person(database) for _ in range(2)]
    gid = await sells(database, ada)
    assert ["accepted"] == await bid(database, bob.bids(gid, "100"))
    before = await stored(database, gid)
    for act in ("amend", "cancel"):
        with pytest.raises(HasBids):
            await database.write(ACTS[act], ada.token, gid)
    assert before == await stored(database, gid)


async def test_amending_shows_the_auction_as_it_is(database: Database) -> None:
    """The answer holds the new terms; amending an auction into the same terms records no event."""
    ada = await person(database)
    gid = await sells(database, ada)
    for _ in range(2):
        changes = {"reserve_price": eur("150"), "name": "Stool"}
        answer = read((await database.write(amend, ada.token, gid, changes)).json)
        assert ("Stool", "150.000", False, 2) == (
            *(answer["name"], answer["reservePrice"], answer["reserveMet"], answer["version"]),
        )


async def test_a_purchase_closes_the_auction(database: Database) -> None:
    """The auction is sold at B and closed at once; a second buyer and a bidder are then too late."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    gid = await sells(database, ada, buy_now_price="500", reserve_price="400")
    answer = read(await database.write(buy_now, bob.token, gid, None))
    assert {"amount", "bidder", "receivedAt", "placedAt", "automatic", "sequence"} == set(answer["bid"])
    assert ("500.000", bob.account.username, True) == (
        *(answer["bid"]["amount"], answer["bid"]["bidder"], answer["leading"]),
    )
    shown = answer["auction"]
    assert ("closed", "sold", "500.000", None) == (
        *(shown["status"], shown["outcome"], shown["currentBid"], shown["minimumBid"]),
    )
    with pytest.raises(Refusal) as caught:
        await database.write(buy_now, cy.token, gid, None)
    assert "auction_closed" == caught.value.code
    assert ["auction_closed"] == await bid(database, cy.bids(gid, "600"))
    assert ["auction.created", "bid.placed", "auction.closed"] == [e.TYPE for e in await logged(database, gid)]


@pytest.mark.parametrize(
    ("who", "where", "code"),
    [
        ("nobody", "gid", "unauthenticated"),
        ("bob", "nowhere", "unknown_auction"),
        ("ada", "gid", "own_auction"),
        ("bob", "without", "buy_now_unavailable"),
        ("bob", "bid on", "buy_now_unavailable"),
    ],
)
async def test_a_purchase_that_is_refused(database: Database, who: str, where: str, code: str) -> None:
    """Buying needs a token and an auction with B and no bid, and its author may not buy."""
    people = {"ada": await person(database), "bob": await person(database)}
    gids = {
        "gid": await sells(database, people["ada"], buy_now_price="500"),
        "without": await sells(database, people["ada"]),
        "bid on": await sells(database, people["ada"], buy_now_price="500"),
    }
    cy = await person(database)
    await bid(database, cy.bids(gids["bid on"], "100"))
    token = people[who].token if who in people else "no token"
    with pytest.raises(Refusal) as caught:
        await database.write(buy_now, token, gids.get(where, where), None)
    assert code == caught.value.code
