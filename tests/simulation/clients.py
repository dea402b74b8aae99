"""The clients: bidders and authors, who repeat unanswered requests, as if over HTTP, and by devices over MQTT."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import msgspec

from saleroom.accounts.service import accounts, sessions
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.service import auctions, bidding, moderation
from saleroom.bidding.service.bidding import BidCommand
from saleroom.kernel.errors import Busy, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.service import clocks, needs
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable
from tests.bidding.domain.oracle import SECOND, Amend, Bid
from tests.bidding.domain.playing import at, changed, draft, money, refusal_code
from tests.histories import LEADER, PEOPLE, Relative
from tests.histories import Step as Told
from tests.simulation.broker import PREFIX
from tests.simulation.evenings import NOBODY
from tests.simulation.judge import request_key
from tests.simulation.model import ModelAuction, micros
from tests.simulation.need_model import NeedModel
from tests.simulation.plan_entries import NewLot, PlannedRequest, Way, absolute
from tests.simulation.sale_model import SALE
from tests.simulation.world import Process, World, told

PATIENCE = 2.0
"""Seconds after which a client repeats what nobody answered."""
NEAR_MAX = 12.0
"""How long at most a step waits for the instant that it aims at."""
ANSWER_SECONDS_MAX = 120.0
LOST: Any = object()
"""Stands for an answer that does not come."""


def give(tx: Transaction, token: str, gid: str, amount: Decimal, again: bool, once: IdempotencyKey) -> bytes:
    """Give online; the judge sees all arguments."""
    return needs.give(tx, token, gid, amount, once, again=again)


class PendingRequest:
    """One request, with all that happens to it until it is answered."""

    def __init__(self, world: World, entry: PlannedRequest | NewLot) -> None:
        self._world = world
        self._tokens = world.tokens
        self._gids = world.gids
        self._entry = entry
        self._who = entry.who
        self._chance = world.chance(f"client {entry.number}")
        own = entry.number if isinstance(entry, NewLot) or entry.key is None else entry.key
        self._key = f"k{own:03}"

    async def run(self) -> None:
        """Ask until there is an answer. Returns at once if the lot does not exist."""
        entry = self._entry
        if isinstance(entry, NewLot):
            answer = await self._ask(self._creation(entry))
            if isinstance(answer, bytes):
                self._gids[entry.lot] = msgspec.json.decode(answer)["gid"]
            return
        if not entry.lot:
            await self._log_out(entry)
            return
        gid = self._gids.get(entry.lot) if entry.lot != NOBODY else self._on_block()
        if gid is None:
            return
        sale = self._world.judge.model.sale
        if sale is not None and gid in sale.needs:
            if entry.what == "bid":
                await self._give(entry, sale.needs[gid])
            return
        await self._wait_for(gid)
        if entry.what == "look":
            await self._look(gid)
        elif entry.way.door == "mqtt":
            await self._ask_by_device(gid)
        else:
            await self._ask(self._request(gid))

    def _on_block(self) -> str | None:
        """Return the lot that was called last."""
        sale = self._world.judge.model.sale
        return None if sale is None else sale.last

    async def _give(self, entry: PlannedRequest, need: NeedModel) -> None:
        """Give at the level, or now and then at another one: what is on the block is a fund-a-need."""
        self._who = 2 if entry.who == LEADER else entry.who
        level = need.levels[0] if need.level is None else need.level
        amount = money(level + (0 if entry.amount is None else max(0, entry.amount.delta)))
        said = amount, entry.number % 2 == 0
        values = (self._tokens[self._who], SALE, *said, IdempotencyKey(self._key, digest((self._who, said))))
        await self._ask(lambda process: process.database.write(give, *values))

    def _standing(self, gid: str) -> ModelAuction:
        return self._world.judge.model.auctions[gid]

    def _way(self) -> Way:
        return self._entry.way if isinstance(self._entry, PlannedRequest) else _PASSES

    async def _wait_for(self, gid: str) -> None:
        """Wait for the instant that the step aims at, which may move meanwhile."""
        assert isinstance(self._entry, PlannedRequest)
        near, began = self._entry.near, self._world.loop.time()
        while near is not None and self._world.loop.time() - began < NEAR_MAX:
            now = micros(self._world.clock())
            wait = (near.instant(self._standing(gid).oracle, now) - now) / SECOND
            if wait <= 0:
                return
            await asyncio.sleep(min(wait, NEAR_MAX))

    def _creation(self, entry: NewLot) -> Callable[[Process], Awaitable[Any]]:
        terms = absolute(entry.terms, micros(self._world.clock()))
        token, once = self._tokens[entry.who], IdempotencyKey(self._key, digest(terms))
        return lambda process: process.database.write(auctions.create, token, draft(terms), once)

    async def _log_out(self, entry: PlannedRequest) -> None:
        """End the session, or all of them; a request under way may find its token dead. Then log in again."""
        token = self._tokens[entry.who]
        use_case = accounts.log_out if entry.what == "log out" else sessions.end_all
        self._key = request_key(use_case.__name__, (token,))
        await self._ask(lambda process: process.database.write(use_case, token))
        if self._tokens[entry.who] == token:
            await self._log_in()

    async def _log_in(self) -> None:
        """Get a new token. A try whose answer is lost leaves a token that no client knows."""
        user = self._world.users[self._who]
        self._key = request_key("issue_token", (user,))
        issued = await self._ask(lambda process: process.database.write(accounts.issue_token, user))
        if issued is not LOST:
            self._tokens[self._who] = issued.value

    def _request(self, gid: str) -> Callable[[Process], Awaitable[Any]]:
        """Return the request of a step, made absolute now: a repeat asks for the very same."""
        entry, now = self._entry, micros(self._world.clock())
        assert isinstance(entry, PlannedRequest)
        if entry.what == "bid":
            command = self._command(gid, entry)
            return lambda process: process.desk.place(_received(command, process))
        token, once = self._tokens[entry.who], IdempotencyKey(self._key, digest(entry))
        changes = tuple((name, _shifted(name, value, now)) for name, value in entry.changes)
        if entry.what == "void":
            standing = [one.version for one in self._standing(gid).oracle.asked]
            version = standing[-1 - entry.pick % len(standing)] if standing and entry.pick >= 0 else -entry.pick
            return lambda process: process.database.write(moderation.void_bid, token, gid, version, "A slip.", once)
        if entry.what in HALTS:
            return lambda process: process.database.write(HALTS[entry.what], token, SALE, once)
        if entry.what in MODERATIONS:
            use_case, said = MODERATIONS[entry.what]
            values: tuple[Any, ...] = (token, gid, *said, once)
            return lambda process: process.database.write(use_case, *values)
        if entry.what == "buy":
            return lambda process: process.database.write(
                bidding.buy_now, token, gid, once, BidRequest(None, None, received_at=process.database.clock_now())
            )
        if entry.what in ("announce", "close"):
            ends = at(dict(changes)["ends"]) if changes else None
            return lambda process: process.database.write(auctions.close, token, gid, ends, once)
        if entry.what == "cancel":
            self._key = request_key("cancel", (token, gid))
            return lambda process: process.database.write(auctions.cancel, token, gid)
        terms = changed(Amend(0, changes))
        self._key = request_key("amend", (token, gid, terms))
        return lambda process: process.database.write(auctions.amend, token, gid, terms)

    def _command(self, gid: str, entry: PlannedRequest) -> BidCommand:
        standing = self._standing(gid)
        if entry.who == LEADER:
            leader = None if standing.oracle.leader is None else standing.who(standing.oracle.leader)
            self._who = 2 if leader is None or leader >= len(PEOPLE) else leader
        bid = Told(Relative("now", 0), "bid", 1, entry.amount, entry.maximum).resolve(standing.oracle, 0)[1]
        assert isinstance(bid, Bid)
        request = BidRequest(*(None if m is None else money(m) for m in (bid.amount, bid.maximum)))
        return BidCommand(self._tokens[self._who], gid, request, IdempotencyKey(self._key, digest((self._who, bid))))

    async def _ask(self, request: Callable[[Process], Awaitable[Any]]) -> Any:
        """Send a request until it is answered, and return the answer."""
        way, deadline = self._way(), self._world.loop.time() + ANSWER_SECONDS_MAX
        while self._world.loop.time() < deadline:
            answer = await self._attempt(request, way, self._key)
            if way.dies:
                return LOST
            way = _PASSES
            if answer is not LOST and not isinstance(answer, DatabaseUnavailable | Busy):
                self._world.trace(f"client {self._key[:30]} is told {_said(answer)}")
                if isinstance(answer, Unauthenticated) and not self._key.startswith("issue"):
                    await self._log_in()
                return answer
            await asyncio.sleep(self._chance.choice((0.0, 0.1, 0.7)))
        self._world.judge.fail("a repeated request is answered", f"{self._key} was not, in {ANSWER_SECONDS_MAX} s")
        return LOST

    async def _attempt(self, request: Callable[[Process], Awaitable[Any]], way: Way, key: str | None) -> Any:
        """Send a request, as `way` says, and return the answer that comes in time, or LOST."""
        copies = [self._send(request, way.delay, key, lost=way.lost)]
        if way.twice is not None:
            copies.append(self._send(request, way.delay + way.twice, key, lost=False))
        tasks = [asyncio.get_running_loop().create_task(copy) for copy in copies]
        done, _ = await asyncio.wait(tasks, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        return LOST if way.unanswered else next((task.result() for task in tasks if task in done), LOST)

    async def _send(
        self, request: Callable[[Process], Awaitable[Any]], delay: float, key: str | None, *, lost: bool
    ) -> Any:
        """Send one copy; no answer comes if it, or the process, is lost. The judge knows an answer by `key`."""
        await asyncio.sleep(delay + self._chance.choice((0.0, 0.0, 0.01, 0.03)))
        serving = self._world.serving()
        if lost or not serving:
            await asyncio.sleep(0.05 if not lost else PATIENCE + 1)
            return LOST
        answer = await self._chance.choice(serving).serve(request)
        if isinstance(answer, Exception) and not isinstance(answer, Refusal | DatabaseUnavailable):
            self._world.judge.fail("no internal error", f"{self._key}: {told(answer)}")
        elif key is not None and not isinstance(answer, DatabaseUnavailable | Busy):
            self._world.judge.told(key, answer)
        await asyncio.sleep(self._chance.choice((0.0, 0.01)))
        return answer

    async def _look(self, gid: str) -> None:
        """Read the auction: the answer is never older than the question, and never uncommitted."""
        judge = self._world.judge
        least = max(judge.states[gid])
        answer = await self._attempt(lambda process: process.showing.ask((gid, None)), self._way(), None)
        if self._standing(gid).was_withheld and getattr(answer, "hidden", False):
            return  # no event says that staff hide a lot that is over
        if answer is not LOST and not isinstance(answer, Exception):
            versions = [version for version, state in judge.states[gid].items() if state == answer.json]
            if not versions or versions[-1] < least:
                judge.fail("a look shows what is committed, and is never older than the question", f"{gid}: {answer}")

    async def _ask_by_device(self, gid: str) -> None:
        """Publish a command until there is an answer to its id."""
        assert isinstance(self._entry, PlannedRequest)
        command = self._command(gid, self._entry)
        asked = {"amount": command.request.amount, "maximum": command.request.maximum}
        told = {name: str(value) for name, value in asked.items() if value is not None}
        payload = msgspec.json.encode({"token": command.token, "id": self._key, **told})
        topic = f"{PREFIX}replies/{self._key}"
        broker, way = self._world.broker, self._entry.way
        await asyncio.sleep(way.delay)
        deadline = self._world.loop.time() + ANSWER_SECONDS_MAX
        while self._world.loop.time() < deadline:
            future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            broker.replies.setdefault(topic, []).append(future)
            for _ in range(1 if way.twice is None else 2):  # the broker may deliver it twice
                broker.ask(f"{PREFIX}auctions/{gid}/bids", payload)
            await asyncio.wait({future}, timeout=PATIENCE)
            if future.done() and self._device_told(future.result()):
                return
        self._world.judge.fail("a repeated request is answered", f"{self._key} was not, in {ANSWER_SECONDS_MAX} s")

    def _device_told(self, reply: bytes) -> bool:
        """Check an answer, and return whether it is final."""
        status = msgspec.json.decode(reply)["status"]
        if status == 201:
            self._world.judge.told(self._key, b"{" + reply.removeprefix(b'{"status":201,'))
        elif status not in (429, 503):
            self._world.judge.told(self._key, msgspec.json.decode(reply)["code"])
        return status not in (429, 503)


MODERATIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "hide": (moderation.hide, ("It may be stolen.",)),
    "show": (moderation.show, ()),
    "cancel sale": (moderation.cancel, ("The seller has withdrawn it.",)),
}
"""What staff do about a lot, with the reason that they give."""
HALTS: dict[str, Any] = {"pause": clocks.pause, "resume": clocks.resume}
"""What staff do about all lots of a sale."""
_PASSES = Way()


def _received(command: BidCommand, process: Process) -> BidCommand:
    """Return the command as a door of this process hands it over."""
    request = msgspec.structs.replace(command.request, received_at=process.database.clock_now())
    return msgspec.structs.replace(command, request=request)


def _shifted(name: str, value: Any, now: int) -> Any:
    return now + value if name in ("starts", "ends") and value is not None else value


def digest(what: object) -> bytes:
    """Return what stands for a request beside its Idempotency-Key."""
    return hashlib.sha256(repr(what).encode()).digest()


def _said(answer: Any) -> str:
    return refusal_code(answer) if isinstance(answer, Refusal) else str(answer)[:120]
