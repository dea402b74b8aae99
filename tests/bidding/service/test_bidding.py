"""Placing many bids in one transaction: the answer to each, and the record."""

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.signatures import Key, Keys, check
from saleroom.bidding.service.bidding import BidCommand, buy_now, place_bids
from saleroom.bidding.service.signing import Signer, SigningKey
from saleroom.bidding.storage import bids
from saleroom.kernel.chain import Chain
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after
from tests.bidding.service.people import Person, asks, bid, logged, once_of, outcome, person, read, sells, stored
from tests.fixtures_database import FakeClock
from tests.fixtures_hypothesis import on_a_database

FEW = on_a_database(25)


async def test_the_answer_to_a_bid(clocked_database: Database, clock: FakeClock) -> None:
    """The answer to an accepted bid has the bid, the auction after it, and whether the bidder leads, but no limit."""
    ada, bob, cy = [await person(clocked_database, name) for name in ("ada", "bob", "cy.")]
    gid = await sells(clocked_database, ada, reserve_price="140")
    first, second = await clocked_database.write(place_bids, [bob.bids(gid, "up to 155.5"), cy.bids(gid, "150")])
    decided = {"receivedAt": None, "placedAt": "2026-11-21T12:00:00.000000Z", "automatic": False}
    assert {
        "bid": {"amount": "140.000", "bidder": "bob", **decided, "sequence": 2},
        "leading": True,
    } == {name: read(first)[name] for name in ("bid", "leading")}
    assert {
        "bid": {"amount": "150.000", "bidder": "cy.", **decided, "sequence": 3},
        "leading": False,
    } == {name: read(second)[name] for name in ("bid", "leading")}
    assert ("140.000", "150.000", 2) == tuple(
        read(first)["auction"][n] for n in ("currentBid", "minimumBid", "version")
    )
    assert ("155.500", "bob", 3) == tuple(
        read(second)["auction"][n] for n in ("currentBid", "currentBidder", "bidCount")
    )
    assert b"155.5" not in first  # type: ignore[operator]  # an accepted answer is bytes
    [raised] = await clocked_database.write(place_bids, [bob.bids(gid, "up to 199")])
    assert (None, True) == (read(raised)["bid"], read(raised)["leading"])


async def test_a_refused_bid_does_not_affect_its_batch(database: Database) -> None:
    """In one batch every command gets its own answer, in order, and refused commands leave nothing behind."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    one, other = await sells(database, ada), await sells(database, ada)
    answers = await bid(
        database,
        bob.bids(one, "100"),
        Person(bob.account, "no token").bids(one, "110"),
        cy.bids("nowhere", "110"),
        ada.bids(one, "110"),
        cy.bids(one, "109.999"),
        cy.bids(one, "110"),
        bob.bids(other, "up to 300"),
        bob.bids(one, "120"),
        bob.bids(one, "130"),
        cy.bids(other, "200"),
    )
    assert [
        *("accepted", "unauthenticated", "unknown_auction", "own_auction", "bid_too_low", "accepted", "accepted"),
        *("accepted", "already_leading", "accepted"),
    ] == answers
    for gid, amounts in ((one, ["100.000", "110.000", "120.000"]), (other, ["100.000", "200.000", "210.000"])):
        auction = await stored(database, gid)
        found = await database.read(bids.newest, auction.id, 100, None)
        assert amounts == [str(each.amount) for each in reversed(found)]
        assert 4 == auction.version == len(await logged(database, gid))
        assert auction == replay(auction.id, await logged(database, gid))


async def test_a_refused_bid_leaves_no_event(database: Database) -> None:
    """'A refused bid changes nothing and leaves no event': the row is the same, bit by bit, and so is the log."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "up to 150"))
    before = await stored(database, gid), await logged(database, gid)
    refused = [cy.bids(gid, "100"), bob.bids(gid, "200"), ada.bids(gid, "200"), bob.bids(gid, "up to 150", "key")]
    for command in refused:
        assert "accepted" not in await bid(database, command)
    assert "accepted" not in await bid(database, *refused)
    assert before == (await stored(database, gid), await logged(database, gid))


async def test_an_expired_token_bids_no_more(clocked_database: Database, clock: FakeClock) -> None:
    """From expiresAt on, a token places no bid."""
    ada = await person(clocked_database)
    gid = await sells(clocked_database, ada)
    clock.advance(1)
    bob = await person(clocked_database)
    clock.advance(days=30, microseconds=-1)
    assert ["accepted"] == await bid(clocked_database, bob.bids(gid, "100"))
    clock.advance(microseconds=1)
    assert ["unauthenticated"] == await bid(clocked_database, bob.bids(gid, "up to 200"))


async def test_the_clock_is_read_in_the_transaction(clocked_database: Database, clock: FakeClock) -> None:
    """A bid counts a microsecond before the end, but not at the end, even if nobody has closed the auction yet."""
    ada, bob = [await person(clocked_database) for _ in range(2)]
    gid = await sells(clocked_database, ada, ends_at=after(60), soft_close=None)
    clock.now = after(60, microseconds=-1)
    assert ["accepted"] == await bid(clocked_database, bob.bids(gid, "up to 150"))
    clock.now = after(60)
    assert ["auction_closed"] == await bid(clocked_database, bob.bids(gid, "up to 200"))
    auction = await stored(clocked_database, gid)
    assert ("open", after(60, microseconds=-1)) == (auction.status, auction.current_bid_at)


class CountedKey:
    """A private key that counts its signatures."""

    def __init__(self) -> None:
        self._private = Ed25519PrivateKey.generate()
        self.signatures = 0
        self.public_key, self.private_bytes_raw = self._private.public_key, self._private.private_bytes_raw

    def sign(self, data: bytes) -> bytes:
        """Sign and count."""
        self.signatures += 1
        return self._private.sign(data)


async def test_one_signature_for_a_batch(database: Database) -> None:
    """All bids of a transaction share one signature; refused ones and repeats need none, nor the key; a retry starts afresh."""
    ada, bob, cy = [await person(database) for _ in range(3)]
    gids = [await sells(database, ada, buy_now_price="9000") for _ in range(3)]
    private, key = CountedKey(), SigningKey()
    signer = Signer(private)  # type: ignore[arg-type]  # it does what a key does
    keys = Keys([Key("OKP", "Ed25519", signer.public, signer.kid)])
    no_key = SigningKey()
    refused = [cy.bids(gids[0], "99"), ada.bids(gids[0], "100"), cy.bids("nowhere", "100")]
    assert [False] * 3 == [isinstance(a, bytes) for a in await database.write(place_bids, refused, no_key)]
    assert no_key._signer is None
    key.use(signer)
    batch = [
        *refused,
        *((bob, cy)[n % 2].bids(gids[n // 2 % 2], str(100 * n)) for n in range(1, 20)),
        bob.bids(gids[0], "5000", "k"),
        bob.bids(gids[0], "5000", "k"),
    ]

    def broken(tx: Transaction) -> None:
        place_bids(tx, batch, key)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(broken)
    private.signatures = 0
    answers = await database.write(place_bids, batch, key)
    assert 1 == private.signatures
    texts = [read(answer)["receipt"] for answer in answers if isinstance(answer, bytes)]
    assert answers[-1] == answers[-2]
    assert 20 == len(set(texts))
    receipts = [check(text, keys) for text in texts]
    assert 20 == len(receipts) - 1 == len({(receipt.gid, receipt.sequence) for receipt in receipts})
    private.signatures = 0
    assert [answers[-1]] == await database.write(place_bids, batch[-1:], key)
    assert 0 == private.signatures
    bought = await database.write(buy_now, bob.token, gids[2], None, key=key)
    assert (1, None) == (private.signatures, check(read(bought)["receipt"], keys).asked)


async def test_an_empty_batch(database: Database) -> None:
    """The answer to an empty batch is empty."""
    assert [] == await database.write(place_bids, [])


_thousandths = st.integers(95_000, 160_000) | st.sampled_from((100_000, 110_000, 120_000, 130_000, 150_000))
_asked = st.tuples(st.none() | _thousandths, st.none() | _thousandths).filter(lambda pair: pair != (None, None))
_orders = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), _asked, st.sampled_from((None, None, "j", "k"))),
    min_size=1,
    max_size=12,
)
Order = tuple[int, int, tuple[int | None, int | None], str | None]


def _command(people: list[Person], gids: list[str], order: Order) -> BidCommand:
    who, which, (amount, maximum), key = order
    if amount is not None and maximum is not None:
        amount, maximum = sorted((amount, maximum))
    request: BidRequest = asks(amount, maximum)
    once: IdempotencyKey | None = once_of(key, f"{which} {amount} {maximum}")
    token = people[who].token if who < len(people) else "no token"
    return BidCommand(token, gids[which], request, once)


def _said(answer: bytes | Refusal, gids: list[str]) -> Any:
    """An answer without the members that differ only because the auctions have different gids."""
    if isinstance(answer, Refusal):
        return answer.code, answer.facts
    decoded = msgspec.json.decode(answer)
    return decoded | {
        "auction": decoded["auction"] | {"gid": gids.index(decoded["auction"]["gid"]), "head": None},
        "receipt": None,
    }


def _bare(auction: Auction) -> Auction:
    return msgspec.structs.replace(auction, id=0, gid="", chain=Chain())


@FEW
@given(_orders)
async def test_a_batch_is_the_same_bids_one_by_one(clocked_database: Database, orders: list[Order]) -> None:
    """One transaction of many bids gives the same answers, rows and logs as one transaction for each bid."""
    ada = await person(clocked_database)
    people = [ada, *[await person(clocked_database) for _ in range(3)]]
    twice = [[await sells(clocked_database, ada, reserve_price="125") for _ in range(2)] for _ in range(2)]
    at_once = [_command(people, twice[0], order) for order in orders]
    # The second run needs other keys, because both runs have the same people.
    singly = [
        msgspec.structs.replace(c, once=None if c.once is None else IdempotencyKey(f"{c.once.key}2", c.once.request))
        for c in (_command(people, twice[1], order) for order in orders)
    ]
    batch = await clocked_database.write(place_bids, at_once)
    one_by_one = [(await clocked_database.write(place_bids, [command]))[0] for command in singly]
    assert [_said(answer, twice[1]) for answer in one_by_one] == [_said(answer, twice[0]) for answer in batch]
    assert [outcome(answer) for answer in one_by_one] == [outcome(answer) for answer in batch]
    for a, b in zip(*twice, strict=True):
        assert _bare(await stored(clocked_database, b)) == _bare(await stored(clocked_database, a))
        assert (await logged(clocked_database, b))[1:] == (await logged(clocked_database, a))[1:]
