"""The audit log, as rows. Nothing here changes or deletes one, and the database refuses to (revision 0021)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Row, func, insert, or_, select

from saleroom.accounts.domain.audit import Entry, Facts
from saleroom.accounts.storage.tables import audit, users
from saleroom.storage.database import Transaction

_BY, _USER = users.alias("by_user"), users.alias("on_user")
_ENTRIES = (
    select(audit, _BY.c.username.label("by_name"), _USER.c.username.label("user_name"))
    .outerjoin(_BY, _BY.c.id == audit.c.by_id)
    .outerjoin(_USER, _USER.c.id == audit.c.user_id)
)


class EntryFilter(Struct, frozen=True):
    """The entries that are wanted: those by or on a user, and of one act; None is for any."""

    user: str | None = None
    act: str | None = None


class NewEntry(Struct, frozen=True, kw_only=True):
    """An entry to be added, about a user or a `subject`. `by_id` is None if the command line of the house did it."""

    at: datetime
    by_id: int | None
    act: str
    user_id: int | None
    subject: str | None
    before: Facts
    after: Facts
    reason: str


def add(tx: Transaction, made: NewEntry) -> None:
    """Store an entry."""
    facts = {"before": _encode(dict(made.before)).decode(), "after": _encode(dict(made.after)).decode()}
    tx.execute(insert(audit), structs.asdict(made) | facts)


class Change(NamedTuple):
    """What an act changed: the number of the user it is on, and the facts before and after."""

    user_id: int | None
    before: Facts
    after: Facts


def of_act(tx: Transaction, act: str) -> list[Change]:
    """Return what all entries of an act changed, the earliest first."""
    found = select(audit.c.user_id, audit.c.before, audit.c.after).where(audit.c.act == act).order_by(audit.c.id)
    decode = msgspec.json.decode
    return [Change(row.user_id, decode(row.before), decode(row.after)) for row in tx.execute(found)]


def newest(tx: Transaction, which: EntryFilter, limit: int, before: int | None) -> list[Entry]:
    """Return entries before the number `before`, the latest first."""
    wanted: list[ColumnElement[bool]] = [] if before is None else [audit.c.id < before]
    if which.user is not None:
        wanted.append(or_(_BY.c.username == which.user, _USER.c.username == which.user))
    if which.act is not None:
        wanted.append(audit.c.act == which.act)
    return _read(tx.execute(_ENTRIES.where(*wanted).order_by(audit.c.id.desc()).limit(limit)).all())


def oldest(tx: Transaction, after: int, until: int, limit: int) -> list[Entry]:
    """Return entries after the number `after` up to `until`, the earliest first."""
    between = (audit.c.id > after, audit.c.id <= until)
    return _read(tx.execute(_ENTRIES.where(*between).order_by(audit.c.id).limit(limit)).all())


def last_id(tx: Transaction) -> int:
    """Return the number of the latest entry, 0 if there is none."""
    return int(tx.execute(select(func.max(audit.c.id))).scalar_one() or 0)


def is_facts(text: str) -> bool:
    """Whether a text is one that `before` or `after` can have."""
    try:
        _decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _read(rows: Sequence[Row[Any]]) -> list[Entry]:
    return [
        Entry(
            id=row.id,
            at=row.at,
            by=row.by_name,
            act=row.act,
            user=row.user_name,
            subject=row.subject,
            before=_decode(row.before),
            after=_decode(row.after),
            reason=row.reason,
        )
        for row in rows
    ]


_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, str | int | bool | None]).decode
