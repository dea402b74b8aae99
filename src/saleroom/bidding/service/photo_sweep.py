"""The sweep of the store of photos: it deletes objects without rows.

Uploads that were cut off before their rows were written leave them behind, and deletions that the store did not answer.
"""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta

import structlog

from saleroom.bidding.storage import photos
from saleroom.bidding.storage.photo_owner import FOREIGN, MARK, owns
from saleroom.bidding.storage.photo_store import PhotoStore
from saleroom.storage import leases
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.objects import StoreUnavailable

log = structlog.get_logger(__name__)

AGE = timedelta(days=1)
"""The least age of an object without a row: a photo that is just being kept has its object before its row."""
LEASE = "photo sweep"
PAUSE_SECONDS = 3600
"""How long the process that begins a sweep has the lease. No other sweep begins in that time."""
AGAIN_SECONDS = 60
"""After a sweep that failed, one process tries again this much later. A process looks this often whether a sweep is due."""
PAGE_PAUSE_SECONDS = 1.0
"""The pause after each page of the list, so that neither the store nor the database feels how many photos there are."""


class PhotoSweep:
    """Sweeps the store of one house, in one of its processes each hour. Several may do so at once."""

    def __init__(self, database: Database, store: PhotoStore) -> None:
        self._database = database
        self._objects = store.objects

    async def run(self) -> None:
        """Sweep whenever no process of the house has done so for an hour, until cancelled."""
        while True:
            try:
                await self.sweep_if_due()
            except DatabaseUnavailable as error:
                log.warning("the store of photos is not swept for now", reason=str(error))
            await asyncio.sleep(AGAIN_SECONDS)

    async def sweep_if_due(self) -> bool:
        """Sweep unless one of the processes has begun within the hour, and return whether. Raises DatabaseUnavailable."""
        # The lease is not given back, so it also tells when the last sweep was. Each sweep has a name of its own, which binds
        # this process too.
        holder = secrets.token_hex(8)
        if not await self._database.read(leases.is_free, LEASE):
            return False
        if not await self._database.write(leases.hold, LEASE, holder, PAUSE_SECONDS):
            return False
        try:
            await self.sweep()
        except (DatabaseUnavailable, StoreUnavailable) as error:
            log.warning("the store of photos is not swept for now", reason=str(error))
            await self._database.write(leases.hold, LEASE, holder, AGAIN_SECONDS)
        return True

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
