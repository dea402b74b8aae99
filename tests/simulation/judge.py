"""The judge: sees each commit, each message and each answer at the moment it happens, and stops the run at the first breach.

It reads the database on a separate connection, without any cache of a process of the house.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from msgspec import structs
from sqlalchemy import Connection, select

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import BidPlaced, Event
from saleroom.bidding.domain.ledger import LedgerEvent, enter, replay
from saleroom.bidding.domain.views import auction_view, event_from_parts
from saleroom.bidding.storage import auctions, event_log
from saleroom.bidding.storage.tables import events
from saleroom.kernel.errors import Refusal
from saleroom.sales.storage.tables import lots
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable, TryAgain
from tests.bidding.domain.oracle import Row
from tests.bidding.domain.playing import refusal_code, seen, units
from tests.histories import PEOPLE
from tests.simulation.block_oracle import FLOOR, LiveOracle
from tests.simulation.model import Model
from tests.simulation.properties import AuctionProperties
from tests.simulation.sale_decisions import ModelMismatch
from tests.simulation.sale_judge import SaleJudge
from tests.simulation.sale_model import SALE

_encode = msgspec.json.Encoder().encode


class Breach(Exception):
    """A broken property: its `kind`, and how it showed."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)  # so that it can pass between processes
        self.kind, self.text = kind, text

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass
class ReplayedAuction:
    """An auction as its log has told it so far."""

    auction: Auction
    types: list[str]
    bids: list[BidPlaced] = field(default_factory=list)
    watched: AuctionProperties = field(default_factory=AuctionProperties)

    def note(self, history: Iterable[Event]) -> None:
        """Take in the new events of the log."""
        for event in history:
            self.types.append(event.TYPE)
            if isinstance(event, BidPlaced):
                self.bids.append(event)


class Judge:
    """See the module. `tell` is called with a `Breach`; `trace` with a line for each decision."""

    def __init__(
        self,
        begun: Callable[[], Connection],
        last: Callable[[], int],
        tell: Callable[[Breach], None],
        last_of_sale: Callable[[], int] = int,
    ) -> None:
        """Take the reader of the database, and the numbers of the last rows of its logs."""
        self.model = Model()
        self.trace: Callable[[str], None] = lambda _: None
        self.commits = 0
        self.payloads: dict[tuple[str, int], bytes] = {}
        """Every public event that is committed, by gid and version."""
        self.order: list[tuple[str, int]] = []
        """The same in the order of the log."""
        self.states: dict[str, dict[int, bytes]] = {}
        """The public state of each auction after a transaction, by gid and version."""
        self.known: dict[str, ReplayedAuction] = {}
        self.tags = ["0"]
        """The tags of the block of the sale, one after the other."""
        self.of_sale: SaleJudge | None = None
        """There is one if the lots are those of a published sale."""
        self._begun = begun
        self._last = last
        self._last_of_sale = last_of_sale
        self._tell = tell
        self.last_row = 0
        self._answers: dict[str, list[Any]] = {}
        """The decision for each request, by its key: the committed answer, or the code of the refusal."""

    def fail(self, kind: str, text: str) -> None:
        """Report that `kind` does not hold."""
        self._tell(Breach(kind, text))

    def refused(self, use_case: str, args: tuple[Any, ...], error: Exception, now: datetime) -> None:
        """Take note of a transaction that raised and was rolled back."""
        if isinstance(error, TryAgain | DatabaseUnavailable):
            return
        if not isinstance(error, Refusal):
            self.fail("no internal error", f"{use_case} raised {error!r}")
            return
        self._decide(use_case, args, error, now)
        self._note(use_case, args, error)

    def committed(self, use_case: str, args: tuple[Any, ...], answer: Any, now: datetime) -> None:
        """Take note of a transaction that has just been committed, and check all its changes."""
        self.commits += 1
        self._decide(use_case, args, answer, now)
        self._note(use_case, args, answer)
        self._look(use_case, args, now)
        if use_case == "merge":
            self._read_again(args, now)
        if self.of_sale is not None and not self.of_sale.unmoved(use_case):
            assert self.model.sale is not None, "it has a sale"
            with self._begun() as connection:
                self.of_sale.look(use_case, Transaction(connection, lambda: now), self.model.sale)

    def _read_again(self, args: tuple[Any, ...], now: datetime) -> None:
        """Read all lots once more: in their logs the bids of one user are now those of another."""
        with self._begun() as connection:
            tx = Transaction(connection, lambda: now)
            for gid, known in self.known.items():
                log = event_log.read(tx, known.auction.id)
                before, known.auction = known.auction, replay(known.auction.id, log)
                if known.auction.chain != before.chain:
                    self.fail("the ledger holds", f"{gid}: a merge changed its hashes")
                bids = [event for event in log if isinstance(event, BidPlaced)]
                for was, now_is in zip(known.bids, bids, strict=True):
                    known.watched.move(was.bidder_id, now_is.bidder_id)
                known.bids = bids
                stored = structs.replace(auctions.by_ids(tx, [known.auction.id])[0], sale_id=None, renamed=0)
                if known.auction != stored and not stored.withheld:
                    self.fail("replaying the log gives the stored state", f"{gid}: {known.auction} is not {stored}")
                self._agrees(known)

    def published(self) -> None:
        """Take note of a sale that was published before anything else."""
        self.of_sale = SaleJudge(self, self._last_of_sale)
        self.model.gid_of = self._gid_of

    def _gid_of(self, label: str) -> str:
        """Return the gid of a lot that was just added."""
        with self._begun() as connection:
            found = connection.execute(select(lots.c.gid).where(lots.c.label == label)).scalar_one()
        return str(found)

    def _decide(self, use_case: str, args: tuple[Any, ...], answer: Any, now: datetime) -> None:
        self.trace(f"{use_case} {_short(args)} -> {_short(answer)}")
        try:
            self.model.decided(use_case, args, answer, now)
        except ModelMismatch as differs:
            self.fail("every decision is the one the rules give in the order of the log", f"{use_case}: {differs}")

    def _note(self, use_case: str, args: tuple[Any, ...], answer: Any) -> None:
        if use_case == "place_bids":
            for command, one in zip(args[0], answer, strict=True):
                self._answers.setdefault(command.once.key, []).append(_plain(one))
        else:
            self._answers.setdefault(request_key(use_case, args), []).append(_plain(answer))

    def told(self, key: str, answer: Any) -> None:
        """Take note of an answer to a client: it must be the decision, and an acceptance must be committed."""
        if _plain(answer) not in self._answers.get(key, []):
            self.fail("what is acknowledged is committed", f"{key} was told {_short(answer)}, which was not decided")

    def _look(self, use_case: str, args: tuple[Any, ...], now: datetime) -> None:
        last = self._last()
        if last == self.last_row:
            return
        if use_case in ("hold_and", "mark_cleared", "hold", "take", "release", "log_out", "end_all", "issue_token"):
            self.fail("only decisions are logged", f"{use_case} added {last - self.last_row} events")
        literal = {c.request.amount for c in args[0]} if use_case == "place_bids" else set()
        with self._begun() as connection:
            tx = Transaction(connection, lambda: now)
            new = select(events.c.auction_id).where(events.c.id > self.last_row).distinct()
            for auction in sorted(auctions.by_ids(tx, tx.execute(new).scalars().all()), key=lambda one: one.id):
                self._changed(tx, auction, literal, now)
            order = select(events.c.auction_id, events.c.version).where(events.c.id > self.last_row)
            gids = {known.auction.id: gid for gid, known in self.known.items()}
            rows = tx.execute(order.order_by(events.c.id)).all()
        self.order += [(gids[row.auction_id], row.version) for row in rows if row.version is not None]
        self.last_row = last

    def _changed(self, tx: Transaction, auction: Auction, literal: set[Any], now: datetime) -> None:
        known = self.known.get(auction.gid)
        new = event_log.logged(tx, auction.id, after=0 if known is None else known.auction.position)
        history = [_event(one) for one in new]
        if known is None:
            known = self.known[auction.gid] = ReplayedAuction(replay(auction.id, history[:1]), [history[0].TYPE])
            self._payload(known.auction, new[0])
            history, new = history[1:], new[1:]
        state = known.auction
        for event, one in zip(history, new, strict=True):
            after, entry = enter(state.after(event), event)
            for fault in known.watched.faults(state, event, after, now):
                self.fail("the properties of the rules", f"{auction.gid}: {fault}")
            if entry.payload != one.payload:
                self.fail(
                    "the ledger holds", f"{auction.gid}/{after.version}: {one.payload!r}, and not {entry.payload!r}"
                )
            state = after
            self._payload(state, one)
        known.auction = state
        known.note(history)
        auction = structs.replace(auction, sale_id=None, renamed=0)  # which are beside the log
        if state != auction:
            self.fail("replaying the log gives the stored state", f"{auction.gid}: {state} is not {auction}")
        for fault in known.watched.after_decision(state, literal):
            self.fail("the properties of the rules", f"{auction.gid}: {fault}")
        self._agrees(known)
        self.states.setdefault(auction.gid, {})[auction.version] = _encode(auction_view(auction))

    def _payload(self, state: Auction, one: LedgerEvent) -> None:
        if one.payload is not None:
            self.payloads[state.gid, state.version] = one.payload

    def _agrees(self, known: ReplayedAuction) -> None:
        """The naive model, fed with the same decisions in the same order, has the auction's state."""
        auction = known.auction
        standing = self.model.auctions.get(auction.gid)
        if standing is None:
            self.fail("the oracle agrees", f"nobody was told of {auction.gid}")
            return
        rows = [
            Row(standing.who(self._person(bid.bidder_id)), units(bid.amount), units(bid.maximum), bid.automatic)
            for bid in known.bids
        ]
        state = seen(auction, rows, known.types)
        state["leader"] = None if auction.leader is None else standing.who(self._person(auction.leader.id))
        if isinstance(standing.oracle, LiveOracle):
            state["stage"] = auction.stage
        self._named_right(auction)
        mine = standing.oracle.seen()
        if mine != state:
            differs = {name: (mine[name], state[name]) for name in mine if mine[name] != state[name]}
            self.fail("the oracle agrees", f"{auction.gid}, (the oracle's, the house's): {differs}")

    def _person(self, user_id: int) -> int:
        """Return the number of a person; the user whom the house makes for the floor is none of them."""
        return self.model.people.get(user_id, FLOOR)

    def _named_right(self, auction: Auction) -> None:
        """The leader has the name by which the sale shows them."""
        if self.model.sale is None or auction.leader is None:
            return
        person = self._person(auction.leader.id)
        name = self.model.sale.name(person) or (PEOPLE[person] if person < len(PEOPLE) else None)
        if name != auction.leader.name:
            self.fail("bidders have their names", f"{auction.gid}: {auction.leader.name}, and it is {name}")

    def unfinished(self, now: datetime) -> list[str]:
        """Return the auctions that should have changed by themselves by `now`, and have not."""
        due = {gid: known.auction.due_at for gid, known in self.known.items()}
        return [gid for gid, at in due.items() if at is not None and at <= now]

    def last_versions(self) -> dict[str, int]:
        """Return the version of each auction, and of the sale."""
        own = {} if self.of_sale is None else {SALE: self.of_sale.version}
        return {gid: known.auction.version for gid, known in self.known.items()} | own


def _event(one: LedgerEvent) -> Event:
    public = {} if one.payload is None else msgspec.json.decode(one.payload)["data"]
    return event_from_parts(one.type, one.at, public, one.private)


def request_key(use_case: str, args: tuple[Any, ...]) -> str:
    """Return the key by which a request other than a bid is known: its Idempotency-Key, or its content."""
    for value in args:
        key = getattr(value, "key", None)
        if key is not None:
            return str(key)
    return f"{use_case} {args!r}"


def _plain(answer: Any) -> Any:
    return refusal_code(answer) if isinstance(answer, Refusal) else answer


def _short(value: Any) -> str:
    text = refusal_code(value) if isinstance(value, Refusal) else str(value)
    return text if len(text) <= 400 else f"{text[:400]}..."
