"""The journal of a sale, brought up to date under the lock of the sale by each use case that reads or moves money.

The logs of the lots are the truth. They are compared with the entries; a difference is taken back and put right. So
nothing is missed, and doing it again does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, structs

from saleroom.kernel.money import LIMIT, ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots, mergers, pledges
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.documents.crediting import still_given_up
from saleroom.settlement.domain.journal import (
    BilledResult,
    EntryKind,
    is_balanced,
    of_credit,
    of_lot,
    of_pledge,
    reversed_,
)
from saleroom.settlement.domain.rates.scales import rounded
from saleroom.settlement.service.billing import Billing
from saleroom.settlement.storage import journal
from saleroom.settlement.storage.journal import Standing
from saleroom.storage.database import Transaction


class SaleBook(Struct, frozen=True):
    """The lots of a sale, and what stands in the journal about each, by the number of the lot.

    `too_large` are lots without an entry, as they cost more than an amount of the house can say.
    """

    offered: list[OfferedLot]
    posted: dict[int, Standing]
    too_large: tuple[str, ...] = ()


def bring_up_to_date(tx: Transaction, sale: Sale, by_id: int, places: int) -> SaleBook:
    """Post what the lots of a locked sale have come to since the last time, and return them."""
    posted, offered = journal.standing(tx, sale.id), lots.offered(tx, sale.id)
    billing = Billing(tx, sale, offered, posted, places)
    changed, too_large = False, list[str]()
    for one in tx.unhurried(offered):
        result, was = billing.result(one), posted.get(one.lot.id)
        if result == (None if was is None else was.settled.result):
            continue
        settled = None if result is None else billing.settled(one, result)
        if was is not None:
            _take_back(tx, sale, one.lot.id, was, by_id)
            changed = True
        if settled is not None and settled.bill.due > LIMIT:
            too_large.append(one.lot.label)
        elif settled is not None:
            _post_lot(tx, sale, one.lot.id, settled, was, by_id)
            changed = True
    too_large += _follow_pledges(tx, sale, offered, by_id, places)
    return SaleBook(offered, journal.standing(tx, sale.id) if changed else posted, tuple(too_large))


def _follow_pledges(tx: Transaction, sale: Sale, offered: list[OfferedLot], by_id: int, places: int) -> list[str]:
    """Post what was given on each fund-a-need since the last time, or undone; return those of which no amount can say it.

    What somebody gave in all is rounded once, so that no balance is finer than what can be paid.
    """
    needs = [one.lot for one in offered if one.lot.need is not None]
    if not needs:
        return []
    posted, too_large = journal.pledged(tx, sale.id), list[str]()
    who = mergers.of_sale(tx, sale.id)
    for lot in needs:
        given = _of_people(pledges.given(tx, lot.id), who)
        for user in sorted({*given, *(user for number, user in posted if number == lot.id)}):
            more = rounded(given.get(user, ZERO), places) - posted.get((lot.id, user), ZERO)
            if more > LIMIT:
                too_large.append(lot.label)
            elif more:
                journal.add(tx, sale.id, EntryKind.PLEDGE, of_pledge(user, more), by_id, journal.AboutLot(lot.id))
    return too_large


def _of_people(given: Mapping[int, Decimal], who: Mapping[int, int]) -> dict[int, Decimal]:
    """Return what people have given, with what those gave who were merged into them."""
    found: dict[int, Decimal] = {}
    for user, amount in given.items():
        found[who.get(user, user)] = found.get(who.get(user, user), ZERO) + amount
    return found


def _take_back(tx: Transaction, sale: Sale, lot_id: int, was: Standing, by_id: int) -> None:
    for number in (*(number for number, _ in was.given_up), was.entry_id):
        take_entry_back(tx, sale, lot_id, number, by_id)


def take_entry_back(tx: Transaction, sale: Sale, lot_id: int, number: int, by_id: int) -> None:
    """Post the entry that takes another one of a lot back."""
    back = reversed_(journal.postings(tx, number))
    journal.add(tx, sale.id, EntryKind.REVERSAL, back, by_id, journal.AboutLot(lot_id, reverses=number))


def _post_lot(
    tx: Transaction, sale: Sale, lot_id: int, settled: BilledResult, was: Standing | None, by_id: int
) -> None:
    """Post what a lot has come to, and what of it was given up before and still is."""
    postings = of_lot(settled)
    assert is_balanced(postings), "an entry balances"
    journal.add(tx, sale.id, EntryKind.LOT, postings, by_id, journal.AboutLot(lot_id, settled=settled))
    if was is None:
        return
    for _, credited in was.given_up:
        still = structs.replace(settled, bill=still_given_up(credited, was.whole, settled))
        if still.bill.buyer or still.bill.consignor:
            journal.add(tx, sale.id, EntryKind.CREDIT, of_credit(still), by_id, journal.AboutLot(lot_id, settled=still))
