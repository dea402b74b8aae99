"""The order of calling: lots change places, and the ends of a timed sale stay at theirs (docs/rules.md, "Sales")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.errors import BegunAlready, BidOnLots
from saleroom.sales.domain.sale import Sale, SaleStatus, refuse_if_over

NAMED_MAX = 20
"""How many lots a refusal names."""


class Place(Struct, frozen=True):
    """A lot in the order of calling. `ends_at` is its end, None for none. `has_bids`: somebody has bid on it.

    `in_turn` is False for a lot that is withdrawn or over: it has a place in the catalogue, and no end to deal out.
    """

    label: str
    ends_at: datetime | None
    has_bids: bool = False
    in_turn: bool = True


def refuse_bad_order(known: Sequence[str], labels: Sequence[str]) -> None:
    """Raise Invalid (field `labels`) unless `labels` are exactly those of the sale, each once."""
    faults = []
    if repeated := [label for label, count in Counter(labels).items() if count > 1]:
        faults.append(Fault("repeated_lots", f"must name each lot once, not again {_listed(repeated)}"))
    if unknown := sorted(set(labels).difference(known)):
        faults.append(Fault("unknown_lots", f"must name lots of the sale only, not {_listed(unknown)}"))
    if missing := [label for label in known if label not in set(labels)]:
        faults.append(Fault("missing_lots", f"must name all lots of the sale, also {_listed(missing)}"))
    if faults:
        raise Invalid({"labels": faults})


def moved(known: Sequence[str], label: str, before: str | None) -> list[str]:
    """Return `known` with one label moved before another; at the end for None. A lot that goes before itself stays."""
    if label == before:
        return list(known)
    rest = [each for each in known if each != label]
    place = len(rest) if before is None else rest.index(before)
    return [*rest[:place], label, *rest[place:]]


def deal_ends(places: Sequence[Place], labels: Sequence[str]) -> dict[str, datetime]:
    """Return the new end of each lot whose end moves when the lots get the order `labels`.

    The first lot of those in turn gets the end of the first of them before, and so on. Raises BidOnLots if somebody has bid on
    a lot whose end would move: what bidders rely on stays.
    """
    by_label = {place.label: place for place in places}
    ends = [place.ends_at for place in places if place.in_turn]
    turns = [by_label[label] for label in labels if by_label[label].in_turn]
    changes = {lot.label: end for lot, end in zip(turns, ends, strict=True) if end is not None and end != lot.ends_at}
    if held := [label for label in changes if by_label[label].has_bids]:
        raise BidOnLots(lots=_listed(held))
    return changes


def renumbered(count: int, first: int = 1) -> list[str]:
    """Return the labels of `count` lots in the order of calling, from `first` on."""
    return [str(number) for number in range(first, first + count)]


def refuse_to_renumber(sale: Sale) -> None:
    """Raise SaleOver or BegunAlready once people bid by the numbers of the catalogue."""
    refuse_if_over(sale)
    if sale.status not in (SaleStatus.DRAFT, SaleStatus.PUBLISHED):
        raise BegunAlready(status=sale.status.value)


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - NAMED_MAX} more" if len(labels) > NAMED_MAX else ""
    return ", ".join(labels[:NAMED_MAX]) + more
