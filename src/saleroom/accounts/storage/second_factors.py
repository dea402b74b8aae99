"""One-time codes and recovery codes of users, as rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, func, insert, select, update

from saleroom.accounts.storage.tables import one_time_codes, recovery_codes
from saleroom.storage.database import Transaction


class StoredOneTimeCodes(Struct, frozen=True):
    """The one-time codes of a user; they are off until `confirmed_at`. `secret` is sealed.

    `failures` counts the wrong codes since the last right one, the last of them at `failed_at`.
    """

    user_id: int
    secret: bytes
    created_at: datetime
    confirmed_at: datetime | None
    last_step: int
    failures: int
    failed_at: datetime | None


def find(tx: Transaction, user_id: int) -> StoredOneTimeCodes | None:
    """Return a user's one-time codes, confirmed or not. Anyone who changes them locks the user first."""
    row = tx.execute(select(one_time_codes).where(one_time_codes.c.user_id == user_id)).first()
    return StoredOneTimeCodes(**row._mapping) if row else None  # noqa: SLF001  # it is public by its documentation


def every(tx: Transaction) -> list[StoredOneTimeCodes]:
    """Return the one-time codes of all users, confirmed or not, and lock them."""
    rows = tx.execute(select(one_time_codes).order_by(one_time_codes.c.user_id).with_for_update())
    return [StoredOneTimeCodes(**row._mapping) for row in rows]  # noqa: SLF001  # it is public by its documentation


def put_secret(tx: Transaction, user_id: int, secret: bytes) -> None:
    """Put another sealed secret in the place of a user's."""
    tx.execute(update(one_time_codes).where(one_time_codes.c.user_id == user_id).values(secret=secret))


def are_on(tx: Transaction, user_id: int) -> bool:
    """Return whether a user's one-time codes are on."""
    found = select(one_time_codes.c.user_id)
    on = (one_time_codes.c.user_id == user_id, one_time_codes.c.confirmed_at.is_not(None))
    return tx.execute(found.where(*on)).first() is not None


def begin(tx: Transaction, user_id: int, secret: bytes, now: datetime) -> None:
    """Store a sealed secret, not confirmed yet, in place of one that may be there."""
    tx.execute(delete(one_time_codes).where(one_time_codes.c.user_id == user_id))
    row = {"user_id": user_id, "secret": secret, "created_at": now, "last_step": 0, "failures": 0}
    tx.execute(insert(one_time_codes), row)


def confirm(tx: Transaction, user_id: int, now: datetime) -> None:
    """Switch a user's one-time codes on."""
    tx.execute(update(one_time_codes).where(one_time_codes.c.user_id == user_id).values(confirmed_at=now))


def accepted(tx: Transaction, user_id: int, step: int | None) -> None:
    """Forget the wrong codes, and remember the step of the right one; None for a recovery code."""
    values = {"failures": 0, "failed_at": None} | ({} if step is None else {"last_step": step})
    tx.execute(update(one_time_codes).where(one_time_codes.c.user_id == user_id).values(values))


def failed(tx: Transaction, user_id: int, now: datetime) -> None:
    """Count a wrong code."""
    mine = one_time_codes.c.user_id == user_id
    tx.execute(update(one_time_codes).where(mine).values(failures=one_time_codes.c.failures + 1, failed_at=now))


def remove(tx: Transaction, user_id: int) -> bool:
    """Delete a user's one-time codes and recovery codes; False if there were none."""
    tx.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
    return tx.execute(delete(one_time_codes).where(one_time_codes.c.user_id == user_id)).rowcount > 0


def replace_recovery_codes(tx: Transaction, user_id: int, digests: Iterable[str]) -> None:
    """Store the digests of new recovery codes in place of the old ones."""
    tx.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
    tx.execute(insert(recovery_codes), [{"user_id": user_id, "digest": digest} for digest in digests])


def use_recovery_code(tx: Transaction, user_id: int, digest: str) -> bool:
    """Delete one recovery code by its digest; False if the user has no such code."""
    mine = (recovery_codes.c.user_id == user_id, recovery_codes.c.digest == digest)
    return tx.execute(delete(recovery_codes).where(*mine)).rowcount > 0


def recovery_codes_left(tx: Transaction, user_id: int) -> int:
    """Return how many recovery codes a user has not used yet."""
    statement = select(func.count()).select_from(recovery_codes).where(recovery_codes.c.user_id == user_id)
    left: int = tx.execute(statement).scalar_one()
    return left
