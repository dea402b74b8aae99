"""The settings of the platform, and the types that the settings of all areas share."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from babel.numbers import is_currency
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from saleroom.kernel.errors import Fault
from saleroom.kernel.instants import time_zones
from saleroom.kernel.mail import parse_mail_address
from saleroom.kernel.server_urls import web_origin
from saleroom.kernel.texts import hidden_fault, shown_fault
from saleroom.mqtt.topics import MqttSettings
from saleroom.outbox.smtp import SHOW, SmtpServer
from saleroom.storage.database import parse_url


def _no_truth(value: object) -> object:
    """Refuse `true` for a number: Python would count it as 1."""
    if isinstance(value, bool):
        raise ValueError("write a whole number")
    return value


def _by_commas(value: object) -> object:
    """Split a list that a flag or the environment gives as one string."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _trimmed(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


Number = Annotated[int, BeforeValidator(_no_truth)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_by_commas)]
Numbers = Annotated[tuple[Number, ...], BeforeValidator(_by_commas)]


class PlatformSettings(BaseModel):
    """The platform's settings, checked. URLs stay as people wrote them; they may hold passwords, so no repr shows them."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Number = Field(9000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    database: str = Field(
        "sqlite:///saleroom.db",
        repr=False,
        description="Database: sqlite:///file or postgresql://user:password@host/name.",
    )
    workers: Number = Field(1, ge=1, le=256, description="Processes that serve; more than one needs PostgreSQL.")
    database_pool_size: Number = Field(10, ge=1, le=1000, description="Connections to PostgreSQL of each process.")
    database_pooler: Literal["none", "transaction"] = Field(
        "none", description="transaction if a pooler such as PgBouncer gives each transaction another connection."
    )
    litestream_socket: Path | None = Field(
        None, description="Control socket of Litestream: answers wait until it has copied what they say (SQLite)."
    )
    mqtt_user: str | None = Field(None, min_length=1, description="Account on the MQTT broker.")
    mqtt_password: SecretStr | None = Field(None, description="Password of that account.")
    mqtt_client_id: str = Field("saleroom", min_length=1, description="Client id on the MQTT broker.")
    mqtt_ca_file: str | None = Field(
        None, description="Authorities (PEM) to trust for mqtts://, instead of the system's."
    )
    mqtt_host: str = Field("127.0.0.1", description="Address that the embedded MQTT broker listens on.")
    mqtt_port: Number = Field(
        1883, ge=0, le=65535, description="Port of the embedded MQTT broker; 0 takes a free one, as 1883 does if taken."
    )
    mqtt_websocket_port: Number | None = Field(
        None, ge=0, le=65535, description="Port of the embedded broker for MQTT over WebSocket; without it: none."
    )
    mqtt_version: Literal["auto", "5", "3.1.1"] = Field(
        "auto", description="MQTT version to speak: 5, 3.1.1, or auto for 5 if the broker accepts it."
    )
    mqtt_prefix: str = Field("saleroom/", description="Begins every MQTT topic; ends with a slash.")
    mqtt: str = Field(
        "embedded",
        repr=False,
        description="MQTT broker: embedded, off, or mqtt:// or mqtts:// with user:password@host:port.",
    )
    mail_sender: Annotated[str | None, BeforeValidator(_trimmed)] = Field(
        None, max_length=254, description="Mail address that the house sends from, such as bids@house.example."
    )
    mail_signature: str | None = Field(
        None, max_length=1000, description="Text below each mail of the house, such as its name and postal address."
    )
    smtp_ca_file: str | None = Field(
        None, description="Authorities (PEM) to trust at the mail server, instead of the system's."
    )
    smtp_url: str | None = Field(
        None,
        repr=False,
        description="Mail server: smtp+starttls://user:password@host:587, smtps:// or smtp://; show to show mails on a page.",
    )
    metrics_port: Number | None = Field(
        None, ge=0, le=65535, description="Port for the house's figures (/metrics, OpenMetrics); without it: none."
    )
    metrics_token: SecretStr | None = Field(
        None, description="Token that anyone who reads the figures must send; 16 characters or more. Without it: none."
    )
    metrics_host: str = Field(
        "127.0.0.1", description="Address that the port for figures listens on; beyond this machine it needs a token."
    )
    traces_url: str | None = Field(
        None, description="Address to send traces to (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces."
    )
    traces_share: float = Field(1.0, ge=0, le=1, description="Share of all requests that are traced, from 0 to 1.")
    body_bytes_max: Number = Field(65536, ge=1024, le=2**24, description="Largest request body, in bytes.")
    cors_origins: Texts = Field((), description="Origins whose pages may use the API, such as https://shop.example.")
    trusted_proxies: Texts = Field(
        (), description="Addresses or networks of reverse proxies whose X-Forwarded-For is believed."
    )
    public_url: str | None = Field(
        None, description="Address that people see, such as https://bids.example; https makes cookies secure."
    )
    hsts_subdomains: bool = Field(
        False, description="Whether browsers reach the subdomains of public_url by https alone, too, for a year."
    )
    time_zone: str = Field(
        "UTC", description="Time zone of the house, such as Europe/Berlin, for times in mails, and for days that end."
    )
    currency: str = Field(
        "EUR", description="Currency of all amounts, by its ISO 4217 code, such as USD; pages show it."
    )
    house_name: Annotated[str, BeforeValidator(_trimmed)] = Field(
        "Saleroom", min_length=1, max_length=60, description="Name of the house, on every page."
    )
    house_folder: Path | None = Field(
        None, description="Folder with the house's logo, imprint, privacy page, terms of sale and text after a sale."
    )
    house: Texts = Field(
        (), description="Addresses of the house that saleroom edge follows, such as http://10.0.0.1:9000."
    )
    followers_max: Number = Field(
        10_000, ge=1, le=1_000_000, description="Readers of server-sent events that each process serves at a time."
    )
    connections_max: Number = Field(
        20_000,
        ge=10,
        le=1_000_000,
        description="Connections that the house keeps, as far as its processes may open so many files.",
    )
    connections_per_address_max: Number = Field(
        2_000,
        ge=1,
        le=1_000_000,
        description="Connections from one address that the house keeps; a trusted proxy has any.",
    )

    @property
    def is_https(self) -> bool:
        """Whether people reach the house by https."""
        return (self.public_url or "").startswith("https://")

    @field_validator("host", "mqtt_host", "metrics_host")
    @classmethod
    def _one_word(cls, value: str) -> str:
        if not re.fullmatch(r"[^\s/]+", value):
            raise ValueError("write an address such as 127.0.0.1, 0.0.0.0 or ::1")
        return value

    @field_validator("metrics_token")
    @classmethod
    def _hard_to_guess_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]{16,256}", value.get_secret_value()):
            raise ValueError("write 16 to 256 characters without spaces, all of them ASCII")
        return value

    @field_validator("metrics_host")
    @classmethod
    def _not_open_to_the_world(cls, value: str, info: ValidationInfo) -> str:
        """Check the address with the token, which is why that stands above it."""
        if value not in ("127.0.0.1", "::1", "localhost") and info.data.get("metrics_token") is None:
            raise ValueError("others could read the figures: set metrics_token as well, or leave this at 127.0.0.1")
        return value

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in time_zones():
            raise ValueError("write the name of a time zone, such as Europe/Berlin")
        return value

    @field_validator("database")
    @classmethod
    def _usable_database(cls, value: str) -> str:
        url = parse_url(value)
        if url.get_backend_name() == "sqlite" and (url.query or str(url.database).startswith("file:")):
            raise ValueError("SQLite takes a file and no options: write sqlite:///saleroom.db")
        return value

    @field_validator("workers")
    @classmethod
    def _one_process_on_sqlite(cls, value: int, info: ValidationInfo) -> int:
        if value > 1 and info.data.get("database", "").startswith("sqlite"):
            raise ValueError("SQLite serves one process: set workers to 1, or database to a postgresql:// URL")
        return value

    @field_validator("litestream_socket")
    @classmethod
    def _copies_sqlite(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None and not info.data.get("database", "sqlite").startswith("sqlite"):
            raise ValueError("Litestream copies SQLite; PostgreSQL has standbys (deploy/three-nodes/)")
        return value

    @field_validator("mqtt_prefix")
    @classmethod
    def _usable_prefix(cls, value: str) -> str:
        if not value.endswith("/") or re.search(r"[+#\0]", value) or value.startswith("$"):
            raise ValueError("end it with /, do not begin with $, and use no +, # or NUL")
        return value

    @field_validator("mqtt")
    @classmethod
    def _usable_broker(cls, value: str, info: ValidationInfo) -> str:
        """Check the broker with its account and authorities, which is why they stand above it."""
        if value in ("embedded", "off"):
            return value
        if "://" not in value:
            raise ValueError("write embedded, off, mqtt://host or mqtts://host")
        password = info.data.get("mqtt_password")
        MqttSettings.from_url(
            value,
            user=info.data.get("mqtt_user"),
            password=None if password is None else password.get_secret_value(),
            ca_file=info.data.get("mqtt_ca_file"),
        )
        return value

    @field_validator("mail_sender")
    @classmethod
    def _one_address(cls, value: str | None) -> str | None:
        found = None if value is None else parse_mail_address(value)
        if isinstance(found, Fault):
            raise ValueError("write one mail address alone, such as bids@house.example")
        return found

    @field_validator("mail_signature")
    @classmethod
    def _plain_text(cls, value: str | None) -> str | None:
        if value is not None and hidden_fault(value, lines=True):
            raise ValueError("write a text without control characters")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _usable_mail_server(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Check the mail server with the sender and the authorities, which is why they stand above it."""
        if value == SHOW:
            if info.data.get("workers", 1) > 1:
                raise ValueError("mails are shown by one process: set workers to 1, or name a mail server")
        elif value is not None:
            SmtpServer.from_url(value, ca_file=info.data.get("smtp_ca_file"))
            if "mail_sender" in info.data and info.data["mail_sender"] is None:
                raise ValueError("it needs mail_sender too: the address that the house sends from")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _plain_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        found = [(url, web_origin(url)) for url in value]
        for url, origin in found:
            if origin is None:
                raise ValueError(f"{url!r} is no origin; write https://host or https://host:port, each by name")
        return tuple(origin for _, origin in found if origin is not None)

    @field_validator("house")
    @classmethod
    def _bare_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for url in value:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
                raise ValueError("write http://host:port or https://host, without an account")
            if parts.query or parts.fragment:
                raise ValueError("leave out what follows a ? or a #")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ipaddress.ip_network(network)
        return value

    @field_validator("currency")
    @classmethod
    def _known_currency(cls, value: str) -> str:
        if not is_currency(value.upper()):
            raise ValueError("write the ISO 4217 code of a currency, such as EUR, USD or GBP")
        return value.upper()

    @field_validator("house_name")
    @classmethod
    def _shown_in_full(cls, value: str) -> str:
        if hidden_fault(value, lines=False) or shown_fault(value):
            raise ValueError("write a name without control characters")
        return value

    @field_validator("traces_url")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("write http://host or https://host")
        return value

    @field_validator("public_url")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        """Links begin with it, and `https://` at its start makes cookies secure. The house has the root of a host to itself."""
        origin = None if value is None else web_origin(value.strip())
        if value is not None and origin is None:
            raise ValueError(
                "write http://host or https://host, without an account, spaces, a path, and what follows a ? or a #"
            )
        return origin
