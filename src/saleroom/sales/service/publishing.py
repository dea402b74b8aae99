"""The states of sales as the house publishes them: what anyone may see of each."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

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
