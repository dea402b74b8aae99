"""Drafts and their photos, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, func, insert, select, update

from saleroom.bidding.domain.drafts import DraftForm, SavedDraft
from saleroom.bidding.storage.tables import draft_photos, drafts, photos
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(DraftForm).decode


def find(tx: Transaction, owner_id: int, gid: str) -> SavedDraft | None:
    """Return a user's draft with those of its photos that still exist."""
    row = tx.execute(select(drafts).where(drafts.c.owner_id == owner_id, drafts.c.gid == gid)).first()
    return None if row is None else _draft(row, _photos(tx, row.id))


def newest(tx: Transaction, owner_id: int, limit: int) -> list[SavedDraft]:
    """Return a user's drafts without their photos, the last one written first."""
    own = select(drafts).where(drafts.c.owner_id == owner_id).order_by(drafts.c.saved_at.desc(), drafts.c.id)
    return [_draft(row, []) for row in tx.execute(own.limit(limit))]


def count(tx: Transaction, owner_id: int) -> int:
    """Return how many drafts a user has."""
    return int(tx.execute(select(func.count()).where(drafts.c.owner_id == owner_id)).scalar_one())


def exists(tx: Transaction, owner_id: int, gid: str) -> bool:
    """Return whether the user has this draft."""
    one = select(drafts.c.id).where(drafts.c.owner_id == owner_id, drafts.c.gid == gid)
    return tx.execute(one).first() is not None


def save(tx: Transaction, owner_id: int, gid: str, form: DraftForm, photo_ids: Sequence[int], now: datetime) -> None:
    """Write a draft and the numbers of its photos. The owner's row is locked, so nobody else writes it now."""
    values = {"content": _encode(DraftForm(form.texts, form.tiers, [])).decode(), "saved_at": now}
    found = (
        update(drafts).where(drafts.c.owner_id == owner_id, drafts.c.gid == gid).values(values).returning(drafts.c.id)
    )
    number = tx.execute(found).scalar()
    if number is None:
        row = {"owner_id": owner_id, "gid": gid, "created_at": now, **values}
        number = tx.execute(insert(drafts).returning(drafts.c.id), row).scalar_one()
    tx.execute(delete(draft_photos).where(draft_photos.c.draft_id == number))
    rows = [{"draft_id": number, "place": place, "photo_id": photo} for place, photo in enumerate(photo_ids, 1)]
    if rows:
        tx.execute(insert(draft_photos), rows)


def remove(tx: Transaction, owner_id: int, gid: str) -> None:
    """Delete a user's draft, if it exists."""
    row = tx.execute(select(drafts.c.id).where(drafts.c.owner_id == owner_id, drafts.c.gid == gid)).first()
    if row is not None:
        _delete(tx, [row.id])


def sweep(tx: Transaction, before: datetime, limit: int) -> int:
    """Delete up to `limit` drafts that were last written before, and return how many there were."""
    stale = select(drafts.c.id).where(drafts.c.saved_at <= before).limit(limit).with_for_update(skip_locked=True)
    ids = list(tx.execute(stale).scalars())
    if ids:
        _delete(tx, ids)
    return len(ids)


def is_content(text: str) -> bool:
    """Whether a text is the content of a draft."""
    try:
        _decode(text)
    except msgspec.MsgspecError:
        return False
    return True


def _delete(tx: Transaction, ids: Sequence[int]) -> None:
    tx.execute(delete(draft_photos).where(among(tx, draft_photos.c.draft_id, ids)))
    tx.execute(delete(drafts).where(among(tx, drafts.c.id, ids)))


def _photos(tx: Transaction, draft_id: int) -> list[str]:
    placed = select(photos.c.gid).join_from(draft_photos, photos).where(draft_photos.c.draft_id == draft_id)
    return list(tx.execute(placed.order_by(draft_photos.c.place)).scalars())


def _draft(row: Row[Any], photo_ids: list[str]) -> SavedDraft:
    form = _decode(row.content)
    return SavedDraft(row.gid, DraftForm(form.texts, form.tiers, photo_ids), row.saved_at)
