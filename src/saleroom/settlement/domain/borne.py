"""What a lot has come to once, and what its papers keep (docs/rules.md, "After the hammer").

A lot that was not sold may go to another sale. Its consignor bears each fee once: in the first of these sales whose journal has
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from saleroom.settlement.domain.journal import BilledResult, Result
from saleroom.settlement.domain.rates import Item

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


def as_on_paper(result: Result, was: Result, *, on_invoice: bool, on_statement: bool, with_fees: bool) -> Result:
    """Return what a lot has come to. If only memberships or fees differ from before, those of its documents stay.

    So a merger changes no lot that is on an invoice, and no fee moves from one statement to another. `with_fees` says whether
    the lot bears fees by the result; an entry of a former version without any is good for one that bears none.
    """
    kept: dict[str, Any] = {"buyer_member": was.buyer_member} if on_invoice else {}
    if on_statement:
        kept |= {"seller_member": was.seller_member, "left_out": was.left_out, "again": was.again}
    elif was.again and not with_fees:
        kept |= {"left_out": (), "again": True}
    found = structs.replace(result, **kept)
    return found if _but_for_rates(found) == _but_for_rates(was) else result


def _but_for_rates(result: Result) -> Result:
    return structs.replace(result, buyer_member=False, seller_member=False, left_out=(), again=False)
