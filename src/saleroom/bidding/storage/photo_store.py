"""The files of photos in an S3 store, beside their rows (docs/decisions/0106).

A row of `photo_files` without bytes says that they are in the store. The row says what there is, and what its digest is. An
object is put before its row is written, and deleted after its row is. So one without a row may be left, and never the reverse.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import structlog
from msgspec import structs

from saleroom.bidding.domain.errors import PhotosUnavailable, UnknownPhoto
from saleroom.bidding.domain.photos import RATIO_MAX, is_webp
from saleroom.bidding.storage.photo_owner import FOREIGN
from saleroom.bidding.storage.photos import PhotoFile, key_of
from saleroom.kernel.figures import Figure, counters
from saleroom.logs import LogThrottle
from saleroom.storage.database import Database, SharedPart
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.objects import PAGE, ObjectMissing, Objects, ObjectTooLarge, StoreUnavailable
from saleroom.storage.turns import begin_for_all

log = structlog.get_logger(__name__)

CONTENT_TYPE = "image/webp"
AT_ONCE = 8
"""How many objects a process reads at a time, and how many it puts: their bytes are in memory."""
AGAIN_SECONDS = 60.0
"""How long after a deletion that failed it is tried again."""
LEFT_MAX = 100_000
"""How many keys wait for another try at most; the sweep deletes the rest."""


class BadObject(Exception):
    """The store has no such file, or another one; the message says which."""


class PhotoStore:
    """The files of photos in a store. Use it in one event loop."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.is_owner: Callable[[], Awaitable[bool]] | None = None
        """Returns whether objects may be deleted; None: they may be."""
        self._reading, self._putting = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
        self._to_delete: list[str] = []
        self._deleting: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._reason = ""
        self._throttle = LogThrottle(self._log)

    async def put(self, photo_id: str, files: Mapping[int, bytes]) -> None:
        """Put the files of a photo, by width. Raises PhotosUnavailable; some of them may be there nevertheless."""
        async with self._putting:
            for width, data in files.items():
                try:
                    await self.objects.put(key_of(photo_id, width), data, CONTENT_TYPE)
                except StoreUnavailable as error:
                    raise self._unavailable(error) from error

    async def read(self, key: str, width: int, digest: str) -> bytes:
        """Return the bytes of a file that has this digest. Raises PhotosUnavailable, or UnknownPhoto for others."""
        try:
            async with self._reading:
                return await fetch(self.objects, key, width, digest)
        except StoreUnavailable as error:
            raise self._unavailable(error) from error
        except BadObject as fault:
            self._warn(f"{key}: {fault}")
            raise UnknownPhoto from fault

    def delete_soon(self, keys: Collection[str]) -> None:
        """Delete objects beside everything else, and try again each minute while that fails. Call it in the event loop.

        What is left when the process ends, the sweep deletes.
        """
        self._to_delete += keys
        self._begin_to_delete()

    async def settled(self) -> None:
        """Return once all that `delete_soon` was told is deleted, or the present try has failed."""
        if self._deleting is not None:
            await self._deleting

    def figures(self) -> Sequence[Figure]:
        """Return how many requests to the store ended how."""
        about = "Requests to the store of photos."
        return (counters("saleroom_photo_store_requests", about, ("act", "outcome"), self.objects.outcomes),)

    def _begin_to_delete(self) -> None:
        if self._to_delete and not self._deleting:
            self._deleting = begin_for_all(self._delete())

    async def _delete(self) -> None:
        try:
            if self.is_owner is not None and not await self.is_owner():
                self._warn(FOREIGN)
                self._to_delete.clear()
            while some := self._to_delete[:PAGE]:
                await self.objects.delete(some)
                del self._to_delete[: len(some)]
        except (StoreUnavailable, DatabaseUnavailable) as error:
            self._warn(f"photos are not deleted for now: {error}")
            del self._to_delete[LEFT_MAX:]
            if self._again is not None:
                self._again.cancel()
            self._again = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._begin_to_delete)
        finally:
            self._deleting = None

    def _unavailable(self, error: StoreUnavailable) -> PhotosUnavailable:
        self._warn(str(error))
        return PhotosUnavailable()

    def _warn(self, reason: str) -> None:
        self._reason = reason
        self._throttle.count()

    def _log(self, times: int) -> None:
        log.error("the store of photos fails", reason=self._reason, times=times)


PHOTO_STORE: SharedPart[PhotoStore] = SharedPart()
"""The store of photos, if the setting `photo_store` names one."""


async def with_bytes(database: Database, file: PhotoFile) -> PhotoFile:
    """Return a file with its bytes, from the store if they are there. Raises PhotosUnavailable or UnknownPhoto."""
    if not file.key:
        return file
    store = database.provided(PHOTO_STORE)
    if store is None:
        raise PhotosUnavailable("This photo is in a store that the settings of the house do not name; tell its owner.")
    return structs.replace(file, data=await store.read(file.key, file.width, file.digest), key="")


async def fetch(objects: Objects, key: str, width: int, digest: str) -> bytes:
    """Return the bytes of a file that has this digest. Raises StoreUnavailable or BadObject.

    The store is not trusted: what is served is WebP, and what the house has put there.
    """
    try:
        data = await objects.get(key, file_bytes_max(width))
    except ObjectMissing as error:
        raise BadObject("the store has no such object") from error
    except ObjectTooLarge as error:
        raise BadObject("the object in the store is larger than any photo") from error
    if not is_file(data, digest):
        raise BadObject("the object in the store is not what was put there")
    return data


def is_file(data: bytes, digest: str) -> bool:
    """Return whether these are the bytes of the file that has this digest."""
    return hashlib.sha256(data).hexdigest() == digest and is_webp(data)


def file_bytes_max(width: int) -> int:
    """Return more bytes than a file of this width can have: two for each pixel."""
    return 2 * RATIO_MAX * width**2 + 2**16
