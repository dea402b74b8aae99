"""How to reach the broker, the names of topics, and the messages from and to devices."""

import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum

from saleroom.kernel.server_urls import authority, server_url

ONLINE = b'{"status":"online"}'
OFFLINE = b'{"status":"offline"}'
AUCTIONS = "auctions"
"""The level of the topics of auctions, after the prefix."""
QOS_AT_LEAST_ONCE = 1
KEEPALIVE_SECONDS = 20

_FORM = "write mqtt://user:password@host:1883, and in a password / ? # @ as %2F %3F %23 %40"
_PORTS = {"mqtt": 1883, "mqtts": 8883}


class Version(StrEnum):
    """The version of MQTT to speak; `auto` is 5, or 3.1.1 if the broker refuses 5."""

    AUTO = "auto"
    V5 = "5"
    V311 = "3.1.1"


@dataclass(frozen=True)
class DeviceMessage:
    """A message from a device. `retained`: the broker had stored it, so its age is unknown.

    A response topic and correlation data exist in MQTT 5 only.
    """

    topic: str
    payload: bytes = field(repr=False)
    retained: bool = False
    response_topic: str | None = None
    correlation: bytes | None = None


@dataclass(frozen=True)
class Reply:
    """An answer to a device: JSON, and on MQTT 5 the correlation data of the message."""

    topic: str
    payload: bytes
    correlation: bytes | None = None


Ask = Callable[[DeviceMessage], Awaitable[Reply | None]]
"""Takes a message and returns its answer, or None if no answer is wanted."""


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
    version: Version = Version.AUTO

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
        version: Version = Version.AUTO,
    ) -> "MqttSettings":
        """Read `mqtt://[user[:password]@]host[:port]`, or `mqtts://` for TLS (ports 1883 and 8883).

        User and password in the URL are percent-decoded; those given as arguments come first. `ca_file` (PEM)
        replaces the machine's own list of authorities. Raises ValueError naming the fault, never the password.
        """
        server = server_url(url, "MQTT", _PORTS, _FORM)
        tls = server.scheme == "mqtts"
        if not client_id or "\0" in client_id:
            raise ValueError("the MQTT client id must not be empty or hold a NUL character")
        if not prefix.endswith("/") or re.search(r"[+#\0]", prefix):
            raise ValueError(f"the MQTT prefix must end with '/' and hold no '+', '#' or NUL, not {prefix!r}")
        if ca_file is not None and not tls:
            raise ValueError("an MQTT authority file is of use over TLS only: write mqtts:// instead of mqtt://")
        settings = cls(
            server.host,
            server.port,
            user=user if user is not None else server.user,
            password=password if password is not None else server.password,
            client_id=client_id,
            prefix=prefix,
            tls=tls,
            ca_file=ca_file,
            version=version,
        )
        if settings.password is not None and settings.user is None:
            raise ValueError("an MQTT password needs a user")
        settings.tls_context()
        return settings

    @property
    def url(self) -> str:
        """The broker's address without the account, for people."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{authority(self.host, self.port)}"

    @property
    def status_topic(self) -> str:
        """The topic on which `ONLINE` or `OFFLINE` is retained."""
        return f"{self.prefix}status"

    def state_topic(self, gid: str, of: str = AUCTIONS) -> str:
        """Return the topic on which the public state of an auction, or of another aggregate, is retained."""
        return f"{self.prefix}{of}/{gid}/state"

    def events_topic(self, gid: str, of: str = AUCTIONS) -> str:
        """Return the topic of the events of an auction or of another aggregate."""
        return f"{self.prefix}{of}/{gid}/events"

    @property
    def commands_filter(self) -> str:
        """The filter for every topic on which devices bid."""
        return f"{self.prefix}auctions/+/bids"

    def tls_context(self) -> ssl.SSLContext | None:
        """Make the context for TLS, or None without it. Raises ValueError if the authority file cannot be used."""
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = error.strerror or "it holds no certificate in PEM form"
            raise ValueError(f"the MQTT authority file {self.ca_file!r} cannot be used: {reason}") from None
