"""Whole sales settled by chance: all that must hold of their money holds, and planted faults are seen."""

import secrets
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select

from saleroom.kernel.errors import Refusal
from saleroom.sales.storage import mergers
from saleroom.settlement.domain import journal as rules
from saleroom.settlement.domain.journal import Account, BilledResult, Book, Posting
from saleroom.settlement.domain.memberships import Members
from saleroom.settlement.domain.rates import bills
from saleroom.settlement.service import closing, desk
from saleroom.settlement.service import journal as following
from saleroom.settlement.service.bank import banking, payouts
from saleroom.settlement.service.documents import crediting, receipts
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.document_tables import documents as document_rows
from saleroom.storage.database import Database
from tests.settlement.settled_sales import CURRENCIES, settle

LOTS, ACTS = 24, 30


@pytest.mark.parametrize("seed", range(1, len(CURRENCIES) + 1))
async def test_the_money_of_a_sale_is_right_after_every_act(database: Database, seed: int) -> None:
    """Journal, documents, receipts and reports agree with each other and with the rules, to the last cent."""
    sale, found = await settle(database, seed, LOTS, ACTS, every=10)
    assert [] == found, sale.done


def _cent_from_tax(settled: BilledResult) -> tuple[Posting, ...]:
    moved = rules.of_lot(settled)
    cent = Decimal("0.010")
    return (*moved, Posting(Account(Book.TAX), cent), Posting(Account(Book.PREMIUM), -cent)) if moved else moved


def _one_sided(account: Account, method: Any, amount: Decimal) -> tuple[Posting, ...]:
    own, other = rules.of_money(account, method, amount)
    return own, Posting(other.account, other.amount - Decimal("0.010"))


def _down(amount: Decimal, places: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_DOWN).quantize(Decimal("0.001"))


def _at_each_time(_tx: object, _staff: object, _key: object, do: Callable[[], bytes]) -> bytes:
    return do()


UNMERGED = select(document_rows, document_rows.c.user_id.label("party_id"))


class Fault(NamedTuple):
    """A fault of one line: what it takes the place of, and the seed that has found it soonest."""

    owner: Any
    name: str
    instead: Any
    seed: int


PLANTED = {
    "a cent of tax is kept as premium": Fault(following, "of_lot", _cent_from_tax, 1),
    "a payment lacks a cent on one side": Fault(desk, "of_money", _one_sided, 1),
    "an amount is cut off instead of rounded": Fault(bills, "rounded", _down, 1),
    "a payment has no receipt": Fault(receipts, "issue", lambda *_: None, 1),
    "the key is not looked at": Fault(desk, "once", _at_each_time, 3),
    "the key of a payment with its invoice is not looked at": Fault(closing, "once", _at_each_time, 3),
    "a credit note leaves the journal alone": Fault(crediting, "of_credit", lambda _: (), 4),
    "own lots are charged what consignors bear": Fault(BilledResult, "charged", property(lambda self: self.bill), 4),
    "the marks of members are not looked at": Fault(Members, "has_bought", lambda *_: False, 3),
    "a member pays what all pay": Fault(bills, "_scale", lambda for_all, _, is_member: (for_all, is_member), 1),
    "papers stay with who was merged": Fault(documents, "ROWS", UNMERGED, 1),
    "the journal knows no mergers": Fault(mergers, "of_sale", lambda *_: {}, 1),
    "a payout that failed stays paid": Fault(payouts, "of_end", lambda *_: (), 64),
    "a payment file leaves the consignor unpaid": Fault(payouts, "of_payout", lambda *_: (), 4),
    "a bank payment is never the same": Fault(
        banking, "digests", lambda some: [secrets.token_hex(32) for _ in some], 3
    ),
}


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("fault", PLANTED)
async def test_a_planted_fault_is_seen(database: Database, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Each fault of one line is found by what must hold, or by the act that notices it itself."""
    planted = PLANTED[fault]
    monkeypatch.setattr(planted.owner, planted.name, planted.instead)
    for seed in dict.fromkeys((planted.seed, *range(1, 9))):
        try:
            _, found = await settle(database, seed, 12, ACTS, every=4)
        except (AssertionError, Refusal) as noticed:
            found = [str(noticed)]
        if found:
            return
    pytest.fail("nobody has seen it")
