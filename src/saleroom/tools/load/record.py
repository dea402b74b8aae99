"""The record of a load test: every bid with its answers, every observation of a lot, and how the lots ended.

Money is in thousandths and the house's instants are in microseconds since 1970: exact, small, and quick to compare. The times
that the client measures (`sent`, `received`) are in seconds of its monotonic clock.
"""

from __future__ import annotations

from msgspec import Struct

ACCEPTED = 201
LOST = 0
"""The status of a request without an answer."""
PASSING = frozenset({LOST, 429, 502, 503, 504})
"""Answers that decide nothing: only a repeat with the same key tells whether the bid took effect."""


class LotView(Struct, frozen=True, gc=False):
    """The state of a lot in one answer."""

    price: int | None
    bidder: str | None
    minimum: int | None
    count: int
    status: str
    outcome: str | None
    ends: int | None
    version: int = 0


class BidRecord(Struct, frozen=True, gc=False):
    """A bid in an answer or in the history."""

    amount: int
    bidder: str
    placed: int
    automatic: bool = False


class BidReply(Struct, frozen=True, kw_only=True):
    """One answer to a bid. `minimum` and `ends` come from a refusal; `body` is a hash of the bytes."""

    sent: float
    received: float
    status: int
    code: str = ""
    view: LotView | None = None
    bid: BidRecord | None = None
    leading: bool = False
    minimum: int | None = None
    ends: int | None = None
    body: int = 0

    @property
    def passing(self) -> bool:
        """Whether it leaves open whether the bid took effect."""
        return self.status in PASSING


class Attempt(Struct):
    """A bid and every answer to it; it may be sent several times with its key.

    `seen` is the version of the lot that the bidder saw.
    """

    gid: str
    bidder: str
    amount: int | None
    maximum: int | None
    key: str
    replies: list[BidReply]
    seen: int | None = None

    @property
    def price(self) -> int:
        """The amount, otherwise the maximum: the least next bid is compared with it."""
        asked = self.amount if self.amount is not None else self.maximum
        assert asked is not None, "every bid has one of the two"
        return asked

    @property
    def limit(self) -> int:
        """The most that the bidder would pay."""
        return self.price if self.maximum is None else self.maximum

    @property
    def accepted(self) -> list[BidReply]:
        """The answers that accept it."""
        return [reply for reply in self.replies if reply.status == ACCEPTED]

    @property
    def unsettled(self) -> bool:
        """Whether it may have taken effect although no answer says so."""
        lost = any(reply.passing for reply in self.replies)
        return lost and not any(reply.status == ACCEPTED or self.is_final(reply) for reply in self.replies)

    def is_final(self, reply: BidReply) -> bool:
        """Whether the bid can never be accepted after this refusal: closed lots stay closed, and prices only rise.

        A bid with an amount and a maximum can be too low and still raise the bidder's maximum later, once the bidder leads.
        """
        both = self.amount is not None and self.maximum is not None
        return reply.code == "auction_closed" or (reply.code == "bid_too_low" and not both)


class Observation(Struct, frozen=True):
    """A lot as it was seen once."""

    gid: str
    sent: float
    received: float
    view: LotView


class LotRecord(Struct):
    """A lot of the test: its terms, and its history (oldest first), final state and winners after its end."""

    gid: str
    start: int
    step: int
    history: list[BidRecord] = []
    final: LotView | None = None
    winners: list[str] = []
    """The bidders to whom the house says that they won."""


class ClockReading(Struct, frozen=True):
    """A time of the house (microseconds) that lies between two times of the client (seconds)."""

    sent: float
    received: float
    house: int


class Record(Struct):
    """Everything that a load test observed. `bidders` are the test's own."""

    bidders: set[str] = set()
    lots: dict[str, LotRecord] = {}
    attempts: list[Attempt] = []
    observations: list[Observation] = []
    clock_readings: list[ClockReading] = []
    malformed: list[str] = []
    """Prices that are not strings with exactly three decimals, each with its place."""
    unexpected: list[str] = []
    """Answers that no well-formed request should get."""
