"""The sweep of the store of photos: it deletes objects without rows.

Uploads that were cut off before their rows were written leave them behind, and deletions that the store did not answer.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from saleroom.bidding.storage import photos
from saleroom.bidding.storage.photo_owner import FOREIGN, MARK, owns
from saleroom.bidding.storage.photo_store import PhotoStore
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.objects import StoreUnavailable

log = structlog.get_logger(__name__)

AGE = timedelta(days=1)
"""How old an object without a row must be: a photo that is just being kept has its object before its row."""
PAUSE_SECONDS = 3600.0
PAGE_PAUSE_SECONDS = 1.0
"""The pause after each page of the list, so that neither the store nor the database feels how many photos there are."""


class PhotoSweep:
    """Sweeps the store of one house. Several processes may do so at once."""

    def __init__(self, database: Database, store: PhotoStore) -> None:
        self._database = database
        self._objects = store.objects

    async def run(self) -> None:
        """Sweep now, and an hour after each sweep, until cancelled. Without the database or the store, the next hour comes."""
        while True:
            try:
                await self.sweep()
            except (DatabaseUnavailable, StoreUnavailable) as error:
                log.warning("the store of photos is not swept for now", reason=str(error))
            await asyncio.sleep(PAUSE_SECONDS)

    async def sweep(self) -> int:
        """Delete objects without rows, and return how many. Raises StoreUnavailable or DatabaseUnavailable."""
        if not await owns(self._database, self._objects):
            log.error(FOREIGN, object=MARK)
            return 0
        deleted = 0
        async for page in self._objects.pages():
            gone = await self._database.read(photos.without_rows, page, AGE)
            await self._objects.delete(gone)
            deleted += len(gone)
            await asyncio.sleep(PAGE_PAUSE_SECONDS)
        if deleted:
            log.info("photos without rows were deleted from the store", files=deleted)
        return deleted
