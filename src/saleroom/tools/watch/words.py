"""Events and lots in words for people, fit for a terminal whatever a name holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from saleroom.kernel.terminal import printable
from saleroom.tools.amounts import Money
from saleroom.tools.watch.messages import LotEvent, LotState

_AMOUNTS = ("startingPrice", "amount", "minimumBid", "price", "currentBid")
"""The members of events that are amounts."""
_OUTCOMES = {"sold": "sold", "no_bids": "no bids", "reserve_not_met": "not sold"}


def words(event: LotEvent, money: Money) -> str:
    """Return an event in a few words, with amounts written by `money`."""
    texts = {
        name: printable(money(value) if name in _AMOUNTS else value)
        for name, value in event.data.items()
        if isinstance(value, str)
    }
    get = texts.get
    match event.type:
        case "auction.created":
            text = f"on sale, from {get('startingPrice')}"
        case "auction.amended":
            text = f"new terms, from {get('startingPrice')}, ends {_end(texts)}"
        case "photos.arranged":
            photos = event.data.get("photos")
            text = f"other photos, {len(photos) if isinstance(photos, list) else 0} in all"
        case "auction.opened":
            text = "open for bids"
        case "bid.placed":
            who = f"{get('bidder')} bids {get('amount')}"
            if event.data.get("automatic") is True:
                who = f"the house bids {get('amount')} for {get('bidder')}"
            text = f"{who}, leads; next {get('minimumBid', 'none')}" if event.data.get("leading") else f"{who}, outbid"
        case "reserve.met":
            text = f"the reserve is met at {get('amount')}; next {get('minimumBid', 'none')}"
        case "auction.extended":
            text = f"extended, ends {_end(texts)}"
        case "auction.closed":
            text = _result(get("outcome"), get("winner"), get("price"))
        case _:
            text = _of_the_house(event, texts)
    return text


def _of_the_house(event: LotEvent, texts: Mapping[str, str]) -> str:
    """Return an event that the house itself has caused, or any that is not known."""
    get = texts.get
    match event.type:
        case "bid.voided":
            stands = (
                f"{get('currentBidder')} leads at {get('currentBid')}" if "currentBid" in texts else "no bid stands"
            )
            voided = f"the house voids {get('bidder')}'s bid of {get('amount')} ({get('reason')})"
            return f"{voided}; {stands}; next {get('minimumBid', 'none')}"
        case "auction.cancelled":
            return f"cancelled by the house ({get('reason')})" if "reason" in texts else "cancelled"
        case "auction.resumed":
            return f"goes on, ends {_end(texts)}"
    return _PLAIN.get(event.type) or printable(event.type)


_PLAIN = {
    "auction.paused": "paused, its clock stands still",
    "auction.hidden": "taken down by the house",
    "auction.shown": "put back by the house",
}
"""The events without facts, in words."""


def _end(texts: Mapping[str, str]) -> str:
    """Return when the lot ends, to the second."""
    return f"{texts['endsAt'][:19].replace('T', ' ')} UTC" if "endsAt" in texts else "when its author closes it"


def standing(lot: LotState, money: Money) -> str:
    """Return the status of a lot, and its result once it is closed."""
    if lot.status != "closed":
        return printable(lot.status)
    return _result(lot.outcome, lot.current_bidder, money(lot.current_bid or ""))


def status(lot: LotState) -> str:
    """Return the status of a lot in a word or two: beside it stand the price and the leader."""
    return _OUTCOMES.get(lot.outcome or "", "closed") if lot.status == "closed" else printable(lot.status)


def _result(outcome: str | None, winner: str | None, price: str | None) -> str:
    if outcome == "sold":
        return f"sold to {printable(winner or '')} for {printable(price or '')}"
    known = {"no_bids": "closed without a bid", "reserve_not_met": "closed, the reserve was not met"}
    return known.get(outcome or "", "closed")


def left(until: datetime | None, now: datetime) -> str:
    """Return the time until an instant, a hyphen for None."""
    if until is None:
        return "-"
    seconds = max(0, int((until - now).total_seconds()))
    if seconds >= 86_400:
        return f"{seconds // 86_400} d {seconds % 86_400 // 3600} h"
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60}:{seconds % 60:02}"
