"""Remarks of sellers on their lots: written, and read by anyone."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain import remarks as rules
from saleroom.bidding.domain.remarks import Remark, RemarkView
from saleroom.bidding.service.lookup import get_one, lock_own
from saleroom.bidding.storage import remarks
from saleroom.storage.database import Transaction


def add(tx: Transaction, token: str, gid: str, text: str) -> Remark:
    """Add a remark to a lot. Raises as `domain.remarks.write`, Unauthenticated or UnknownAuction."""
    account = authenticate(tx, token, Right.SELL)
    auction = lock_own(tx, gid, account.party)
    earlier = remarks.of_auction(tx, auction.id)
    remark = rules.write(auction, account.party, text, earlier, tx.now())
    if remark not in earlier:
        remarks.add(tx, auction.id, remark)
    return remark


def of_lot(tx: Transaction, gid: str) -> list[RemarkView]:
    """Return a lot's remarks, the oldest first. Raises UnknownAuction."""
    return [RemarkView.of(one) for one in remarks.of_auction(tx, get_one(tx, gid).id)]
