"""Admission to the lots of a sale, within the transaction that decides bids (`bidding/service/admission.py`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import OwnAuction
from saleroom.bidding.service.admission import Pair
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain.participants import Exposure, Participant, committed, refuse_beyond, refuse_to_bid
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import participants, sales
from saleroom.storage.database import Transaction

Key = tuple[int, int]
"""The numbers of a sale and of a user."""


class SaleAdmission:
    """What sales say about the bids of one transaction."""

    def __init__(
        self,
        of_sales: Mapping[int, Sale],
        people: Mapping[Key, Participant],
        consigned: Collection[tuple[int, int]],
        held: Mapping[Key, dict[int, Decimal]],
    ) -> None:
        """`consigned` are the lots that users have brought; `held` is what those with a limit owe, by lot."""
        self._sales, self._people, self._consigned = of_sales, people, consigned
        self._held = {key: held.get(key, {}) for key, one in people.items() if one.limit is not None}

    def admit(self, lot: Auction, bidder: Party) -> None:
        """Raise OwnAuction, NotRegistered, RegistrationPending or RegistrationDeclined for who may not bid on the lot."""
        if (lot.id, bidder.id) in self._consigned:
            raise OwnAuction
        sale_id = _sale_id(lot)
        sale = self._sales.get(sale_id)
        if sale is not None:  # no sale is ever deleted; a number that none has says nothing against a bid
            refuse_to_bid(sale, self._people.get((sale_id, bidder.id)))

    def take(self, lot: Auction, bidder: Party, limit: Decimal, after: Auction) -> None:
        """Take in a bid. Raises BeyondLimit."""
        sale_id = _sale_id(lot)
        held = self._held.get((sale_id, bidder.id))
        most = self._people[sale_id, bidder.id].limit if held is not None else None
        if held is not None and most is not None:
            refuse_beyond(most, Exposure(held), lot.id, limit)
        for (sale, user_id), by_lot in self._held.items():
            if sale == sale_id:
                leads = after.leader is not None and after.leader.id == user_id
                by_lot[lot.id] = committed(after) if leads else ZERO


def gate(tx: Transaction, pairs: Collection[Pair], *, deciding: bool) -> SaleAdmission:
    """Return what sales know of bids on `pairs`. If it decides, the participants are locked: no two bids count as the first."""
    keys = {(_sale_id(lot), bidder.id) for lot, bidder in pairs}
    people = participants.of_pairs(tx, keys, locked=deciding)
    limited = [key for key, one in people.items() if one.limit is not None]
    held = {}
    if deciding and limited:
        # Read once they are locked: their bids on other lots are decided by then, or wait for this transaction.
        held = participants.commitments(tx, {sale for sale, _ in limited}, {user for _, user in limited})
    return SaleAdmission(
        sales.by_ids(tx, {sale for sale, _ in keys}),
        people,
        participants.consigned(tx, {lot.id for lot, _ in pairs}),
        held,
    )


def _sale_id(lot: Auction) -> int:
    assert lot.sale_id is not None, "only lots of sales come here"
    return lot.sale_id
