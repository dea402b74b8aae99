"""Credits of buyers: what the house owes them in a sale, as they have paid more than they owe."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from msgspec import Struct

from saleroom.kernel.money import ZERO
from saleroom.sales.storage import sales
from saleroom.settlement.domain.journal import Account, Book
from saleroom.settlement.storage import journal, online
from saleroom.storage.database import Transaction


class Credit(Struct, frozen=True, kw_only=True):
    """What the house owes a buyer in a sale. `on_its_way` is the part of it that is being paid back to their cards."""

    sale_title: str
    owed: str
    on_its_way: str | None


def of_buyer(tx: Transaction, user_id: int, sale_ids: Collection[int]) -> list[Credit]:
    """Return the credits of a buyer in these sales; of a sale without one nothing."""
    accounts = [(number, Account(Book.BUYERS, user_id)) for number in dict.fromkeys(sale_ids)]
    balances = journal.balances(tx, accounts)
    return [_credit(tx, key[0], user_id, -balances[key]) for key in accounts if balances[key] < ZERO]


def _credit(tx: Transaction, sale_id: int, user_id: int, owed: Decimal) -> Credit:
    on_its_way = min(online.under_way(tx, sale_id, user_id), owed)
    return Credit(
        sale_title=sales.by_id(tx, sale_id).terms.title,
        owed=f"{owed:.3f}",
        on_its_way=f"{on_its_way:.3f}" if on_its_way else None,
    )
