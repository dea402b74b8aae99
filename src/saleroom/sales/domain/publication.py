"""Publication: every lot of a draft becomes an auction, and the sale gives each its start and end (docs/rules.md, "Sales")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.events import AuctionCreated
from saleroom.bidding.domain.selling import Draft
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import BegunAlready, NoLots, StandsStill, TooManyLots
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.lots import Lot, LotTerms
from saleroom.sales.domain.sale import (
    ALWAYS,
    LOTS_MAX,
    Kind,
    Sale,
    SaleStatus,
    SaleTerms,
    refuse_if_over,
    refuse_unless_draft,
)

YEAR_END = 9900
"""The first year in which no sale may begin: its last lot ends up to 14 years later, and dates end with the year 9999."""


def end_at_place(terms: SaleTerms, place: int) -> datetime | None:
    """Return the end of the lot at a place from 0 in the order of calling; None where an auctioneer closes it."""
    if terms.kind is Kind.LIVE or terms.starts_at is None:
        return None
    return terms.starts_at + timedelta(seconds=terms.spacing * place)


def refuse_contradictory_terms(terms: SaleTerms) -> None:
    """Raise Contradiction with every fault of terms that contradict each other, whatever the clock says."""
    faults: dict[str, list[Fault]] = {}
    if terms.opens_at is not None and terms.starts_at is not None and terms.opens_at >= terms.starts_at:
        faults["opens_at"] = [Fault("not_before_start", "must be before the first lot ends or the sale begins")]
    if terms.starts_at is not None and terms.starts_at.year >= YEAR_END:
        faults["starts_at"] = [Fault("too_far", f"must be before the year {YEAR_END}", end=YEAR_END)]
    if terms.following and (terms.kind is Kind.LIVE or terms.soft_close is None):
        faults["following"] = [Fault("no_soft_close", "needs a timed sale with a soft close")]
    if faults:
        raise Contradiction(faults)


def refuse_unready(terms: SaleTerms, now: datetime) -> None:
    """Raise Contradiction with every fault that keeps a sale from being published now."""
    refuse_contradictory_terms(terms)
    if terms.starts_at is None:
        message = "is required before publication: when the first lot ends, or the sale begins"
        raise Contradiction({"starts_at": [Fault("required", message)]})
    if terms.starts_at <= now:
        raise Contradiction({"starts_at": [Fault("not_in_future", "must be in the future")]})


def draft_of(terms: SaleTerms, lot: LotTerms, ends_at: datetime | None, now: datetime) -> Draft:
    """Return the terms of the auction of a lot that ends at `ends_at`."""
    opens_at = terms.opens_at if terms.opens_at is not None and terms.opens_at > now else None
    return Draft(
        name=lot.name,
        description=lot.description,
        starting_price=lot.starting_price,
        reserve_price=lot.reserve_price,
        category=lot.category,
        soft_close=terms.soft_close if terms.kind is Kind.TIMED else None,
        starts_at=opens_at,
        ends_at=ends_at,
        increment=terms.ladder,
    )


def created(sale: Sale, lot: Lot, ends_at: datetime | None, now: datetime, seed: str) -> AuctionCreated:
    """Return the event that begins the auction of a lot. Raises Contradiction, as `selling.create`."""
    assert lot.terms is not None, "a lot without an auction has terms"
    return selling.create(lot.gid, sale.owner, draft_of(sale.terms, lot.terms, ends_at, now), now, seed)


def refuse_contradictory_lot(sale: Sale, terms: LotTerms, now: datetime) -> None:
    """Raise Contradiction if no auction could have these terms of a lot."""
    selling.create("lot", sale.owner, draft_of(sale.terms, terms, None, now), now)


def publish(
    sale: Sale, lots: Sequence[Lot], now: datetime
) -> tuple[list[SaleEvent], list[tuple[Lot, datetime | None]]]:
    """Return the events of publication, and the lots that get an auction with the end of each, in the order of calling.

    A fund-a-need gets none. A timed sale without a later opening runs at once. Raises SaleOver, PublishedAlready, NoLots or
    Contradiction.
    """
    refuse_unless_draft(sale)
    terms = sale.terms
    refuse_unready(terms, now)
    offered = [lot for lot in sorted(lots, key=lambda lot: lot.rank) if not lot.is_withdrawn]
    if not offered:
        raise NoLots
    if terms.kind is not Kind.LIVE and any(lot.need is not None for lot in offered):
        raise Contradiction.one("kind", "needs_live", "must be live, as a lot is a fund-a-need; or withdraw that")
    published = events.SalePublished(
        at=now,
        title=terms.title,
        kind=terms.kind.value,
        opens_at=terms.opens_at,
        starts_at=terms.starts_at,
        lots=len(offered),
    )
    plan = [(lot, end_at_place(terms, place)) for place, lot in enumerate(offered) if lot.need is None]
    return [published, *begin_if_due(sale.after(published), now)], plan


def begin_if_due(sale: Sale, now: datetime) -> list[SaleEvent]:
    """Return the beginning of a published timed sale whose lots are open; an auctioneer begins a live one."""
    due = (
        sale.status is SaleStatus.PUBLISHED
        and sale.is_timed
        and (sale.terms.opens_at is None or sale.terms.opens_at <= now)
    )
    return [events.SaleRunning(at=now)] if due else []


def close_if_over(sale: Sale, now: datetime, *, lots_running: bool) -> list[SaleEvent]:
    """Return the close of a running timed sale none of whose lots runs any more; an auctioneer ends a live one."""
    due = sale.status is SaleStatus.RUNNING and sale.is_timed and not lots_running
    return [events.SaleClosed(at=now)] if due else []


def cancel(sale: Sale, reason: str, now: datetime) -> list[SaleEvent]:
    """Return the cancellation of a published sale, or nothing for a draft, which nobody has seen.

    Raises SaleOver or BegunAlready.
    """
    refuse_if_over(sale)
    if sale.is_draft:
        return []
    if sale.status is not SaleStatus.PUBLISHED:
        raise BegunAlready(status=sale.status.value)
    return [events.SaleCancelled(at=now, reason=reason)]


def end_of_another(sale: Sale, ends: Iterable[datetime | None]) -> datetime | None:
    """Return the end of a lot that is added to a published sale whose other lots have these ends; None for a live one."""
    if not sale.is_timed:
        return None
    last = max((end for end in ends if end is not None), default=None)
    return sale.terms.starts_at if last is None else last + timedelta(seconds=sale.terms.spacing)


def amend(sale: Sale, changes: Mapping[str, Any], now: datetime) -> tuple[Sale, list[SaleEvent]]:
    """Return the sale with other terms, and what is told of that: nothing for a draft, or if nobody would see a difference.

    Raises SaleOver, Contradiction, or PublishedAlready if a change would reach the lots.
    """
    refuse_if_over(sale)
    terms = structs.replace(sale.terms, **changes)
    changed = {name for name in terms.__struct_fields__ if getattr(terms, name) != getattr(sale.terms, name)}
    if changed - ALWAYS:
        refuse_unless_draft(sale)
    refuse_contradictory_terms(terms)
    after = structs.replace(sale, terms=terms)
    if sale.is_draft or not changed - {"limit_default"}:
        return after, []
    said = {"title": terms.title, "description": terms.description, "venue": terms.venue}
    return after, [events.SaleAmended(at=now, registration=terms.registration.value, **said)]


def refuse_to_add(sale: Sale, count: int) -> None:
    """Raise SaleOver, StandsStill or TooManyLots unless lots can be added to a sale that will have `count` of them."""
    refuse_if_over(sale)
    if sale.status is SaleStatus.PAUSED:
        raise StandsStill
    if count > LOTS_MAX:
        raise TooManyLots(limit=LOTS_MAX)
