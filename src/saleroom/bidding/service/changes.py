"""Changes of lots by their authors: a user makes only so many, as each is an event that stays."""

from __future__ import annotations

import math
from datetime import timedelta

from saleroom.accounts.service.throttle import take_share
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import TooManyChanges
from saleroom.storage.database import Transaction

CHANGES_MAX, PERIOD = 1000, timedelta(days=1)
"""How many changes of all their lots a user may make at once, and again in each period; lots of sales do not count."""


def counted(tx: Transaction, before: Auction, after: Auction) -> Auction:
    """Return the lot after a change, which counts for its author. Raises TooManyChanges (fact `retry_after`, seconds)."""
    if after.position == before.position:
        return after
    left = take_share(tx, "changes of lots", str(after.author.id), CHANGES_MAX, PERIOD)
    if left > timedelta():
        raise TooManyChanges(retry_after=math.ceil(left.total_seconds()))
    return after
