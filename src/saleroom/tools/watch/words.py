"""Events and lots in words for people, fit for a terminal whatever a name holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from saleroom.kernel.terminal import printable
from saleroom.tools.amounts import Money
from saleroom.tools.watch.messages import LotEvent, LotState

_AMOUNTS = ("startingPrice", "amount", "minimumBid", "price", "currentBid")
"""The members of events that are amounts."""
_OUTCOMES = {"sold": "sold", "no_bids": "no bids", "reserve_not_met": "not sold", "conditional": "conditional"}
_STAGES = {"called": "on the block", "fair_warning": "fair warning", "final_call": "final call"}


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
    plain = _PLAIN.get(event.type) or _PLAIN_OF_SALES.get(event.type)
    return plain or _on_the_block(event, texts) or printable(event.type)


def _on_the_block(event: LotEvent, texts: Mapping[str, str]) -> str:
    """Return an act of the clerk or an event of a sale of many lots; an empty text for any other."""
    get = texts.get
    lot = f"lot {get('label')}"
    stands = f"{get('currentBidder')} leads at {get('currentBid')}" if "currentBid" in texts else "no bid stands"
    told = {
        "auction.called": f"on the block, {get('minimumBid', 'nothing')} is asked",
        "ask.set": f"{get('minimumBid')} is asked",
        "auction.warned": "final call" if get("stage") == "final_call" else "fair warning",
        "bidder.named": f"{get('bidder')} leads at {get('amount')}",
        "bid.retracted": f"{get('bidder')} takes back {get('amount')}; {get('minimumBid')} is asked",
        "act.undone": f"the last act is undone; {stands}",
        "auction.reopened": f"the hammer is taken back ({get('reason')})",
        "auction.decided": f"the seller has decided: {_result(get('outcome'), get('winner'), get('price'))}",
        "sale.published": f"the sale {get('title')} is published, {event.data.get('lots')} lots",
        "sale.amended": f"the sale has other words: {get('title')}",
        "sale.cancelled": f"the sale is cancelled ({get('reason')})",
        "level.set": f"{lot}: the level is {get('amount')}",
        "pledge.made": f"{lot}: {get('amount')} is pledged; {get('total')} are raised by {event.data.get('pledges')} pledges",
        "pledge.undone": f"{lot}: a pledge of {get('amount')} is undone; {get('total')} are raised",
        "lot.added": f"{lot} is added",
        "lot.amended": f"{lot} has other words",
        "lot.withdrawn": f"{lot} is withdrawn ({get('reason')})",
        "lot.called": f"{lot} is on the block",
        "lot.closed": f"{lot}: {_result(get('outcome'), None, get('price'))}",
        "lot.skipped": f"{lot} is left for later",
        "lot.reopened": f"{lot} is open again" + (f" ({get('reason')})" if "reason" in texts else ""),
        "lot.decided": f"{lot}, the seller has decided: {_result(get('outcome'), None, get('price'))}",
    }
    return told.get(event.type, "")


_PLAIN = {
    "auction.paused": "paused, its clock stands still",
    "auction.hidden": "taken down by the house",
    "auction.shown": "put back by the house",
}
"""The events without facts, in words."""
_PLAIN_OF_SALES = {
    "auction.skipped": "off the block, left for later",
    "sale.running": "the sale has begun",
    "sale.paused": "the sale stands still",
    "sale.resumed": "the sale goes on",
    "sale.closed": "the sale is over",
    "order.set": "the lots are in another order",
}
"""The same, of sales of many lots."""


def _end(texts: Mapping[str, str]) -> str:
    """Return when the lot ends, to the second."""
    return f"{texts['endsAt'][:19].replace('T', ' ')} UTC" if "endsAt" in texts else "when it is closed by hand"


def standing(lot: LotState, money: Money) -> str:
    """Return the status of a lot, and its result once it is closed."""
    if lot.status != "closed":
        return printable(lot.status)
    return _result(lot.outcome, lot.current_bidder, money(lot.current_bid or ""))


def status(lot: LotState) -> str:
    """Return the status of a lot in a word or two: beside it stand the price and the leader."""
    if lot.status == "closed":
        return _OUTCOMES.get(lot.outcome or "", "closed")
    return _STAGES.get(lot.stage or "", printable(lot.status))


def _result(outcome: str | None, winner: str | None, price: str | None) -> str:
    if outcome == "sold":
        to = f" to {printable(winner)}" if winner else ""
        return f"sold{to} for {printable(price or '')}"
    known = {
        "no_bids": "closed without a bid",
        "funded": f"closed, {printable(price or '')} are raised",
        "reserve_not_met": "closed, the reserve was not met",
        "conditional": f"closed at {printable(price or '')} below the reserve, the seller decides",
    }
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
