"""The owner of a place in a store of photos: a house deletes nothing in the place of another, or of one it is a copy of."""

from __future__ import annotations

import hashlib
from pathlib import Path

from saleroom.storage import secrets
from saleroom.storage.database import Database, Transaction
from saleroom.storage.objects import ObjectMissing, Objects, ObjectTooLarge

MARK = "house"
"""The key of the object that says whose the place is."""
FOREIGN = (
    "photo_store is the place of another house, or this database is a copy; nothing is deleted there. Give each house a folder "
    "of its own, or delete the object that marks the place if the other house is gone"
)


async def owns(database: Database, objects: Objects) -> bool:
    """Return whether a place is that of this database, and not of a copy of it; one without a mark becomes so.

    Raises StoreUnavailable or DatabaseUnavailable.
    """
    own = await database.read(_mark) or await database.write(_made_mark)
    try:
        return await objects.get(MARK, len(own)) == own
    except ObjectTooLarge:
        return False
    except ObjectMissing:
        await objects.put(MARK, own, "text/plain")
        return True


def _mark(tx: Transaction) -> bytes:
    """Return what no other database has: not that of another house, and not a copy of this one. Empty before it is made."""
    secret = secrets.find(tx, secrets.PHOTO_STORE)
    return hashlib.sha256(f"{secret} {_original(tx)}".encode()).hexdigest().encode() if secret else b""


def _made_mark(tx: Transaction) -> bytes:
    secrets.find_or_make(tx, secrets.PHOTO_STORE)
    return _mark(tx)


def _original(tx: Transaction) -> str:
    """Return what a copy does not take along: the identity of the cluster, which a standby shares, or the inode of the file."""
    if tx.dialect == "postgresql":
        cluster = "SELECT system_identifier || ' ' || current_database() FROM pg_control_system()"
        return str(tx.connection.exec_driver_sql(cluster).scalar_one())
    file = tx.connection.exec_driver_sql("SELECT file FROM pragma_database_list WHERE name = 'main'").scalar_one()
    return str(Path(file).stat().st_ino)
