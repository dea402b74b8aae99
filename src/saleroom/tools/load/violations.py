"""The kinds of violations, with the count and the first examples of each."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

EXAMPLES_MAX = 5


class Kind(StrEnum):
    """A fault of a house that can be proven from outside."""

    LOST_BID = "lost_bid"
    DOUBLED_BID = "doubled_bid"
    INVENTED_BID = "invented_bid"
    NOT_RISING = "not_rising"
    EQUAL_PRICES = "equal_prices"
    WRONG_PRICE = "wrong_price"
    UNKNOWN_STATE = "unknown_state"
    PRICE_FELL = "price_fell"
    WRONG_WINNER = "wrong_winner"
    SEVERAL_WINNERS = "several_winners"
    LATE_BID = "late_bid"
    NOT_CLOSED = "not_closed"
    END_MOVED_BACK = "end_moved_back"
    TAKEN_TOO_LOW = "taken_too_low"
    WRONG_REFUSAL = "wrong_refusal"
    REPEAT_DIFFERS = "repeat_differs"
    CONTRADICTION = "contradiction"
    MONEY_FORM = "money_form"
    UNEXPECTED_ANSWER = "unexpected_answer"


SENTENCES = {
    Kind.LOST_BID: "An acknowledged bid is missing from the history.",
    Kind.DOUBLED_BID: "An acknowledged bid is in the history twice.",
    Kind.INVENTED_BID: "The history has a bid of one of our bidders that was never placed.",
    Kind.NOT_RISING: "The history does not rise.",
    Kind.EQUAL_PRICES: "Two bids of the history have the same price, and are no tie with an automatic bid.",
    Kind.WRONG_PRICE: "A bid was recorded at a price that its bidder did not ask for.",
    Kind.UNKNOWN_STATE: "A lot was shown in a state that its history does not have.",
    Kind.PRICE_FELL: "A later look showed a lower price or fewer bids.",
    Kind.WRONG_WINNER: "The winner or the price of a closed lot is not that of its last leading bid.",
    Kind.SEVERAL_WINNERS: "A lot has more than one winner.",
    Kind.LATE_BID: "A bid was acknowledged at or after the end.",
    Kind.NOT_CLOSED: "A lot was not closed within 5 seconds of its end.",
    Kind.END_MOVED_BACK: "The end of a lot moved back.",
    Kind.TAKEN_TOO_LOW: "A bid below the least next bid was accepted.",
    Kind.WRONG_REFUSAL: "A bid was refused wrongly.",
    Kind.REPEAT_DIFFERS: "A request repeated with its Idempotency-Key got another answer.",
    Kind.CONTRADICTION: "An answer contradicts itself.",
    Kind.MONEY_FORM: "A price is not a string with exactly three decimals.",
    Kind.UNEXPECTED_ANSWER: "A well-formed request got an answer that it should not get.",
}


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

    def plain(self) -> dict[str, Any]:
        """Return the findings for JSON."""
        return {
            kind: {"says": SENTENCES[kind], "count": finding.count, "examples": finding.examples}
            for kind, finding in self.by_kind().items()
        }
