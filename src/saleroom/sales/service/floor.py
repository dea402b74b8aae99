"""The floor: the bidder of bids from the hall whose paddle is not known yet."""

from __future__ import annotations

from saleroom.accounts.storage import accounts, people
from saleroom.bidding.domain.block import FLOOR
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain


def floor(tx: Transaction) -> Party:
    """Return the user who stands for the hall; the first bid of the house from a floor makes it. Nobody can log in to it."""
    found = people.find(tx, FLOOR) or accounts.add_user(tx, FLOOR, None, tx.now())
    if found is None:
        raise TryAgain("the floor was just made by another")
    return found.party
