"""Whole sales by chance, settled through the services, and all that must hold of their money at any moment.

A sale has lots of every tax form by random rate cards, and acts of cashiers in any order: payments in parts and in several
ways, refunds, payouts at the desk and by payment files, netting, invoices, statements, credit notes, corrections, and bank
statements that are imported twice.
What a lot costs and brings is calculated a second time here, with fractions and straight from the rules.

`python -m tests.settlement.settled_sales --lots 2000 --acts 300 --seeds 3 --on postgresql` runs larger ones.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import sys
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

import msgspec
from msgspec import structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.events import SaleClosed
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.service.people import merging, participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.sales.storage import lots, mergers, sales
from saleroom.sales.storage import participants as store
from saleroom.settlement.domain.bank.banking import BankPayment, BankStatement
from saleroom.settlement.domain.bank.payouts import Debit, PayoutMark, PayoutState
from saleroom.settlement.domain.bank.transfers import BankAccount
from saleroom.settlement.domain.desk_acts import BuyerPayments, BuyerRefund, ConsignorPayout
from saleroom.settlement.domain.documents.content import CREDITABLE, DocumentKind, Party
from saleroom.settlement.domain.journal import BY_HAND, HandPayment, Method
from saleroom.settlement.service import closing, correcting, desk, issuing
from saleroom.settlement.service import rates as rate_cards
from saleroom.settlement.service.bank import banking, payouts
from saleroom.settlement.service.correcting import Correction
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.service.rates import CardTarget
from saleroom.settlement.storage import documents
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import migrate
from tests.bidding.service.people import person
from tests.fixtures_database import embedded_server
from tests.kept_databases import on_server, order
from tests.settlement.money_checks import faults_of, tax_faults
from tests.settlement.sold_sales import SettledSale, a_card, counted, sold

MERGERS_MAX = 6
CURRENCIES = ("EUR", "CHF", "JPY", "KWD")
HOUSE = BankAccount(holder="House", iban="DE75512108001245126199")


async def act(sale: SettledSale) -> None:
    """Do what cashiers do, by chance."""
    await sale.chance.choice(ACTS)(sale)


async def _pay(sale: SettledSale) -> None:
    who, chance = str(sale.chance.choice(sale.paddles)), sale.chance
    seen = await sale.on.database.write(desk.shown, sale.token, sale.gid, who, sale.currency)
    owed = Decimal(seen.owed)
    if owed <= 0:
        back = HandPayment(chance.choice([*BY_HAND]), -owed or Decimal(1))
        await sale.write("refund", desk.refund, BuyerRefund(who, back), sale.paper)
        return
    whole = chance.random() < 0.4
    paid = [HandPayment(chance.choice([*BY_HAND]), sale.money(owed / 3)) for _ in range(chance.randint(1, 2))]
    if whole:
        rest = owed - sum(one.amount for one in paid)
        paid.append(HandPayment(Method.CASH, (rest.quantize(Decimal(1)) + 20).quantize(Decimal("0.001"))))
    pay = chance.choice([desk.pay, closing.pay])
    await sale.write("pay", pay, BuyerPayments(who, paid), sale.paper)


async def _pay_out(sale: SettledSale) -> None:
    code, chance = sale.chance.choice(sale.codes), sale.chance
    seen = await sale.on.database.write(desk.statement, sale.token, sale.gid, code, sale.places)
    owed = Decimal(seen.to_pay_out)
    amount = owed if chance.random() < 0.5 and owed > 0 else sale.money(max(owed, Decimal(1)))
    out = HandPayment(chance.choice([*BY_HAND]), amount)
    await sale.write("pay out", desk.pay_out, ConsignorPayout(code, out), sale.paper)


async def _pay_by_file(sale: SettledSale) -> None:
    """Make a payment file of what is due, or of more than that; or say what has become of the payouts of one."""
    database, chance, token = sale.on.database, sale.chance, sale.token
    due = await database.read(payouts.due, token, 100, None)
    mine = [one for one in due.payouts.rows if one.sale == sale.gid]
    if not mine or chance.random() < 0.2:
        await _follow_file(sale)
        return
    some = [
        payouts.Chosen(sale=sale.gid, consignor=one.consignor, amount=_due_of(sale, Decimal(one.to_pay_out)))
        for one in chance.sample(mine, chance.randint(1, len(mine)))
    ]

    def make(tx: Transaction, token: str, _: str, key: IdempotencyKey) -> bytes:
        return payouts.make(tx, token, some, sale.payer, HOUSE, key)

    await sale.write("pay by file", make)


def _due_of(sale: SettledSale, owed: Decimal) -> Decimal:
    return owed if sale.chance.random() < 0.7 else sale.money(owed * 11 / 10)


async def _follow_file(sale: SettledSale) -> None:
    """Note what has become of payouts, by hand or by a statement of the bank, which may come twice."""
    database, chance, token = sale.on.database, sale.chance, sale.token
    files, _ = await database.read(payouts.listed, token, 100, None)
    found = [(file, one) for file in files for one in file.payouts if one.sale == sale.gid]
    if not found:
        return
    file, one = chance.choice(found)
    if chance.random() < 0.5:
        state = chance.choice([PayoutState.SENT, PayoutState.BOOKED, PayoutState.FAILED])

        def mark(tx: Transaction, token: str, _: str, key: IdempotencyKey) -> bytes:
            new = PayoutMark(state, [one.transfer_number], "By chance.")
            return payouts.mark(tx, token, file.payment_file, new, key)

        await sale.write("mark", mark)
        return
    amount, day = Decimal(one.transferred) + chance.choice([0, 0, 0, 1]), date(2026, 11, 20)
    if chance.random() < 0.3:
        back = BankPayment(account="", on=day, amount=amount, currency="EUR", payer="", texts=(one.end_to_end_id,))
        statement = BankStatement((back,), 0)
    else:
        debit = Debit(account="", on=day, amount=amount, currency="EUR", end_to_end=one.end_to_end_id)
        statement = BankStatement((), 0, (debit,))
    await database.write(banking.import_statement, token, statement, sale.head)
    entries = await database.read(counted)
    await database.write(banking.import_statement, token, statement, sale.head)
    assert entries == await database.read(counted), "a payout was booked twice"
    sale.done["follow"] += 1


async def _net(sale: SettledSale) -> None:
    net = sale.chance.choice([desk.net, closing.net])
    await sale.write("net", net, str(sale.chance.choice(sale.paddles[:4])), sale.paper)


async def _issue(sale: SettledSale) -> None:
    if sale.chance.random() < 0.6:
        order = Order(
            kind=DocumentKind.INVOICE, language="de", party=Party(name=""), paddle=sale.chance.choice(sale.paddles)
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
        paddle=chance.choice([None, chance.choice(sale.paddles)]),
        reason="By chance.",
        back=chance.choice([None, *BY_HAND]),
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
    statement = BankStatement(
        tuple(
            BankPayment(account="", on=one.issued_on, amount=one.due + more, currency=sale.currency, payer=one.party.name,
                     texts=(one.number,), references=(secrets.token_hex(4),))
            for one in some
        ),
        0,
    )  # fmt: skip
    first = await database.write(banking.import_statement, sale.token, statement, sale.head)
    entries = await database.read(counted)
    again = await database.write(banking.import_statement, sale.token, statement, sale.head)
    assert (len(some), 0) == (first.new_payments, again.new_payments)
    assert entries == await database.read(counted), "a bank file was taken twice"
    sale.done["import"] += 1


async def _choose(sale: SettledSale) -> None:
    """Choose a new card for the sale, a consignor or a lot; or change the tax scheme of a lot. Papers keep what they say."""
    chance, database = sale.chance, sale.on.database
    label = str(chance.randint(1, len(sale.on.lots)))
    if chance.random() < 0.4:
        scheme = chance.choice([None, *TaxScheme])
        await database.write(_set_scheme, sale.on.sale.id, label, scheme)
        sale.done["scheme"] += 1
        return
    places = [
        CardTarget(sale=sale.gid),
        CardTarget(consignor=chance.choice(sale.codes)),
        CardTarget(sale=sale.gid, lot=label),
    ]
    made = await database.write(rate_cards.make, sale.token, secrets.token_hex(8), a_card(chance, sale.places))
    await database.write(rate_cards.choose, sale.token, chance.choice(places), msgspec.json.decode(made)["card"])
    sale.done["choose"] += 1


def _set_scheme(tx: Transaction, sale_id: int, label: str, scheme: TaxScheme | None) -> None:
    found = lots.find(tx, sale_id, label)
    assert found is not None
    lots.save(tx, [structs.replace(found, entry=structs.replace(found.entry, tax_scheme=scheme))])


async def _merge(sale: SettledSale) -> None:
    """Find that two are the same person: a guest and another bidder, or somebody who has just got an account."""
    chance, database, gid = sale.chance, sale.on.database, sale.gid
    token, sale_id = sale.token, sale.on.sale.id
    people = await database.read(store.with_paddles, sale_id)
    known = await database.read(mergers.of_sale, sale_id)
    source, other = chance.sample(people, 2)
    if chance.random() < 0.5 and len(known) < MERGERS_MAX:
        newcomer_of = await person(database)
        newcomer = Newcomer(username=newcomer_of.account.username, channel=Channel.ONLINE)
        other = (await database.write(participants.admit, token, gid, newcomer)).participant
    if len(known) >= MERGERS_MAX:
        return
    try:
        await database.write(merging.merge, token, gid, source.gid, other.gid)
    except Refusal as refused:
        sale.done[f"merge: {refused.code}"] += 1
    else:
        sale.done["merge"] += 1
    left = await database.read(store.with_paddles, sale_id)
    sale.paddles = [one.paddle for one in left if one.paddle is not None]


async def _close(sale: SettledSale) -> None:
    """Close the sale once: from then on two who have both bid can be one."""
    if sale.done["close"]:
        return
    await sale.on.database.write(closed, sale.gid)
    sale.done["close"] += 1


def closed(tx: Transaction, gid: str) -> None:
    """End a sale."""
    found = sales.lock(tx, gid)
    assert found is not None
    sales.record(tx, found, [SaleClosed(at=tx.now())])


ACTS = (
    _pay,
    _pay,
    _pay,
    _pay_out,
    _pay_by_file,
    _pay_by_file,
    _net,
    _issue,
    _issue,
    _credit,
    _credit,
    _correct,
    _import,
    _choose,
    _choose,
    _merge,
    _merge,
    _close,
)


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
    parser.add_argument("--on", choices=("sqlite", "postgresql"), default="sqlite")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(embedded_server()).get_uri() if chosen.on == "postgresql" else ""
        for seed in range(chosen.first, chosen.first + chosen.seeds):
            with tempfile.TemporaryDirectory() as folder:
                url = _made(server, seed) if server else f"sqlite:///{Path(folder) / 'house.db'}"
                if asyncio.run(_one(url, seed, chosen)):
                    return 1
    return 0


def _made(server: str, seed: int) -> str:
    """Make a database on a server, and return its URL."""
    asyncio.run(order(server, f"CREATE DATABASE settled_{seed}"))
    return on_server(server, f"settled_{seed}")


async def _one(url: str, seed: int, chosen: argparse.Namespace) -> bool:
    """Settle the sale of a seed, print what was done, and return whether it has a fault."""
    database = Database(url)
    try:
        await database.write(migrate)
        sale, found = await settle(database, seed, chosen.lots, chosen.acts, every=max(chosen.acts // 10, 1))
    finally:
        await database.close()
    print(f"seed {seed}: {chosen.lots} lots in {sale.currency}, {dict(sale.done)}", *found, sep="\n  ")  # noqa: T201  # it is a command
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
