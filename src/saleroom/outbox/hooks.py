"""Posting to the servers of webhooks: within bounds of time and size, and never to a private address unless allowed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Self

import aiohttp
from msgspec import Struct
from yarl import URL

from saleroom.kernel.addresses import is_public
from saleroom.outbox.lookups import Lookups

CONNECT_SECONDS_MAX = 10.0
ANSWER_SECONDS_MAX = 20.0
"""From the first look at the name to the end of the answer."""
ANSWER_BYTES_MAX = 64 * 1024
"""Of a longer answer the rest is not read: the connection ends."""
RECEIVED_BYTES_MAX = 2 * ANSWER_BYTES_MAX
"""Of an answer with all that stands around it: interim answers, headers, and the sizes of chunks with what they say beside."""
RETRY_AFTER_MAX = 24 * 3600.0
GONE = 410


class PrivateAddress(OSError):
    """The address that the name resolved to is one of this machine or of a private network."""


class PostResult(Struct, frozen=True):
    """What came of a post: the status of the answer, or why there was none; and how long the server wants peace."""

    status: int | None
    fault: str | None
    retry_after: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the server has taken it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def reason(self) -> str:
        """Why it has not, in words without any part of the address, which may hold a secret."""
        if self.status is None:
            return self.fault or "there was no answer"
        if 300 <= self.status < 400:
            return f"the server answered {self.status}: give the address that it leads to, as the house follows none"
        return f"the server answered {self.status}"


class _LongAnswer(OSError):
    """The server has sent more than an answer may have before its status was known."""


class _ByteBound(asyncio.Protocol):
    """Stands before the protocol of a connection, and ends the connection if an answer has too many bytes."""

    def __init__(self, transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self.received = 0

    @classmethod
    def begin(cls, transport: asyncio.Transport) -> _ByteBound:
        """Return the bound of a connection whose next answer begins."""
        protocol: Any = transport.get_protocol()
        bound = protocol if isinstance(protocol, cls) else cls(transport, protocol)
        bound.received = 0
        transport.set_protocol(bound)
        return bound

    @property
    def passed(self) -> bool:
        """Whether the answer has had too many bytes."""
        return self.received > RECEIVED_BYTES_MAX

    def data_received(self, data: bytes) -> None:
        """Hand bytes on, up to the bound."""
        self.received += len(data)
        if self.passed:
            self._transport.abort()
        else:
            self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand the end of what the server sends on."""
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand the end of the connection on."""
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Hand on that the server is slow."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that the server has read."""
        self._protocol.resume_writing()


class _BoundedAnswer(aiohttp.ClientResponse):
    """An answer with a bound on all bytes that the server sends for it."""

    bound: _ByteBound

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        """Read the head. Raises _LongAnswer if it has too many bytes."""
        if connection.transport is None:
            raise aiohttp.ServerDisconnectedError
        self.bound = _ByteBound.begin(connection.transport)
        try:
            return await super().start(connection)
        except aiohttp.ClientError:
            if self.bound.passed:
                raise _LongAnswer from None
            raise


class HookClient:
    """Posts to servers of webhooks. Close it at the end."""

    def __init__(self, *, private: bool, ca_file: str | None = None, agent: str = "saleroom") -> None:
        """`private` allows addresses of this machine and of private networks. `ca_file` replaces the list of authorities."""
        self._private = private
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._agent = agent
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostResult:
        """Post once, and return what came of it; never raises for what a server does."""
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS_MAX),
                self._open().post(URL(url), data=body, headers=headers, allow_redirects=False) as answer,
            ):
                await _read_some(answer)
                return PostResult(answer.status, None, _retry_after(answer.headers))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return PostResult(None, _in_words(error))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._tls,
                limit=0,
                use_dns_cache=False,
                resolver=Lookups(),
                socket_factory=self._socket,
                keepalive_timeout=5,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX, sock_connect=CONNECT_SECONDS_MAX),
                auto_decompress=False,
                trust_env=False,
                headers={"User-Agent": self._agent},
                response_class=_BoundedAnswer,
            )
        return self._session

    def _socket(self, info: Any) -> socket.socket:
        """Return a socket for the very address that is connected to next, so that no name can lead elsewhere meanwhile."""
        family, kind, protocol, _, address = info
        if not self._private and not is_public(str(address[0])):
            raise PrivateAddress
        return socket.socket(family, kind, protocol)


async def _read_some(answer: aiohttp.ClientResponse) -> None:
    """Read a short answer, so that its connection can be used again; a longer one ends with its connection."""
    size = 0
    try:
        async for chunk in answer.content.iter_any():
            size += len(chunk)
            if size > ANSWER_BYTES_MAX:
                answer.close()
                return
    except aiohttp.ClientPayloadError:
        if not (isinstance(answer, _BoundedAnswer) and answer.bound.passed):
            raise


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of a header Retry-After, within reason; 0 without one. A date counts by the server's own clock."""
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), RETRY_AFTER_MAX)
    try:
        seconds = (parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("Date", ""))).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), RETRY_AFTER_MAX)


def _in_words(error: BaseException) -> str:
    """Return why there was no answer. The library's own words may show the address."""
    chain: list[BaseException] = [error]
    while (further := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < 10:
        chain.append(further)
    if isinstance(error, aiohttp.ClientConnectorError):
        chain.append(error.os_error)

    def found(*kinds: type[BaseException]) -> bool:
        return any(isinstance(one, kinds) for one in chain)

    rows = (
        (found(_LongAnswer), "its answer is too long"),
        (found(PrivateAddress), "its name leads to an address of this machine or of a private network"),
        (found(ssl.SSLCertVerificationError, aiohttp.ClientConnectorCertificateError), "its certificate is not valid"),
        (found(ssl.SSLError, aiohttp.ClientSSLError), "it does not speak TLS as it should"),
        (found(aiohttp.ClientConnectorDNSError, socket.gaierror), "no host has this name"),
        (found(ConnectionRefusedError), "nothing listens there"),
        (found(TimeoutError), "it did not answer in time"),
        (
            found(aiohttp.ServerDisconnectedError, ConnectionError, aiohttp.ClientPayloadError),
            "it ended the connection",
        ),
        (found(aiohttp.ClientResponseError), "its answer is no HTTP"),
        (found(aiohttp.InvalidURL, ValueError), "its address cannot be used"),
    )
    return next((words for holds, words in rows if holds), "it cannot be reached")
