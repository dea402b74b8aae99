"""Objects in an S3 store: put, read, listed and deleted, each within bounds of size and time (docs/decisions/0106).

The library for it, obstore, is an extra. It is loaded by the first request.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

if TYPE_CHECKING:
    from obstore.store import S3Credential, S3Store

R = TypeVar("R")
SECONDS_MAX = 10.0
"""How long a request may take, with all its tries."""
TRY_SECONDS_MAX = 5.0
CONNECT_SECONDS_MAX = 2.0
TRIES_AGAIN = 2
PAGE = 1000
"""The most keys of one page of a list, and of one deletion."""
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]*)")
_NO_BUCKET = "NoSuchBucket"


class StoreUnavailable(Exception):
    """The store cannot be reached, does not answer in time, or refuses. The message names no key and no secret."""


class ObjectMissing(Exception):
    """The store has no object with this key."""


class ObjectTooLarge(Exception):
    """The object is larger than asked for."""


@dataclass(frozen=True, kw_only=True)
class StorePlace:
    """A bucket in a store, and the prefix of all keys in it. Without an `endpoint` it is the AWS of the `region`."""

    bucket: str
    prefix: str
    endpoint: str | None
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    bucket_in_host: bool = False
    """Whether the bucket is named in the host, and not in the path."""

    @property
    def url(self) -> str:
        """The address of the bucket."""
        parts = urlsplit(self.endpoint or f"https://s3.{self.region}.amazonaws.com")
        host = f"{self.bucket}.{parts.netloc}" if self.bucket_in_host else parts.netloc
        path = parts.path.rstrip("/")
        return f"{parts.scheme}://{host}{path}" + ("" if self.bucket_in_host else f"/{self.bucket}")


class StoredObject(Struct, frozen=True):
    """An object as a list names it: its key without the prefix, its size in bytes, and when it was put."""

    key: str
    size: int
    at: datetime


class Objects:
    """The objects of one place. Methods of one instance may be called in several event loops."""

    def __init__(self, place: StorePlace) -> None:
        self.place = place
        self.outcomes: Counter[tuple[str, ...]] = Counter()
        """Requests by `put`, `get`, `delete` or `list`, and by their end: `done`, `missing`, `too_large` or `failed`."""
        self._store: S3Store | None = None

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Put an object, in place of one that has the key. Raises StoreUnavailable; it may be there nevertheless."""
        import obstore

        attributes = {"Content-Type": content_type}
        await self._ask(
            "put", lambda store: obstore.put_async(store, key, data, attributes=attributes, use_multipart=False)
        )

    async def get(self, key: str, bytes_max: int) -> bytes:
        """Return the bytes of an object. Raises ObjectMissing, ObjectTooLarge or StoreUnavailable."""
        import obstore

        async def read(store: S3Store) -> bytes:
            found = await obstore.get_async(store, key)
            if found.meta["size"] > bytes_max:
                raise ObjectTooLarge(key)
            pieces, size = [], 0
            async for piece in found.stream():
                size += len(piece)
                if size > bytes_max:
                    raise ObjectTooLarge(key)
                pieces.append(piece)
            return b"".join(pieces)

        return await self._ask("get", read)

    async def delete(self, keys: Collection[str]) -> None:
        """Delete up to `PAGE` objects; one that is not there counts as deleted. Raises StoreUnavailable."""
        import obstore

        if keys:
            await self._ask("delete", lambda store: obstore.delete_async(store, list(keys)))

    async def pages(self) -> AsyncIterator[list[StoredObject]]:
        """Yield all objects, `PAGE` at a time; each page is asked for when it is wanted. Raises StoreUnavailable."""
        import obstore

        stream = obstore.list(self._opened(), chunk_size=PAGE)
        while True:
            page = await self._ask("list", lambda _: anext(stream, None))
            if page is None:
                return
            yield [StoredObject(one["path"], one["size"], one["last_modified"]) for one in page]

    async def _ask(self, act: str, ask: Callable[[S3Store], Awaitable[R]]) -> R:
        """Return the answer to a request, and count how it ended."""
        from obstore.exceptions import BaseError

        outcome = "failed"
        try:
            async with asyncio.timeout(SECONDS_MAX):
                answer = await ask(self._opened())
            outcome = "done"
        except ObjectTooLarge:
            outcome = "too_large"
            raise
        except FileNotFoundError as error:
            if act != "get" or _NO_BUCKET in str(error):
                raise StoreUnavailable(f"there is no bucket {self.place.bucket} at {self.place.url}") from None
            outcome = "missing"
            raise ObjectMissing from None
        except (BaseError, OSError) as error:  # also TimeoutError
            # The chain of causes and the rest of the message may repeat what the store has sent, key id and all.
            raise StoreUnavailable(f"{self.place.url}: {_why(error)}") from None
        finally:
            self.outcomes[act, outcome] += 1
        return answer

    def _opened(self) -> S3Store:
        if self._store is None:
            from obstore.store import S3Store

            place = self.place
            self._store = S3Store(
                place.bucket,
                prefix=place.prefix or None,
                # The environment, which the library reads too, must not lead to another place or another account.
                endpoint=_base(place),
                aws_endpoint_url_s3=_base(place),
                region=place.region,
                skip_signature=False,
                virtual_hosted_style_request=place.bucket_in_host,
                credential_provider=partial(_credential, place),
                client_options={
                    "allow_http": place.url.startswith("http://"),
                    "connect_timeout": timedelta(seconds=CONNECT_SECONDS_MAX),
                    "timeout": timedelta(seconds=TRY_SECONDS_MAX),
                },
                retry_config={
                    "max_retries": TRIES_AGAIN,
                    "retry_timeout": timedelta(seconds=TRY_SECONDS_MAX),
                    "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=1), "base": 2},
                },
            )
        return self._store


def _credential(place: StorePlace) -> S3Credential:
    return {
        "access_key_id": place.access_key_id,
        "secret_access_key": place.secret_access_key,
        "token": None,
        "expires_at": None,
    }


def _base(place: StorePlace) -> str:
    """Return the address that the library takes: it adds the bucket to a path, but not to a host."""
    return place.url if place.bucket_in_host else place.url.removesuffix(f"/{place.bucket}")


def _why(error: Exception) -> str:
    """Return why a request failed, without what the store has sent."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    status = _STATUS.search(str(error))
    if status is not None:
        return f"it answers {status[1].strip()}"
    if "HTTP error" in str(error):
        return "it cannot be reached, or does not answer in time"
    return "its answer is not that of an S3 store"
