"""What lots have come to: how each ended, who is a member, and what it costs and brings by the rate card that held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import structs

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.storage import event_log
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import mergers
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.borne import FEES, as_on_paper, bears_fees, left_out, terms_on_paper
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.journal import BilledResult, Result
from saleroom.settlement.domain.memberships import Members, people_of
from saleroom.settlement.domain.rates.bills import Hammer, RateCard, bill
from saleroom.settlement.domain.rates.cards import Version
from saleroom.settlement.domain.rates.choices import Choice, version_for
from saleroom.settlement.storage import after_sale, documents, journal, memberships, rates
from saleroom.settlement.storage.journal import Standing
from saleroom.settlement.storage.member_tables import memberships as marks
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction


class Billing:
    """What the lots of a locked sale have come to by now. `offered` are all of them, `posted` what stands in the journal."""

    def __init__(
        self, tx: Transaction, sale: Sale, offered: Sequence[OfferedLot], posted: dict[int, Standing], places: int
    ) -> None:
        self._tx = tx
        self._places = places
        self._posted = posted
        self._merged = mergers.of_sale(tx, sale.id)
        self._rates = _Rates(tx, sale, offered, {one.whole.result.version for one in posted.values()})
        self._members = _members(tx, offered, self._merged)
        self._invoiced = documents.on_documents(tx, DocumentKind.INVOICE, [*posted])
        self._stated = documents.on_documents(tx, DocumentKind.STATEMENT, [*posted])
        others = after_sale.same_lots(tx, sale.id)
        self._others = others
        self._elsewhere = journal.of_lots(tx, {lot for some in others.values() for lot in some})

    def result(self, one: OfferedLot) -> Result | None:
        """Return what a lot has come to; None while that is open, or if it was withdrawn."""
        lot, auction, version = one.lot, one.auction, self._rates.held(one)
        if auction is None or auction.status is not Status.CLOSED or auction.outcome is Outcome.CONDITIONAL:
            return None
        at, leader = auction.closed_at, auction.leader
        if lot.is_withdrawn or at is None:
            return None
        sold = auction.outcome is Outcome.SOLD and leader is not None
        found = Result(
            buyer=self._merged.get(leader.id, leader.id) if sold and leader is not None else None,
            price=auction.current_bid if sold else None,
            at=at,
            consignor=lot.entry.consignor_id,
            scheme=lot.entry.tax_scheme,
            version=None if version is None else version.id,
        )
        found = self._with_terms(one, found)
        return self._with_papers(one, self._without_fees(one, self._with_members(found)))

    def settled(self, one: OfferedLot, result: Result) -> BilledResult:
        """Return what a lot has come to with its bill."""
        assert one.auction is not None, "it is over"
        version = self._rates.of_result(result)
        card, channel = RateCard() if version is None else version.card, channel_of(self._tx, one.auction)
        hammer = Hammer(
            price=result.price,
            on=result.at.date(),
            channel=channel,
            scheme=result.scheme,
            buyer_member=result.buyer_member,
            seller_member=result.seller_member,
            left_out=FEES if result.again else result.left_out,
        )
        return BilledResult(result=result, channel=channel, bill=bill(card, hammer, self._places))

    def _with_terms(self, one: OfferedLot, result: Result) -> Result:
        """Keep the rate card and the tax scheme that the documents of the lot state."""
        was, number = self._posted.get(one.lot.id), one.lot.id
        if was is None:
            return result
        on_invoice, on_statement = number in self._invoiced, number in self._stated
        return terms_on_paper(result, was.settled.result, on_invoice=on_invoice, on_statement=on_statement)

    def _with_members(self, result: Result) -> Result:
        """Say who is a member, where that makes a difference."""
        version = self._rates.of_result(result)
        if version is None or result.price is None or not version.card.has_member_rates:
            return result
        card, members = version.card, self._members
        return structs.replace(
            result,
            buyer_member=card.member_premium is not None and members.has_bought(result.buyer, result.at),
            seller_member=card.member_commission is not None and members.has_sold(result.consignor, result.at),
        )

    def _without_fees(self, one: OfferedLot, result: Result) -> Result:
        """Say which fees the lot has borne in another sale."""
        others = [self._elsewhere[lot] for lot in self._others.get(one.lot.id, ()) if lot in self._elsewhere]
        if not others:
            return result
        due, was = self.settled(one, result).charged.consignor, self._posted.get(one.lot.id)
        gone = left_out((line.item for line in due), None if was is None else was.whole, others, result.consignor)
        return structs.replace(result, left_out=gone)

    def _with_papers(self, one: OfferedLot, result: Result) -> Result:
        was, number = self._posted.get(one.lot.id), one.lot.id
        if was is None or result == was.settled.result:
            return result
        return as_on_paper(
            result,
            was.settled.result,
            on_invoice=number in self._invoiced,
            on_statement=number in self._stated,
            with_fees=bears_fees(self.settled(one, result)),
        )


class _Rates:
    """Which version of a rate card held for each lot of a sale when it ended. `posted` are those that stand in the journal."""

    def __init__(self, tx: Transaction, sale: Sale, offered: Sequence[OfferedLot], posted: set[int | None]) -> None:
        brought = {one.lot.entry.consignor_id for one in offered} - {None}
        self._of_sale = rates.choices_of(tx, rate_choices.c.sale_id, [sale.id]).get(sale.id, [])
        self._of_consignors = rates.choices_of(
            tx, rate_choices.c.consignor_id, [number for number in brought if number is not None]
        )
        self._of_lots = rates.choices_of(tx, rate_choices.c.lot_id, [one.lot.id for one in offered])
        made: list[Choice] = [*self._of_sale]
        made += [one for by in (self._of_consignors, self._of_lots) for some in by.values() for one in some]
        self._versions = rates.versions_of(tx, {one.card_id for one in made if one.card_id is not None})
        self._by_number = {one.id: one for some in self._versions.values() for one in some}
        gone = posted - {None, *self._by_number}  # chosen for a consignor who has brought no lot any more
        self._by_number |= {
            one.id: one for one in rates.numbered(tx, [number for number in gone if number is not None])
        }

    def of_result(self, result: Result) -> Version | None:
        """Return the version that a result rests on; None without one."""
        return None if result.version is None else self._by_number[result.version]

    def held(self, one: OfferedLot) -> Version | None:
        """Return the version for a lot; None without one."""
        at = None if one.auction is None else one.auction.closed_at
        return None if at is None else self.held_at(one, at)

    def card_at(self, one: OfferedLot | None, at: datetime) -> RateCard:
        """Return the card for a lot that is sold then, or for any lot without a card of its own."""
        version = self.held_at(one, at)
        return RateCard() if version is None else version.card

    def held_at(self, one: OfferedLot | None, at: datetime) -> Version | None:
        """Return the version for a lot that is sold then, or for any lot without a card of its own; None without one."""
        if one is None:
            return version_for(at, (self._of_sale,), self._versions)
        consignor = one.lot.entry.consignor_id
        own = self._of_consignors.get(consignor, []) if consignor is not None else []
        return version_for(at, (self._of_lots.get(one.lot.id, []), own, self._of_sale), self._versions)


def _members(tx: Transaction, offered: Sequence[OfferedLot], merged: dict[int, int]) -> Members:
    leaders = {one.auction.leader.id for one in offered if one.auction is not None and one.auction.leader is not None}
    buyers = people_of({merged.get(one, one) for one in leaders}, merged)
    brought = {one.lot.entry.consignor_id for one in offered}
    return Members(
        buyers=memberships.marks_of(tx, marks.c.user_id, buyers),
        consignors=memberships.marks_of(tx, marks.c.consignor_id, [one for one in brought if one is not None]),
        merged=merged,
    )


class OfferBilling:
    """What a buyer would pay for lots of a sale that staff sell to them now: with premium, surcharge and tax."""

    def __init__(self, tx: Transaction, sale: Sale, offered: Sequence[OfferedLot], buyer_id: int, places: int) -> None:
        merged = mergers.of_sale(tx, sale.id)
        marked = memberships.marks_of(tx, marks.c.user_id, people_of({buyer_id}, merged))
        self._now = tx.now()
        self._is_member = Members(buyers=marked, consignors={}, merged=merged).has_bought(buyer_id, self._now)
        self._rates = _Rates(tx, sale, offered, set())
        self._places = places

    def due(self, one: OfferedLot, price: Decimal) -> Decimal:
        """Return what the buyer pays in all for a lot at this hammer price."""
        hammer = Hammer(
            price=price,
            on=self._now.date(),
            channel=Channel.FLOOR,
            scheme=one.lot.entry.tax_scheme,
            buyer_member=self._is_member,
        )
        return bill(self._rates.card_at(one, self._now), hammer, self._places).due


def card_now(tx: Transaction, sale: Sale, one: OfferedLot | None) -> RateCard:
    """Return the rate card that holds now for a lot of a sale, or for any lot without a card of its own."""
    return _Rates(tx, sale, [] if one is None else [one], set()).card_at(one, tx.now())


def channel_of(tx: Transaction, auction: Auction) -> Channel:
    """Return the channel of the request that won, also where the house bid for its maximum: a clerk's is noted."""
    return BidBook(event_log.read(tx, auction.id)).leading_channel() or Channel.ONLINE
