"""Sales over the HTTP API. `ENDPOINTS` and `STREAMS` are those of every house."""

from __future__ import annotations

from saleroom.sales.api import (
    block,
    book,
    clocks,
    consignors,
    decisions,
    importing,
    lots,
    paper,
    participants,
    pledges,
    results,
    sales,
    streams,
)

ENDPOINTS = (
    *sales.ENDPOINTS,
    *clocks.ENDPOINTS,
    *block.ENDPOINTS,
    *book.ENDPOINTS,
    *decisions.ENDPOINTS,
    *results.ENDPOINTS,
    *lots.ENDPOINTS,
    *pledges.ENDPOINTS,
    *consignors.ENDPOINTS,
    *importing.ENDPOINTS,
    *participants.ENDPOINTS,
    *paper.ENDPOINTS,
)
STREAMS = streams.ENDPOINTS
