"""Charges that a credit note takes back from a lot which stays on its document (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from saleroom.settlement.domain.documents.content import Line as Written
from saleroom.settlement.domain.errors import LotChanged, NotOfHouse
from saleroom.settlement.domain.journal import BilledResult
from saleroom.settlement.domain.rates.bills import Bill, Charge, Item

OF_HOUSE = frozenset(
    {Item.PREMIUM, Item.SURCHARGE, Item.COMMISSION, Item.ENTRY, Item.PHOTO, Item.UNSOLD, Item.INSURANCE}
)
"""What the house charges for itself, and so can give up alone."""


def charges(written: Sequence[Written], places: Sequence[int], charged: Sequence[Charge]) -> tuple[Charge, ...]:
    """Return the charges behind some lines of a lot on a document.

    `written` are all lines of the lot there and `places` those to take back among them; `charged` is what the lot costs its
    buyer, or its consignor. Raises LotChanged if the document says something else, and NotOfHouse for what others get.
    """
    if [(one.net, one.tax, one.rate) for one in written] != [(one.amount, one.tax, one.rate) for one in charged]:
        raise LotChanged
    chosen = tuple(charged[place] for place in places)
    if any(one.item not in OF_HOUSE for one in chosen):
        raise NotOfHouse
    return chosen


def without(bill: Bill, credited: Bill) -> Bill:
    """Return a bill without the charges of another one; each item is there once on a side."""
    gone = {one.item for one in credited.buyer}, {one.item for one in credited.consignor}
    return structs.replace(
        bill,
        buyer=tuple(one for one in bill.buyer if one.item not in gone[0]),
        consignor=tuple(one for one in bill.consignor if one.item not in gone[1]),
    )


def still_given_up(credited: Bill, before: BilledResult, after: BilledResult) -> Bill:
    """Return the charges that stay given up when a lot has come to something else: the same ones of the same person."""
    same_buyer = before.result.buyer == after.result.buyer
    same_consignor = before.result.consignor == after.result.consignor
    return structs.replace(
        credited,
        buyer=tuple(one for one in credited.buyer if same_buyer and one in after.bill.buyer),
        consignor=tuple(one for one in credited.consignor if same_consignor and one in after.bill.consignor),
    )
