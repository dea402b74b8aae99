"""What a lot has come to once, and what its papers keep (docs/rules.md, "After the hammer").

A lot that was not sold may go to another sale. Its consignor bears each fee once: in the first of these sales whose journal has
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from saleroom.settlement.domain.journal import BilledResult, Result
from saleroom.settlement.domain.rates.bills import Item

FEES = (Item.ENTRY, Item.PHOTO, Item.UNSOLD)
"""What a lot costs its consignor once, in however many sales it is."""


def left_out(
    due: Iterable[Item], was: BilledResult | None, others: Iterable[BilledResult], consignor: int | None
) -> tuple[Item, ...]:
    """Return the fees that a lot does not cost its consignor, as the same lot of another sale has done so.

    `due` are the items that it would cost. `was` is what stands in the journal of it: what is charged stays where it is.
    `others` is what stands of the lot in other sales; charges that were given up are among these, as they were charged once.
    """
    own = _charged([] if was is None else [was], consignor)
    elsewhere = _charged(others, consignor) - own
    gone = elsewhere & {*due}
    return tuple(one for one in FEES if one in gone)


def _charged(some: Iterable[BilledResult], consignor: int | None) -> set[Item]:
    """Return the fees that a consignor was charged."""
    theirs = [one for one in some if consignor is not None and one.result.consignor == consignor]
    return {line.item for one in theirs for line in one.bill.consignor if line.item in FEES}


def bears_fees(settled: BilledResult) -> bool:
    """Return whether the consignor of a lot bears fees of those that are borne once."""
    return any(line.item in FEES for line in settled.bill.consignor)


def terms_on_paper(result: Result, was: Result, *, on_invoice: bool, on_statement: bool) -> Result:
    """Return what a lot has come to, by the rate card and the tax scheme that its documents state.

    A card that is chosen, or a scheme that is changed, after a lot was billed holds for it once its documents are credited.
    """
    stated = (on_invoice and _is_bought_alike(result, was)) or (on_statement and _is_brought_alike(result, was))
    return structs.replace(result, version=was.version, scheme=was.scheme) if stated else result


def as_on_paper(result: Result, was: Result, *, on_invoice: bool, on_statement: bool, with_fees: bool) -> Result:
    """Return what a lot has come to, with the memberships and the fees that its documents state.

    So a merger changes no lot that is on an invoice, and no fee moves from one statement to another. `with_fees` says whether
    the lot bears fees by the result; an entry of a former version without any is good for one that bears none.
    """
    kept: dict[str, Any] = {}
    if on_invoice and _is_bought_alike(result, was):
        kept |= {"buyer_member": was.buyer_member}
    if on_statement and _is_brought_alike(result, was):
        kept |= {"seller_member": was.seller_member, "left_out": was.left_out, "again": was.again}
    elif was.again and not with_fees and _but_for_rates(result) == _but_for_rates(was):
        kept |= {"left_out": (), "again": True}
    return structs.replace(result, **kept)


def _is_bought_alike(result: Result, was: Result) -> bool:
    """Return whether the same buyer has it at the same price, so that an invoice for it is still one."""
    return (result.buyer, result.price) == (was.buyer, was.price)


def _is_brought_alike(result: Result, was: Result) -> bool:
    """Return whether it came to the same price for the same consignor, so that a statement of it is still one."""
    return (result.consignor, result.price) == (was.consignor, was.price)


def _but_for_rates(result: Result) -> Result:
    return structs.replace(result, buyer_member=False, seller_member=False, left_out=(), again=False)
