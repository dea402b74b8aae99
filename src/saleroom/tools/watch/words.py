"""What is said to people. Nothing in it steers a terminal, whatever a name holds."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime

from saleroom.tools.watch.lots import Happening, Lot

TEXT_LENGTH_MAX = 200


def words(event: Happening) -> str:
    """Say in a few words what happened."""
    told = {name: plain(value) for name, value in event.data.items() if isinstance(value, str)}
    get = told.get
    match event.type:
        case "auction.created":
            text = f"on sale, from {get('startingPrice')}"
        case "auction.amended":
            text = f"new terms, from {get('startingPrice')}, ends {_clock(told)}"
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
            text = f"extended, ends {_clock(told)}"
        case "auction.closed":
            text = _result(get("outcome"), get("winner"), get("price"))
        case "auction.cancelled":
            text = "cancelled"
        case _:
            text = plain(event.type)
    return text


def _clock(told: Mapping[str, str]) -> str:
    """Say when it ends, to the second."""
    return f"{told['endsAt'][:19].replace('T', ' ')} UTC" if "endsAt" in told else "when its author closes it"


def standing(lot: Lot) -> str:
    """Say how a lot stands, and where it is closed, how it ended."""
    return _result(lot.outcome, lot.current_bidder, lot.current_bid) if lot.status == "closed" else plain(lot.status)


def _result(outcome: str | None, winner: str | None, price: str | None) -> str:
    if outcome == "sold":
        return f"sold to {plain(winner or '')} for {plain(price or '')}"
    known = {"no_bids": "closed without a bid", "reserve_not_met": "closed, the reserve was not met"}
    return known.get(outcome or "", "closed")


def plain(text: str) -> str:
    """Return a text without what could steer a terminal: control and format characters, line ends, half characters."""
    kept = (
        mark for mark in text[:TEXT_LENGTH_MAX] if unicodedata.category(mark)[0] != "C" and mark not in "\u2028\u2029"
    )
    return "".join(kept)


def left(until: datetime | None, now: datetime) -> str:
    """Say how long it is until an instant; a hyphen where there is none."""
    if until is None:
        return "-"
    seconds = max(0, int((until - now).total_seconds()))
    if seconds >= 86_400:
        return f"{seconds // 86_400} d {seconds % 86_400 // 3600} h"
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60}:{seconds % 60:02}"
