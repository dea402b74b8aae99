"""Notes in the audit log: an act of staff is noted in the transaction that does it."""

from __future__ import annotations

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.storage import audit
from saleroom.storage.database import Transaction


def note(
    tx: Transaction, by: Holder | None, act: Act, on: int | str, before: Facts, after: Facts, reason: str = ""
) -> None:
    """Note an act of staff, in the transaction that does it; `by` is None for the command line of the house.

    `on` is the number of a user, or names a thing, such as the gid of a lot. `before` and `after` are what the act changed.
    """
    user_id, subject = (on, None) if isinstance(on, int) else (None, on)
    made = audit.NewEntry(
        at=tx.now(),
        by_id=None if by is None else by.id,
        act=act.value,
        user_id=user_id,
        subject=subject,
        before=before,
        after=after,
        reason=reason,
    )
    audit.add(tx, made)
