"""The contacts of users, as rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.accounts.storage.tables import contacts
from saleroom.storage.database import Transaction


def of_users(tx: Transaction, user_ids: Sequence[int]) -> dict[int, str]:
    """Return the contacts of those users who have one, by user."""
    rows = tx.execute(select(contacts).where(contacts.c.user_id.in_(user_ids)))
    return {row.user_id: row.contact for row in rows}


def put(tx: Transaction, user_id: int, contact: str) -> None:
    """Keep a user's contact in place of the old one; an empty one takes it away."""
    if not contact:
        tx.execute(delete(contacts).where(contacts.c.user_id == user_id))
        return
    insert = (postgresql if tx.dialect == "postgresql" else sqlite).insert
    row = {"user_id": user_id, "contact": contact}
    tx.execute(insert(contacts).on_conflict_do_update(index_elements=["user_id"], set_=row), row)
