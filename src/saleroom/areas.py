"""The areas of the house, each after those that it knows. One that is left out here is gone from the program."""

from __future__ import annotations

from saleroom.accounts.area import ACCOUNTS
from saleroom.accounts.storage.tables import users
from saleroom.area import Area
from saleroom.bidding.area import BIDDING
from saleroom.notices.area import NOTICES
from saleroom.outbox import tables as outbox_tables
from saleroom.sales.area import SALES
from saleroom.settings import Settings
from saleroom.settlement.area import SETTLEMENT
from saleroom.storage import tables as platform_tables
from saleroom.storage.areas import HouseTables
from saleroom.storage.database import Transaction

AREAS: tuple[Area[Settings], ...] = (ACCOUNTS, BIDDING, SALES, SETTLEMENT, NOTICES)
TABLES = HouseTables((platform_tables.TABLES, outbox_tables.TABLES, *(area.tables for area in AREAS)))
"""The tables of the platform and of all areas."""


def forget(tx: Transaction, user_id: int) -> None:
    """Delete what all areas hold about a user but what stays under a pseudonym. Raises a refusal of an area."""
    TABLES.forget(tx, users.c.id, user_id)
