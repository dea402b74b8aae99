"""The service as an MQTT client: where the broker is, what the topics are called, how it connects.

It speaks MQTT 3.1.1, which both the embedded broker and every standard one understand.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

import aiomqtt

ONLINE = b'{"status":"online"}'
OFFLINE = b'{"status":"offline"}'
QOS_AT_LEAST_ONCE = 1
IN_FLIGHT_MAX = 100
KEEPALIVE_SECONDS = 20
CONNECT_SECONDS_MAX = 10.0
ACKNOWLEDGE_SECONDS_MAX = 30.0
FAREWELL_SECONDS_MAX = 2.0

_FORM = "write mqtt://user:password@host:1883, and in a password / ? # @ as %2F %3F %23 %40"
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class MqttSettings:
    """A broker, the account on it, and the prefix of all topics. `user` None is an anonymous client."""

    host: str
    port: int
    _: KW_ONLY
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    client_id: str = "saleroom"
    prefix: str = "saleroom/"
    tls: bool = False
    ca_file: str | None = None

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        client_id: str = "saleroom",
        prefix: str = "saleroom/",
        ca_file: str | None = None,
    ) -> "MqttSettings":
        """Read `mqtt://[user[:password]@]host[:port]`, or `mqtts://` for TLS (ports 1883 and 8883).

        User and password in the URL are percent-decoded; those given as arguments come first. `ca_file` (PEM)
        replaces the machine's own list of authorities. Raises ValueError naming the fault, never the password.
        """
        parts, port = _split(url)
        tls = parts.scheme == "mqtts"
        if not client_id or "\0" in client_id:
            raise ValueError("the MQTT client id must not be empty or hold a NUL character")
        if not prefix.endswith("/") or re.search(r"[+#\0]", prefix):
            raise ValueError(f"the MQTT prefix must end with '/' and hold no '+', '#' or NUL, not {prefix!r}")
        if ca_file is not None and not tls:
            raise ValueError("an MQTT authority file is of use over TLS only: write mqtts:// instead of mqtt://")
        settings = cls(
            parts.hostname or "",
            port or _PORTS[parts.scheme],
            user=user if user is not None else _decoded(parts.username),
            password=password if password is not None else _decoded(parts.password),
            client_id=client_id,
            prefix=prefix,
            tls=tls,
            ca_file=ca_file,
        )
        if settings.password is not None and settings.user is None:
            raise ValueError("an MQTT password needs a user")
        settings.tls_context()
        return settings

    @property
    def url(self) -> str:
        """The broker's address without the account, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"

    @property
    def status_topic(self) -> str:
        """Where `ONLINE` or `OFFLINE` is retained."""
        return f"{self.prefix}status"

    def state_topic(self, gid: str) -> str:
        """Where an auction's public state is retained."""
        return f"{self.prefix}auctions/{gid}/state"

    def events_topic(self, gid: str) -> str:
        """Where an auction's events pass."""
        return f"{self.prefix}auctions/{gid}/events"

    def tls_context(self) -> ssl.SSLContext | None:
        """Make the context for TLS, or None without it. Raises ValueError where the authority file is no good."""
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = error.strerror or "it holds no certificate in PEM form"
            raise ValueError(f"the MQTT authority file {self.ca_file!r} cannot be used: {reason}") from None


@asynccontextmanager
async def connect(settings: MqttSettings) -> AsyncIterator[aiomqtt.Client]:
    """Connect, retain `ONLINE` as the status, and `OFFLINE` on the way out; the Last Will says it for a dead process.

    All processes share one client id: the broker cuts the older connection off, so that two never publish at once.
    Raises aiomqtt.MqttError where the broker cannot be reached, refuses, or does not answer.
    """
    try:
        tls_context = settings.tls_context()
    except ValueError as error:
        raise aiomqtt.MqttError(str(error)) from error
    client = aiomqtt.Client(
        settings.host,
        settings.port,
        username=settings.user,
        password=settings.password,
        identifier=settings.client_id,
        will=aiomqtt.Will(settings.status_topic, OFFLINE, QOS_AT_LEAST_ONCE, retain=True),
        clean_session=True,
        keepalive=KEEPALIVE_SECONDS,
        timeout=CONNECT_SECONDS_MAX,
        max_inflight_messages=IN_FLIGHT_MAX,
        max_concurrent_outgoing_calls=IN_FLIGHT_MAX,
        tls_context=tls_context,
    )
    client.pending_calls_threshold = IN_FLIGHT_MAX
    async with client:
        await publish(client, settings.status_topic, ONLINE, retain=True)
        try:
            yield client
        finally:
            with suppress(aiomqtt.MqttError, TimeoutError):  # a broker that is gone has said the Last Will
                async with asyncio.timeout(FAREWELL_SECONDS_MAX):
                    await publish(client, settings.status_topic, OFFLINE, retain=True)


async def publish(client: aiomqtt.Client, topic: str, payload: bytes, *, retain: bool = False) -> None:
    """Publish at least once, and return when the broker has acknowledged. Raises aiomqtt.MqttError if it does not."""
    await client.publish(topic, payload, QOS_AT_LEAST_ONCE, retain, timeout=ACKNOWLEDGE_SECONDS_MAX)


async def closed(client: aiomqtt.Client) -> None:
    """Wait until the connection is lost, then raise aiomqtt.MqttError; a pending publish does not notice by itself."""
    async for _ in client.messages:
        pass


def _split(url: str) -> tuple[SplitResult, int | None]:
    """Take a URL apart. The library's own errors may show the password, so they are not passed on."""
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise ValueError(f"the MQTT URL has no valid host and port; {_FORM}") from None
    if parts.scheme not in _PORTS:
        raise ValueError("the MQTT URL must start with mqtt:// or mqtts://")
    if not parts.hostname:
        raise ValueError(f"the MQTT URL names no host; {_FORM}")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"the MQTT URL goes on after host and port; {_FORM}")
    if port == 0:
        raise ValueError("the MQTT URL has port 0; write one from 1 to 65535, or none")
    return parts, port


def _decoded(text: str | None) -> str | None:
    """Percent-decode a user or a password."""
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError:
        raise ValueError("user and password in the MQTT URL must be percent-encoded UTF-8") from None
