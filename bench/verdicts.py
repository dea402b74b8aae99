"""Whether one side of a comparison is better than the other, judged beside two runs of one and the same side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

ROUNDS_MIN = 5
CHANCE_MAX = 0.005
"""The chance of a wrong verdict in either direction."""
_SPREAD_CHANCE_MAX = 0.05


class Round(Struct, frozen=True):
    """A figure of this checkout, and of the other revision twice, all measured in one round in random order."""

    this: float
    other: float
    again: float

    @property
    def ratio(self) -> float:
        """This checkout, divided by the middle of both runs of the other revision."""
        return self.this / math.sqrt(self.other * self.again)

    @property
    def null(self) -> float:
        """One run of the other revision, divided by the other run: 1 if nothing but the revision moved the figure."""
        return self.other / self.again


class Outcome(StrEnum):
    """What a comparison says."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    TOO_FEW = "too few rounds"


class Comparison(Struct, frozen=True, kw_only=True):
    """The medians of both sides, and of both ratios with their spread."""

    other: float
    this: float
    ratio: float
    spread: tuple[float, float]
    null: float
    null_spread: tuple[float, float]
    outcome: Outcome


def compare(rounds: Sequence[Round], *, lower_is_better: bool) -> Comparison:
    """Compare the sides by their rounds; `chance` and `_outcome` say how."""
    ratios, nulls = _ratios(rounds)
    return Comparison(
        other=statistics.median(figure for each in rounds for figure in (each.other, each.again)),
        this=statistics.median(each.this for each in rounds),
        ratio=statistics.median(ratios),
        spread=spread(ratios),
        null=statistics.median(nulls),
        null_spread=spread(nulls),
        outcome=_outcome(rounds, lower_is_better=lower_is_better),
    )


def _outcome(rounds: Sequence[Round], *, lower_is_better: bool) -> Outcome:
    """Return what the rounds prove: a side differs if this checkout lies beyond both runs of the other in too many rounds.

    The median ratio must also be further from 1 than the median null ratio.
    """
    if len(rounds) < ROUNDS_MIN:
        return Outcome.TOO_FEW
    higher = sum(each.this > max(each.other, each.again) for each in rounds)
    lower = sum(each.this < min(each.other, each.again) for each in rounds)
    beyond = max(higher, lower)
    ratio, null = (abs(math.log(statistics.median(values))) for values in _ratios(rounds))
    if chance(beyond, len(rounds)) > CHANCE_MAX or ratio <= null:
        return Outcome.SAME
    return Outcome.BETTER if (lower > higher) == lower_is_better else Outcome.WORSE


def _ratios(rounds: Sequence[Round]) -> tuple[list[float], list[float]]:
    return [each.ratio for each in rounds], [each.null for each in rounds]


def chance(beyond: int, rounds: int) -> float:
    """Return the chance that one of three equal runs is the greatest of its round in at least `beyond` of the `rounds`.

    If the revisions are equal, so are the three runs of a round, whatever the noise looks like: each of them is the
    greatest in one round of three. This is the sign test with the null control in it.
    """
    return sum(math.comb(rounds, count) * 2.0 ** (rounds - count) for count in range(beyond, rounds + 1)) / 3.0**rounds


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds the median in 95 of 100 cases, by the sign test.

    The median lies above any one value as often as below it. So the chance that it lies beyond the k-th value from either
    end is that of fewer than k heads in as many throws of a coin. Fewer than six values are too few for 95 %: their
    interval goes from the least to the greatest.
    """
    ordered, count, beyond = sorted(values), len(values), 0
    while 2 * sum(math.comb(count, heads) for heads in range(beyond + 2)) / 2**count <= _SPREAD_CHANCE_MAX:
        beyond += 1
    return ordered[beyond], ordered[-1 - beyond]
