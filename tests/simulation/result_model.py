"""The expected results of lots that were sold by outcry (docs/rules.md, "Entering results"), for all lots of a line or none."""

from __future__ import annotations

import copy
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.bidding.domain.oracle import Terms
from tests.bidding.domain.playing import units
from tests.bidding.domain.voids import Moderate
from tests.simulation.block_model import off_block, outcome
from tests.simulation.block_oracle import OVER, LiveOracle
from tests.simulation.plan_entries import STAFF
from tests.simulation.sale_model import SaleModel

if TYPE_CHECKING:
    from datetime import datetime

NO_LOT = "The result was taken back, and the lot was made for it."
UNUSUAL_TIMES = 10
UNSOLD = ("no_bids", "reserve_not_met")
TAG = re.compile("([0-9]+)-[0-9a-f]{16}(?:-[0-9]+)?")


def enter(sale: SaleModel, staff: int, line: Any, made: str, now: datetime) -> str | None:
    """Let staff enter a line, and return the code of a refusal; `made` is the gid of a lot that it makes on the spot."""
    return _whole(sale, lambda: _enter(sale, staff, line, made, now))


def take_back(sale: SaleModel, staff: int, line: Any, now: datetime) -> str | None:
    """Let staff take the results of lots back."""

    def all_of_them() -> str | None:
        gids, code = _lots(sale, line.labels)
        code = _not_free(sale) or code
        if code is None and any(not _seen(sale, gid, seen) for gid, seen in zip(gids, line.seen, strict=True)):
            code = "result_changed"
        code = code or _not_to_reopen(sale, staff, gids, line.reason)
        return code or _taken_back(sale, gids, line.reason, now, withdraws=True)

    return _whole(sale, all_of_them)


def state(sale: SaleModel, label: str) -> str:
    """Return the state of a lot as the sheet shows it."""
    gid = sale.labelled(label) or ""
    if gid in sale.withdrawn:
        return "withdrawn"
    oracle = sale.block(gid)
    if oracle.stage is not None or oracle.status not in OVER:
        return "open" if oracle.stage is None else "on_block"
    return "passed" if oracle.outcome in UNSOLD else oracle.outcome or "sold"


def _whole(sale: SaleModel, act: Any) -> str | None:
    """Do all of it, or nothing."""
    names = ("order", "labels", "last", "status", "events", "withdrawn", "made_on_the_spot")
    before = {name: copy.copy(getattr(sale, name)) for name in names}
    auctions = {gid: (one.oracle, one.last) for gid, one in sale.house.auctions.items()}
    for one in sale.house.auctions.values():
        one.oracle = copy.deepcopy(one.oracle)
    code: str | None = act()
    if code is not None:
        for name, value in before.items():
            setattr(sale, name, value)
        for gid in [gid for gid in sale.house.auctions if gid not in auctions]:
            del sale.house.auctions[gid]
        for gid, (oracle, last) in auctions.items():
            sale.lot(gid).oracle, sale.lot(gid).last = oracle, last
    return code


def _enter(sale: SaleModel, staff: int, line: Any, made: str, now: datetime) -> str | None:
    if code := _not_free(sale):
        return code
    if line.name is None:
        gids, code = _lots(sale, line.labels)
        if code:
            return code
    else:
        gids = [made]
        _add(sale, made, 1_000 if line.price is None else units(line.price), now)
    who = None if line.paddle is None else sale.with_paddle(line.paddle)
    if line.paddle is not None and who is None:
        return "unknown_paddle"
    due = [gid for gid in gids if not _stands(sale, gid, line, who)]
    seen = dict(zip(gids, line.seen, strict=False))
    for gid in due:
        if gid in sale.withdrawn:
            return "lot_withdrawn"
        if sale.block(gid).status == "closed" and not _seen(sale, gid, seen.get(gid)):
            return "already_decided"
    replaced = [gid for gid in due if sale.block(gid).status in OVER]
    code = _not_to_reopen(sale, staff, replaced, line.reason) if replaced else None
    code = code or _taken_back(sale, replaced, line.reason, now)
    if code is None and due and who is not None:
        code = sale.refuses(who)
    for gid in due:
        code = code or _decided(sale, gid, line, who, now)
    return code


def _decided(sale: SaleModel, gid: str, line: Any, who: int | None, now: datetime) -> str | None:
    lot = sale.lot(gid)
    person = None if who is None else lot.who(who)
    known = None if who is None else sale.people.get(who)
    before = 0 if who is None else sale.exposure(who, gid)
    here = 0 if who is None else sale.owes(gid, who)
    code = sale.play(gid, now, partial(_hammered, line=line, who=person))
    if code is not None:
        return code
    asked = 0 if line.price is None else units(line.price)
    if known is not None and known.limit is not None and before + max(asked, here) > known.limit:
        return "beyond_limit"
    sale.begin(gid)
    sale.tell("lot.closed", gid, *outcome(sale, gid))
    return None


def _hammered(oracle: LiveOracle, at: int, *, line: Any, who: int | None) -> str | None:
    """Call the lot, let the paddle bid the price in the hall, and let the hammer fall."""
    code = oracle.call(at)
    if code or line.price is None or who is None:
        if code is None and oracle.leader is not None and oracle._reaches():
            code = _cleared(oracle, line, at)
        return code or oracle.pass_(at)
    price = units(line.price)
    if price >= UNUSUAL_TIMES * oracle.lot.starting and not line.is_sure:
        return "unusual_price"
    code = _bids(oracle, line, who, price, at)
    if code or oracle._reaches():
        return code or oracle.sell(at)
    if line.below is None:
        return "price_below_reserve"
    return oracle.pass_(at) if line.below == "passed" else oracle.sell(at, conditionally=True)


def _bids(oracle: LiveOracle, line: Any, who: int, price: int, at: int) -> str | None:
    code = None
    if oracle.leader is not None:
        own, now, most = oracle.leader == who, oracle.price or 0, oracle.maximum or 0
        if own and now == price:
            return None
        if price < now if own else price <= most:
            code = _cleared(oracle, line, at)
        elif own:
            code = oracle.retract(who, at)
    return code or oracle.ask(price, at) or oracle.clerk_bids(who, price, at)


def _cleared(oracle: LiveOracle, line: Any, at: int) -> str | None:
    """The bid that stands is taken back, if people have decided against it at its maximum."""
    against = None if line.against is None else units(line.against)
    return "absentee_bid_stands" if against != oracle.maximum else oracle.retract(None, at)


def _taken_back(sale: SaleModel, gids: list[str], reason: str, now: datetime, *, withdraws: bool = False) -> str | None:
    told: list[tuple[str, str, str]] = []
    for gid in gids:
        code = sale.play(gid, now, _undone)
        if code is not None:
            return code
        told.append(("lot.reopened", gid, reason))
        if withdraws and gid in sale.made_on_the_spot and sale.block(gid).leader is None:
            sale.lot(gid).do(Moderate("cancel"), now)
            sale.withdrawn = {*sale.withdrawn, gid}
            told.append(("lot.withdrawn", gid, reason or NO_LOT))
    for one in told:
        sale.tell(*one)
    return None


def _undone(oracle: LiveOracle, at: int) -> str | None:
    """Undo its acts, the last first, until it is off the block."""
    code = oracle.undo(at)
    while code is None and oracle.stage is not None:
        code = oracle.undo(at)
        if code == "nothing_to_undo":
            code = oracle.skip(at)
    return code


def _stands(sale: SaleModel, gid: str, line: Any, who: int | None) -> bool:
    oracle = sale.block(gid)
    unsold = oracle.outcome in UNSOLD
    if oracle.status != "closed" or line.price is None or who is None:
        return oracle.status == "closed" and unsold
    if unsold and line.below != "passed":
        return False
    return oracle.leader == sale.lot(gid).who(who) and oracle.price == units(line.price)


def _seen(sale: SaleModel, gid: str, seen: str | None) -> bool:
    """Whether a lot is over, and `seen` is a tag of its state: what changed beside its log since does not count."""
    found = TAG.fullmatch(seen or "")
    return sale.block(gid).status == "closed" and found is not None and found[1] == str(sale.block(gid).version)


def _not_free(sale: SaleModel) -> str | None:
    if not sale.live or sale.over or sale.status == "paused":
        return "not_live" if not sale.live else "sale_over" if sale.over else "sale_paused"
    return "lot_on_block" if sale.last is not None and not off_block(sale, sale.last) else None


def _not_to_reopen(sale: SaleModel, staff: int, gids: list[str], reason: str) -> str | None:
    if gids == [sale.last]:
        return None
    if staff != STAFF:
        return "missing_right"
    return None if reason else "validation reason/required_to_reopen"


def _lots(sale: SaleModel, labels: list[str]) -> tuple[list[str], str | None]:
    found: list[str] = []
    for label in labels:
        gid = sale.labelled(label)
        if gid is None or gid in sale.needs:
            return found, "unknown_lot" if gid is None else "of_auctions"
        found.append(gid)
    return found, None


def _add(sale: SaleModel, gid: str, price: int, now: datetime) -> None:
    first = next(one for one in sale.order if one not in sale.needs)
    label = str(max(int(one) for one in sale.labels.values()) + 1)
    sale.house.put_up(gid, LiveOracle(Terms(price, None, None, None, None, None, sale.block(first).lot.tiers)), now)
    sale.order, sale.labels = [*sale.order, gid], {**sale.labels, gid: label}
    sale.made_on_the_spot = {*sale.made_on_the_spot, gid}
    sale.tell("lot.added", gid)
