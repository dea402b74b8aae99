"""The expected people of a sale (docs/rules.md, "People of a sale"): they register; staff approve, decline and merge them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.bidding.domain.playing import units
from tests.simulation import block_oracle
from tests.simulation.sale_model import Participant, SaleModel


def register(sale: SaleModel, who: int, gid: str) -> str | None:
    """Let a person register for a sale; `gid` is what the house calls them, if it took them."""
    known = sale.people.get(who)
    if sale.over:
        return "sale_over"
    if known is not None:
        return "registration_declined" if known.standing == "declined" else None
    if sale.registration == "none" and sale.names != "paddles":
        return "no_registration"
    if who in sale.merged:
        return "merged_already"
    pending = sale.registration == "approval"
    one = Participant(gid, "pending" if pending else _standing(sale.limit_default), sale.limit_default)
    sale.people[who] = one
    if not pending:
        _give_paddle(sale, who)
    return None


def admit(sale: SaleModel, who: int, gid: str, newcomer: Any) -> str | None:
    """Let a guest in at the door, before anything happens."""
    limit = None if newcomer.limit is None else units(newcomer.limit)
    sale.people[who] = Participant(gid, _standing(limit), limit, is_guest=True, online=False)
    _give_paddle(sale, who, newcomer.paddle)
    return None


def change(sale: SaleModel, gid: str, changes: Mapping[str, Any]) -> str | None:
    """Let staff approve, decline, limit somebody, or give them a paddle."""
    who, one = _found(sale, gid)
    if sale.over or one is None or who is None:
        return "sale_over" if sale.over else "unknown_participant"
    limit = one.limit
    if "limit" in changes:
        limit = None if changes["limit"] is None else units(changes["limit"])
    standing = changes.get("standing", one.standing)
    if standing in ("approved", "limited"):
        standing = _standing(limit)
    may_bid = standing in ("approved", "limited")
    wants = "paddle" in changes or (may_bid and one.paddle is None and sale.names == "paddles")
    if wants and (code := _paddle_refused(sale, who, changes.get("paddle"))):
        return code
    one.limit, one.standing = limit, str(standing)
    if wants:
        _give_paddle(sale, who, changes.get("paddle"))
    return None


def check_in(sale: SaleModel, gid: str, paddle: int | None) -> str | None:
    """Let staff check somebody in at the door, with a paddle."""
    who, one = _found(sale, gid)
    if sale.over or one is None or who is None:
        return "sale_over" if sale.over else "unknown_participant"
    if one.standing == "declined":
        return "registration_declined"
    if code := _paddle_refused(sale, who, paddle):
        return code
    one.online, one.standing = False, _standing(one.limit)
    _give_paddle(sale, who, paddle)
    return None


def merge(sale: SaleModel, gid: str, into: str) -> str | None:
    """Make one of two participants who are the same person."""
    if gid == into:
        return "validation into/another_participant"
    (who, one), (whom, other) = _found(sale, gid), _found(sale, into)
    if one is None or other is None or who is None or whom is None:
        return "unknown_participant"
    person = sale.merged.get(whom, whom)
    if who in sale.merged or person == who:
        return "merged_already"
    mine, theirs = has_bid(sale, who), has_bid(sale, whom)
    seen_to_bid = _has_bid_on_auctions(sale, who)
    stay = sale.over and one.is_guest and mine and theirs
    if mine and (theirs or not one.is_guest) and not stay:
        return "bids_stay"
    sale.merged |= {each: person for each, of in sale.merged.items() if of == who}
    sale.merged[who] = person
    if stay:
        return None
    shown = one if mine or (not theirs and other.paddle is None) else other
    limits = [each.limit for each in (one, other) if each.may_bid and each.limit is not None]
    limit = min(limits) if limits else None
    standings = (one.standing, other.standing)
    if "declined" in standings:
        standing = "declined"
    elif one.may_bid or other.may_bid:
        standing = _standing(limit)
    else:
        standing, limit = "pending", other.limit
    name = other.name if theirs else None
    if not theirs and shown.paddle is not None and (seen_to_bid or sale.names == "paddles" or other.is_guest):
        name = f"#{shown.paddle}"
    sale.people[whom] = Participant(other.gid, standing, limit, shown.paddle, other.is_guest, shown.online, name)
    del sale.people[who]
    for need in sale.needs.values():
        need.move(who, whom)
    for lot in (sale.lot(each) for each in sale.order if each not in sale.needs):
        if block_oracle.has_bid(lot.oracle, lot.who(who)):
            lot.renamed += 1
            block_oracle.move(lot.oracle, lot.who(who), lot.who(whom))
    return None


def has_bid(sale: SaleModel, who: int) -> bool:
    """Whether others have seen a person bid or give, in the hall too."""
    return _has_bid_on_auctions(sale, who) or any(need.has_pledged(who) for need in sale.needs.values())


def _has_bid_on_auctions(sale: SaleModel, who: int) -> bool:
    lots = [sale.lot(gid) for gid in sale.order if gid not in sale.needs]
    return any(block_oracle.has_bid(lot.oracle, lot.who(who)) for lot in lots)


def _found(sale: SaleModel, gid: str) -> tuple[int | None, Participant | None]:
    return next(((who, one) for who, one in sale.people.items() if one.gid == gid), (None, None))


def _paddle_refused(sale: SaleModel, who: int, asked: int | None) -> str | None:
    own = sale.people[who].paddle
    if asked is None or asked == own:
        return None
    if any(one.paddle == asked for each, one in sale.people.items() if each != who):
        return "paddle_taken"
    return "paddle_fixed" if own is not None and sale.people[who].name is not None and has_bid(sale, who) else None


def _give_paddle(sale: SaleModel, who: int, asked: int | None = None) -> None:
    one = sale.people[who]
    if asked is None and one.paddle is None and one.online and sale.names == "usernames":
        return
    taken = {each.paddle for each in sale.people.values()}
    free = next(number for number in range(100, 200) if number not in taken)
    was = one.paddle
    one.paddle = asked if asked is not None else one.paddle if one.paddle is not None else free
    if one.paddle != was and (one.is_guest or sale.names == "paddles"):
        one.name = f"#{one.paddle}"


def _standing(limit: int | None) -> str:
    return "approved" if limit is None else "limited"
