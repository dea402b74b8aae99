"""A ledger and keys from a house over HTTP: bounded in size and time, and from no other host than the one that was named."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, BinaryIO, NoReturn, TypeVar, cast
from urllib.parse import SplitResult, urljoin, urlsplit

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from saleroom.tools import http_client
from saleroom.tools.connection_errors import why
from saleroom.tools.verify.reading import LEDGER_BYTES_MAX
from saleroom.tools.verify.source import KEYS_PATH, SMALL_BYTES_MAX, CannotRead, Lot, split

T = TypeVar("T")

CONNECT_SECONDS_MAX = 10.0
SILENCE_SECONDS_MAX = 45.0
SMALL_SECONDS_MAX, LEDGER_SECONDS_MAX = 60.0, 3600.0
REDIRECTS_MAX = 5
IN_MEMORY_BYTES_MAX = 8 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}


class Standing(Struct, frozen=True):
    """Where the house says that an auction stands."""

    gid: str
    version: int
    head: str


def fetch_lot(place: Lot, progress: Callable[[int], None]) -> tuple[Standing, BinaryIO]:
    """Return where the house says that an auction stands, and its ledger, which is then as new or newer.

    Raises CannotRead.
    """

    async def work(house: _House) -> tuple[Standing, BinaryIO]:
        path = f"{place.base}/auctions/{place.gid}"
        raw = await house.small(path, "application/json")
        try:
            standing = msgspec.json.decode(raw, type=Standing)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            house.no_house(path)
        return standing, await house.ledger(f"{path}/ledger", progress)

    return _ask(work)


def fetch_keys(url: str) -> bytes:
    """Return what a house says of its keys; `url` is its address, or that of the keys. Raises CannotRead, WrongUsage."""
    parts = split(url)
    path = parts.path if parts.path.endswith(".json") else f"{parts.path.rstrip('/')}{KEYS_PATH}"
    address = f"{parts.scheme}://{parts.netloc}{path}"
    return _ask(lambda house: house.small(address, "application/json"))


def _ask(work: Callable[[_House], Coroutine[Any, Any, T]]) -> T:
    async def asked() -> T:
        timeout = aiohttp.ClientTimeout(
            total=LEDGER_SECONDS_MAX, sock_connect=CONNECT_SECONDS_MAX, sock_read=SILENCE_SECONDS_MAX
        )
        async with http_client.session(timeout) as http:
            return await work(_House(http))

    return asyncio.run(asked())


class _House:
    """Asks for what is at an address."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http

    async def small(self, url: str, content_type: str) -> bytes:
        """Return a small answer whole."""
        try:
            async with asyncio.timeout(SMALL_SECONDS_MAX):
                return b"".join([chunk async for chunk in self._chunks(url, content_type, SMALL_BYTES_MAX)])
        except TimeoutError as error:
            raise CannotRead(f"{url} cannot be read: {why(error)}") from None

    async def ledger(self, url: str, progress: Callable[[int], None]) -> BinaryIO:
        """Return a ledger as a file that is gone once it is closed."""
        file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES_MAX)  # noqa: SIM115  # whoever reads it closes it
        try:
            async for chunk in self._chunks(url, "application/x-ndjson", LEDGER_BYTES_MAX):
                file.write(chunk)
                progress(file.tell())
        except BaseException:  # Ctrl-C too: the file must not outlive what was to read it; raised again
            file.close()
            raise
        file.seek(0)
        return cast("BinaryIO", file)

    async def _chunks(self, url: str, content_type: str, most: int) -> AsyncIterator[bytes]:
        """Yield what is at `url`, or where that sends us on the same host. Raises CannotRead."""
        try:
            for _ in range(REDIRECTS_MAX + 1):
                async with self._http.get(URL(url, encoded=True), allow_redirects=False) as response:
                    if 300 <= response.status < 400:
                        url = _elsewhere(url, response.headers.get("Location", ""))
                        continue
                    self._check(url, response, content_type)
                    async for chunk in http_client.chunks(response, most):
                        yield chunk
                    return
        except http_client.TooMuch:
            raise CannotRead(f"{url} answers more than a house would; check the address") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise CannotRead(f"{url} cannot be read: {why(error)}") from None
        raise CannotRead(f"{url} cannot be read: it sends us on without end")

    def _check(self, url: str, response: aiohttp.ClientResponse, content_type: str) -> None:
        if response.status == 404 and response.content_type == "application/json":
            raise CannotRead(f"{url} is not there: the house knows no such auction")
        if response.status == 429 or response.status >= 500:
            raise CannotRead(f"{url} cannot be read now (status {response.status}); try again in a moment")
        if response.status != 200 or response.content_type != content_type or http_client.is_packed(response):
            self.no_house(url)

    def no_house(self, url: str) -> NoReturn:
        """Raise CannotRead for an answer that no house gives."""
        raise CannotRead(f"{url} answers, but not as an auction house does; check the address")


def _elsewhere(url: str, location: str) -> str:
    """Return where a redirect leads, if that is on the same host and no less secure. Raises CannotRead."""
    here, there = urlsplit(url), urlsplit(urljoin(url, location))
    same = _place(there) == _place(here)
    secured = there.scheme == "https" and here.scheme == "http" and there.hostname == here.hostname
    if not location or there.username is not None or not (same or secured):
        raise CannotRead(f"{url} sends us to another host; give the address at which the house itself answers")
    return there.geturl()


def _place(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
