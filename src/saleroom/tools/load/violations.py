"""The kinds of violations, with the count and the first examples of each."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from msgspec import Struct

EXAMPLES_MAX = 5


class Kind(StrEnum):
    """A fault of a house that can be proven from outside, and a `sentence` about it."""

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Self:
        """Return the kind with this value."""
        self = str.__new__(cls, value)
        self._value_, self.sentence = value, sentence
        return self

    LOST_BID = "lost_bid", "An acknowledged bid is missing from the history."
    DOUBLED_BID = "doubled_bid", "An acknowledged bid is in the history twice."
    INVENTED_BID = "invented_bid", "The history has a bid of one of our bidders that was never placed."
    NOT_RISING = "not_rising", "The history does not rise."
    EQUAL_PRICES = "equal_prices", "Two bids of the history have the same price, and are no tie with an automatic bid."
    WRONG_PRICE = "wrong_price", "A bid was recorded at a price that its bidder did not ask for."
    UNKNOWN_STATE = "unknown_state", "A lot was shown in a state that its history does not have."
    PRICE_FELL = "price_fell", "A later look showed a lower price or fewer bids."
    WRONG_WINNER = "wrong_winner", "The winner or the price of a closed lot is not that of its last leading bid."
    SEVERAL_WINNERS = "several_winners", "A lot has more than one winner."
    LATE_BID = "late_bid", "A bid was acknowledged at or after the end."
    NOT_CLOSED = "not_closed", "A lot was not closed within 5 seconds of its end."
    END_MOVED_BACK = "end_moved_back", "The end of a lot moved back."
    TAKEN_TOO_LOW = "taken_too_low", "A bid below the least next bid was accepted."
    WRONG_REFUSAL = "wrong_refusal", "A bid was refused wrongly."
    REPEAT_DIFFERS = "repeat_differs", "A request repeated with its Idempotency-Key got another answer."
    CONTRADICTION = "contradiction", "An answer contradicts itself."
    MONEY_FORM = "money_form", "A price is not a string with exactly three decimals."
    UNEXPECTED_ANSWER = "unexpected_answer", "A well-formed request got an answer that it should not get."


class Finding(Struct):
    """The count of one kind, and its first examples."""

    count: int = 0
    examples: list[str] = []


class Violations:
    """The findings by kind, in the order of `Kind`."""

    def __init__(self) -> None:
        self._found: dict[Kind, Finding] = {}

    def add(self, kind: Kind, example: str) -> None:
        """Count a violation."""
        finding = self._found.setdefault(kind, Finding())
        finding.count += 1
        if len(finding.examples) < EXAMPLES_MAX:
            finding.examples.append(example)

    @property
    def total(self) -> int:
        """The number of all violations."""
        return sum(finding.count for finding in self._found.values())

    def by_kind(self) -> dict[Kind, Finding]:
        """Return the kinds that were found, with their findings."""
        return {kind: self._found[kind] for kind in Kind if kind in self._found}

    def as_json(self) -> dict[str, Any]:
        """Return the findings for JSON."""
        return {
            kind: {"says": kind.sentence, "count": finding.count, "examples": finding.examples}
            for kind, finding in self.by_kind().items()
        }
