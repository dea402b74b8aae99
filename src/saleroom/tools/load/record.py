"""What a load test has seen of a house: every bid with its answers, every look at a lot, and how the lots ended.

Money is in thousandths and a house's instants in microseconds since 1970: exact, small, and quick to compare. What the
client measures itself (`sent`, `received`) is in seconds of its monotonic clock.
"""

from __future__ import annotations

from msgspec import Struct

ACCEPTED = 201
LOST = 0
"""The status of a request that got no answer."""
PASSING = frozenset({LOST, 429, 502, 503, 504})
"""Answers that decide nothing: whether the bid took effect is known only when its key is sent again."""


class View(Struct, frozen=True, gc=False):
    """A lot as one answer told it."""

    price: int | None
    bidder: str | None
    minimum: int | None
    count: int
    status: str
    outcome: str | None
    ends: int | None
    version: int = 0


class Bid(Struct, frozen=True, gc=False):
    """A bid as an answer or the history told it."""

    amount: int
    bidder: str
    placed: int
    automatic: bool = False


class Reply(Struct, frozen=True, kw_only=True):
    """One answer to a bid. `minimum` and `ends` are the facts of a refusal, `body` is a hash of its bytes."""

    sent: float
    received: float
    status: int
    code: str = ""
    view: View | None = None
    bid: Bid | None = None
    leading: bool = False
    minimum: int | None = None
    ends: int | None = None
    body: int = 0

    @property
    def passing(self) -> bool:
        """Whether it leaves open what became of the bid."""
        return self.status in PASSING


class Attempt(Struct):
    """A bid that somebody meant to place, and every answer to it: it may have been sent more than once with its key.

    `seen` is the version of the lot that the bidder saw.
    """

    gid: str
    bidder: str
    amount: int | None
    maximum: int | None
    key: str
    replies: list[Reply]
    seen: int | None = None

    @property
    def ask(self) -> int:
        """What the least next bid is held against: the amount, else the maximum."""
        asked = self.amount if self.amount is not None else self.maximum
        assert asked is not None, "every bid has one of the two"
        return asked

    @property
    def limit(self) -> int:
        """The most that the bidder would pay."""
        return self.ask if self.maximum is None else self.maximum

    @property
    def accepted(self) -> list[Reply]:
        """The answers that acknowledged it."""
        return [reply for reply in self.replies if reply.status == ACCEPTED]

    @property
    def unsettled(self) -> bool:
        """Whether it may have taken effect without anybody having been told."""
        lost = any(reply.passing for reply in self.replies)
        return lost and not any(reply.status == ACCEPTED or self.is_final(reply) for reply in self.replies)

    def is_final(self, reply: Reply) -> bool:
        """Whether it can never be accepted once it was refused so: closed is closed, and prices only rise.

        What has both an amount and a maximum can be too low and, once its bidder leads, still raise their limit.
        """
        both = self.amount is not None and self.maximum is not None
        return reply.code == "auction_closed" or (reply.code == "bid_too_low" and not both)


class Read(Struct, frozen=True):
    """One look at a lot."""

    gid: str
    sent: float
    received: float
    view: View


class Lot(Struct):
    """A lot of the test: its terms, and what the house says of it once it is over; `history` is oldest first."""

    gid: str
    start: int
    step: int
    history: list[Bid] = []
    final: View | None = None
    winners: list[str] = []
    """Who was told to have won it."""


class Tick(Struct, frozen=True):
    """The house's clock (microseconds) read at some moment between two of the client's (seconds)."""

    sent: float
    received: float
    house: int


class Record(Struct):
    """All that was seen. `bidders` are the test's own."""

    bidders: set[str] = set()
    lots: dict[str, Lot] = {}
    attempts: list[Attempt] = []
    reads: list[Read] = []
    ticks: list[Tick] = []
    malformed: list[str] = []
    """Prices that are no strings with exactly three decimals, each with where it stood."""
    unexpected: list[str] = []
    """Answers that no well-formed request should get."""
