"""The judge finds the provable faults in the record of a load test. It has no I/O and no clock.

It reports only faults that are faults in every order in which the house can have decided. The order of two requests is
known only if the answer to one had come before the other was sent. docs/load.md has the reasoning.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from saleroom.tools.load import order
from saleroom.tools.load.record import ACCEPTED, Attempt, BidRecord, BidReply, LotRecord, LotView, Observation, Record
from saleroom.tools.load.violations import Kind, Violations

CLOSING_SECONDS_MAX = 5.0
REFUSALS = frozenset({"bid_too_low", "already_leading", "auction_closed"})
"""The refusals that a well-formed bid on an existing lot of another seller can get."""


class Verdict(Struct):
    """The judge's findings. `strangers` counts bids of others in our lots, `unsettled` our bids of unknown effect."""

    violations: Violations
    strangers: int = 0
    unsettled: int = 0


def check(record: Record) -> Verdict:
    """Judge a whole record."""
    verdict = Verdict(Violations())
    for example in record.malformed:
        verdict.violations.add(Kind.MONEY_FORM, example)
    for example in record.unexpected:
        verdict.violations.add(Kind.UNEXPECTED_ANSWER, example)
    attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
    observations: defaultdict[str, list[Observation]] = defaultdict(list)
    for attempt in record.attempts:
        attempts[attempt.gid].append(attempt)
    for observation in record.observations:
        observations[observation.gid].append(observation)
    clock = order.clock_offset(record)
    for lot in record.lots.values():
        judge = _Judge(lot, attempts[lot.gid], observations[lot.gid], record.bidders, verdict)
        judge.history()
        judge.recorded()
        judge.attempts_one_by_one()
        judge.states()
        judge.check_end(clock)
        order.check(lot, attempts[lot.gid], observations[lot.gid], verdict.violations)
    verdict.unsettled = sum(attempt.unsettled for attempt in record.attempts)
    return verdict


class _Judge:
    """The checks of one lot."""

    def __init__(
        self,
        lot: LotRecord,
        attempts: Sequence[Attempt],
        observations: Sequence[Observation],
        ours: set[str],
        verdict: Verdict,
    ) -> None:
        self._lot = lot
        self._attempts = attempts
        self._observations = observations
        self._ours = ours
        self._verdict = verdict
        self._prices = {bid.amount for bid in lot.history}

    def history(self) -> None:
        """Check that prices rise strictly, except for a tie: a maximum met exactly, with the automatic bid first."""
        for before, after in pairwise(self._lot.history):
            if after.amount > before.amount or _tie(before, after):
                continue
            kind = Kind.EQUAL_PRICES if after.amount == before.amount else Kind.NOT_RISING
            self._add(kind, f"{_bid_text(before)}, then {_bid_text(after)}")
        for bid in self._lot.history:
            self._verdict.strangers += bid.bidder not in self._ours

    def recorded(self) -> None:
        """Check that each accepted bid is in the history once, and no bid of ours that we did not place."""
        in_history = Counter(_identity(bid) for bid in self._lot.history if not bid.automatic)
        acknowledged: Counter[tuple[str, int, int]] = Counter()
        for attempt in self._attempts:
            acknowledged.update({_identity(reply.bid) for reply in attempt.accepted if reply.bid is not None})
        for identity, count in acknowledged.items():
            if in_history[identity] < count:
                self._add(Kind.LOST_BID, f"{identity[0]} at {money(identity[1])}, acknowledged")
            elif in_history[identity] > count:
                self._add(Kind.DOUBLED_BID, f"{identity[0]} at {money(identity[1])}")
        unknown = [attempt for attempt in self._attempts if attempt.unsettled]
        for who, amount, _ in in_history.keys() - acknowledged.keys():
            explained = next((a for a in unknown if a.bidder == who and _allows(a, amount)), None)
            if explained is not None:
                unknown.remove(explained)
            elif who in self._ours:
                self._add(Kind.INVENTED_BID, f"{who} at {money(amount)}")
        self._automatic()

    def _automatic(self) -> None:
        limits: defaultdict[str, int] = defaultdict(int)
        for attempt in self._attempts:
            if attempt.accepted or attempt.unsettled:
                limits[attempt.bidder] = max(limits[attempt.bidder], attempt.limit)
        for bid in self._lot.history:
            if bid.automatic and bid.bidder in self._ours and bid.amount > limits[bid.bidder]:
                self._add(Kind.WRONG_PRICE, f"{_bid_text(bid)}, above the maximum {money(limits[bid.bidder])}")

    def attempts_one_by_one(self) -> None:
        """Check that each answer fits its bid, and each repeat the answer before."""
        has_bid: dict[str, float] = {}
        for attempt in self._attempts:
            if attempt.accepted or attempt.unsettled:
                first = min(reply.sent for reply in attempt.replies)
                has_bid[attempt.bidder] = min(first, has_bid.get(attempt.bidder, first))
        for attempt in self._attempts:
            self._repeats(attempt)
            for reply in attempt.replies:
                if reply.status == ACCEPTED:
                    self._accepted(attempt, reply)
                elif reply.code in REFUSALS and reply.status == 409:
                    self._refused(attempt, reply, has_bid.get(attempt.bidder))
                elif not reply.passing:
                    self._add(Kind.UNEXPECTED_ANSWER, f"{_attempt_text(attempt)}: {reply.status} {reply.code}".strip())

    def _repeats(self, attempt: Attempt) -> None:
        accepted = attempt.accepted
        if not accepted:
            return
        if len({reply.body for reply in accepted}) > 1:
            self._add(Kind.REPEAT_DIFFERS, f"{_attempt_text(attempt)}: accepted with different answers")
        accepted_at = min(reply.received for reply in accepted)
        for reply in attempt.replies:
            # A final refusal and an acceptance exclude each other in either order, any other refusal only after the acceptance.
            if reply.code in REFUSALS and (reply.sent >= accepted_at or attempt.is_final(reply)):
                self._add(Kind.REPEAT_DIFFERS, f"{_attempt_text(attempt)}: accepted, and {reply.code}")

    def _accepted(self, attempt: Attempt, reply: BidReply) -> None:
        bid, view = reply.bid, reply.view
        if view is None or (bid is None and attempt.maximum is None):
            self._add(
                Kind.CONTRADICTION, f"{_attempt_text(attempt)}: accepted without a bid or an auction in the answer"
            )
            return
        if reply.leading != (view.bidder == attempt.bidder):
            self._add(
                Kind.CONTRADICTION, f"{_attempt_text(attempt)}: leading is {reply.leading}, leader is {view.bidder}"
            )
        if bid is not None and (bid.bidder != attempt.bidder or not _allows(attempt, bid.amount)):
            self._add(Kind.WRONG_PRICE, f"{_attempt_text(attempt)}: recorded as {_bid_text(bid)}")
        if bid is not None and view.ends is not None and bid.placed >= view.ends:
            self._add(Kind.LATE_BID, f"{_bid_text(bid)}, {_seconds(bid.placed - view.ends)} after the end it was told")

    def _refused(self, attempt: Attempt, reply: BidReply, has_bid: float | None) -> None:
        lot, final = self._lot, self._lot.final
        about = f"{_attempt_text(attempt)}: {reply.code}"
        if reply.code == "already_leading":
            if has_bid is None or has_bid >= reply.received:
                self._add(Kind.WRONG_REFUSAL, f"{about}, to one who had not bid")
        elif reply.code == "auction_closed":
            if reply.ends is None or (final is not None and final.ends is not None and reply.ends < final.ends):
                self._add(Kind.WRONG_REFUSAL, f"{about}, before the end")
        elif reply.minimum is None or attempt.price >= reply.minimum:
            self._add(Kind.WRONG_REFUSAL, f"{about}, minimumBid {money(reply.minimum)}")
        elif reply.minimum != lot.start and reply.minimum - lot.step not in self._prices:
            self._add(Kind.WRONG_REFUSAL, f"{about}, minimumBid {money(reply.minimum)} follows no price of the history")

    def states(self) -> None:
        """Check that every state shown is one of the history, and does not contradict itself."""
        views = [observation.view for observation in self._observations]
        views += [reply.view for attempt in self._attempts for reply in attempt.accepted if reply.view is not None]
        for view in views:
            if view.status == "open" and view.minimum != _least(self._lot, view.price):
                self._add(
                    Kind.CONTRADICTION, f"price {money(view.price)} and minimumBid {money(view.minimum)} at one time"
                )
            if (view.price, view.bidder) != _standing(self._lot.history, view.count):
                self._add(Kind.UNKNOWN_STATE, f"{view.bidder} leads at {money(view.price)} after {view.count} bids")

    def check_end(self, clock: float | None) -> None:
        """Check that the lot closed once, in time, and to the last leading bid. `clock`: how far the house is ahead."""
        lot, final = self._lot, self._lot.final
        if final is None or final.status != "closed":
            self._add(Kind.NOT_CLOSED, "never" if final is None else f"it is {final.status}")
            return
        standing = _standing(lot.history, len(lot.history))
        outcome = "sold" if lot.history else "no_bids"
        if (*standing, len(lot.history), outcome) != (final.price, final.bidder, final.count, final.outcome):
            shown = f"{final.outcome} to {final.bidder} at {money(final.price)} after {final.count} bids"
            self._add(Kind.WRONG_WINNER, f"{shown}; the history has {len(lot.history)} and ends with {standing[0]}")
        self._winners(final)
        for bid in lot.history:
            if final.ends is not None and bid.placed >= final.ends:
                self._add(Kind.LATE_BID, f"{_bid_text(bid)}, {_seconds(bid.placed - final.ends)} after the end")
        for observation in self._observations:
            view = observation.view
            if view.status == "closed" and (view.price, view.bidder) != (final.price, final.bidder):
                self._add(Kind.SEVERAL_WINNERS, f"{view.bidder} at {money(view.price)}, later {final.bidder}")
            if view.status == "open" and view.ends is not None and clock is not None:
                overdue = observation.sent + clock - view.ends / 1e6
                if overdue > CLOSING_SECONDS_MAX:
                    self._add(Kind.NOT_CLOSED, f"still open {overdue:.1f} s after its end")

    def _winners(self, final: LotView) -> None:
        if len(self._lot.winners) > 1:
            self._add(Kind.SEVERAL_WINNERS, ", ".join(self._lot.winners))
        expected = [final.bidder] if final.bidder in self._ours else []
        if expected != self._lot.winners:
            told = ", ".join(self._lot.winners) or "nobody"
            self._add(Kind.WRONG_WINNER, f"{told} was told to have won; the lot says {final.bidder}")
        best = [a.limit for a in self._attempts if a.bidder == final.bidder and (a.accepted or a.unsettled)]
        for attempt in self._attempts:
            if expected and attempt.accepted and attempt.limit > max(best, default=0):
                self._add(Kind.WRONG_WINNER, f"{_attempt_text(attempt)} was accepted, but {final.bidder} won with less")

    def _add(self, kind: Kind, example: str) -> None:
        self._verdict.violations.add(kind, f"{self._lot.gid}: {example}")


def money(amount: int | None) -> str:
    """Return an amount as the house writes it."""
    return "none" if amount is None else f"{amount // 1000}.{amount % 1000:03}"


def _least(lot: LotRecord, price: int | None) -> int:
    return lot.start if price is None else price + lot.step


def _tie(before: BidRecord, after: BidRecord) -> bool:
    """Whether a bid met the leader's maximum exactly: both are recorded at that price, the leader's first."""
    same = before.amount == after.amount and before.placed == after.placed and before.bidder != after.bidder
    return same and before.automatic and not after.automatic


def _standing(history: Sequence[BidRecord], count: int) -> tuple[int | None, str | None]:
    """Return price and leader after the first `count` bids; the price is -1 if there is no such state."""
    if count == 0:
        return None, None
    if not 0 < count <= len(history):
        return -1, None
    last = history[count - 1]
    tied = count > 1 and _tie(history[count - 2], last)
    return last.amount, history[count - 2].bidder if tied else last.bidder


def _allows(attempt: Attempt, amount: int) -> bool:
    """Whether the bid can be recorded at this price."""
    if attempt.maximum is None:
        return amount == attempt.amount
    return (attempt.amount or 0) <= amount <= attempt.maximum


def _identity(bid: BidRecord) -> tuple[str, int, int]:
    return bid.bidder, bid.amount, bid.placed


def _bid_text(bid: BidRecord) -> str:
    return f"{bid.bidder} at {money(bid.amount)}" + (" (automatic)" if bid.automatic else "")


def _attempt_text(attempt: Attempt) -> str:
    amount = "" if attempt.amount is None else f" {money(attempt.amount)}"
    maximum = "" if attempt.maximum is None else f" up to {money(attempt.maximum)}"
    return f"{attempt.bidder} bids{amount}{maximum}"


def _seconds(microseconds: int) -> str:
    return f"{microseconds / 1e6:.6f} s"
