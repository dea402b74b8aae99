"""The clocks of a sale: all its lots pause and go on together, and ends keep their distance (docs/rules.md, "Sales")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import SaleNotPaused, SaleNotRunning
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.sale import Sale, SaleStatus, refuse_if_over


def pause(sale: Sale, now: datetime) -> list[SaleEvent]:
    """Return what happens when a running sale stands still. Raises SaleOver or SaleNotRunning."""
    refuse_if_over(sale)
    if sale.status is not SaleStatus.RUNNING:
        raise SaleNotRunning(status=sale.status.value)
    return [events.SalePaused(at=now)]


def resume(sale: Sale, now: datetime) -> list[SaleEvent]:
    """Return what happens when a paused sale goes on. Raises SaleOver or SaleNotPaused."""
    refuse_if_over(sale)
    if sale.status is not SaleStatus.PAUSED:
        raise SaleNotPaused(status=sale.status.value)
    return [events.SaleResumed(at=now)]


def earliest_ends(in_order: Iterable[Auction], spacing: int) -> Iterator[tuple[Auction, datetime]]:
    """Yield the lots that end too early, with the instant before which each may not end.

    That is `spacing` seconds after the end of the lot before it, which may itself be too early. `in_order` are the lots of a
    sale whose ends follow, in the order of calling. A cancelled one has no place among them.
    """
    before: datetime | None = None
    for auction in in_order:
        end = auction.ends_at
        if end is None or auction.status is Status.CANCELLED:
            continue
        earliest = end if before is None else max(end, before + timedelta(seconds=spacing))
        if earliest > end and not auction.over:
            yield auction, earliest
            end = earliest
        before = end
