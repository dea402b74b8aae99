"""What the house publishes of sales: their states for anyone, and when the ledgers of their lots are opened."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from saleroom.bidding.domain.auction import Auction
from saleroom.sales.domain.views import sale_view
from saleroom.sales.storage import sales
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


def states(tx: Transaction, sale_ids: Collection[int]) -> dict[int, tuple[str, bytes, bool]]:
    """Return the gid of each of these sales, the JSON that `GET /sales/{gid}` shows to anyone, and whether it is over."""
    found = sales.by_ids(tx, sale_ids)
    return {
        number: (sale.gid, _encode(sale_view(sale)), sale.over) for number, sale in found.items() if sale.version > 0
    }


def opens_ledger(tx: Transaction, lot: Auction) -> bool:
    """Return whether the ledger of a lot that is over may be opened: in a live sale not before the sale is over.

    Until then its hammer may be undone, and its bidders would bid on with their maxima known.
    """
    if lot.sale_id is None:
        return True
    sale = sales.by_ids(tx, [lot.sale_id]).get(lot.sale_id)
    return sale is None or sale.is_timed or sale.over
