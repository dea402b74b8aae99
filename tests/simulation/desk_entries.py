"""Plans of what staff do at a desk of a live sale, beside its block: the book, and results that are entered by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from tests.histories import LEADER, Relative
from tests.simulation.evenings import NOBODY, STALE, evening, way
from tests.simulation.plan_entries import CLERKS, LASTS, STAFF, PlannedRequest, Way

AT_MAXIMUM = -1
"""Stands for a price that is exactly the maximum of the bid that leads."""
OUTCRY = (15.5, LASTS - 1.2)
"""When the lots of some evenings are sold by outcry, without a console."""
NEED = "need"
"""The gid of the fund-a-need of each live sale."""


def need_of(seed: int) -> tuple[int, tuple[int, ...]]:
    """Return the place of the fund-a-need of a live sale in the order of calling, from 0 on, and its levels."""
    chance = Random(f"need {seed}")
    return chance.randrange(1, 4), chance.choice(((20_000, 9_000, 1_000), (5_000,), (12_500, 100)))


def without_console(seed: int, entries: list[PlannedRequest]) -> list[PlannedRequest]:
    """Return the entries of a live sale without the clerk's acts of its second half, if that is by outcry."""
    if not _by_outcry(seed):
        return entries
    return [one for one in entries if one.what != "block" or not _is_at_console(one)]


def desk_entries(seed: int) -> list[PlannedRequest]:
    """Return what is done at the desk of a live sale, in no order."""
    chance, sale = Random(f"desk {seed}"), evening(seed)
    lots, (since, until) = len(sale.lots), OUTCRY
    entries = [*_book(chance, lots), *_giving(chance)]
    if _by_outcry(seed):
        entries += [_finish(chance, since + step, skips=step == 1) for step in range(2)]
        at = since + 1.5
        while at < until:
            entries.append(_result(chance, at, lots))
            at = round(at + chance.choice((0.1, 0.6, 1.1)), 2)
    else:
        entries += [_result(chance, round(chance.uniform(7.0, until), 2), lots) for _ in range(3)]
    return [*entries, *(_raised(chance, lots) if sale.names == "paddles" else ())]


def _by_outcry(seed: int) -> bool:
    return Random(f"outcry {seed}").random() < 0.6


def _is_at_console(one: PlannedRequest) -> bool:
    since, until = OUTCRY
    return since < one.at < until and dict(one.changes)["act"] not in ("reopen", "decide")


def _book(chance: Random, lots: int) -> Iterator[PlannedRequest]:
    """Staff enter lines; some come again with another maximum, or take the bid back, and some are too late."""
    for _ in range(chance.choice((2, 3))):
        whose, lot, at = chance.choice((1, 7, 7, 7, 8, 8, 8)), chance.randrange(1, lots + 1), chance.uniform(2.0, 9.0)
        for _ in range(chance.choice((1, 2, 3))):
            steps = chance.choice((0, 1_000, 4_000, 20_000, None))
            said = {"whose": chance.choice((*[whose] * 9, NOBODY)), "steps": steps}
            one = _request(chance, at, "book", chance.choice((*CLERKS, STAFF, 2)), **said)
            yield replace(one, lot=chance.choice((*[lot] * 6, NOBODY)))
            at += chance.choice((0.2, 2.0, 6.0))


def _raised(chance: Random, lots: int) -> Iterator[PlannedRequest]:
    """Somebody raises online what the book has for them, and staff take the line back."""
    for who in chance.sample(range(4), 2):
        lot, steps = chance.randrange(1, lots + 1), chance.choice((None, 1_000))
        lines = [
            _request(chance, at, "book", CLERKS[0], whose=who, steps=said) for at, said in ((4.2, 9_000), (5.2, steps))
        ]
        more = _request(chance, 4.7, "bid", who)
        own = [lines[0], replace(more, maximum=Relative("maximum", 5_000)), lines[1]]
        yield from (replace(one, lot=lot, way=Way()) for one in own)


def _giving(chance: Random) -> Iterator[PlannedRequest]:
    """The fund-a-need is called, paddles are raised in the hall and online, and some pledges are undone."""
    at = chance.choice((9.0, 12.0))
    yield from (_finish(chance, at + step, skips=step == 1) for step in range(2))
    yield replace(_act(chance, at + 1.4, "call"), lot=NOBODY)
    for _ in range(chance.choice((5, 7))):
        at += chance.choice((0.1, 0.4))
        what = chance.choice(("bid",) * 6 + ("warn", "name", "retract"))
        yield _act(chance, at + 1.6, what, amount=0, channel="floor", whose=chance.choice((7, 7, 8)))
        if chance.random() < 0.3:
            online = _request(chance, at + 1.6, "bid", chance.randrange(3))
            yield replace(online, lot=NOBODY, amount=Relative("least", 0), changes=())


def _finish(chance: Random, at: float, *, skips: bool) -> PlannedRequest:
    return _act(chance, at, "finish", whose=7, skips=skips, hasty=False)


def _act(chance: Random, at: float, what: str, **said: Any) -> PlannedRequest:
    return _request(chance, at, "block", CLERKS[0], act=what, stale=0.0, **said)


def _result(chance: Random, at: float, lots: int) -> PlannedRequest:
    """A line: lots are sold or passed, or one is made on the spot; some results are replaced or taken back."""
    kind = chance.choice(("sold",) * 5 + ("passed", "several", "several", "spot", "again", "back", "back"))
    said: dict[str, Any] = {
        "kind": kind,
        "turn": chance.randrange(lots),
        "whose": chance.choice((7, 7, 7, 7, 8, 8, 8, 8, 8, 1, LEADER, NOBODY)),
        "price": chance.choice((AT_MAXIMUM, AT_MAXIMUM, 0, 0, 1, 2, 5, 12)),
        "below": chance.choice((None, None, "conditional", "passed")),
        "sure": chance.random() < 0.8,
        "against": chance.random() < 0.5,
        "reason": chance.choice(("A slip.", "A slip.", "")),
        "stale": chance.choice(STALE),
    }
    return _request(chance, at, "result", chance.choice((*CLERKS, STAFF, STAFF, 2)), **said)


def _request(chance: Random, at: float, what: str, who: int, **said: Any) -> PlannedRequest:
    fares = way(chance, dies=what == "block")
    return PlannedRequest(0, round(at, 2), what, who, changes=tuple(said.items()), way=fares)
