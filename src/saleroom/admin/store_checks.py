"""The check of `saleroom doctor` on the store of photos."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Sequence

from saleroom import opening
from saleroom.admin.findings import Finding, failed, fine, off, warned
from saleroom.admin.service_checks import is_missing
from saleroom.admin.stored_photos import count
from saleroom.bidding.storage.photo_store import CONTENT_TYPE
from saleroom.bidding.storage.photos import IN_STORE, key_of
from saleroom.kernel.errors import Refusal
from saleroom.settings import Settings
from saleroom.storage.database import Transaction, parse_url
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.migrations import current_revision, newest_revision
from saleroom.storage.objects import ObjectMissing, Objects, ObjectTooLarge, StoreUnavailable

PIECE = b"what saleroom doctor has put there"
_REMEDY = "allow the key s3:{action} there, or correct photo_store… (docs/photos.md)"
_ACTIONS = {"put": "PutObject", "read": "GetObject", "listed": "ListBucket", "deleted": "DeleteObject"}


async def photos(settings: Settings, _: str | None) -> Sequence[Finding]:
    """Photos are where the settings say, and the key of the store is allowed all that the house does."""
    try:
        opening.provided(settings)
        in_store, in_rows = await _counts(settings)
    except Refusal as error:
        return [failed("photos", str(error), "install the package, or leave photo_store out")]
    except DatabaseUnavailable:
        return [off("photos", "not checked, as the database cannot be used")]
    place = settings.photo_place
    if not place:
        return [_without_store(in_store)]
    found = await _allowed(Objects(place))
    if not found:
        found = [
            fine("photos", f"{place.url}: objects can be put, read, listed and deleted; {in_store} files are there")
        ]
    if in_rows:
        remedy = "saleroom photos move --to store, once all processes of the house have photo_store"
        found.append(warned("photos", f"{in_rows} files of photos are still in the database", remedy))
    return found


def _without_store(in_store: int) -> Finding:
    if not in_store:
        return off("photos", "in the database, as photo_store is not set")
    what = f"{in_store} files of photos are in a store, and no photo_store is set: nobody can see them"
    return failed("photos", what, "set photo_store… as it was (docs/photos.md)")


async def _counts(settings: Settings) -> tuple[int, int]:
    """Return how many files are in the store, and in rows. Raises Refusal, DatabaseUnavailable."""
    if is_missing(parse_url(settings.database)):
        return 0, 0
    opened = opening.database(settings.model_copy(update={"litestream_socket": None}))  # `copies` looks at it
    try:
        return await opened.read(_counted)
    finally:
        await opened.close()


def _counted(tx: Transaction) -> tuple[int, int]:
    # Older tables are no fault of the store's.
    return (count(tx), count(tx, ~IN_STORE)) if current_revision(tx) == newest_revision() else (0, 0)


async def _allowed(objects: Objects) -> list[Finding]:
    """Return what the key of the store may not do."""
    refused = await _refused(objects)
    if refused.keys() >= {"put", "listed"}:
        remedy = "look whether it can be reached, or correct photo_store… (docs/photos.md)"
        return [failed("photos", f"the store cannot be used: {refused['put']}", remedy)]
    return [
        failed("photos", f"objects cannot be {act}: {why}", _REMEDY.format(action=_ACTIONS[act]))
        for act, why in refused.items()
    ]


async def _refused(objects: Objects) -> dict[str, str]:
    """Put, read, list and delete an object, and return why each act that failed did."""
    # The key is that of a photo, so that the rights are those for photos, and a sweep deletes it if this check may not.
    key, refused = key_of(f"doctor-{secrets.token_hex(8)}", 1), dict[str, str]()

    async def tried(act: str, work: Awaitable[object]) -> None:
        try:
            await work
        except StoreUnavailable as error:
            refused[act] = str(error)
        except (ObjectMissing, ObjectTooLarge):
            refused[act] = "the store does not give back what it was given"

    await tried("put", objects.put(key, PIECE, CONTENT_TYPE))
    if not refused:
        await tried("read", objects.get(key, len(PIECE)))
    await tried("listed", _first_page(objects))
    if "put" not in refused:
        await tried("deleted", objects.delete([key]))
    return refused


async def _first_page(objects: Objects) -> None:
    async for _ in objects.pages():
        return
