"""The journal of a sale, brought up to date under the lock of the sale by each use case that reads or moves money.

The logs of the lots are the truth. What they say is compared with what is posted; a difference is taken back and put right. So
nothing is missed, and doing it again does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import Outcome
from saleroom.kernel.money import LIMIT, ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots, mergers, pledges
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.cards import Version
from saleroom.settlement.domain.choices import version_for
from saleroom.settlement.domain.crediting import still_given_up
from saleroom.settlement.domain.journal import (
    Kind,
    Result,
    Settled,
    is_balanced,
    of_credit,
    of_lot,
    of_pledge,
    reversed_,
)
from saleroom.settlement.domain.rates import Hammer, RateCard, bill
from saleroom.settlement.domain.scales import rounded
from saleroom.settlement.service.billing import channel_of
from saleroom.settlement.storage import after_sale, journal, rates
from saleroom.settlement.storage.journal import Standing
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction

_Held = Callable[[OfferedLot], Version | None]


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
    held, who, again = (
        _versions(tx, sale, offered),
        mergers.of_sale(tx, sale.id),
        after_sale.came_from_others(tx, sale.id),
    )
    changed, too_large = False, list[str]()
    for one in offered:
        version = held(one)
        result, was = _result(one, version, who, again), posted.get(one.lot.id)
        if result == (None if was is None else was.settled.result):
            continue
        settled = None if result is None or one.auction is None else _settled(tx, one.auction, result, version, places)
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
                journal.add(tx, sale.id, Kind.PLEDGE, of_pledge(user, more), by_id, lot_id=lot.id)
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
    journal.add(tx, sale.id, Kind.REVERSAL, back, by_id, lot_id=lot_id, reverses=number)


def _post_lot(tx: Transaction, sale: Sale, lot_id: int, settled: Settled, was: Standing | None, by_id: int) -> None:
    """Post what a lot has come to, and what of it was given up before and still is."""
    postings = of_lot(settled)
    assert is_balanced(postings), "an entry balances"
    journal.add(tx, sale.id, Kind.LOT, postings, by_id, lot_id=lot_id, settled=settled)
    if was is None:
        return
    for _, credited in was.given_up:
        still = structs.replace(settled, bill=still_given_up(credited, was.whole, settled))
        if still.bill.buyer or still.bill.consignor:
            journal.add(tx, sale.id, Kind.CREDIT, of_credit(still), by_id, lot_id=lot_id, settled=still)


def _result(one: OfferedLot, version: Version | None, who: Mapping[int, int], again: Collection[int]) -> Result | None:
    """Return what a lot has come to; None while that is open, or if it was withdrawn.

    `who` are those who were merged, `again` the lots that were in another sale before.
    """
    lot, auction = one.lot, one.auction
    if auction is None or auction.status is not Status.CLOSED or auction.outcome is Outcome.CONDITIONAL:
        return None
    at = auction.closed_at
    if lot.is_withdrawn or at is None:
        return None
    leader = auction.leader if auction.outcome is Outcome.SOLD else None
    sold = leader is not None
    return Result(
        buyer=None if leader is None else who.get(leader.id, leader.id),
        price=auction.current_bid if sold else None,
        at=at,
        consignor=lot.entry.consignor_id,
        scheme=lot.entry.tax_scheme,
        version=None if version is None else version.id,
        again=lot.id in again,
    )


def _settled(tx: Transaction, auction: Auction, result: Result, version: Version | None, places: int) -> Settled:
    channel = channel_of(tx, auction)
    card = RateCard() if version is None else version.card
    hammer = Hammer(price=result.price, on=result.at.date(), channel=channel, scheme=result.scheme, again=result.again)
    return Settled(result=result, channel=channel, bill=bill(card, hammer, places))


def _versions(tx: Transaction, sale: Sale, offered: list[OfferedLot]) -> _Held:
    """Return which version of a rate card held for each lot when it ended."""
    of_sale = rates.choices_of(tx, rate_choices.c.sale_id, [sale.id]).get(sale.id, [])
    brought = {one.lot.entry.consignor_id for one in offered} - {None}
    of_consignors = rates.choices_of(
        tx, rate_choices.c.consignor_id, [number for number in brought if number is not None]
    )
    of_lots = rates.choices_of(tx, rate_choices.c.lot_id, [one.lot.id for one in offered])
    made = [*of_sale, *(one for by in (of_consignors, of_lots) for some in by.values() for one in some)]
    versions = rates.versions_of(tx, {one.card_id for one in made if one.card_id is not None})

    def held(one: OfferedLot) -> Version | None:
        at = None if one.auction is None else one.auction.closed_at
        if at is None:
            return None
        consignor = one.lot.entry.consignor_id
        own = of_consignors.get(consignor, []) if consignor is not None else []
        return version_for(at, (of_lots.get(one.lot.id, []), own, of_sale), versions)

    return held
