"""What every client of a house asks with: answers come as they are, never packed, and are read to a bound.

What answers at the address may be no house, or a hostile one: a megabyte of gzip unpacks to a gigabyte, and a body
need not end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import aiohttp

SMALL_BYTES_MAX = 1024 * 1024
"""The longest answer that is no list and no ledger."""
LIST_BYTES_MAX = 32 * 1024 * 1024
"""A page of a hundred lots with the longest descriptions is a fifth of it."""
RETRY_SECONDS_MAX = 300.0
CHUNK_BYTES = 64 * 1024
_NO_HEADERS: Mapping[str, str] = {}


class TooMuch(aiohttp.ClientError):
    """The answer is packed, though nobody asked for that, or longer than any of a house."""


def session(
    timeout: aiohttp.ClientTimeout,
    connector: aiohttp.BaseConnector | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
) -> aiohttp.ClientSession:
    """Return a session that keeps no cookies and unpacks nothing. Call it in the event loop."""
    return aiohttp.ClientSession(
        timeout=timeout,
        connector=connector,
        headers={"Accept-Encoding": "identity", **headers},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )


def is_packed(response: aiohttp.ClientResponse) -> bool:
    """Whether an answer's bytes are not those that it says."""
    return response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")


async def chunks(response: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
    """Yield the body of an answer as it comes. Raises TooMuch where it is packed, or longer than `most` bytes."""
    if is_packed(response):
        raise TooMuch("packed")
    size = 0
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        size += len(chunk)
        if size > most:
            raise TooMuch(f"more than {most} bytes")
        yield chunk


async def body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the body of an answer. Raises TooMuch where it is packed, or longer than `most` bytes."""
    return b"".join([chunk async for chunk in chunks(response, most)])


def retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Return after how many seconds to ask again, as the answer says, within reason; None where it does not say."""
    text = response.headers.get("Retry-After", "")
    if not (text.isascii() and text.isdigit()):
        return None
    return min(float(text[:9]), RETRY_SECONDS_MAX)
