"""The log of a fund-a-need compared with its pledges: the totals follow from the events, and the rows are what they tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from saleroom.kernel.money import STEP, ZERO
from saleroom.sales.domain.events import LevelSet, LotClosed, PledgeMade, PledgeUndone
from saleroom.sales.domain.needs import OUTCOME, Pledge

KINDS = (LevelSet.TYPE, LotClosed.TYPE, PledgeMade.TYPE, PledgeUndone.TYPE)
"""The types of events that tell of pledges."""


def log_faults(logged: Iterable[tuple[str, Mapping[str, Any]]], rows: Iterable[Pledge]) -> Iterator[str]:
    """Yield what is wrong with a fund-a-need: `logged` are the types and data of its events, `rows` its pledges."""
    standing: dict[int, Decimal] = {}
    level, made = None, 0
    for kind, data in logged:
        try:
            amount = Decimal(str(data.get("amount", data.get("price"))))
        except InvalidOperation:
            yield f"{kind} tells no amount"
            return
        number, total = data.get("pledge"), sum(standing.values(), ZERO)
        if kind == LevelSet.TYPE:
            level = amount
            continue
        if kind == LotClosed.TYPE:
            if data.get("outcome") == OUTCOME and amount != total:
                yield f"it closes at {amount}, and {total} was pledged"
            continue
        if kind == PledgeMade.TYPE:
            made += 1
            if number != made or amount != level:
                yield f"pledge {number} of {amount} is told as number {made} at the level {level}"
            standing[made] = amount
        elif standing.pop(number, None) != amount:  # type: ignore[arg-type]  # what is no number stands nowhere
            yield f"pledge {number} of {amount} is undone, and does not stand"
        told, total = str(data.get("total")), sum(standing.values(), ZERO).quantize(STEP)
        if (told, data.get("pledges")) != (str(total), len(standing)):
            yield f"pledge {number}: {told} of {data.get('pledges')} pledges are told, and {total} of {len(standing)} stand"
    stored = list(rows)
    if [one.number for one in stored] != list(range(1, made + 1)):
        yield f"{made} pledges are told, and {len(stored)} are stored"
    if {one.number: one.amount for one in stored if one.stands} != standing:
        yield "the pledges that stand are not those of the log"
