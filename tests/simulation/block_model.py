"""The expected block of a live sale: each act of a clerk, and what anyone sees of the block after it (docs/rules.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from tests.bidding.domain.oracle import AUTHOR
from tests.bidding.domain.playing import units
from tests.simulation import need_model
from tests.simulation.block_oracle import FLOOR, OVER, LiveOracle
from tests.simulation.need_model import OF_NEEDS
from tests.simulation.sale_model import SaleModel

if TYPE_CHECKING:
    from tests.simulation.model import ModelAuction

NEXT_LOTS = 5
OF_A_LOT = ("reopen", "decide")
HEAD = re.compile("-[0-9a-f]{16}(?:-[0-9]+)?")


def off_block(sale: SaleModel, gid: str) -> bool:
    """Whether a lot is not on the block."""
    return sale.needs[gid].stage != "on_block" if gid in sale.needs else sale.block(gid).stage is None


def tagged(sale: SaleModel, seen: str | None) -> bool:
    """Whether `seen` is a tag of the present block: the lot and its version, however often it changed beside its log."""
    if sale.last is None:
        return seen == "0"
    if sale.last in sale.needs:
        return seen == f"{sale.last}-n{sale.needs[sale.last].acts}"
    rest = (seen or "").removeprefix(f"{sale.last}-{sale.block(sale.last).version}")
    return rest != seen and HEAD.fullmatch(rest) is not None


def act(sale: SaleModel, asked: Any, now: datetime) -> str | None:
    """Let a clerk act on the block, and return the code of a refusal."""
    if not (asked.act == "decide" and sale.over):
        if not sale.live:
            return "not_live"
        if sale.over or sale.status == "paused":
            return "sale_over" if sale.over else "sale_paused"
    if asked.act == "call":
        return _call(sale, asked, now)
    if asked.act in OF_A_LOT:
        return _of_a_lot(sale, asked, now)
    if asked.act == "end":
        return _end(sale, asked, now)
    if sale.last is None:
        return "no_lot_on_block"
    gid = sale.last
    if asked.act == "undo_pledge" and asked.label is not None:
        labelled = sale.labelled(asked.label)
        if labelled is None:
            return "unknown_lot"
        gid = labelled
    if gid in sale.needs or asked.act in OF_NEEDS:
        return need_model.act(sale, gid, asked) if gid in sale.needs else "of_needs"
    if asked.act != "bid" and not tagged(sale, asked.seen):
        return "block_changed"
    return _on_lot(sale, gid, asked, now)


def _call(sale: SaleModel, asked: Any, now: datetime) -> str | None:
    if not tagged(sale, asked.seen):
        return "block_changed"
    on_block = sale.last is not None and not off_block(sale, sale.last)
    if asked.label is not None:
        gid = sale.labelled(asked.label)
        if gid is None:
            return "unknown_lot"
    else:
        waiting = [one for one in sale.to_be_called() if not (on_block and one == sale.last)]
        if not waiting:
            return "no_lot_left"
        gid = waiting[0]
    if on_block:
        return "lot_on_block"
    if gid in sale.withdrawn:
        return "lot_withdrawn"
    if gid in sale.needs:
        return need_model.call(sale, gid)
    code = sale.play(gid, now, lambda oracle, at: oracle.call(at))
    if code is None:
        sale.begin(gid)
    return code


def _of_a_lot(sale: SaleModel, asked: Any, now: datetime) -> str | None:
    gid = sale.labelled(asked.label or "")
    if gid is None:
        return "unknown_lot"
    if gid in sale.needs:
        return "of_auctions" if asked.act == "decide" else need_model.reopen(sale, gid, asked.reason)
    if asked.act == "reopen":
        code = sale.play(gid, now, lambda oracle, at: oracle.reopen(at))
        if code is None:
            sale.tell("lot.reopened", gid, asked.reason)
        return code
    code = sale.play(gid, now, lambda oracle, at: oracle.decide(accepted=asked.accepted))
    if code is None and not sale.over:
        sale.tell("lot.decided", gid, *outcome(sale, gid))
    return code


def _end(sale: SaleModel, asked: Any, now: datetime) -> str | None:
    if not tagged(sale, asked.seen):
        return "block_changed"
    if sale.status != "running":
        return "sale_not_running"
    if sale.last is not None and not off_block(sale, sale.last):
        return "lot_on_block"
    left = [gid for gid in sale.waiting() if gid not in sale.needs]
    if any(sale.block(gid).leader is not None for gid in left):
        return "bids_uncalled"
    for gid in [gid for gid in sale.order if gid in sale.needs and not sale.is_over(gid)]:
        need_model.end(sale, gid)
    for gid in left:
        sale.play(gid, now, _unsold)
    sale.status = "closed"
    sale.events.append(("sale.closed",))
    return None


def _unsold(oracle: LiveOracle, at: int) -> str | None:
    """A lot without bids ends with its sale; a hidden one is cancelled."""
    return oracle.cancel(AUTHOR, at) if oracle.hidden else oracle.close_now(AUTHOR, at)


def _on_lot(sale: SaleModel, gid: str, asked: Any, now: datetime) -> str | None:
    before, was_over = sale.block(gid).stage, sale.block(gid).status in OVER
    code = _decide(sale, gid, asked, now)
    lot = sale.block(gid)
    over = lot.status in OVER
    if code is None and before is None and lot.stage is not None:
        sale.tell("lot.called", gid)
    elif code is None and was_over and not over:
        sale.tell("lot.reopened", gid, "")
    elif code is None and before is not None and lot.stage is None:
        sale.tell("lot.closed" if over else "lot.skipped", gid, *(outcome(sale, gid) if over else ()))
    return code


def _decide(sale: SaleModel, gid: str, asked: Any, now: datetime) -> str | None:
    amount = 0 if asked.amount is None else units(asked.amount)
    simple: dict[str, Callable[[LiveOracle, int], str | None]] = {
        "ask": lambda oracle, at: oracle.ask(amount, at),
        "warn": lambda oracle, at: oracle.warn(at),
        "sell": lambda oracle, at: oracle.sell(at),
        "sell_conditionally": lambda oracle, at: oracle.sell(at, conditionally=True),
        "pass": lambda oracle, at: oracle.pass_(at),
        "skip": lambda oracle, at: oracle.skip(at),
        "undo": lambda oracle, at: oracle.undo(at),
    }
    if asked.act in simple:
        return sale.play(gid, now, simple[asked.act])
    who = sale.with_paddle(asked.paddle)
    if asked.act == "retract":
        if asked.paddle is not None and who is None:
            return "unknown_paddle"
        person = None if who is None else sale.lot(gid).who(who)
        return sale.play(gid, now, lambda oracle, at: oracle.retract(person, at))
    off = sale.block(gid).off_block(0)
    if off:
        return off
    if asked.act == "bid" and asked.paddle is None:
        sale.floors += 1
        return sale.play(gid, now, lambda oracle, at: oracle.clerk_bids(FLOOR + sale.floors, amount, at))
    if who is None:
        return "unknown_paddle"

    def place(lot: ModelAuction) -> str | None:
        person = lot.who(who)
        if asked.act == "name":
            return lot.play(lambda oracle, at: oracle.name(person, at), now)
        return lot.play(lambda oracle, at: oracle.clerk_bids(person, amount, at), now)

    return sale.bid(gid, who, place)


def outcome(sale: SaleModel, gid: str) -> tuple[str | None, int | None]:
    """Return what has become of a lot, and its price if somebody has bought it."""
    lot = sale.block(gid)
    return lot.outcome, lot.price if lot.outcome in ("sold", "conditional") else None


def _shown(sale: SaleModel) -> dict[str, Any]:
    """Return what anyone sees of the block."""
    need = sale.needs.get(sale.last or "")
    last = None if sale.last is None or need is not None else sale.block(sale.last)
    on_block = sale.last is not None and not off_block(sale, sale.last)
    left = [gid for gid in sale.to_be_called() if not (on_block and gid == sale.last)]
    return {
        "label": None if sale.last is None else sale.labels[sale.last],
        "on_block": on_block,
        "stage": None if last is None else last.stage,
        "least": None if last is None else last.least(),
        "price": None if last is None else last.price,
        "next": [sale.labels[gid] for gid in left[:NEXT_LOTS]],
        "left": len(left),
        "status": sale.status,
        "need": None if need is None else (need.stage, need.level, sum(one.amount for one in need.standing)),
    }


def agrees(sale: SaleModel, answer: bytes) -> str | None:
    """Return the difference between the block as it should be and as an answer shows it."""
    said, mine = msgspec.json.decode(answer), _shown(sale)
    lot = said["onBlock"] or said["lastLot"]
    auction = (lot or {}).get("auction") or {}
    theirs = {
        "label": None if lot is None else lot["label"],
        "on_block": said["onBlock"] is not None,
        "stage": auction.get("stage"),
        "least": _units(auction.get("minimumBid")),
        "price": _units(auction.get("currentBid")),
        "next": [one["label"] for one in said["nextLots"]],
        "left": said["lotsLeft"],
        "status": said["status"],
        "need": _need((lot or {}).get("need")),
    }
    differs = {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}
    return str(differs) if differs else None


def _need(said: dict[str, Any] | None) -> tuple[Any, ...] | None:
    return None if said is None else (said["stage"], _units(said["level"]), _units(said["total"]))


def _units(text: str | None) -> int | None:
    return None if text is None else int(text.replace(".", ""))
