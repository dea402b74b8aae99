"""Settlement as rows: a rate card in two versions, choices of it, and a journal."""

from decimal import Decimal

from msgspec import structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.parties import Party as User
from saleroom.sales.domain.lots import Lot, TaxScheme
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots
from saleroom.settlement.domain.bank.banking import BankPayment, digests
from saleroom.settlement.domain.bank.payouts import PayoutState, end_to_end, file_number, message_id, of_end, of_payout
from saleroom.settlement.domain.bank.status_reports import BankAnswer, Doubt
from saleroom.settlement.domain.bank.transfers import BankAccount, Transfer
from saleroom.settlement.domain.documents.content import DocumentKind, Draft, Line, Party
from saleroom.settlement.domain.journal import (
    Account,
    BilledResult,
    Book,
    EntryKind,
    Method,
    Result,
    of_credit,
    of_lot,
    of_money,
    reversed_,
)
from saleroom.settlement.domain.memberships import Mark
from saleroom.settlement.domain.online.card_payments import Dispute, OnlineState, RefundState
from saleroom.settlement.domain.rates.bills import Hammer, Item, RateCard, bill
from saleroom.settlement.domain.rates.scales import Scale, Tier
from saleroom.settlement.domain.rates.tax import Country
from saleroom.settlement.domain.unsold.offers import Offer
from saleroom.settlement.service.bank.sepa import payment_file
from saleroom.settlement.service.documents.register import credit, issue
from saleroom.settlement.storage import (
    after_sale,
    bank,
    documents,
    journal,
    offers,
    online,
    payout_accounts,
    payout_reports,
    payouts,
    pickups,
    rates,
    reminders,
)
from saleroom.settlement.storage import memberships as members
from saleroom.settlement.storage.documents import Owner
from saleroom.settlement.storage.member_tables import memberships
from saleroom.settlement.storage.payout_reports import BankReport
from saleroom.settlement.storage.payouts import NewPaymentFile, Payout
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction

CARD = RateCard(
    premium=Scale((Tier(Decimal("0.000"), Decimal("25.000")),)),
    member_premium=Scale((Tier(Decimal("0.000"), Decimal("20.000")),)),
    surcharges={Channel.ONLINE: Decimal("3.000")},
    country=Country.DE,
)


def furnish(tx: Transaction, sale: Sale, staff: User, said: str) -> None:
    """Store a rate card whose name is `said`, chosen for a sale, a lot and a consignor; documents; and a journal."""
    card = rates.add(tx, "card", said)
    for number in (1, 2):
        rates.add_version(tx, card, number, CARD, staff.id)
    lot = lots.of_sale(tx, sale.id)[0]
    assert lot.entry.consignor_id is not None
    rates.choose(tx, card, rate_choices.c.sale_id, sale.id, staff.id)
    rates.choose(tx, None, rate_choices.c.lot_id, lot.id, staff.id)
    rates.choose(tx, card, rate_choices.c.consignor_id, lot.entry.consignor_id, staff.id)
    marks = ((memberships.c.user_id, staff.id), (memberships.c.consignor_id, lot.entry.consignor_id))
    for of, number in marks:
        members.add(tx, of, number, Mark(since=tx.now(), is_member=True, until=tx.now()), staff.id)
    _issue(tx, sale, lot, staff, said)
    pickups.add(tx, lot.id, staff.id, said, staff.id, said)
    now = tx.now()
    offer = Offer(id=0, gid="offer", lot_id=lot.id, user_id=staff.id, price=Decimal("9.000"), offered_at=now, until=now)
    offers.add(tx, offer, staff.id)
    after_sale.add(tx, lot.id, None, staff.id)
    result = Result(
        buyer=staff.id, price=Decimal("10.000"), at=tx.now(), consignor=lot.entry.consignor_id, scheme=None, version=1
    )
    hammer = Hammer(price=result.price, on=result.at.date())
    settled = BilledResult(result=result, channel=Channel.ONLINE, bill=bill(CARD, hammer, 2))
    postings = of_lot(settled)
    entry = journal.add(tx, sale.id, EntryKind.LOT, postings, staff.id, journal.AboutLot(lot.id, settled=settled))
    premium = tuple(one for one in settled.bill.buyer if one.item is Item.PREMIUM)
    credited = structs.replace(settled, bill=structs.replace(settled.bill, buyer=premium, consignor=()))
    journal.add(
        tx, sale.id, EntryKind.CREDIT, of_credit(credited), staff.id, journal.AboutLot(lot.id, settled=credited)
    )
    journal.add(
        tx, sale.id, EntryKind.REVERSAL, reversed_(postings), staff.id, journal.AboutLot(lot.id, reverses=entry)
    )
    _pay_out(tx, sale, lot.entry.consignor_id, staff, said)
    paid = of_money(Account(Book.BUYERS, staff.id), Method.CASH, Decimal("5.000"))
    entry = journal.add(tx, sale.id, EntryKind.PAYMENT, paid, staff.id)
    payment = BankPayment(
        account="", on=tx.now().date(), amount=Decimal("5.000"), currency="EUR", payer=said, texts=(said,)
    )
    made = bank.add(tx, list(zip(digests([payment] * 2), [payment] * 2, strict=True)), staff.id)
    (taken, _), _ = made.values()
    bank.settle(tx, taken, entry_id=entry)
    _pay_online(tx, sale, staff, said)


def _pay_online(tx: Transaction, sale: Sale, buyer: User, said: str) -> None:
    """Pay a part of the invoice by card online, and have some of it paid back, which fails."""
    [invoice] = [one for one in documents.of_user(tx, buyer.id, 10) if one.document.kind is DocumentKind.INVOICE]
    one = online.add(tx, invoice, buyer.id, Decimal("4.000"), tx.now())
    paid = of_money(Account(Book.BUYERS, buyer.id), Method.ONLINE, Decimal("4.000"))
    entry = journal.add(tx, sale.id, EntryKind.PAYMENT, paid, buyer.id)
    posted = {"state": OnlineState.PAID.value, "received": Decimal("4.000"), "entry_id": entry, "look_at": None}
    online.change(
        tx, one.id, session=f"cs {said}", intent=f"pi {said}", dispute=Dispute.WON.value, trouble=said, **posted
    )
    back = online.add_refund(tx, one.id, Decimal("1.000"), buyer.id, f"re {said}")
    online.change_refund(tx, back.id, state=RefundState.FAILED.value, reason=said)


def _pay_out(tx: Transaction, sale: Sale, consignor: int, staff: User, said: str) -> None:
    """Store a bank account, and a payment file with one payout, which the bank has booked and given back."""
    to = BankAccount(holder=said, iban="DE89370400440532013000", bic="COBADEFFXXX")
    payout_accounts.give(tx, consignor, to)
    account, amount, now = Account(Book.CONSIGNORS, consignor), Decimal("3.000"), tx.now()
    entry = journal.add(tx, sale.id, EntryKind.PAYOUT, of_payout(account, amount), staff.id)
    place = payouts.take_place(tx, now.year)
    message = message_id(file_number(place.year, place.place), "abc123")
    known_by = end_to_end(message, 1)
    row = {
        "sale_id": sale.id, "consignor_id": consignor, "amount": amount, "country": "DE", "ending": to.ending,
        "end_to_end": known_by, "entry_id": entry, "place": 1,
    }  # fmt: skip
    transfer = Transfer(end_to_end=known_by, to=to, amount=amount, text=said)
    house = BankAccount(holder=said, iban="DE75512108001245126199")
    content = payment_file(message, now, house, [transfer])
    made = payouts.add(tx, place, NewPaymentFile(message, now, staff.id, content), [row])
    for before, state in ((PayoutState.MADE, PayoutState.BOOKED), (PayoutState.BOOKED, PayoutState.FAILED)):
        moves = of_end(state, before, account, amount)
        [one] = payouts.of_files(tx, [made.id])[made.id]
        payouts.mark(tx, one, state, journal.add(tx, sale.id, EntryKind.PAYOUT, moves, staff.id), said)
    [one] = payouts.of_files(tx, [made.id])[made.id]
    _report(tx, one, staff, said)


def _report(tx: Transaction, one: Payout, staff: User, said: str) -> None:
    """Store what a bank has said of a payout: a rejection in doubt, which somebody has looked into, and an acceptance."""
    for status, doubt in (("RJCT", Doubt.REJECTED_AFTER_BOOKED), ("ACCP", None)):
        told = BankAnswer(status, "AC04", said)
        kept = BankReport(
            payout_id=one.id, message=said, said_at="2026-11-26T10:00:00", said=told, doubt=doubt, imported_at=tx.now()
        )
        payout_reports.add(tx, kept, one.end_to_end, staff.id)
        payout_reports.check(tx, one.id, staff.id)


def _issue(tx: Transaction, sale: Sale, lot: Lot, buyer: User, said: str) -> None:
    """Issue an invoice for a lot, remind of it, take a line of it back, and issue the statement for the lot."""
    owner, numbers = Owner(sale_id=sale.id, user_id=buyer.id), {lot.gid: lot.id}
    line = Line(text=said, net=Decimal("10.000"), scheme=TaxScheme.NONE, lot=lot.gid, label=lot.label)
    house = Party(name=said)
    draft = Draft(
        kind=DocumentKind.INVOICE,
        language="en",
        currency="EUR",
        house=house,
        party=house,
        sale=said,
        lines=(line, line),
    )
    made = issue(tx, draft, owner, numbers)
    reminders.add(tx, made.id, 1, buyer.id)
    credit(tx, made.gid, [1])
    statement = structs.replace(draft, kind=DocumentKind.STATEMENT)
    issue(tx, statement, Owner(sale_id=sale.id, consignor_id=lot.entry.consignor_id), numbers)
