"""The client by which all tools ask a house over HTTP.

Another server may answer at the address, even a hostile one. The client therefore asks for uncompressed bodies, refuses
compressed ones, and reads every body only up to a bound: a megabyte of gzip unpacks to a gigabyte, and a body may never end.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from saleroom.tools.connection_errors import why
from saleroom.tools.errors import NoAnswer
from saleroom.tools.event_stream import Comment, EventStreamParser, Message

SMALL_BYTES_MAX = 1024 * 1024
"""The longest answer that is no list and no ledger."""
LIST_BYTES_MAX = 32 * 1024 * 1024
"""A page of a hundred lots with the longest descriptions has a fifth of it."""
CHUNK_BYTES = 64 * 1024
CONNECT_SECONDS_MAX = 10.0
SILENCE_SECONDS_MAX = 45.0
"""A house sends a comment every 15 seconds: a stream that is silent for three times as long is dead."""
RETRY_SECONDS_MAX = 300.0
_NO_HEADERS: Mapping[str, str] = {}


class UnfitBody(NoAnswer):
    """The body is compressed although the client did not ask for it, or longer than any body of a house."""


class Answer(Struct, frozen=True):
    """A whole answer. `retry_after` has the seconds of the Retry-After header, at most RETRY_SECONDS_MAX."""

    status: int
    content_type: str
    body: bytes
    retry_after: float | None


class Response:
    """An answer whose body has not been read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.content_type = response.content_type
        self.location = response.headers.get("Location", "")
        self.compressed = response.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity")

    @property
    def retry_after(self) -> float | None:
        """The seconds after which to ask again, within reason; None if the answer has none."""
        text = self._response.headers.get("Retry-After", "")
        return min(float(text[:9]), RETRY_SECONDS_MAX) if text.isascii() and text.isdigit() else None

    async def chunks(self, bytes_max: int) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises UnfitBody, NoAnswer."""
        if self.compressed:
            raise UnfitBody("its answer is compressed", "Compressed")
        size = 0
        with _no_answer():
            async for chunk in self._response.content.iter_chunked(CHUNK_BYTES):
                size += len(chunk)
                if size > bytes_max:
                    raise UnfitBody(f"its answer is longer than {bytes_max} bytes", "TooLong")
                yield chunk

    async def body(self, bytes_max: int = LIST_BYTES_MAX) -> bytes:
        """Return the body. Raises UnfitBody, NoAnswer."""
        return b"".join([chunk async for chunk in self.chunks(bytes_max)])

    async def events(self, parser: EventStreamParser) -> AsyncIterator[list[Message | Comment]]:
        """Yield what each chunk of a stream of events completes. Raises NotAnEventStream, NoAnswer."""
        with _no_answer():
            async for chunk in self._response.content.iter_any():
                yield list(parser.feed(chunk))


class HttpClient:
    """A client of the house at `url`; `name` says which tool asks. It keeps no cookies.

    `total_seconds_max` bounds a whole request, `connections_max` the open connections, 0 for no bound.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        total_seconds_max: float,
        connect_seconds_max: float = CONNECT_SECONDS_MAX,
        connections_max: int = 100,
        tls: ssl.SSLContext | None = None,
        follow_redirects: bool = True,
    ) -> None:
        self.url = url.rstrip("/")
        self._name = name
        self._endless = aiohttp.ClientTimeout(sock_connect=connect_seconds_max, sock_read=SILENCE_SECONDS_MAX)
        self._timeout = aiohttp.ClientTimeout(
            total=total_seconds_max, sock_connect=connect_seconds_max, sock_read=SILENCE_SECONDS_MAX
        )
        self._connections_max = connections_max
        self._tls = tls
        self._follow_redirects = follow_redirects

    async def __aenter__(self) -> Self:
        """Prepare a pool of connections; they are opened with the first requests."""
        self._session = aiohttp.ClientSession(
            timeout=self._timeout,
            connector=aiohttp.TCPConnector(limit=self._connections_max, ssl=self._tls or True),
            headers={"Accept-Encoding": "identity", "X-Requested-With": self._name},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        data: bytes | aiohttp.FormData | None = None,
        *,
        endless: bool = False,
    ) -> AsyncIterator[Response]:
        """Send a request and give its answer as soon as its headers are there. Raises NoAnswer.

        An `endless` answer, such as a stream of events, has no bound in time but SILENCE_SECONDS_MAX.
        """
        with _no_answer():
            response = await self._session.request(
                method,
                URL(f"{self.url}{path}", encoded=True),  # joined by hand: a house may serve below a path of its host
                headers=headers,
                data=data,
                allow_redirects=self._follow_redirects,
                timeout=self._endless if endless else self._timeout,
            )
        async with response:
            yield Response(response)

    async def send(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: Any = None,
        key: str | None = None,
        *,
        bytes_max: int = LIST_BYTES_MAX,
    ) -> Answer:
        """Send a request and return its answer. `body` is JSON, or a WebP picture as bytes. Raises NoAnswer."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "image/webp" if isinstance(body, bytes) else "application/json"
            body = body if isinstance(body, bytes) else msgspec.json.encode(body)
        async with self.open(method, path, headers, body) as response:
            content = await response.body(bytes_max)
            return Answer(response.status, response.content_type, content, response.retry_after)


@contextmanager
def _no_answer() -> Iterator[None]:
    """Raise NoAnswer in place of an error of the connection."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise NoAnswer(why(error), type(error).__name__) from None
