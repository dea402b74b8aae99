"""A sale whose lots are sold or passed by chance, with rate cards of every form, and who settles it."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
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
from saleroom.sales.service import results
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.sales.service.results import ResultLine
from saleroom.sales.storage import consignors
from saleroom.sales.storage import lots as lot_rows
from saleroom.sales.storage.tables import lots as lots_table
from saleroom.settlement.domain.bank.payouts import PayingHouse
from saleroom.settlement.domain.bank.transfers import BankAccount
from saleroom.settlement.domain.documents.content import Letterhead, Party
from saleroom.settlement.domain.rates.bills import Bearer, RateCard
from saleroom.settlement.domain.rates.scales import Scale, Tier
from saleroom.settlement.domain.rates.tax import Country, Goods
from saleroom.settlement.service import members
from saleroom.settlement.service import rates as rate_cards
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.members import Whom
from saleroom.settlement.service.rates import CardTarget
from saleroom.settlement.storage import documents, payout_accounts
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage.database import Database, Transaction
from tests.sales.service.evenings import Evening, evening

PADDLES, CONSIGNORS, LABELS_MAX = 12, 6, 4


@dataclass
class SettledSale:
    """A sale whose lots are sold, and who settles it."""

    on: Evening
    chance: Random
    currency: str
    codes: list[str]
    entries: int = 0
    paddles: list[int] = field(default_factory=lambda: [*range(1, PADDLES + 1)])
    """Those that stand for somebody, who may have two."""
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
    def payer(self) -> PayingHouse:
        """Who pays out by files."""
        return PayingHouse(name="House", holder="House", bank=None, currency=self.currency)

    @property
    def paper(self) -> Paper:
        """How receipts are written."""
        return Paper(head=self.head)

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
            before = await database.read(counted)
            assert answer == await database.write(use_case, self.token, self.gid, *args, key), "another answer"
            assert before == await database.read(counted), f"{name} was done twice"
        self.done[name] += 1
        return msgspec.json.decode(answer)


def counted(tx: Transaction) -> tuple[int, int]:
    """Return how many entries and documents there are."""
    entries = len(tx.execute(select(journal_entries.c.id)).all())
    return entries, len([*documents.readable(tx)])


async def sold(database: Database, chance: Random, count: int, currency: str) -> SettledSale:
    """Publish a sale of so many lots, with cards and consignors by chance, and sell or pass each of them."""
    on = await evening(database, count)
    await database.write(accounts.set_role, on.clerk.account.id, Role.OWNER)
    users, names = [], []
    for paddle in range(1, PADDLES + 1):
        known = await database.write(participants.admit, on.clerk.token, on.sale.gid, Newcomer(name="B", paddle=paddle))
        users.append(known.participant.user.id)
        names.append(known.participant.user.name)

    def consign(tx: Transaction) -> list[str]:
        codes = []
        for place in range(CONSIGNORS):
            code, user = secrets.token_hex(5).upper(), users[place] if place < 2 else None
            number = consignors.add(tx, secrets.token_hex(6), code, "Erben", "", user)
            codes.append((number, code))
            account = BankAccount(holder="Erben", iban="DE89370400440532013000")
            payout_accounts.give(tx, number, account)
        schemes = [None, *TaxScheme]
        for lot in lot_rows.of_sale(tx, on.sale.id):
            said = {
                "consignor_id": chance.choice([None, *(number for number, _ in codes)]),
                "tax_scheme": chance.choice(schemes),
            }
            tx.execute(lots_table.update().where(lots_table.c.id == lot.id).values(**said))
        return [code for _, code in codes]

    sale = SettledSale(on, chance, currency, await database.write(consign))
    of_sale = (
        [CardTarget(sale=sale.gid)] if chance.random() < 0.5 else []
    )  # otherwise one may be chosen after the hammer
    chosen = [*of_sale, *(CardTarget(consignor=code) for code in sale.codes[:2])]
    chosen += [CardTarget(sale=sale.gid, lot=str(label)) for label in range(1, count, max(7, count // 20))]
    for of in chosen:
        made = await database.write(rate_cards.make, sale.token, secrets.token_hex(8), a_card(chance, sale.places))
        await database.write(rate_cards.choose, sale.token, of, msgspec.json.decode(made)["card"])
    for place, username in enumerate(names):
        if place % 3 == 0:
            until = datetime.now(UTC) + timedelta(days=chance.choice([1, 400]))
            whom = Whom(username=username)
            await database.write(members.mark, sale.token, whom, chance.choice([None, until]), member=True)
    for code in sale.codes[::2]:
        await database.write(members.mark, sale.token, Whom(consignor=code), member=True)
    labels = [str(label) for label in range(1, count + 1)]
    while labels:
        some, labels = labels[: (take := chance.randint(1, LABELS_MAX))], labels[take:]
        passed = chance.random() < 0.15
        price = (
            None if passed else Decimal(chance.randint(10, 10 ** chance.randint(2, 5)) * 10).quantize(Decimal("0.001"))
        )
        line = ResultLine(labels=some, price=price, paddle=None if passed else chance.randint(1, PADDLES), is_sure=True)
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
        member_premium=scale() if chance.random() < 0.7 else None,
        member_commission=scale() if chance.random() < 0.7 else None,
        surcharges={one: amount(5) for one in Channel if chance.random() < 0.5},
        entry=amount(5),
        photo=amount(5),
        unsold=amount(9),
        insurance=amount(2),
        donation=amount(5),
        resale_right=chance.choice([*Bearer]),
        country=chance.choice([*Country]),
        goods=chance.choice([*Goods]),
        scheme=chance.choice([*TaxScheme]),
    )
