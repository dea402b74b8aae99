"""The bank accounts of consignors as rows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.sales.storage.tables import consignors
from saleroom.settlement.domain.bank.transfers import BankAccount
from saleroom.settlement.storage.payout_tables import payout_accounts
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class StoredAccount(Struct, frozen=True):
    """The account of a consignor, and since when it is theirs."""

    account: BankAccount
    changed_at: datetime


def of_consignors(tx: Transaction, numbers: Collection[int]) -> dict[int, StoredAccount]:
    """Return the accounts of consignors, by their numbers."""
    if not numbers:
        return {}
    found = tx.execute(select(payout_accounts).where(bulk.among(tx, payout_accounts.c.consignor_id, numbers)))
    return {
        row.consignor_id: StoredAccount(BankAccount(holder=row.holder, iban=row.iban, bic=row.bic), row.changed_at)
        for row in found
    }


def give(tx: Transaction, consignor_id: int, account: BankAccount | None) -> None:
    """Store the account of a consignor in place of the one before; None takes it away."""
    if account is None:
        tx.execute(delete(payout_accounts).where(payout_accounts.c.consignor_id == consignor_id))
        return
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(payout_accounts)
    said = {"holder": account.holder, "iban": account.iban, "bic": account.bic, "changed_at": tx.now()}
    one = own.values(consignor_id=consignor_id, **said)
    tx.execute(one.on_conflict_do_update(index_elements=["consignor_id"], set_=said))


def forget(tx: Transaction, user_id: int) -> None:
    """Delete the accounts of a consignor whose account in the house is erased."""
    theirs = select(consignors.c.id).where(consignors.c.user_id == user_id)
    tx.execute(delete(payout_accounts).where(payout_accounts.c.consignor_id.in_(theirs)))
