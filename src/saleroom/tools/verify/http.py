"""Ledgers and keys read from a house over HTTP, within bounds of size and time, and from no other host than the one given."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec
from msgspec import Struct

from saleroom.tools.amounts import KEYS_PATH, currency_of
from saleroom.tools.arguments import AuctionAddress, bare, find_auction, split
from saleroom.tools.errors import NoAnswer, ToolError, not_a_house
from saleroom.tools.http_client import SMALL_BYTES_MAX, HttpClient, Response, UnfitBody
from saleroom.tools.verify.reading import LEDGER_BYTES_MAX
from saleroom.tools.verify.source import FORM

T = TypeVar("T")

SMALL_SECONDS_MAX, LEDGER_SECONDS_MAX = 60.0, 3600.0
REDIRECTS_MAX = 5
IN_MEMORY_BYTES_MAX = 8 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}


class AuctionHead(Struct, frozen=True):
    """The version of an auction, and the hash of its last event, as the house shows them."""

    gid: str
    version: int
    head: str


def fetch_lot(address: AuctionAddress, progress: Callable[[int], None]) -> tuple[AuctionHead, str | None, BinaryIO]:
    """Return an auction's head, its currency, and its ledger, which is read last and so as new or newer. Raises ToolError.

    The currency is None if the house does not tell it.
    """

    async def work(client: HttpClient) -> tuple[AuctionHead, str | None, BinaryIO]:
        url = f"{address.base}/auctions/{address.gid}"
        try:
            head = msgspec.json.decode(await _small(client, url), type=AuctionHead)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise not_a_house(url) from None
        currency = None
        with suppress(ToolError):
            currency = currency_of(await _small(client, f"{address.base}{KEYS_PATH}"))
        return head, currency, await _ledger(client, f"{url}/ledger", progress)

    return _run(work)


def fetch_keys(url: str) -> bytes:
    """Return the keys of a house as it sends them; `url` is its address, that of a lot, or that of the keys.

    Raises ToolError, WrongUsage.
    """
    parts = split(url, FORM)
    lot = find_auction(parts)
    house = bare(parts) if lot is None else lot.base
    return _run(lambda client: _small(client, house if house.endswith(".json") else f"{house}{KEYS_PATH}"))


def _run(work: Callable[[HttpClient], Coroutine[Any, Any, T]]) -> T:
    async def with_client() -> T:
        client = HttpClient("", "saleroom verify", total_seconds_max=LEDGER_SECONDS_MAX, follow_redirects=False)
        async with client:
            return await work(client)

    return asyncio.run(with_client())


async def _small(client: HttpClient, url: str) -> bytes:
    """Return a small JSON answer."""
    try:
        async with asyncio.timeout(SMALL_SECONDS_MAX), _opened(client, url, "application/json") as response:
            return await response.body(SMALL_BYTES_MAX)
    except TimeoutError:
        raise ToolError(f"{url} cannot be read: no answer in time") from None


async def _ledger(client: HttpClient, url: str, progress: Callable[[int], None]) -> BinaryIO:
    """Return a ledger as a temporary file, which closing removes."""
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES_MAX)  # noqa: SIM115  # the caller closes it
    try:
        async with _opened(client, url, "application/x-ndjson") as response:
            async for chunk in response.chunks(LEDGER_BYTES_MAX):
                file.write(chunk)
                progress(file.tell())
    except BaseException:  # Ctrl-C too: nobody else closes the file; raised again
        file.close()
        raise
    file.seek(0)
    return cast("BinaryIO", file)


@asynccontextmanager
async def _opened(client: HttpClient, url: str, content_type: str) -> AsyncIterator[Response]:
    """Give the answer at `url`, or where redirects on the same host lead. Raises ToolError, also while the body is read."""
    try:
        for _ in range(REDIRECTS_MAX + 1):
            async with client.open("GET", url) as response:
                if 300 <= response.status < 400:
                    url = _target(url, response.location)
                    continue
                _check(url, response, content_type)
                yield response
                return
    except UnfitBody:
        raise ToolError(f"{url} answers more than a house would; check the address") from None
    except (NoAnswer, ValueError) as error:
        raise ToolError(f"{url} cannot be read: {error}") from None
    raise ToolError(f"{url} cannot be read: it redirects without end")


def _check(url: str, response: Response, content_type: str) -> None:
    if response.status == 404 and response.content_type == "application/json":
        raise ToolError(f"{url} is not there: the house knows no such auction")
    if response.status == 429 or response.status >= 500:
        raise ToolError(f"{url} cannot be read now (status {response.status}); try again in a moment")
    if response.status != 200 or response.content_type != content_type or response.compressed:
        raise not_a_house(url)


def _target(url: str, location: str) -> str:
    """Return the target of a redirect if it is on the same host and no less secure. Raises ToolError."""
    here, there = urlsplit(url), urlsplit(urljoin(url, location))
    same = _place(there) == _place(here)
    secured = there.scheme == "https" and here.scheme == "http" and there.hostname == here.hostname
    if not location or there.username is not None or not (same or secured):
        raise ToolError(f"{url} redirects to another host; give the address at which the house itself answers")
    return there.geturl()


def _place(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
