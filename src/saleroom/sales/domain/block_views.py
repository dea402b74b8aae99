"""The JSON shape of the block of a live sale."""

from __future__ import annotations

from msgspec import Struct

from saleroom.sales.domain.views import LotView


class BlockView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The block of a sale: the lot on it, the one that left it last if none is on it, and the next lots in order of calling.

    `tag` is the identifier of this state, which the acts of clerks name. `lots_left` counts the lots that are not over, without
    one on the block.
    """

    sale: str
    status: str
    tag: str
    on_block: LotView | None
    last_lot: LotView | None
    next_lots: list[LotView]
    lots_left: int
