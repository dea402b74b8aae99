"""Many users who bid at once, and checks of the result."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import count, pairwise
from typing import Any

import httpx

from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.storage import auctions, event_log
from saleroom.storage.database import Database, Transaction
from tests.patience import SECONDS_MAX

TURNS = 3
"""How often each bids in a storm, and so how many bids are taken at least: in each turn the first one that arrives."""


async def storm(url: str, gid: str, tokens: list[str]) -> list[dict[str, Any]]:
    """Let everybody bid a few times at once, each bid sent twice with the same key; return the accepted answers."""
    accepted: list[dict[str, Any]] = []

    async def bid(client: httpx.AsyncClient, number: int, token: str) -> None:
        for turn in range(TURNS):
            least = (await client.get(f"/auctions/{gid}")).json()["minimumBid"]
            # Some aim just above the present price, where everybody else does too, some well above it.
            amount = Decimal(least) + (Decimal(number * 3 + turn) / 10 if number % 2 else 0)
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"turn-{turn}"}
            body = {"amount": str(amount)}
            twice = [client.post(f"/auctions/{gid}/bids", headers=headers, json=body) for _ in range(2)]
            answers = await asyncio.gather(*twice)
            assert {answer.status_code for answer in answers} <= {201, 409}, [answer.text for answer in answers]
            taken = [answer for answer in answers if answer.status_code == 201]
            if len(taken) == 1:
                # As prices only rise, a refused bid stays refused; but the leader may be outbid in between.
                assert ["already_leading"] == [a.json()["code"] for a in answers if a.status_code == 409]
            if taken:
                assert taken[0].content == taken[-1].content
                accepted.append(taken[0].json())

    limits = httpx.Limits(max_connections=2 * len(tokens))
    headers = {"X-Requested-With": "test"}
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=SECONDS_MAX) as client:
        await asyncio.gather(*(bid(client, number, token) for number, token in enumerate(tokens)))
    return accepted


@dataclass
class StormResult:
    """The answers to a storm: its acknowledged bids, and how often it got 503."""

    accepted: list[dict[str, Any]] = field(default_factory=list)
    unavailable: int = 0

    async def more(self) -> None:
        """Wait until twelve more bids are acknowledged."""
        enough = len(self.accepted) + 12
        async with asyncio.timeout(SECONDS_MAX):
            while len(self.accepted) < enough:
                await asyncio.sleep(0.01)


async def storm_until(url: str, gid: str, tokens: list[str], calm: asyncio.Event, outcome: StormResult) -> None:
    """Let everybody bid until `calm`, and once more; after a 503 a request is repeated with its key until it is settled.

    Fails at once at any other answer than 201, 409 or a 503 that says when to come again.
    """
    amounts = count(Decimal(1), Decimal("0.001"))

    async def settled(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        while (answer := await send()).status_code == 503:
            assert answer.headers["Retry-After"].isdecimal(), answer.text
            outcome.unavailable += 1
            await asyncio.sleep(0.05)  # sooner than it says: worse for the house, and better for the test
        return answer

    async def bid(client: httpx.AsyncClient, token: str) -> None:
        for turn in count():
            last = calm.is_set()
            if turn % 8 == 0:
                assert 200 == (await settled(partial(client.get, f"/auctions/{gid}"))).status_code
            # Each bid is above all before it; one that is overtaken on its way is refused.
            body = {"amount": str(next(amounts))}
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"turn-{turn}"}
            send = partial(client.post, f"/auctions/{gid}/bids", headers=headers, json=body)
            answer = await settled(send)
            assert answer.status_code in {201, 409}, answer.text
            if answer.status_code == 201:
                outcome.accepted.append(answer.json())
            if last:
                return

    limits = httpx.Limits(max_connections=len(tokens))
    headers = {"X-Requested-With": "test"}
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=SECONDS_MAX) as client:
        await asyncio.gather(*(bid(client, token) for token in tokens))


def check_history(
    history: list[dict[str, Any]], auction: dict[str, Any], answers: Sequence[dict[str, Any]], least: float
) -> None:
    """Check that the history strictly rises to the price, and holds each acknowledged bid exactly once.

    At least `least` must have been accepted; fewer are not a storm.
    """
    amounts = [Decimal(bid["amount"]) for bid in history]
    assert [] == [(a, b) for a, b in pairwise(amounts) if a >= b]
    assert amounts[-1] == max(amounts) == Decimal(auction["currentBid"])
    assert history[-1]["bidder"] == auction["currentBidder"]
    acknowledged = [answer["bid"] for answer in answers]
    assert len(acknowledged) >= least
    assert len(history) == auction["bidCount"] == len(acknowledged)
    assert sorted(acknowledged, key=lambda bid: Decimal(bid["amount"])) == history


async def check_replay(url: str, gid: str, shown: dict[str, Any]) -> None:
    """Check that the log alone gives the stored auction, bit by bit, and that the stored one is what was `shown`."""

    def stored_and_replayed(tx: Transaction) -> None:
        stored = auctions.get(tx, gid)
        assert stored is not None
        assert stored == replay(stored.id, event_log.read(tx, stored.id))
        [(_, state, _)] = auctions.public_states(tx, [stored.id]).values()
        assert shown == json.loads(state)

    await in_database(url, stored_and_replayed)


def bid_until_the_end(url: str, gid: str, token: str, taken: list[dict[str, Any]], statuses: set[int]) -> None:
    """Bid the minimum again and again until the house is gone; note the acknowledged bids."""
    headers = {"X-Requested-With": "test", "Authorization": f"Bearer {token}"}
    least = "1.000"
    with httpx.Client(base_url=url, headers=headers, timeout=SECONDS_MAX) as client:
        while True:
            try:
                answer = client.post(f"/auctions/{gid}/bids", json={"amount": least})
            except httpx.TransportError:
                return
            statuses.add(answer.status_code)
            said = answer.json()
            if answer.status_code == 201:
                taken.append(said)
                least = said["auction"]["minimumBid"]
            elif "minimumBid" in said:
                least = said["minimumBid"]


async def in_database(url: str, use_case: Callable[..., Any], *arguments: Any) -> Any:
    """Run `use_case` in a transaction on the database at `url`, from outside the house."""
    database = Database(url)
    try:
        return await database.write(use_case, *arguments)
    finally:
        await database.close()
