"""What users chose, as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import time

from sqlalchemy import delete, insert, select

from saleroom.notices.domain.choices import ALL, Choices, QuietHours
from saleroom.notices.storage.tables import notice_choices, quiet_hours
from saleroom.storage import bulk
from saleroom.storage.database import Transaction

_NONE = Choices()


def of_users(tx: Transaction, user_ids: Collection[int]) -> dict[int, Choices]:
    """Return the choices of these users."""
    if not user_ids:
        return {}
    wanted: dict[int, dict[tuple[str, str], bool]] = {}
    for row in tx.execute(select(notice_choices).where(bulk.among(tx, notice_choices.c.user_id, user_ids))):
        wanted.setdefault(row.user_id, {})[row.channel, row.kind] = row.wanted
    quiet = {
        row.user_id: QuietHours(time.fromisoformat(row.begins), time.fromisoformat(row.ends), row.zone)
        for row in tx.execute(select(quiet_hours).where(bulk.among(tx, quiet_hours.c.user_id, user_ids)))
    }
    return {one: Choices(wanted.get(one, {}), quiet.get(one)) for one in user_ids}


def of_user(tx: Transaction, user_id: int) -> Choices:
    """Return a user's choices."""
    return of_users(tx, [user_id]).get(user_id, _NONE)


def choose(tx: Transaction, user_id: int, channel: str, wanted: Mapping[str, bool]) -> None:
    """Store for each kind whether a user wants it by a channel; ALL replaces all that was chosen. The user's row is locked."""
    which = (notice_choices.c.user_id == user_id, notice_choices.c.channel == channel)
    chosen = () if ALL in wanted else (notice_choices.c.kind.in_(list(wanted)),)
    tx.execute(delete(notice_choices).where(*which, *chosen))
    rows = [{"user_id": user_id, "channel": channel, "kind": kind, "wanted": wants} for kind, wants in wanted.items()]
    if rows:
        tx.execute(insert(notice_choices), rows)


def keep_quiet(tx: Transaction, user_id: int, hours: QuietHours | None) -> None:
    """Store the hours in which a user gets nothing; None for no such hours. The user's row is locked."""
    tx.execute(delete(quiet_hours).where(quiet_hours.c.user_id == user_id))
    if hours is not None:
        begins, ends = (one.isoformat("minutes") for one in (hours.begins, hours.ends))
        tx.execute(insert(quiet_hours), {"user_id": user_id, "begins": begins, "ends": ends, "zone": hours.zone})
