"""Plans: a seed's requests with their clients and times, and its faults. A plan is data, and any entry can be left out.

Amounts and instants are relative to the lot as it stands when the entry's turn comes, so that an entry is meaningful
whichever entries before it were left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tests.bidding.domain.oracle import DEFAULT_TIERS, SECOND, SoftCloseRule, Terms
from tests.histories import LEADER, PEOPLE, Relative
from tests.simulation.desk_entries import desk_entries, without_console
from tests.simulation.evenings import evening_entries, kind_of
from tests.simulation.plan_entries import LASTS, STAFF, Entry, NewLot, Plan, PlannedRequest, PlannedTrouble, Way
from tests.simulation.troubles import WEIGHTS, Trouble

BURSTS = 0.4
"""The share of steps that closely follow the one before, on the same lot."""
REUSES = 0.06
"""The share of bids that come with the Idempotency-Key of an earlier one."""


def plan(seed: int) -> Plan:
    """Return the plan of `seed`."""
    chance = Random(f"plan {seed}")
    processes = chance.choice((1, 2, 2, 3))
    policies = tuple(chance.choice(POLICIES) for _ in PEOPLE)
    if kind_of(seed) in ("live", "timed"):
        return _evening(chance, seed, processes, policies)
    lots = [_new_lot(chance, lot) for lot in range(1, chance.choice((2, 3, 4)) + 1)]
    entries: list[Entry] = list(lots)
    at, lot = 0.0, lots[0]
    while len(entries) < len(lots) + chance.choice((26, 34, 42)):
        if chance.random() < BURSTS:
            at = round(at + chance.choice((0.0, 0.0, 0.01, 0.03, 0.3)), 2)
        else:
            lot = chance.choice(lots)
            at = _within(chance, lot)
        entries.append(_step(chance, policies, at, lot))
    entries += [_fault(chance, processes) for _ in range(chance.choice((0, 3, 4, 5, 7)))]
    if voids := list(_voids(seed, lots)):
        entries = [*(entries if seed % 4 == 0 else map(_not_by_staff, entries)), *voids]
    entries += [*_moderations(seed, lots), *_halts(seed, lots)]
    numbered = [replace(entry, number=n) for n, entry in enumerate(entries, 1)]
    return Plan(seed, processes, policies, tuple(_reusing(seed, numbered)))


def _evening(chance: Random, seed: int, processes: int, policies: tuple[str, ...]) -> Plan:
    """Return the plan of a seed whose lots are those of a published sale."""
    at_sale = evening_entries(seed)
    entries: list[Entry] = [*(without_console(seed, at_sale) if kind_of(seed) == "live" else at_sale)]
    entries += [_fault(chance, processes) for _ in range(chance.choice((0, 2, 3, 4, 5)))]
    if kind_of(seed) == "timed" and chance.random() < 0.6:
        # The house is away while lots end.
        entries.append(PlannedTrouble(0, _moment(chance, 8.0) + 4.0, Trouble.OUTAGE, 1, chance.choice((9.0, 12.0))))
    entries += desk_entries(seed) if kind_of(seed) == "live" else []
    numbered = [replace(entry, number=n) for n, entry in enumerate(entries, 1)]
    return Plan(seed, processes, policies, tuple(_reusing(seed, numbered)))


def _not_by_staff(entry: Entry) -> Entry:
    """Return the entry with another bidder than those who may void bids: on a lot on which they bid they may not."""
    if isinstance(entry, PlannedRequest) and entry.what in ("bid", "buy") and entry.who == STAFF:
        return replace(entry, who=STAFF - 1)
    return entry


def _reusing(seed: int, entries: list[Entry]) -> Iterator[Entry]:
    """Yield the entries, some bids of them with the key of an earlier one: careless programs do that."""
    chance = Random(f"keys {seed}")
    bids = [entry for entry in entries if isinstance(entry, PlannedRequest) and entry.what == "bid"]
    for entry in entries:
        earlier = [bid for bid in bids if (bid.at, bid.number) < (entry.at, entry.number)]
        if isinstance(entry, PlannedRequest) and entry in bids and earlier and chance.random() < REUSES:
            own = [bid for bid in earlier if bid.who == entry.who]  # keys of others are no clash
            yield replace(entry, key=chance.choice(own * 4 + earlier).number)
        else:
            yield entry


POLICIES = ("nibbler", "proxy", "sniper", "jumper", "fool", "keen")
"""The kinds of bidders: one bids the minimum, one names a maximum now and then, one waits for the last moment, one bids far
too much, one sends bids that are refused, and one raises as soon as they lead."""


def _new_lot(chance: Random, lot: int) -> NewLot:
    starting = chance.choice((0, 500, 1_000, 9_990, 99_999, 100_000))
    reserve = chance.choice((None, None, 0, 1_000, 25_000))
    reserve = None if reserve is None else starting + reserve
    buy_now = chance.choice((None, None, None, 30_000, 500_000))
    buy_now = None if buy_now is None else (reserve or starting) + buy_now
    starts = chance.choice((None, None, None, -SECOND, 3 * SECOND, 7 * SECOND))
    ends = chance.choice((None, 9, 14, 14, 20, 20, 26, 30))
    ends = None if ends is None else max(starts or 0, 0) + ends * SECOND
    soft: SoftCloseRule | None = chance.choice(
        (
            None,
            SoftCloseRule(120, 120),
            SoftCloseRule(3, 3),
            SoftCloseRule(5, 2),
            SoftCloseRule(6, 8),
            SoftCloseRule(2, 6),
        )
    )
    if soft is not None and ends is not None and (soft.window == 120 or chance.random() < 0.5):
        soft = replace(soft, cap=ends + chance.choice((0, 1, SECOND, 4 * SECOND, 15 * SECOND)))
    tiers = chance.choice((DEFAULT_TIERS, DEFAULT_TIERS, ((0, 1_000),), ((0, 7_777), (20_000, 100), (90_000, 50_000))))
    return NewLot(
        0, _moment(chance, 4.0), lot, chance.randrange(2), Terms(starting, reserve, buy_now, soft, starts, ends, tiers)
    )


def _step(chance: Random, policies: tuple[str, ...], at: float, lot: NewLot) -> PlannedRequest:
    kinds = ("bid",) * 30 + ("look",) * 5 + ("buy",) * 2 + ("log out", "log out everywhere")
    what = chance.choice((*kinds, "amend", "amend", "cancel", "announce", "announce", "close"))
    who = chance.randrange(len(PEOPLE))
    if what == "bid":
        return _bid(chance, policies, at, lot)
    if what.startswith("log"):
        return PlannedRequest(0, at, what, who, way=_way(chance, mqtt=False))
    if what in ("look", "buy"):
        return PlannedRequest(0, at, what, who, lot.lot, way=_way(chance, mqtt=False))
    step = PlannedRequest(0, at, what, lot.who if chance.random() < 0.9 else who, lot.lot, way=_way(chance, mqtt=False))
    if what == "amend":
        return replace(step, changes=_changes(chance))
    if what == "announce":
        return replace(step, changes=(("ends", chance.choice((-1, 1, 5 * SECOND, 12 * SECOND))),))
    return step


def _voids(seed: int, lots: list[NewLot]) -> Iterator[PlannedRequest]:
    """Yield voids of bids, in some seeds: most by staff, and most of a bid that stands."""
    chance = Random(f"voids {seed}")
    for _ in range(chance.choice((0, 0, 2, 4, 7))):
        lot = chance.choice(lots)
        who = STAFF if chance.random() < 0.9 else chance.randrange(len(PEOPLE))
        near = (
            Relative(chance.choice(("end", "window")), chance.choice((0, -1, -SECOND)))
            if chance.random() < 0.2
            else None
        )
        pick = chance.choice((0, 1, 2, 3, 5, 8, -1, -2))
        way = _way(chance, mqtt=False)
        yield PlannedRequest(0, _within(chance, lot), "void", who, lot.lot, near=near, way=way, pick=pick)


def _moderations(seed: int, lots: list[NewLot]) -> Iterator[PlannedRequest]:
    """Yield what staff do about lots in some seeds: most are shown again soon after they were hidden, and some are over."""
    chance = Random(f"staff {seed}")
    acts = (("hide",), ("hide", "show"), ("hide", "show"), ("show",), ("cancel sale",))
    return _by_staff(chance, lots, chance.choice((0, 0, 1, 2, 3)), acts, (0.0, 0.3, 4.0))


def _halts(seed: int, lots: list[NewLot]) -> Iterator[PlannedRequest]:
    """Yield pauses of all lots, in the seeds whose lots are those of a sale: most go on again, some right before an end."""
    chance = Random(f"halts {seed}")
    acts = (("pause", "resume"), ("pause", "resume"), ("pause", "pause", "resume"), ("resume",))
    return _by_staff(chance, lots, chance.choice((1, 2, 2)) * (kind_of(seed) == "loose"), acts, (0.3, 4.0, 9.0, 13.0))


def _by_staff(
    chance: Random, lots: list[NewLot], times: int, acts: Sequence[tuple[str, ...]], pauses: Sequence[float]
) -> Iterator[PlannedRequest]:
    for _ in range(times):
        lot = chance.choice(lots)
        who = STAFF if chance.random() < 0.9 else chance.randrange(len(PEOPLE))
        at = _within(chance, lot)
        near = Relative("end", chance.choice((0, -1, 1, -SECOND, SECOND))) if chance.random() < 0.4 else None
        for what in chance.choice(acts):
            yield PlannedRequest(0, at, what, who, lot.lot, near=near, way=_way(chance, mqtt=False))
            at, near = round(at + chance.choice(pauses), 2), None


def _bid(chance: Random, policies: tuple[str, ...], at: float, lot: NewLot) -> PlannedRequest:
    who = chance.choice((0, 1, 2, 2, 3, 3, 4, 4, LEADER))
    if who == lot.who and chance.random() < 0.8:
        who = (who + 1) % len(PEOPLE)
    policy = policies[who] if who != LEADER else "keen"
    amount: Relative | None = None
    maximum: Relative | None = None
    near = None
    match policy:
        case "nibbler":
            amount = Relative("least", 0)
        case "proxy" | "sniper":
            maximum = Relative(chance.choice(("least", "least", "maximum")), chance.choice((0, 10, 2_500, 20_000)))
        case "jumper":
            amount, maximum = Relative("least", chance.choice((5_000, 40_000))), Relative("least", 60_000)
        case "fool":
            amount = Relative(chance.choice(("least", "price", "maximum")), chance.choice((-1, 0, -1_000)))
        case _:
            maximum = Relative("maximum", chance.choice((0, 1, 1_000, 30_000)))
    if policy == "sniper" or chance.random() < 0.15:
        delta = chance.choice((0, -1, 0, -10_000, -SECOND, -2 * SECOND, 1, 10_000))
        near = Relative(chance.choice(("end", "end", "end", "start", "window", "cap")), delta)
    return PlannedRequest(0, at, "bid", who, lot.lot, amount, maximum, near, way=_way(chance, mqtt=True))


def _way(chance: Random, *, mqtt: bool) -> Way:
    door = "mqtt" if mqtt and chance.random() < 0.2 else "http"
    if chance.random() < 0.6:
        return Way(door)
    return Way(
        door,
        delay=chance.choice((0.0, 0.0, 0.02, 0.5, 2.5, 7.0)),
        lost=chance.random() < 0.2,
        unanswered=chance.random() < 0.4,
        twice=chance.choice((None, 0.0, 0.01, 3.0)),
    )


def _changes(chance: Random) -> tuple[tuple[str, Any], ...]:
    changes: tuple[tuple[str, Any], ...] = (
        ("starting", chance.choice((0, 2_000, 50_000))),
        ("reserve", chance.choice((None, 1_000, 90_000))),
        ("buy_now", chance.choice((None, 90_000, 200_000))),
        ("soft_close", chance.choice((None, SoftCloseRule(4, 4), SoftCloseRule(1, 9)))),
        ("starts", chance.choice((None, 0, 4 * SECOND))),
        ("ends", chance.choice((None, 6 * SECOND, 15 * SECOND, -SECOND))),
    )
    return (chance.choice(changes),)


def _fault(chance: Random, processes: int) -> PlannedTrouble:
    what = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    seconds = chance.choice((0.0, 0.5, 2.0, 4.0, 9.0, 14.0))
    if what is Trouble.OUTAGE:
        seconds = chance.choice((3.0, 9.99, 10.5, 12.0, 18.0))
    elif what is Trouble.CLOCK_BACK:
        seconds = chance.choice((0.001, 0.5, 3.0, 6.0))
    return PlannedTrouble(0, _moment(chance, LASTS), what, chance.randrange(1, processes + 1), seconds)


def _moment(chance: Random, until: float) -> float:
    """An instant in hundredths of a second: coarse instants coincide by chance."""
    return chance.randrange(int(until * 100)) / 100


def _within(chance: Random, lot: NewLot) -> float:
    """An instant in the life of a lot, or a little after it."""
    ends = LASTS if lot.terms.ends is None else lot.at + lot.terms.ends / SECOND + 3
    return round(lot.at + _moment(chance, max(1.0, ends - lot.at)), 2)
