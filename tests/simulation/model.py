"""The expected house, decision by decision: tokens, Idempotency-Keys, the heartbeat, an `Oracle` for each auction.

It gets the decisions of the real house, in the order of its commits, and says what each should have been.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec

from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.bidding import BidCommand
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from tests.bidding.domain.contradictions import contradictions
from tests.bidding.domain.oracle import (
    AUTHOR,
    Act,
    Amend,
    Announce,
    Bid,
    Buy,
    Cancel,
    CloseNow,
    Oracle,
    Outage,
    Settle,
    SoftCloseRule,
    Terms,
)
from tests.bidding.domain.playing import T0, refusal_code, units
from tests.bidding.domain.voids import Clock, Moderate, Void
from tests.simulation.plan_entries import STAFF
from tests.simulation.sale_decisions import OF_SALES, ONCE, ModelMismatch, allowed, decided_in
from tests.simulation.sale_model import SALE, SaleModel, follow

OUTAGE = timedelta(seconds=10)
MICROSECOND = timedelta(microseconds=1)
Answer = bytes | Refusal | None


@dataclass
class Token:
    """A token as the house gave it out; `person` is a number of `PEOPLE`."""

    person: int
    expires_at: datetime
    dead: bool = False


@dataclass
class ModelAuction:
    """An auction by the rules; the oracle's people are those of `PEOPLE`, with its author and number 0 exchanged."""

    author: int
    oracle: Oracle
    last: int
    """The instant of the last event: the clock of an auction is never set back."""
    was_withheld: bool = False
    """Whether staff have hidden it since it was over: then brokers remove its state."""
    renamed: int = 0
    """How often it changed beside its log."""

    def do(self, act: Act | Void | Moderate | Clock, now: datetime) -> str | None:
        """Let `act` happen, and return the code of a refusal."""
        withheld = self.oracle.withheld
        at = micros(now) if isinstance(act, Settle) else max(self.last, micros(now))
        code = self._noting(lambda: self.oracle.do(act, at), at)
        self.renamed += self.oracle.withheld != withheld
        self.was_withheld = self.was_withheld or self.oracle.withheld
        return code

    def play(self, act: Callable[[Any, int], str | None], now: datetime) -> str | None:
        """Let something happen that `act` does to the oracle at an instant, and return the code of a refusal."""
        at = max(self.last, micros(now))
        return self._noting(lambda: act(self.oracle, at), at)

    def _noting(self, act: Callable[[], str | None], at: int) -> str | None:
        count = len(self.oracle.events)
        code = act()
        happened = self.oracle.events[count:]
        if happened:
            opened = happened == ["auction.opened"] and self.oracle.lot.starts is not None
            self.last = max(self.last, self.oracle.lot.starts or 0) if opened else at
        return code

    def who(self, person: int) -> int:
        """Return a person as the oracle numbers them, or back: it is the same either way."""
        return {self.author: 0, 0: self.author}.get(person, person)


@dataclass
class Model:
    """See the module."""

    tokens: dict[str, Token] = field(default_factory=dict)
    kept: dict[tuple[int, str], tuple[bytes, bytes]] = field(default_factory=dict)
    """By person and key: the request, and the answer."""
    auctions: dict[str, ModelAuction] = field(default_factory=dict)
    heartbeat: datetime | None = None
    sale: SaleModel | None = None
    """The sale of all lots, if they are those of one."""
    gid_of: Callable[[str], str] = str
    """Finds the gid of a lot that a result has made, by its label."""
    people: dict[int, int] = field(default_factory=dict)
    """From a user's number in the database to their place in `PEOPLE`."""
    _checked: set[str] = field(default_factory=set)

    def decided(self, use_case: str, args: tuple[Any, ...], answer: Any, now: datetime) -> None:
        """Take in one transaction that was committed, or refused. Raises ModelMismatch if it should have gone otherwise."""
        match use_case, args:
            case "place_bids", (commands, *_):
                self._place_bids(commands, answer, now)
            case "buy_now", (token, gid, once, *_):
                self._once(token, once, answer, now, lambda person: self._act(gid, person, Buy(0), now))
            case "create", (token, draft, once, *_):
                self._once(token, once, answer, now, lambda person: self._create(person, draft, answer, now))
            case "void_bid" | "hide" | "show" | "cancel" | "pause" | "resume", (
                token,
                gid,
                *said,
                IdempotencyKey() as once,
            ):
                self._once(token, once, answer, now, lambda person: self._by_staff(use_case, gid, person, said, now))
            case "close", (token, gid, ends_at, once, *_):
                act = CloseNow(0) if ends_at is None else Announce(0, micros(ends_at))
                self._once(token, once, answer, now, lambda person: self._act(gid, person, act, now))
            case "amend" | "cancel", (token, gid, *changes):
                terms = [tuple(_term(name, value) for name, value in some.items()) for some in changes]
                change = Amend(0, terms[0]) if terms else Cancel(0)
                self._once(token, None, answer, now, lambda person: self._act(gid, person, change, now))
            case "settle_due", _:
                self._settle(now)
            case "log_out" | "end_all" | "issue_token" | "sweep_tokens", _:
                self._of_accounts(use_case, args, answer, now)
            case _ if self.sale is not None:
                self._of_a_sale(use_case, args, answer, now)

    def _of_accounts(self, use_case: str, args: tuple[Any, ...], answer: Any, now: datetime) -> None:
        if use_case == "issue_token":
            self.tokens[answer.value] = Token(self.people[args[0]], answer.expires_at)
        elif use_case == "sweep_tokens":
            # Expired tokens are gone then, even if the clock is set back afterwards.
            for token in self.tokens.values():
                token.dead = token.dead or now >= token.expires_at
        else:
            self._once(args[0], None, answer, now, lambda person: self._end(use_case, args[0], person))

    def person(self, token: str, now: datetime) -> int | None:
        """Return whose token it is, or None for a dead one."""
        known = self.tokens.get(token)
        return None if known is None or known.dead or now >= known.expires_at else known.person

    def _place_bids(self, commands: Sequence[BidCommand], answers: Sequence[Answer], now: datetime) -> None:
        for command, answer in zip(commands, answers, strict=True):
            self._once(command.token, command.once, answer, now, lambda person, c=command: self._bid(c, person, now))
            if isinstance(answer, bytes) and command.once is not None:
                self._same_auction(command, answer)

    def _once(self, token: str, once: IdempotencyKey | None, answer: Answer, now: datetime, act: Any) -> None:
        """Let `act(person)` happen once for each key, and hold its code (None: accepted) against `answer`."""
        person = self.person(token, now)
        if person is None:
            expect("unauthenticated", answer, "a dead token")
            return
        before = None if once is None else self.kept.get((person, once.key))
        if once is not None and before is not None:
            if before[0] != once.request:
                expect("idempotency_mismatch", answer, "a key for another request")
            elif before[1] != answer:
                raise ModelMismatch(
                    f"a repeat of {once.key} was answered {said(answer)}, and at first {said(before[1])}"
                )
            return
        code = act(person)
        expect(code, answer, f"{'a request' if once is None else once.key}")
        if once is not None and code is None:
            assert isinstance(answer, bytes)
            self.kept[person, once.key] = once.request, answer

    def _bid(self, command: BidCommand, person: int, now: datetime) -> str | None:
        request: BidRequest = command.request
        bid = Bid(0, *(None if m is None else units(m) for m in (request.amount, request.maximum)))
        return self._act(command.gid, person, bid, now)

    def _act(self, gid: str, person: int, act: Any, now: datetime) -> str | None:
        standing = self.auctions.get(gid)
        if standing is None:
            return "unknown_auction"
        if self.sale is not None and isinstance(act, Amend | Announce | Cancel | CloseNow):
            return "lot_of_a_sale" if standing.who(person) == AUTHOR else "not_author"
        acting: Act = type(act)(**{**act.__dict__, "who": standing.who(person)})
        if self.sale is not None and isinstance(act, Bid | Buy):
            return self.sale.bid(gid, person, lambda lot: lot.do(acting, now))
        return standing.do(acting, now)

    def _by_staff(self, use_case: str, gid: str, person: int, said: list[Any], now: datetime) -> str | None:
        if person != STAFF:
            return "missing_right"
        if gid == SALE:
            return self._halt(use_case, now)
        standing = self.auctions.get(gid)
        if standing is None:
            return "unknown_auction"
        if use_case != "void_bid":
            return standing.do(Moderate(use_case), now)
        if any(row.who == standing.who(person) and not row.automatic for row in standing.oracle.rows):
            return "bids_there"
        return standing.do(Void(said[0]), now)

    def _halt(self, what: str, now: datetime) -> str | None:
        code = self._of_sale().halt(what)
        if code is None:
            for standing in self.auctions.values():
                standing.do(Clock(what), now)
        return code

    def _of_sale(self) -> SaleModel:
        assert self.sale is not None, "all lots are those of a sale"
        return self.sale

    def _of_a_sale(self, use_case: str, args: tuple[Any, ...], answer: Any, now: datetime) -> None:
        """What happens in a sale by itself, what clerks and staff do there, and who registers."""
        if use_case == "settle":
            self._of_sale().settle(micros(now))
        elif use_case == "follow":
            self._follow(now)
        elif use_case in OF_SALES:
            token, _, *said = args
            once = said.pop() if use_case in ONCE else None
            if use_case in ("register", "give") or self.person(token, now) in {None, *allowed(use_case, said)}:
                self._once(token, once, answer, now, lambda who: decided_in(self, use_case, who, said, answer, now))
            else:
                expect("missing_right", answer, use_case)

    def put_up(self, gid: str, oracle: Oracle, now: datetime) -> None:
        """A lot is added to the published sale."""
        self.auctions[gid] = ModelAuction(STAFF, oracle, micros(now))

    def _follow(self, now: datetime) -> None:
        """Move the ends that come too early."""
        for gid, end in self._of_sale().earliest_ends().items():
            self.auctions[gid].play(partial(follow, end), now)

    def _same_auction(self, command: BidCommand, answer: bytes) -> None:
        """A bid's first answer shows its auction as it is right after it; a repeat is the same, and was compared."""
        assert command.once is not None
        answered = msgspec.json.decode(answer)
        standing = self.auctions[command.gid]
        key = f"checked {command.once.key}"
        if key not in self._checked:
            self._checked.add(key)
            shown = answered["auction"]
            mine = (_wire(standing.oracle.price), len(standing.oracle.rows), standing.oracle.status)
            if mine != (shown["currentBid"], shown["bidCount"], shown["status"]):
                raise ModelMismatch(f"{command.once.key} was told {shown}, and it should be {mine}")

    def _create(self, person: int, draft: Draft, answer: Answer, now: datetime) -> str | None:
        lot = Terms(
            starting=units(draft.starting_price),
            soft_close=_soft(draft.soft_close),
            tiers=tuple((units(tier.start), units(tier.step)) for tier in draft.increment.tiers),
            **dict(_term(name, getattr(draft, name)) for name in _TERMS),
        )
        faults = contradictions(lot, micros(now))
        if faults is None and isinstance(answer, bytes):
            oracle = Oracle(lot)
            oracle.status = "scheduled" if lot.starts is not None and lot.starts > micros(now) else "open"
            gid = msgspec.json.decode(answer)["gid"]
            self.auctions[gid] = ModelAuction(person, oracle, micros(now))
            if self.sale is not None:
                self.sale.order.append(gid)
        return faults

    def _end(self, use_case: str, token: str, person: int) -> None:
        for value, one in self.tokens.items():
            if value == token or (use_case == "end_all" and one.person == person):
                one.dead = True

    def _settle(self, now: datetime) -> None:
        before, self.heartbeat = self.heartbeat, now
        if before is not None and now - before > OUTAGE:
            for standing in self.auctions.values():
                standing.do(Outage(micros(before)), now)
        earliest = {} if self.sale is None else self.sale.earliest_ends()
        for gid, standing in self.auctions.items():
            end = earliest.get(gid)
            if end is not None and end > micros(now) and _due(standing.oracle, micros(now)):
                standing.play(partial(follow, end), now)
            else:
                standing.do(Settle(), now)


def _due(oracle: Oracle, now: int) -> bool:
    """Whether the start or the end of a lot has come."""
    at = oracle.lot.starts if oracle.status == "scheduled" else oracle.lot.ends
    return at is not None and oracle.paused is None and at <= now


def expect(code: str | None, answer: Answer, what: str) -> None:
    """Raise ModelMismatch if `answer` is not what `code` says: a refusal, or None for an acceptance."""
    got = refusal_code(answer) if isinstance(answer, Refusal) else None
    if got != code:
        raise ModelMismatch(f"{what} was {got or 'accepted'}, and should have been {code or 'accepted'}")


def said(answer: Answer) -> str:
    """Return an answer for people."""
    return answer.code if isinstance(answer, Refusal) else str(answer)


def micros(instant: datetime) -> int:
    """Return an instant as the oracles have it: microseconds since T0."""
    return (instant - T0) // MICROSECOND


_TERMS = {"reserve_price": "reserve", "buy_now_price": "buy_now", "starts_at": "starts", "ends_at": "ends"}


def _term(name: str, value: Any) -> tuple[str, Any]:
    """Return a term of an auction, by its name and value, as the oracle has it."""
    ours = {**_TERMS, "starting_price": "starting"}.get(name, name)
    if isinstance(value, Decimal):
        return ours, units(value)
    if isinstance(value, datetime):
        return ours, micros(value)
    return ours, _soft(value) if isinstance(value, SoftClose) else value


def _soft(rule: SoftClose | None) -> SoftCloseRule | None:
    return (
        None
        if rule is None
        else SoftCloseRule(rule.window, rule.extension, None if rule.cap is None else micros(rule.cap))
    )


def _wire(thousandths: int | None) -> str | None:
    return None if thousandths is None else str(Decimal(thousandths).scaleb(-3))
