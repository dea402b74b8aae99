"""The desk: bids of all channels wait here, and waiting bids share one transaction."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from itertools import islice

from saleroom.bidding.service.bidding import BidCommand, place_bids, refusals_at_door
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage import auctions
from saleroom.kernel.errors import Busy, Refusal
from saleroom.kernel.figures import Distribution, Figure, counters, gauge
from saleroom.storage.batching import Batches, OpenQuestion, tell
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable, LockTimeout
from saleroom.storage.turns import begin_for_all

BATCH_MAX = 512
WAITING_MAX = 4096
"""Beyond it a bid is refused as `busy` at once, since an answer after the end of the auction would be worse."""
LOOK_FROM = BATCH_MAX
"""If at least so many bids wait, new ones are checked before they line up, because they have to wait anyway."""
AT_DOOR_MAX = 4 * WAITING_MAX
"""The most bids that wait for the check of their token and auction. The house checks forged bids faster than they come."""

FAIL_SECONDS_MAX = 10.0
"""If no batch could be decided for so long, the bids that wait are answered by 503 along with the batch that failed."""

ACCEPTED = "accepted"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_HELD = "another session has locked this auction"
_TOO_MANY = "Too many bids at once; nothing was changed; try again in a moment."


class Desk:
    """Gathers the bids that arrive while a transaction is under way into the next one.

    The auctions take turns, so that a storm on one does not hold up the others; within an auction the order is that of
    arrival. An idle desk starts at once: nobody ever waits for a batch to fill.

    If more bids wait than the next transaction takes, new ones are checked before they line up, many in one read: those with a
    dead token or on an unknown auction are refused at the door. The others pass it in order of arrival.
    """

    def __init__(self, database: Database, key: SigningKey | None = None) -> None:
        """Receipts are signed with `key`, or without it with the newest key in the database."""
        self._database = database
        self._key = key or SigningKey()
        self._waiting: dict[str, deque[OpenQuestion[BidCommand, bytes]]] = {}
        """By auction, in the order of their turns."""
        self._count = 0
        self._by_token: dict[str, int] = {}
        """How many bids of each token wait."""
        self._at_door: deque[tuple[BidCommand, asyncio.Future[bytes]]] = deque()
        self._batches = Batches("bids", self._take, self._decide)
        self._locked: set[str] = set()
        """Auctions that another session had locked for too long when they were last looked at."""
        self._fails_since: float | None = None
        """When the first began of the batches that have failed since the last one that was decided."""
        self._looking: asyncio.Task[None] | None = None
        self._waits_since = 0.0
        """When the first bid of the next batch came, or the batch before began."""
        self._outcomes: Counter[str] = Counter()
        self._sizes = Distribution((1, 2, 4, 8, 16, 32, 64, 128, 256, 512))
        self._waits = Distribution(_SECONDS)
        self._decisions = Distribution(_SECONDS)

    def figures(self) -> Sequence[Figure]:
        """Return what the desk has counted."""
        outcomes: dict[tuple[str, ...], float] = {(outcome,): number for outcome, number in self._outcomes.items()}
        outcomes.setdefault(("failed",), 0)  # a counter that begins above 0 has not grown for Prometheus: no alert
        return (
            counters("saleroom_bids", "Decided bids, by outcome: accepted, or why not.", ("outcome",), outcomes),
            self._sizes.figure("saleroom_bid_batch_size", "Bids that share a transaction."),
            self._waits.figure("saleroom_bid_wait_seconds", "How long the first bid of a batch waited for its turn."),
            self._decisions.figure("saleroom_bid_decision_seconds", "How long a batch took, to the end of its commit."),
            gauge("saleroom_bids_waiting", "Bids that wait.", self._count + len(self._at_door)),
        )

    def place(self, command: BidCommand) -> asyncio.Future[bytes]:
        """Return the answer to come (JSON of a `BidAnswer`), which is there once it is committed.

        In its place comes the refusal, Busy, or DatabaseUnavailable.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self._count < LOOK_FROM and not self._at_door:
            self._pass(command, answer, None)
        elif len(self._at_door) >= AT_DOOR_MAX:
            self._pass(command, answer, Busy(_TOO_MANY))
        else:
            self._at_door.append((command, answer))
            if self._looking is None:
                self._looking = begin_for_all(self._look())
        return answer

    def _line_up(self, command: BidCommand, answer: asyncio.Future[bytes]) -> None:
        """Put a bid at the end of its auction's line, and have it served.

        Raises Busy if too many wait, and both its auction and its bidder have their share of the places.
        """
        line = self._waiting.get(command.gid)
        if (
            self._count >= WAITING_MAX
            and (0 if line is None else len(line)) >= WAITING_MAX // (len(self._waiting) + 1)
            and self._by_token.get(command.token, 0) >= WAITING_MAX // (len(self._by_token) + 1)
        ):
            raise Busy(_TOO_MANY)
        if not self._count:
            self._waits_since = time.monotonic()
        if line is None:
            line = self._waiting[command.gid] = deque()
        line.append((command, (answer,)))
        self._count += 1
        self._by_token[command.token] = self._by_token.get(command.token, 0) + 1
        self._batches.start()

    async def _look(self) -> None:
        """Check the bids at the door and let the valid ones line up, until no bid is left there."""
        try:
            while self._at_door:
                some = list(islice(self._at_door, BATCH_MAX))
                try:
                    refusals: Sequence[Exception | None] = await self._database.read(
                        refusals_at_door, [bid for bid, _ in some]
                    )
                except DatabaseUnavailable as error:
                    some = list(self._at_door)  # the others would wait as long, for the same answer
                    refusals = [error] * len(some)
                except Exception as error:  # noqa: BLE001  # each bidder gets it: a bid that cannot be checked does not pass
                    refusals = [error] * len(some)
                for (command, answer), refusal in zip(some, refusals, strict=True):
                    self._at_door.popleft()
                    self._pass(command, answer, refusal)
        finally:
            self._looking = None

    def _pass(self, command: BidCommand, answer: asyncio.Future[bytes], refusal: Exception | None) -> None:
        """Let one bid line up, or answer it with the refusal."""
        if refusal is None:
            try:
                self._line_up(command, answer)
            except Busy as busy:
                refusal = busy
        if refusal is not None:
            self._outcomes[outcome(refusal)] += 1
            if not answer.done():
                answer.set_exception(refusal)

    def _take(self) -> list[OpenQuestion[BidCommand, bytes]]:
        """Take up to `BATCH_MAX` bids: one of each auction in turn, and again."""
        batch: list[OpenQuestion[BidCommand, bytes]] = []
        while self._waiting and len(batch) < BATCH_MAX:
            gid = next(iter(self._waiting))
            line = self._waiting.pop(gid)
            batch.append(line.popleft())
            if line:
                self._waiting[gid] = line
        self._count -= len(batch)
        if batch:
            now = time.monotonic()
            self._waits.count(now - self._waits_since)
            self._sizes.count(len(batch))
            self._waits_since = now
        for command, _ in batch:
            left = self._by_token[command.token] - 1
            if left:
                self._by_token[command.token] = left
            else:
                del self._by_token[command.token]
        return batch

    async def _decide(self, commands: Sequence[BidCommand]) -> Sequence[bytes | Exception]:
        begun = time.monotonic()
        try:
            answers = await self._decided(commands)
        except Exception as error:  # of any kind: it is counted here, and goes on to those who wait for an answer
            self._outcomes["failed"] += len(commands)
            if isinstance(error, DatabaseUnavailable):
                self._give_up_late(begun, error)
            raise
        self._fails_since = None
        self._decisions.count(time.monotonic() - begun)
        outcomes = self._outcomes
        for answer in answers:
            outcomes[ACCEPTED if isinstance(answer, bytes) else outcome(answer)] += 1
        return answers

    async def _decided(self, commands: Sequence[BidCommand]) -> Sequence[bytes | Exception]:
        if not self._locked:
            try:
                return await self._database.write(place_bids, commands, self._key)
            except LockTimeout:
                self._locked = {command.gid for command in commands}
        return await self._decide_free(commands)

    async def _decide_free(self, commands: Sequence[BidCommand]) -> Sequence[bytes | Exception]:
        """Decide the bids, but for those on auctions that another session still has locked: these are not waited for."""
        suspects = self._locked & {command.gid for command in commands}
        free = await self._database.write(auctions.lock_free, suspects) if suspects else set()
        self._locked -= free
        held = suspects - free
        others = [one for one in commands if one.gid not in held]
        decided = iter(await self._database.write(place_bids, others, self._key) if others else ())
        return [LockTimeout(_HELD) if one.gid in held else next(decided) for one in commands]

    def _give_up_late(self, begun: float, error: DatabaseUnavailable) -> None:
        """Answer all bids that wait if batches have failed for too long: nobody waits for several of them in turn."""
        if self._fails_since is None:
            self._fails_since = begun
        if time.monotonic() - self._fails_since < FAIL_SECONDS_MAX:
            return
        while batch := self._take():
            self._outcomes["failed"] += len(batch)
            tell(batch, [DatabaseUnavailable(str(error)) for _ in batch])


def outcome(error: Exception) -> str:
    """Return why a bid was not accepted: the code of its refusal."""
    return error.code if isinstance(error, Refusal) else "failed"
