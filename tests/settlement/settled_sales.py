"""Whole sales by chance, settled through the services, and all that must hold of their money at any moment.

A sale has lots of every tax form by random rate cards, and acts of cashiers in any order: payments in parts and in several
ways, refunds, payouts, netting, invoices, statements, credit notes, corrections, and bank statements that are imported twice.
What a lot costs and brings is calculated a second time here, with fractions and straight from the rules.

`python -m tests.settlement.settled_sales --lots 2000 --acts 300 --seeds 3` runs larger ones.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from sqlalchemy import select

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.errors import OwnAuction
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.service import participants, results
from saleroom.sales.service.participants import Newcomer
from saleroom.sales.service.results import Line
from saleroom.sales.storage import consignors
from saleroom.sales.storage import lots as lot_rows
from saleroom.sales.storage import sales as sale_rows
from saleroom.sales.storage.tables import lots as lots_table
from saleroom.settlement.domain.banking import Payment as FromBank
from saleroom.settlement.domain.banking import Statement
from saleroom.settlement.domain.documents import CREDITABLE, Letterhead, Party
from saleroom.settlement.domain.documents import Kind as DocumentKind
from saleroom.settlement.domain.journal import Account, Book, Kind, Method, Paid
from saleroom.settlement.domain.rates import Item, Payer, RateCard
from saleroom.settlement.domain.rates import Line as Charge
from saleroom.settlement.domain.scales import Scale, Tier
from saleroom.settlement.domain.tax import Country, Goods
from saleroom.settlement.service import banking, correcting, desk, issuing, reporting
from saleroom.settlement.service import rates as rate_cards
from saleroom.settlement.service.correcting import Correction
from saleroom.settlement.service.document_check import document_faults
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.service.rates import Chosen
from saleroom.settlement.service.receipts import Paper
from saleroom.settlement.service.verifying import faults as journal_faults
from saleroom.settlement.storage import documents, journal, rates
from saleroom.settlement.storage.journal import Moved
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import migrate
from tests.sales.service.evenings import Evening, evening

ZERO = Fraction(0)
PADDLES, CONSIGNORS, LABELS_MAX = 12, 6, 4
CURRENCIES = ("EUR", "CHF", "JPY", "KWD")
EARNED = {
    Item.PREMIUM: Book.PREMIUM,
    Item.SURCHARGE: Book.PREMIUM,
    Item.RESALE_RIGHT: Book.RESALE_RIGHT,
    Item.COMMISSION: Book.COMMISSION,
    Item.ENTRY: Book.FEES,
    Item.PHOTO: Book.FEES,
    Item.UNSOLD: Book.FEES,
    Item.INSURANCE: Book.FEES,
    Item.DONATION: Book.DONATIONS,
}
STANDARD = {
    Country.DE: Fraction(19),
    Country.AT: Fraction(20),
    Country.CH: Fraction("8.1"),
    Country.UK: Fraction(20),
    Country.NONE: ZERO,
}
LEAST = {Country.DE: 400, Country.AT: 2_500, Country.UK: 1_000}
MARGIN = (TaxScheme.MARGIN, TaxScheme.RESALE_RIGHT)


@dataclass(frozen=True)
class Calculated:
    """A line as the rules say it: positive is what is paid to the house, but for the consignor's price."""

    item: Item
    amount: Fraction
    tax: Fraction = ZERO
    hidden: Fraction = ZERO


class Rules:
    """Rules 1 to 7 of docs/rules.md, "After the hammer", a second time."""

    def __init__(self, card: RateCard, scheme: TaxScheme | None, price: Decimal | None, channel: Channel, places: int):
        self.card, self.places, self.channel = card, places, channel
        self.price = None if price is None else Fraction(price)
        self.standard = STANDARD[card.country]
        self.scheme = TaxScheme.NONE if card.country is Country.NONE else scheme or card.scheme

    def half_up(self, amount: Fraction) -> Fraction:
        """Return an amount in whole minor units."""
        units = amount * 10**self.places
        sign = -1 if units < 0 else 1
        return Fraction(sign * int(abs(units) + Fraction(1, 2)), 10**self.places)

    def of_scale(self, scale: Scale, price: Fraction) -> Fraction:
        """Return what a scale comes to."""
        tiers = [(Fraction(one.above), Fraction(one.percent)) for one in scale.tiers]
        least = Fraction(scale.minimum)
        if not scale.cumulative or not tiers:
            percents = [percent for above, percent in tiers if price > above]
            return max(price * percents[-1] / 100, least) if percents else least
        ends = [above for above, _ in tiers[1:]] + [price]
        pieces = (
            max(min(price, end) - above, ZERO) * percent for (above, percent), end in zip(tiers, ends, strict=True)
        )
        return max(sum(pieces, ZERO) / 100, least)

    def artist(self) -> Fraction:
        """Return the artist's share (Directive 2001/84/EC, article 4)."""
        price, least = self.price, LEAST.get(self.card.country)
        if self.scheme is not TaxScheme.RESALE_RIGHT or price is None or least is None or price < least:
            return ZERO
        found = max(price - 500_000, ZERO) / 400
        for above, end, percent in (
            (0, 50_000, 4),
            (50_000, 200_000, 3),
            (200_000, 350_000, 1),
            (350_000, 500_000, 0.5),
        ):
            found += max(min(price, Fraction(end)) - above, ZERO) * Fraction(percent) / 100
        return self.half_up(min(found, Fraction(12_500)))

    def buyer(self) -> list[Calculated]:
        """Return what the buyer owes."""
        if self.price is None:
            return []
        card, price = self.card, self.price
        percent = ZERO
        if self.scheme is TaxScheme.STANDARD:
            reduced = card.country is Country.DE and card.goods in (Goods.ART, Goods.COLLECTORS)
            percent = Fraction(7) if reduced else self.standard
        surcharge = Fraction(card.surcharges.get(self.channel, Decimal(0)))
        found = []
        for item, exact in (
            (Item.HAMMER, price),
            (Item.PREMIUM, self.of_scale(card.premium, price)),
            (Item.SURCHARGE, price * surcharge / 100),
        ):
            amount = self.half_up(exact)
            hidden = self.inside(amount) if item is not Item.HAMMER else ZERO
            found.append(Calculated(item, amount, self.half_up(amount * percent / 100), hidden))
        if card.resale_right is Payer.BUYER:
            found.append(Calculated(Item.RESALE_RIGHT, self.artist()))
        return [one for one in found if one.amount]

    def consignor(self) -> list[Calculated]:
        """Return what the consignor gets, the price, and bears, all else."""
        card, price = self.card, self.price
        found = []
        if price is None:
            found.append(self.service(Item.UNSOLD, Fraction(card.unsold)))
        else:
            found.append(Calculated(Item.HAMMER, self.half_up(price)))
            commission = self.of_scale(card.commission, price)
            if self.scheme in MARGIN:
                amount = self.half_up(commission)
                found.append(Calculated(Item.COMMISSION, amount, ZERO, self.inside(amount)))
            else:
                found.append(self.service(Item.COMMISSION, commission))
            if card.resale_right is Payer.CONSIGNOR:
                found.append(Calculated(Item.RESALE_RIGHT, self.artist()))
            found.append(self.service(Item.INSURANCE, price * Fraction(card.insurance) / 100))
            found.append(Calculated(Item.DONATION, self.half_up(price * Fraction(card.donation) / 100)))
        found += [self.service(Item.ENTRY, Fraction(card.entry)), self.service(Item.PHOTO, Fraction(card.photo))]
        return [one for one in found if one.amount]

    def service(self, item: Item, exact: Fraction) -> Calculated:
        """Return a line for what the house does for a consignor."""
        amount = self.half_up(exact)
        percent = ZERO if self.scheme is TaxScheme.NONE else self.standard
        return Calculated(item, amount, self.half_up(amount * percent / 100))

    def inside(self, amount: Fraction) -> Fraction:
        """Return the tax inside an amount by the margin scheme."""
        return self.half_up(amount * self.standard / (100 + self.standard)) if self.scheme in MARGIN else ZERO


@dataclass
class SettledSale:
    """A sale whose lots are sold, and who settles it."""

    on: Evening
    chance: Random
    currency: str
    codes: list[str]
    entries: int = 0
    done: Counter[str] = field(default_factory=Counter)

    @property
    def gid(self) -> str:
        """The sale."""
        return self.on.sale.gid

    @property
    def token(self) -> str:
        """That of somebody with every right that it takes."""
        return self.on.clerk.token

    @property
    def places(self) -> int:
        """The decimals of the currency."""
        return decimals(self.currency)

    @property
    def head(self) -> Letterhead:
        """The letterhead of the house."""
        return Letterhead(house=Party(name="House"), bank=None, currency=self.currency)

    @property
    def paper(self) -> Paper:
        """How receipts are written."""
        return Paper(head=self.head, places=self.places)

    def money(self, most: Decimal) -> Decimal:
        """Return an amount up to the most, in whole minor units."""
        unit = Decimal(1).scaleb(-self.places)
        return (self.chance.randint(1, max(int(most / unit), 1)) * unit).quantize(Decimal("0.001"))

    async def write(self, name: str, use_case: Callable[..., bytes], *args: Any) -> Any:
        """Do an act under a key, sometimes twice; a refusal leaves nothing. Returns its answer, None for a refusal."""
        key = IdempotencyKey(secrets.token_hex(8), b"the same")
        database = self.on.database
        try:
            answer = await database.write(use_case, self.token, self.gid, *args, key)
        except Refusal as refused:
            self.done[f"{name}: {refused.code}"] += 1
            return None
        if self.chance.random() < 0.2:
            before = await database.read(_count)
            assert answer == await database.write(use_case, self.token, self.gid, *args, key), "another answer"
            assert before == await database.read(_count), f"{name} was done twice"
        self.done[name] += 1
        return msgspec.json.decode(answer)


def _count(tx: Transaction) -> tuple[int, int]:
    entries = len(tx.execute(select(journal_entries.c.id)).all())
    return entries, len([*documents.readable(tx)])


async def sold(database: Database, chance: Random, count: int, currency: str) -> SettledSale:
    """Publish a sale of so many lots, with cards and consignors by chance, and sell or pass each of them."""
    on = await evening(database, count)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    users = []
    for paddle in range(1, PADDLES + 1):
        known = await database.write(participants.admit, on.clerk.token, on.sale.gid, Newcomer(name="B", paddle=paddle))
        users.append(known.participant.user.id)

    def consign(tx: Transaction) -> list[str]:
        codes = []
        for place in range(CONSIGNORS):
            code, user = secrets.token_hex(5).upper(), users[place] if place < 2 else None
            number = consignors.add(tx, secrets.token_hex(6), code, "Erben", "", user, tx.now())
            codes.append((number, code))
        schemes = [None, *TaxScheme]
        for lot in lot_rows.of_sale(tx, on.sale.id):
            said = {
                "consignor_id": chance.choice([None, *(number for number, _ in codes)]),
                "tax_scheme": chance.choice(schemes),
            }
            tx.execute(lots_table.update().where(lots_table.c.id == lot.id).values(**said))
        return [code for _, code in codes]

    sale = SettledSale(on, chance, currency, await database.write(consign))
    chosen = [Chosen(sale=sale.gid), *(Chosen(consignor=code) for code in sale.codes[:2])]
    chosen += [Chosen(sale=sale.gid, lot=str(label)) for label in range(1, count, max(7, count // 20))]
    for of in chosen:
        made = await database.write(rate_cards.make, sale.token, secrets.token_hex(8), a_card(chance, sale.places))
        await database.write(rate_cards.choose, sale.token, of, msgspec.json.decode(made)["card"])
    labels = [str(label) for label in range(1, count + 1)]
    while labels:
        some, labels = labels[: (take := chance.randint(1, LABELS_MAX))], labels[take:]
        passed = chance.random() < 0.15
        price = (
            None if passed else Decimal(chance.randint(10, 10 ** chance.randint(2, 5)) * 10).quantize(Decimal("0.001"))
        )
        line = Line(labels=some, price=price, paddle=None if passed else chance.randint(1, PADDLES), is_sure=True)
        try:
            await database.write(results.enter, sale.token, sale.gid, line)
        except OwnAuction:  # the paddle of the consignor
            other = msgspec.structs.replace(line, paddle=PADDLES)
            await database.write(results.enter, sale.token, sale.gid, other)
    return sale


def a_card(chance: Random, places: int) -> RateCard:
    """Return a rate card by chance."""

    def amount(most: int) -> Decimal:
        return Decimal(chance.randint(0, most)).scaleb(-chance.randint(0, 3)).quantize(Decimal("0.001"))

    def scale() -> Scale:
        above = sorted(chance.sample(range(1, 2_000), chance.randint(0, 3)))
        tiers = tuple(Tier(Decimal(one).quantize(Decimal("0.001")), amount(30)) for one in (0, *above))
        return Scale(tiers if chance.random() < 0.9 else (), chance.random() < 0.5, amount(9))

    return RateCard(
        premium=scale(),
        commission=scale(),
        surcharges={one: amount(5) for one in Channel if chance.random() < 0.5},
        entry=amount(5),
        photo=amount(5),
        unsold=amount(9),
        insurance=amount(2),
        donation=amount(5),
        resale_right=chance.choice([*Payer]),
        country=chance.choice([*Country]),
        goods=chance.choice([*Goods]),
        scheme=chance.choice([*TaxScheme]),
    )


async def act(sale: SettledSale) -> None:
    """Do what cashiers do, by chance."""
    await sale.chance.choice(ACTS)(sale)


async def _pay(sale: SettledSale) -> None:
    who, chance = str(sale.chance.randint(1, PADDLES)), sale.chance
    seen = await sale.on.database.write(desk.shown, sale.token, sale.gid, who, sale.places, sale.currency)
    owed = Decimal(seen.owed)
    if owed <= 0:
        await sale.write("refund", desk.refund, who, Paid(chance.choice([*Method]), -owed or Decimal(1)), sale.paper)
        return
    whole = chance.random() < 0.4
    paid = [Paid(chance.choice([*Method]), sale.money(owed / 3)) for _ in range(chance.randint(1, 2))]
    if whole:
        rest = owed - sum(one.amount for one in paid)
        paid.append(Paid(Method.CASH, (rest.quantize(Decimal(1)) + 20).quantize(Decimal("0.001"))))
    await sale.write("pay", desk.pay, who, paid, sale.paper)


async def _pay_out(sale: SettledSale) -> None:
    code, chance = sale.chance.choice(sale.codes), sale.chance
    seen = await sale.on.database.write(desk.statement, sale.token, sale.gid, code, sale.places)
    owed = Decimal(seen.to_pay_out)
    amount = owed if chance.random() < 0.5 and owed > 0 else sale.money(max(owed, Decimal(1)))
    await sale.write("pay out", desk.pay_out, code, Paid(chance.choice([*Method]), amount), sale.paper)


async def _net(sale: SettledSale) -> None:
    await sale.write("net", desk.net, str(sale.chance.randint(1, 3)), sale.paper)


async def _issue(sale: SettledSale) -> None:
    if sale.chance.random() < 0.6:
        order = Order(
            kind=DocumentKind.INVOICE, language="de", party=Party(name=""), paddle=sale.chance.randint(1, PADDLES)
        )
    else:
        code = sale.chance.choice(sale.codes)
        order = Order(kind=DocumentKind.STATEMENT, language="en", party=Party(name=""), consignor=code)
    await sale.write("issue", issuing.issue, order, sale.head)


async def _credit(sale: SettledSale) -> None:
    chance, database = sale.chance, sale.on.database
    found = [
        one for one in await database.read(lambda tx: [*documents.readable(tx)]) if one.owner.sale_id == sale.on.sale.id
    ]
    open_ones = [one for one in found if one.document.kind in CREDITABLE]
    if not open_ones:
        return
    one = chance.choice(open_ones)
    places = range(len(one.document.lines))
    lines = [] if chance.random() < 0.1 else chance.sample(places, min(chance.randint(1, 2), len(places)))

    def credit(tx: Transaction, token: str, _: str, key: IdempotencyKey) -> bytes:
        return issuing.credit(tx, token, one.gid, lines, "By chance.", key)

    await sale.write("credit", credit)


async def _correct(sale: SettledSale) -> None:
    chance = sale.chance
    change = Correction(
        label=str(chance.randint(1, len(sale.on.lots))),
        paddle=chance.choice([None, chance.randint(1, PADDLES)]),
        reason="By chance.",
        back=chance.choice([None, *Method]),
    )
    await sale.write("correct", correcting.correct, change, sale.paper)


async def _import(sale: SettledSale) -> None:
    """Import what buyers have paid of their invoices, or nearly, as the bank says it; the same file again is nothing new."""
    database, chance = sale.on.database, sale.chance
    found = [
        one for one in await database.read(lambda tx: [*documents.readable(tx)]) if one.owner.sale_id == sale.on.sale.id
    ]
    invoices = [one.document for one in found if one.document.kind is DocumentKind.INVOICE and one.document.due > 0]
    if not invoices:
        return
    some = chance.sample(invoices, min(3, len(invoices)))
    more = Decimal(1) if chance.random() < 0.3 else Decimal(0)
    statement = Statement(
        tuple(
            FromBank(account="", on=one.issued_on, amount=one.due + more, currency=sale.currency, payer=one.party.name,
                     texts=(one.number,), references=(secrets.token_hex(4),))
            for one in some
        ),
        0,
    )  # fmt: skip
    first = await database.write(banking.import_statement, sale.token, statement, sale.head, sale.places)
    entries = await database.read(_count)
    again = await database.write(banking.import_statement, sale.token, statement, sale.head, sale.places)
    assert (len(some), 0) == (first.new_payments, again.new_payments)
    assert entries == await database.read(_count), "a bank file was taken twice"
    sale.done["import"] += 1


ACTS = (_pay, _pay, _pay, _pay_out, _net, _issue, _issue, _credit, _credit, _correct, _import)


def faults_of(tx: Transaction, sale: SettledSale) -> Iterator[str]:
    """Yield what does not hold of a sale, all at one moment."""
    _, _, book = desk.begin(tx, sale.token, sale.gid, sale.places)
    moved = journal.moved(tx, sale.on.sale.id)
    yield from journal_faults(tx)
    yield from document_faults(tx)
    yield from _unbalanced(moved)
    yield from _against_rules(tx, sale, book, moved)
    yield from _flows(moved)
    yield from _documents(tx, sale, book)
    yield from _receipts(tx, sale, moved)
    yield from _reports(tx, sale, moved)


def _unbalanced(moved: list[Moved]) -> Iterator[str]:
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for one in moved:
        sums[one.entry_id] += one.posting.amount
    yield from (f"entry {number} is out of balance by {left}" for number, left in sums.items() if left)


def _against_rules(tx: Transaction, sale: SettledSale, book: Any, moved: list[Moved]) -> Iterator[str]:
    """Compare each line of each lot, and the sums of the accounts, with what the rules say."""
    cards = {one.id: one.card for some in rates.versions_of(tx, _card_ids(tx)).values() for one in some}
    sums: dict[Account, Fraction] = defaultdict(lambda: ZERO)
    for number, one in book.posted.items():
        result = one.whole.result
        card = RateCard() if result.version is None else cards[result.version]
        rules = Rules(card, result.scheme, result.price, one.whole.channel, sale.places)
        buyer, consignor = rules.buyer(), rules.consignor()
        for side, said, due in (
            ("buyer", one.whole.bill.buyer, buyer),
            ("consignor", one.whole.bill.consignor, consignor),
        ):
            if [_of(line) for line in said] != [(one.item, one.amount, one.tax, one.hidden) for one in due]:
                yield f"lot {number}: the lines of the {side} are {said}, and by the rules {due}"
        gone = [{line.item for _, bill in one.given_up for line in side(bill)} for side in (_buyers, _consignors)]
        _add(sums, result.buyer, Book.BUYERS, [line for line in buyer if line.item not in gone[0]])
        if result.consignor is not None:
            _add(sums, result.consignor, Book.CONSIGNORS, [line for line in consignor if line.item not in gone[1]])
        elif result.buyer is not None:
            sums[Account(Book.OWN_LOTS)] -= sum((line.amount for line in buyer if line.item is Item.HAMMER), ZERO)
    posted: dict[Account, Fraction] = defaultdict(lambda: ZERO)
    for entry in moved:
        if entry.kind in (Kind.LOT, Kind.REVERSAL, Kind.CREDIT):
            posted[entry.posting.account] += Fraction(entry.posting.amount)
    for account in {*sums, *posted}:
        if sums[account] != posted[account]:
            yield f"{account} is {float(posted[account])}, and by the rules {float(sums[account])}"


def _card_ids(tx: Transaction) -> set[int]:
    from saleroom.settlement.storage.tables import rate_cards as table

    return {*tx.execute(select(table.c.id)).scalars()}


def _of(line: Charge) -> tuple[Item, Fraction, Fraction, Fraction]:
    return line.item, abs(Fraction(line.amount)), abs(Fraction(line.tax)), Fraction(line.hidden_tax)


def _buyers(bill: Any) -> Any:
    return bill.buyer


def _consignors(bill: Any) -> Any:
    return bill.consignor


def _add(sums: dict[Account, Fraction], party: int | None, book: Book, lines: list[Calculated]) -> None:
    if party is None:
        return
    for line in lines:
        price = book is Book.CONSIGNORS and line.item is Item.HAMMER
        sums[Account(book, party)] += -line.amount if price else line.amount + line.tax
        if line.item in EARNED:
            sums[Account(EARNED[line.item])] -= line.amount - line.hidden
        sums[Account(Book.TAX)] -= line.tax + line.hidden


def _flows(moved: list[Moved]) -> Iterator[str]:
    """What came in is what consignors got, the house keeps, the state, artists and donees get, and what is still owed."""
    totals: dict[Book, Decimal] = defaultdict(Decimal)
    for one in moved:
        totals[one.posting.account.book] += one.posting.amount
    held = sum(totals[Book(one.value)] for one in Method)
    kept = -sum(totals[one] for one in (Book.PREMIUM, Book.COMMISSION, Book.FEES, Book.OWN_LOTS, Book.ROUNDING))
    passed_on = -sum(totals[one] for one in (Book.TAX, Book.RESALE_RIGHT, Book.DONATIONS))
    still = -totals[Book.CONSIGNORS] - totals[Book.BUYERS]
    if held != kept + passed_on + still:
        yield f"{held} is held: {kept} kept, {passed_on} passed on, {still} still to move"


def _documents(tx: Transaction, sale: SettledSale, book: Any) -> Iterator[str]:
    """What somebody owes is what is open of their documents, and their lots that are on none; totals are the sums of lines."""
    mine = [one for one in documents.readable(tx) if one.owner.sale_id == sale.on.sale.id]
    for one in mine:
        document = one.document
        if document.lines and document.total != sum(line.net + line.tax for line in document.lines):
            yield f"{document.number} does not add up"
    for of, kind in ((Book.BUYERS, DocumentKind.INVOICE), (Book.CONSIGNORS, DocumentKind.STATEMENT)):
        on_one = documents.on_documents(tx, kind, [*book.posted])
        due: dict[int, Decimal] = defaultdict(Decimal)
        for number, one in book.posted.items():
            result, bill = one.settled.result, one.settled.bill
            party = result.buyer if of is Book.BUYERS else result.consignor
            if party is not None and number not in on_one:
                due[party] += bill.due if of is Book.BUYERS else bill.proceeds
        for one in mine:
            party = one.owner.user_id if of is Book.BUYERS else one.owner.consignor_id
            if party is None or (of is Book.BUYERS and one.owner.consignor_id is not None):
                continue
            sign = {kind: 1, DocumentKind.CREDIT_NOTE: -1}.get(one.document.kind, 0)
            due[party] += sign * one.document.total
        for party, total in due.items():
            account = Account(of, party)
            settled = journal.money_on(tx, [(sale.on.sale.id, account)])[sale.on.sale.id, account]
            owed = desk.balance(tx, sale.on.sale, account) - settled
            if total != (owed if of is Book.BUYERS else -owed):
                yield f"{account}: {total} by the documents, {owed} by the journal"


def _receipts(tx: Transaction, sale: SettledSale, moved: list[Moved]) -> Iterator[str]:
    """Each payment at the desk has a receipt: together they say what moved by hand."""
    said: dict[Account, Decimal] = defaultdict(Decimal)
    for one in documents.readable(tx):
        if one.owner.sale_id == sale.on.sale.id and one.document.kind is DocumentKind.RECEIPT:
            owner = one.owner
            account = Account(Book.BUYERS, owner.user_id)
            if owner.consignor_id is not None:
                account = Account(Book.CONSIGNORS, owner.consignor_id)
            said[account] += one.document.paid
    by_bank = {one.entry_id for one in _from_bank(tx)}
    for entry in moved:
        by_hand = entry.kind is Kind.PAYMENT and entry.entry_id not in by_bank
        if by_hand and entry.posting.account.party is not None:
            said[entry.posting.account] += entry.posting.amount
    yield from (f"{account}: receipts and payments differ by {left}" for account, left in said.items() if left)


def _from_bank(tx: Transaction) -> list[Any]:
    from saleroom.settlement.storage import bank

    return bank.newest(tx, waiting=False, before=None, limit=100_000)


def _reports(tx: Transaction, sale: SettledSale, moved: list[Moved]) -> Iterator[str]:
    """The report of the sale and that of the tax say what the journal says."""
    found = reporting.of_sale(tx, sale.token, sale.gid, sale.places)
    totals: dict[Book, Decimal] = defaultdict(Decimal)
    for one in moved:
        totals[one.posting.account.book] += one.posting.amount
    pairs = {
        "charged": (found.charged_total, sum(D(one.charged) for one in found.report_buyers)),
        "unpaid": (found.unpaid_total, totals[Book.BUYERS]),
        "paid out": (found.to_pay_out_total, -totals[Book.CONSIGNORS]),
        "lots": (found.charged_total, sum(D(one.due) for one in found.report_lots if one.due is not None)),
        "sellers": (
            found.credited_total,
            sum(D(one.proceeds) for one in found.report_lots if one.proceeds is not None),
        ),
        "tax": (-totals[Book.TAX], sum(D(one.owed_tax) for one in found.tax_rows)),
    }
    for earned in found.earned_by:
        pairs[f"earned: {earned.ledger_account}"] = (earned.earned, -totals[Book(earned.ledger_account)])
    yield from (f"the report: {name} is {a} and {b}" for name, (a, b) in pairs.items() if D(a) != D(b))


def D(amount: Any) -> Decimal:  # noqa: N802  # as other tests call it
    """Return an amount."""
    return Decimal(amount)


def tax_faults(tx: Transaction, token: str) -> Iterator[str]:
    """Yield how the tax of these days over all sales differs from the account of tax."""
    today = tx.now().date()
    found = reporting.of_days(tx, token, today, today)
    booked = sum(
        (one.posting.amount for sale in sale_rows.newest(tx, public_only=False, limit=100) for one in journal.moved(tx, sale.id)
         if one.posting.account.book is Book.TAX),
        Decimal(0),
    )  # fmt: skip
    if D(found.tax_total) != -booked:
        yield f"the tax report says {found.tax_total}, and the journal {-booked}"


async def settle(database: Database, seed: int, count: int, acts: int, every: int = 5) -> tuple[SettledSale, list[str]]:
    """Sell and settle a sale by a seed; return it, and what did not hold of it after some of its acts and at the end."""
    chance = Random(seed)
    sale = await sold(database, chance, count, CURRENCIES[seed % len(CURRENCIES)])
    for turn in range(acts):
        await act(sale)
        if turn % every == every - 1 or turn == acts - 1:
            found = await database.write(lambda tx: [*faults_of(tx, sale)])
            if found:
                return sale, [f"after {turn + 1} acts: {one}" for one in found]
    return sale, await database.write(lambda tx: [*tax_faults(tx, sale.token)])


def main() -> int:
    """Settle sales until one has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("lots", 2_000), ("acts", 200), ("seeds", 4), ("first", 1)):
        parser.add_argument(f"--{name}", type=int, default=number)
    chosen = parser.parse_args()
    return asyncio.run(_all(chosen))


async def _all(chosen: argparse.Namespace) -> int:
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'house.db'}"
            database = Database(url)
            try:
                await database.write(migrate)
                sale, found = await settle(database, seed, chosen.lots, chosen.acts, every=max(chosen.acts // 10, 1))
            finally:
                await database.close()
        print(f"seed {seed}: {chosen.lots} lots in {sale.currency}, {dict(sale.done)}", *found, sep="\n  ")  # noqa: T201
        if found:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
