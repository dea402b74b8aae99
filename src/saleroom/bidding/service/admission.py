"""Admission: who bids on a lot of a sale, by which name, and what the area of sales says against it.

A bid outside sales asks nothing here and costs no statement more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Protocol

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.storage import bidder_names
from saleroom.kernel.parties import Party
from saleroom.storage.database import SharedPart, Transaction

Pair = tuple[Auction, Party]
"""A lot of a sale, and a user who bids on it."""


class Admission(Protocol):
    """What the area of sales knows of the bids of one transaction."""

    def admit(self, lot: Auction, bidder: Party) -> None:
        """Raise the reason why the user may not bid on this lot, whatever they bid."""

    def take(self, lot: Auction, bidder: Party, limit: Decimal, after: Auction) -> None:
        """Take in a bid that makes `after` of `lot`. Raises the reason why `limit` goes too far; then it is not placed."""


class Gate(Protocol):
    """What the area of sales provides."""

    def __call__(self, tx: Transaction, pairs: Collection[Pair], *, deciding: bool) -> Admission:
        """Return what is known of bids on `pairs`, whose lots are locked if the transaction is `deciding` about them.

        Then it stays as it is until the transaction ends.
        """


GATE: SharedPart[Gate] = SharedPart()


class Bidders:
    """The bidders of one transaction."""

    def __init__(self, tx: Transaction, lots: Iterable[Auction], pairs: Callable[[], Collection[Pair]]) -> None:
        """`pairs` are only asked for if one of `lots` is in a sale."""
        self._admission: Admission | None = None
        self._names: dict[tuple[int, int], str] = {}
        if all(lot.sale_id is None for lot in lots):
            return
        of_sales = [(lot, bidder) for lot, bidder in pairs() if lot.sale_id is not None]
        gate = tx.provided(GATE)
        if of_sales and gate is not None:
            self._admission = gate(tx, of_sales, deciding=True)
        # The names are read after the gate has locked what may change them.
        self._names = _names(tx, of_sales)

    def known_as(self, lot: Auction, bidder: Party) -> Party:
        """Return a bidder as the lot shows them. Raises the reason why they may not bid on it."""
        if lot.sale_id is None:
            return bidder
        if self._admission is not None:
            self._admission.admit(lot, bidder)
        return _shown(self._names, lot, bidder)

    def take(self, lot: Auction, bidder: Party, limit: Decimal, after: Auction) -> None:
        """Take in a bid that makes `after` of `lot`. Raises the reason why `limit` goes too far for the bidder."""
        if lot.sale_id is not None and self._admission is not None:
            self._admission.take(lot, bidder, limit, after)


def at_door(tx: Transaction, pairs: Collection[Pair]) -> Admission | None:
    """Return what is known before `pairs` line up; None outside sales."""
    of_sales, gate = [(lot, bidder) for lot, bidder in pairs if lot.sale_id is not None], tx.provided(GATE)
    return gate(tx, of_sales, deciding=False) if of_sales and gate is not None else None


def known_as(tx: Transaction, lot: Auction, user: Party) -> str:
    """Return the name by which the lot shows a user if they bid on it."""
    return user.name if lot.sale_id is None else _shown(_names(tx, [(lot, user)]), lot, user).name


def _names(tx: Transaction, pairs: Collection[Pair]) -> dict[tuple[int, int], str]:
    numbers = {(lot.sale_id, user.id) for lot, user in pairs if lot.sale_id is not None}
    return bidder_names.of_pairs(tx, numbers) if numbers else {}


def _shown(names: dict[tuple[int, int], str], lot: Auction, user: Party) -> Party:
    name = None if lot.sale_id is None else names.get((lot.sale_id, user.id))
    return user if name is None else Party(user.id, name)
