"""'Any interleaving of concurrent requests gives a state that some one-at-a-time order gives.'

Many people bid on one auction, from two processes at once. Each transaction notes its place in the log, which is
given out under the auction's lock. The same bids, one after the other in that order, must get the same answers from the
pure rules and the oracle, and lead to the stored row.
"""

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest
from msgspec import structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest, place_bid
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.bidding.storage import auctions, bids
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction
from tests.bidding.domain.examples import after
from tests.bidding.domain.oracle import Oracle, SoftCloseRule, Terms
from tests.bidding.domain.playing import units
from tests.bidding.service.people import Person, asks, logged, once_of, outcome, person, read, sells, stored
from tests.fixtures_database import OpenDatabase

BIDDERS, TURNS = 32, 4


@dataclass(frozen=True)
class Decision:
    """A bid, its answer, and how many events its auction had after it."""

    who: int
    command: BidCommand
    answer: bytes | Refusal
    position: int

    @property
    def accepted(self) -> bool:
        """Whether it was accepted."""
        return not isinstance(self.answer, Refusal)


def decide(tx: Transaction, who: int, command: BidCommand) -> Decision:
    """Place one bid and note its place in the log, within the same transaction."""
    [answer] = place_bids(tx, [command])
    auction = auctions.get(tx, command.gid)
    assert auction is not None
    return Decision(who, command, answer, auction.position)


def wish(random: Random, auction: Auction) -> BidRequest:
    """The bid of a user who has just looked at the auction: mostly near the minimum bid, as everyone's is."""
    least = units(auction.minimum_bid or auction.starting_price)
    amount = least + random.choice([0, 0, 0, 1, -1, 10_000, 20_000, 55_555])
    kind = random.randrange(3)
    if kind == 0:
        return asks(amount, None)
    return asks(None, amount + random.choice([0, 30_000])) if kind == 1 else asks(amount, amount + 40_000)


async def storm(open_database: OpenDatabase, seed: int) -> tuple[list[Person], str, list[Decision]]:
    """Let all people bid a few times at once, half of them in another process."""
    processes = [open_database(), open_database()]
    ada = await person(processes[0])
    people = [await person(processes[0]) for _ in range(BIDDERS)]
    gid = await sells(processes[0], ada, reserve_price="400", ends_at=after(days=36500))
    decided: list[Decision] = []

    async def bidder(who: int) -> None:
        random, database = Random(seed * 1000 + who), processes[who % 2]
        for turn in range(TURNS):
            request = wish(random, await stored(database, gid))
            command = BidCommand(people[who].token, gid, request, once_of(f"turn {turn}", str(request)))
            decided.append(await database.write(decide, who, command))

    await asyncio.gather(*(bidder(who) for who in range(BIDDERS)))
    return people, gid, decided


@pytest.mark.parametrize("seed", [1, 2])
async def test_many_at_once_are_as_one_after_the_other(open_database: OpenDatabase, seed: int) -> None:
    """For 32 bidders at once, some one-at-a-time order of the bids gives the same answers and the same state."""
    people, gid, decided = await storm(open_database, seed)
    assert BIDDERS * TURNS == len(decided)
    database = open_database()
    log = await logged(database, gid)
    auction = replay((await stored(database, gid)).id, log[:1])
    lot = Terms(starting=100_000, reserve=400_000, soft_close=SoftCloseRule(120, 120), ends=36500 * 86_400_000_000)
    oracle = Oracle(lot)
    # A refused bid changed nothing, so its place is behind the last bid that was accepted before it.
    for one in sorted(decided, key=lambda one: (one.position, not one.accepted)):
        account, request = people[one.who].account, one.command.request
        code = "accepted"
        try:
            now = log[auction.position].at if one.accepted else auction.created_at
            events = place_bid(auction, Party(account.id, account.username), request, now)
            assert log[auction.position : auction.position + len(events)] == events
            auction = auction.after_all(events)
            assert one.position == auction.position
        except Refusal as refused:
            code = refused.code
        assert outcome(one.answer) == code
        amount, maximum = (None if each is None else units(each) for each in (request.amount, request.maximum))
        assert (oracle.bid(one.who + 1, amount, maximum, now=0) or "accepted") == code
    replayed = replay(auction.id, log)
    assert replayed == await stored(database, gid)
    assert auction == structs.replace(replayed, chain=auction.chain)
    assert (oracle.price, oracle.maximum) == tuple(units(m) for m in (auction.current_bid, auction.maximum) if m)
    assert auction.leader is not None and oracle.leader is not None
    assert people[oracle.leader - 1].account.id == auction.leader.id


async def test_the_history_of_32_bidders(open_database: OpenDatabase) -> None:
    """The history strictly rises except at a tie, the price is its highest bid, and no acknowledged bid is missing."""
    _, gid, decided = await storm(open_database, seed=3)
    database = open_database()
    auction = await stored(database, gid)
    history = list(reversed(await database.read(bids.newest, auction.id, 10_000, None)))
    assert auction.bid_count == len(history)
    for earlier, later in pairwise(history):
        tie = earlier.automatic and earlier.maximum == later.maximum and earlier.placed_at == later.placed_at
        assert earlier.amount < later.amount or (tie and earlier.amount == later.amount)
    placed = [event for event in await logged(database, gid) if isinstance(event, BidPlaced)]
    assert [event.amount for event in placed] == [bid.amount for bid in history]
    accepted = [one for one in decided if one.accepted]
    assert len(accepted) >= TURNS, "in each turn the first one that arrives is taken"
    shown = {(bid.bidder, str(bid.amount), bid.automatic) for bid in history}
    for one in accepted:
        bid = read(one.answer)["bid"]
        assert bid is None or (bid["bidder"], bid["amount"], bid["automatic"]) in shown
    assert sum(read(one.answer)["bid"] is not None for one in accepted) == sum(not bid.automatic for bid in history)
    lifted = auction.reserve_price == auction.current_bid
    assert lifted or auction.current_bid == max(bid.amount for bid in history)


async def test_batches_from_two_processes(open_database: OpenDatabase) -> None:
    """Batches over several auctions never deadlock, even if two processes name the auctions in opposite orders."""
    here, there = open_database(), open_database()
    ada = await person(here)
    people = [await person(here) for _ in range(8)]
    gids = [await sells(here, ada) for _ in range(6)]

    async def bidder(who: int) -> list[str]:
        database, order = ((here, gids), (there, gids[::-1]))[who % 2]
        answers: list[str] = []
        for turn in range(4):
            commands = [people[who].bids(gid, str(100 + 10 * (turn * 8 + who))) for gid in order]
            answers += [outcome(answer) for answer in await database.write(place_bids, commands)]
        return answers

    answers = await asyncio.gather(*(bidder(who) for who in range(8)))
    accepted = sum(each.count("accepted") for each in answers)
    found = [await stored(here, gid) for gid in gids]
    assert accepted == sum(auction.bid_count for auction in found)
    for auction in found:
        assert auction == replay(auction.id, await logged(here, auction.gid))
