"""Plans of sales: what is sold, who may bid, and what clerks, staff and bidders do there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.bidding.domain.oracle import DEFAULT_TIERS, SECOND, SoftCloseRule, Terms
from tests.histories import LEADER, Relative
from tests.simulation.plan_entries import CLERKS, LASTS, STAFF, PlannedRequest, Way

GUESTS = {7: 7, 8: 108}
"""People without an account, and their paddles."""
UNKNOWN = 99
"""Nobody's paddle."""
NOBODY = -2
SLIPS = ("sell", "pass", "sell_conditionally", "skip", "warn", "retract", "undo", "call", "end", "name", "bid")
STALE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 2.5)
"""Seconds between a clerk's look and act."""


@dataclass(frozen=True)
class Evening:
    """A sale: `lots` are terms whose instants are from the beginning; `spacing` is that of a timed sale in seconds."""

    live: bool
    lots: tuple[Terms, ...]
    names: str
    registration: str
    limit: int | None
    limits: tuple[int | None, ...]
    """Those of the guests."""
    following: bool = False
    opens: float | None = None
    spacing: int = 3


def kind_of(seed: int) -> str:
    """Return whether the lots of a seed are `plain`, those of a `loose` or `timed` sale, or those of a `live` one."""
    return "live" if seed % 3 == 2 else "plain" if seed % 3 == 0 else "timed" if seed % 2 == 0 else "loose"


def evening(seed: int) -> Evening:
    """Return the sale of a seed."""
    chance, live = Random(f"evening {seed}"), kind_of(seed) == "live"
    tiers = chance.choice((DEFAULT_TIERS, ((0, 1_000),), ((0, 7_777), (20_000, 100), (90_000, 50_000))))
    count, spacing = chance.choice((4, 5, 6) if live else (3, 4, 5)), chance.choice((1, 2, 4))
    soft = None if live else SoftCloseRule(*chance.choice(((3, 3), (5, 2), (2, 6), (4, 4))))
    first = chance.choice((9, 12, 15))
    lots = []
    for place in range(count):
        starting = chance.choice((0, 500, 9_990, 20_000))
        reserve = chance.choice((None, None, 0, 8_000))
        ends = None if live else (first + spacing * place) * SECOND
        lots.append(Terms(starting, None if reserve is None else starting + reserve, None, soft, None, ends, tiers))
    return Evening(
        live,
        tuple(lots),
        names=chance.choice(("paddles", "usernames")),
        registration=chance.choice(("none", "open", "approval")),
        limit=chance.choice((None, 30_000, 60_000) if live else (20_000, 30_000, 60_000)),
        limits=(chance.choice((25_000, 30_000, 60_000)), None),
        following=not live and chance.random() < 0.8,
        opens=None if live else chance.choice((None, 2.0)),
        spacing=spacing,
    )


def evening_entries(seed: int) -> list[PlannedRequest]:
    """Return what happens in the sale of a seed, in no order; the numbers are still to come."""
    chance, sale = Random(f"entries {seed}"), evening(seed)
    entries = [*_people(chance), *_catalogue(chance, sale)]
    if sale.live:
        entries += [*_absentees(chance, sale), *_clerks(chance, sale), *_online(chance)]
        entries += list(_staff(chance, sale))
    else:
        entries += list(_timed_bids(chance, sale))
    return entries


def way(chance: Random, *, dies: bool = False) -> Way:
    """How a request fares; those of clerks fare better, and some die."""
    if chance.random() < (0.85 if dies else 0.65):
        return Way()
    return Way(
        delay=chance.choice((0.0, 0.02, 0.5, 2.5)),
        lost=chance.random() < 0.2,
        unanswered=chance.random() < 0.5,
        twice=chance.choice((None, 0.0, 0.01, 2.0)),
        dies=dies and chance.random() < 0.25,
    )


def _moment(chance: Random, since: float, until: float) -> float:
    return round(chance.uniform(since, until), 2)


def _request(chance: Random, at: float, what: str, who: int, **said: Any) -> PlannedRequest:
    return PlannedRequest(0, round(at, 2), what, who, changes=tuple(said.items()), way=way(chance))


def _people(chance: Random) -> Iterator[PlannedRequest]:
    """Bidders register, and staff decide about them, some while they lead."""
    for who in range(4):
        yield _request(chance, _moment(chance, 0.0, 3.0), "register", who)
        if chance.random() < 0.8:
            yield _request(
                chance, _moment(chance, 1.5, 4.0), "change", chance.choice(CLERKS), whom=who, standing="approved"
            )
    for _ in range(chance.choice((2, 3, 5))):
        at, whom = _moment(chance, 5.0, 33.0), chance.choice((0, 1, 2, 3, 7, 8, LEADER, LEADER))
        by = chance.choice((*CLERKS, STAFF, 2))
        what = chance.choice(("decline", "decline", "limit", "paddle", "check in", "merge", "merge"))
        if what == "decline":
            yield _request(chance, at, "change", by, whom=whom, standing="declined", reason="No deposit.")
            if chance.random() < 0.5:
                yield _request(chance, at + 3.0, "change", by, whom=whom, standing="approved")
        elif what == "limit":
            yield _request(chance, at, "change", by, whom=whom, limit=chance.choice((None, 1_000, 25_000, 90_000)))
        elif what == "paddle":
            yield _request(chance, at, "change", by, whom=whom, paddle=chance.choice((3, 7, 100, 150)))
        elif what == "check in":
            yield _request(chance, at, "check in", by, whom=whom, paddle=chance.choice((None, 4, 101)))
        else:
            yield _request(chance, at, "merge", by, whom=chance.choice((7, 8, 1)), into=chance.choice((0, 2, 3)))


def _catalogue(chance: Random, sale: Evening) -> Iterator[PlannedRequest]:
    """The lots get another order and other numbers, and some are withdrawn."""
    for _ in range(chance.choice((1, 2, 3) if sale.live else (2, 3, 4))):
        first = chance.choice((None, None, 1, 20) if sale.live else (None, None, None, 20))
        at = _moment(chance, 0.5, 30.0 if chance.random() < 0.4 else 4.0 if sale.live else 12.0)
        yield _request(
            chance, at, "order", chance.choice((STAFF, STAFF, STAFF, CLERKS[0])), first=first, turn=chance.randrange(9)
        )
    if chance.random() < 0.5:
        at = _moment(chance, 3.0, 30.0)
        yield replace(_request(chance, at, "withdraw", STAFF), lot=chance.randrange(1, len(sale.lots) + 1))
    for _ in range(chance.choice((0, 1, 2)) if not sale.live or chance.random() < 0.4 else 0):
        at = _moment(chance, 5.0, 25.0)
        yield replace(_request(chance, at, "pause", STAFF), lot=1)
        yield replace(_request(chance, at + chance.choice((0.5, 3.0)), "resume", STAFF), lot=1)


def _absentees(chance: Random, sale: Evening) -> Iterator[PlannedRequest]:
    """Bids before the lots are called."""
    for _ in range(chance.choice((3, 5))):
        maximum = Relative(chance.choice(("least", "maximum")), chance.choice((0, 1_000, 7_000, 25_000)))
        lot, who, at = chance.randrange(1, len(sale.lots) + 1), chance.randrange(4), _moment(chance, 2.5, 8.0)
        yield PlannedRequest(0, at, "bid", who, lot, maximum=maximum, way=way(chance))


def _timed_bids(chance: Random, sale: Evening) -> Iterator[PlannedRequest]:
    """Bids on the lots of a timed sale, many of them late."""
    for _ in range(chance.choice((22, 28))):
        maximum = Relative(chance.choice(("least", "least", "maximum")), chance.choice((0, 1_000, 7_000, 25_000)))
        near = Relative("end", chance.choice((0, -1, -SECOND, -2 * SECOND, 1))) if chance.random() < 0.6 else None
        lot, who, at = (
            chance.randrange(1, len(sale.lots) + 1),
            chance.choice((0, 1, 2, 3, LEADER)),
            _moment(chance, 3.0, 22.0),
        )
        yield PlannedRequest(0, at, "bid", who, lot, maximum=maximum, near=near, way=way(chance))


def _online(chance: Random) -> Iterator[PlannedRequest]:
    """Bids on the lot that is on the block: most take the ask, some bid anything else, some come as the hammer falls."""
    for _ in range(chance.choice((12, 16, 20))):
        amount: Relative | None = Relative("least", chance.choice((0, 0, 0, 0, 0, 1, -10, 1_000)))
        maximum = Relative("least", chance.choice((0, 5_000, 20_000))) if chance.random() < 0.3 else None
        who = chance.choice((0, 1, 2, 3, LEADER, STAFF))
        if chance.random() < 0.15:
            amount, maximum = None, Relative("maximum", chance.choice((0, 1, 9_000)))
        if maximum is not None and amount is not None:
            amount = Relative("least", 0)
        yield PlannedRequest(0, _moment(chance, 6.0, LASTS - 1), "bid", who, NOBODY, amount, maximum, way=way(chance))


def _clerks(chance: Random, sale: Evening) -> Iterator[PlannedRequest]:
    """Two clerks sell lot after lot, now and then both at once; some acts are slips, and some consoles die."""
    at = 5.0

    def act(what: str, **said: Any) -> PlannedRequest:
        who = CLERKS[0] if chance.random() < 0.75 else CLERKS[1]
        one = _request(chance, at, "block", who, act=what, stale=chance.choice(STALE), **said)
        return replace(one, way=way(chance, dies=True))

    def paddle() -> int | None:
        return chance.choice((None, None, None, 7, 7, 8, 8, 0, 1, 2, 3, LEADER, NOBODY, STAFF))

    while at < LASTS - 2:
        label = chance.choice((None, None, None, None, None, 1, 2, 9))
        yield act("call", **({} if label is None else {"label": label}))
        for _ in range(chance.choice((1, 3, 5))):
            at = round(at + chance.choice((0.05, 0.3, 0.7)), 2)
            what = chance.choice(("bid",) * 6 + ("ask", "warn", "warn", "name", "retract", "undo", "undo", "slip"))
            if what == "bid":
                amount, channel = chance.choice((0, 0, 0, 0, 500)), chance.choice(("floor", "floor", "phone"))
                yield act("bid", amount=amount, whose=paddle(), channel=channel)
            elif what == "ask":
                yield act("ask", amount=chance.choice((-5_000, -500, 500, 9_000, 90_000)))
            elif what in ("name", "retract"):
                yield act(what, whose=paddle())
            else:
                yield act(chance.choice(SLIPS) if what == "slip" else what, whose=7)
        at = round(at + chance.choice((0.1, 0.5)), 2)
        yield act("finish", whose=chance.choice((7, 8, 1, 2)), skips=chance.random() < 0.3, hasty=chance.random() < 0.3)
        if chance.random() < 0.3:
            at = round(at + 0.3, 2)
            yield act("undo")
            yield act("finish", whose=8, skips=False, hasty=False)
        at = round(at + chance.choice((0.2, 1.0, 2.0)), 2)
    yield act("end")


def _staff(chance: Random, sale: Evening) -> Iterator[PlannedRequest]:
    """The auctioneer takes hammers back and decides for sellers; staff void bids and hide lots, or cancel them."""
    for what in chance.choices(("reopen", "decide", "decide"), k=3):
        by, at, label = chance.choice((STAFF, STAFF, CLERKS[1])), _moment(chance, 12.0, LASTS), chance.choice((1, 2, 3))
        yield _request(chance, at, "block", by, act=what, label=label, stale=0.0, accepted=chance.random() < 0.5)
    for _ in range(chance.choice((0, 1, 3))):
        lot, at = chance.choice((NOBODY, 1, 2)), _moment(chance, 8.0, LASTS)
        yield replace(_request(chance, at, "void", STAFF), lot=lot, pick=chance.choice((0, 0, 1, 2, -1)))
    for what in chance.choices(("hide", "hide", "cancel sale"), k=chance.choice((0, 1, 2))):
        lot, at = chance.choice((NOBODY, 1, 2)), _moment(chance, 8.0, LASTS)
        yield replace(_request(chance, at, what, STAFF), lot=lot)
        if what == "hide":
            yield replace(_request(chance, at + 2.0, "show", STAFF), lot=lot)
    if chance.random() < 0.7:
        yield replace(_request(chance, LASTS - 1, "hide", STAFF), lot=chance.choice((1, 2)))  # it may be over by then
