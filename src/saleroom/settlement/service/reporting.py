"""Reports: how a sale went, per lot, buyer and consignor, and the tax of some days over all sales; all from the journal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts as users
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import consignors, participants
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.journal import Account, Book, balances
from saleroom.settlement.domain.reports.report_views import (
    EARNING,
    EarnedView,
    ReportBuyerView,
    ReportConsignorView,
    ReportLotView,
    ReportView,
    TaxReportView,
    tax_rows,
)
from saleroom.settlement.domain.reports.reporting import (
    EstimatedLot,
    LotFigures,
    State,
    figures_of,
    last_month,
    performance,
    taxes,
    taxes_between,
)
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.journal import SaleBook
from saleroom.settlement.storage import journal
from saleroom.settlement.storage.journal import Standing, StoredPosting
from saleroom.storage.database import Transaction


def of_sale(tx: Transaction, token: str, gid: str, places: int) -> ReportView:
    """Return the report of a sale. Raises Unauthenticated, MissingRight or UnknownSale."""
    _, sale, book = begin(tx, token, gid, places)
    moved = journal.moved(tx, sale.id)
    found = balances(one.posting for one in tx.unhurried(moved))
    buyers, sellers = _by_party(moved, Book.BUYERS), _by_party(moved, Book.CONSIGNORS)
    charged, credited = _sum(buyers.values()), _sum(sellers.values())
    people = _People(tx, sale, book, buyers)
    bills = [one.settled.charged for one in book.posted.values()]
    lots = [one for one in book.offered if one.lot.need is None]
    went = performance(_estimated(one, book.posted.get(one.lot.id)) for one in tx.unhurried(lots))
    return ReportView(
        sale=gid,
        title=sale.terms.title,
        sold_lots=went.counts[State.SOLD],
        unsold_lots=went.counts[State.UNSOLD],
        withdrawn_lots=went.counts[State.WITHDRAWN],
        open_lots=went.counts[State.OPEN],
        sell_through=None if went.sell_through is None else f"{went.sell_through:f}",
        hammer_total=_text(sum((one.hammer for one in people.figures.values()), ZERO)),
        estimated_low=_text(went.low),
        estimated_high=_text(went.high),
        estimated_price=_text(went.price),
        below_estimate=went.below,
        within_estimate=went.within,
        above_estimate=went.above,
        earned_by=[EarnedView(one.value, _text(-_total(found, one))) for one in EARNING],
        charged_total=_text(charged.of_lots),
        settled_total=_text(-charged.settled),
        unpaid_total=_text(charged.left),
        credited_total=_text(-credited.of_lots),
        paid_out_total=_text(credited.settled),
        to_pay_out_total=_text(-credited.left),
        report_lots=[people.lot(one, book.posted.get(one.lot.id)) for one in tx.unhurried(lots)],
        report_buyers=people.buyers(buyers),
        report_consignors=people.consignors(sellers),
        tax_rows=tax_rows(taxes((1, one) for one in bills)),
    )


def of_days(tx: Transaction, token: str, first: date | None, last: date | None) -> TaxReportView:
    """Return the tax of some days over all sales; a day that is None is that of the last month.

    Raises Unauthenticated, MissingRight, or Contradiction if the last day is before the first one. It
    names a day that was sent.
    """
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    begins, ends = last_month(tx.now().date())
    if last is None and first is not None and first > ends:
        raise Contradiction.one(
            "first_day", "last_day_missing", f"is after the last month, which ends on {ends}: give a last day, too"
        )
    if first is None and last is not None and last < begins:
        raise Contradiction.one(
            "last_day",
            "first_day_missing",
            f"is before the last month, which begins on {begins}: give a first day, too",
        )
    first, last = first or begins, last or ends
    if last < first:
        raise Contradiction.one("last_day", "before_first", "must not be before the first day")
    found = taxes_between(journal.supplies(tx, first), first, last)
    total = sum((one.tax for one in found.values()), ZERO)
    return TaxReportView(first_day=first, last_day=last, tax_rows=tax_rows(found), tax_total=_text(total))


class _Movement(Struct, frozen=True):
    """What the lots of a sale have moved on an account, and what all else has: payments, refunds."""

    of_lots: Decimal = ZERO
    settled: Decimal = ZERO

    @property
    def left(self) -> Decimal:
        """The balance."""
        return self.of_lots + self.settled


def _by_party(moved: Iterable[StoredPosting], book: Book) -> dict[int, _Movement]:
    found: dict[int, _Movement] = defaultdict(_Movement)
    for one in moved:
        account, amount = one.posting.account, one.posting.amount
        if account.book is book and account.party is not None:
            before = found[account.party]
            found[account.party] = (
                _Movement(before.of_lots, before.settled + amount)
                if one.lot_id is None
                else _Movement(before.of_lots + amount, before.settled)
            )
    return dict(found)


def _sum(some: Iterable[_Movement]) -> _Movement:
    every = list(some)
    return _Movement(sum((one.of_lots for one in every), ZERO), sum((one.settled for one in every), ZERO))


class _People:
    """The buyers and consignors of a sale with what its lots came to; `figures` are by the number of the lot."""

    def __init__(self, tx: Transaction, sale: Sale, book: SaleBook, buyers: Mapping[int, _Movement]) -> None:
        self._posted = book.posted
        self.figures = {number: figures_of(one.settled) for number, one in book.posted.items()}
        self._participants = participants.of_pairs(tx, [(sale.id, one) for one in buyers], locked=False)
        self._sale = sale
        self._names = users.names_of(tx, list(buyers))
        brought = {one.settled.result.consignor for one in book.posted.values()}
        self._consignors = consignors.by_ids(tx, [one for one in brought if one is not None])

    def lot(self, one: OfferedLot, posted: Standing | None) -> ReportLotView:
        """Return a lot of the report."""
        entry, found = one.lot.entry, self.figures.get(one.lot.id)
        buyer = None if posted is None or posted.settled.result.buyer is None else posted.settled.result.buyer
        participant = None if buyer is None else self._participants.get((self._sale.id, buyer))
        consignor = None if posted is None else self._consignors.get(posted.settled.result.consignor or 0)
        sold = found is not None and buyer is not None
        return ReportLotView(
            label=one.lot.label,
            lot_name=_name(one),
            lot_state=_state(one, posted).value,
            estimate_from=_maybe(entry.estimate_from),
            estimate_to=_maybe(entry.estimate_to),
            paddle=None if participant is None else participant.paddle,
            consignor=None if consignor is None else consignor.code,
            member_rate=posted is not None and posted.settled.result.by_members,
            hammer=_text(found.hammer) if found is not None and sold else None,
            charges=_text(found.charges) if found is not None and sold else None,
            buyer_tax=_text(found.tax) if found is not None and sold else None,
            due=_text(found.due) if found is not None and sold else None,
            deductions=_text(found.deductions) if found is not None else None,
            proceeds=_text(found.proceeds) if found is not None else None,
        )

    def buyers(self, moved: Mapping[int, _Movement]) -> list[ReportBuyerView]:
        """Return the buyers, by paddle and name."""
        bought: dict[int, list[LotFigures]] = defaultdict(list)
        for number, one in self._posted.items():
            if one.settled.result.buyer is not None:
                bought[one.settled.result.buyer].append(self.figures[number])
        rows = []
        for user_id, sums in moved.items():
            known, lots = self._participants.get((self._sale.id, user_id)), bought[user_id]
            username = self._names.get(user_id, "") if known is None else known.user.name
            row = ReportBuyerView(
                paddle=None if known is None else known.paddle,
                username=username,
                person_name=username if known is None else known.name or username,
                lots_bought=len(lots),
                hammer=_text(sum((one.hammer for one in lots), ZERO)),
                charges=_text(sum((one.charges for one in lots), ZERO)),
                buyer_tax=_text(sum((one.tax for one in lots), ZERO)),
                charged=_text(sums.of_lots),
                settled=_text(-sums.settled),
                unpaid=_text(sums.left),
            )
            rows.append(row)
        return sorted(rows, key=lambda row: (row.paddle or 0, row.username))

    def consignors(self, moved: Mapping[int, _Movement]) -> list[ReportConsignorView]:
        """Return the consignors, by code."""
        sold, unsold = Counter[int | None](), Counter[int | None]()
        figures: dict[int | None, list[LotFigures]] = defaultdict(list)
        for number, one in self._posted.items():
            result = one.settled.result
            (unsold if result.price is None else sold)[result.consignor] += 1
            figures[result.consignor].append(self.figures[number])
        rows = []
        for number in {*moved, *self._consignors}:
            known, sums = self._consignors.get(number), moved.get(number, _Movement())
            row = ReportConsignorView(
                consignor="" if known is None else known.code,
                person_name="" if known is None else known.name,
                lots_sold=sold[number],
                unsold_lots=unsold[number],
                hammer=_text(sum((one.hammer for one in figures[number]), ZERO)),
                deductions=_text(sum((one.deductions for one in figures[number]), ZERO)),
                credited=_text(-sums.of_lots),
                paid_out=_text(sums.settled),
                to_pay_out=_text(-sums.left),
            )
            rows.append(row)
        return sorted(rows, key=lambda row: row.consignor)


def _state(one: OfferedLot, posted: Standing | None) -> State:
    if posted is not None:
        return State.UNSOLD if posted.settled.result.price is None else State.SOLD
    return State.WITHDRAWN if one.lot.is_withdrawn else State.OPEN


def _estimated(one: OfferedLot, posted: Standing | None) -> EstimatedLot:
    entry = one.lot.entry
    price = None if posted is None else posted.settled.result.price
    return EstimatedLot(state=_state(one, posted), price=price, low=entry.estimate_from, high=entry.estimate_to)


def _name(one: OfferedLot) -> str:
    if one.auction is not None:
        return one.auction.name
    return "" if one.lot.terms is None else one.lot.terms.name


def _total(found: Mapping[Account, Decimal], book: Book) -> Decimal:
    return sum((amount for account, amount in found.items() if account.book is book), ZERO)


def _maybe(amount: Decimal | None) -> str | None:
    return None if amount is None else _text(amount)


def _text(amount: Decimal) -> str:
    return f"{amount:.3f}"
