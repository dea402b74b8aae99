"""Every setting in one table, with name, default and help; and the only code that reads settings.

A setting comes from the first of: a flag, the environment (`SALEROOM_` and its name in capitals; an empty variable counts
as not set), a TOML file, its default. All wrong and unknown settings are named at once.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from babel.numbers import is_currency
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from saleroom.kernel.texts import hidden_fault, shown_fault
from saleroom.mqtt.topics import MqttSettings
from saleroom.storage.database import parse_url

PREFIX = "SALEROOM_"
CONFIG_VARIABLE = "SALEROOM_CONFIG"
FOREIGN_PREFIXES = ("SALEROOM_TEST_", "SALEROOM_INTERNAL_")
"""Variables of the tests, and between this program's own processes; they are not settings."""
EMBEDDED_ONLY = ("mqtt_host", "mqtt_port", "mqtt_websocket_port")
"""Settings that only the embedded MQTT broker has."""


def _no_truth(value: object) -> object:
    """Refuse `true` for a number: Python would count it as 1."""
    if isinstance(value, bool):
        raise ValueError("write a whole number")
    return value


def _by_commas(value: object) -> object:
    """Split a list that a flag or the environment gives as one string."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _lowered(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _trimmed(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


Number = Annotated[int, BeforeValidator(_no_truth)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_by_commas)]


class Settings(BaseModel):
    """The settings of one house, checked. URLs stay as people wrote them; they may hold passwords, so no repr shows them."""

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
    registration: Literal["open", "closed"] = Field(
        "open", description="open lets everybody register; closed leaves it to `saleroom users add`."
    )
    registrations_per_hour: Number = Field(300, ge=1, description="Registrations that one address may make in an hour.")
    failed_logins_per_hour: Number = Field(
        600, ge=10, description="Failed logins that one address may have in an hour, whatever the names."
    )
    auctions_per_user_max: Number = Field(
        1000, ge=1, le=1_000_000, description="Auctions that one user may run at a time, and create in 24 hours."
    )
    body_bytes_max: Number = Field(65536, ge=1024, le=2**24, description="Largest request body, in bytes.")
    photo_bytes_max: Number = Field(
        20_000_000, ge=100_000, le=100_000_000, description="Largest file of a photo, in bytes."
    )
    cors_origins: Texts = Field((), description="Origins whose pages may use the API, such as https://shop.example.")
    trusted_proxies: Texts = Field(
        (), description="Addresses or networks of reverse proxies whose X-Forwarded-For is believed."
    )
    public_url: str | None = Field(
        None, description="Address that people see, such as https://bids.example; https makes cookies secure."
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
    outage_reopens: bool = Field(True, description="Whether auctions that ended during an outage get time again.")
    followers_max: Number = Field(
        10_000, ge=1, le=1_000_000, description="Readers of server-sent events that each process serves at a time."
    )
    connections_max: Number = Field(
        20_000,
        ge=10,
        le=1_000_000,
        description="Connections that each process keeps, as far as it may open so many files.",
    )
    connections_per_address_max: Number = Field(
        2_000,
        ge=1,
        le=1_000_000,
        description="Connections from one address that each process keeps; a trusted proxy has any.",
    )
    signing_key_file: Path | None = Field(
        None,
        description="File (PEM, Ed25519) of the key that receipts are signed with; made if missing. None: the database.",
    )
    load_key: SecretStr | None = Field(
        None, description="Key with which `saleroom load` gets test users; 16 characters or more. Without it: none."
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lowered)] = Field(
        "info", description="Least important kind of log line to write: debug, info, warning or error."
    )
    log_format: Literal["console", "json"] = Field("console", description="Log lines for people (console) or programs.")

    @field_validator("host", "mqtt_host")
    @classmethod
    def _one_word(cls, value: str) -> str:
        if not re.fullmatch(r"[^\s/]+", value):
            raise ValueError("write an address such as 127.0.0.1, 0.0.0.0 or ::1")
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

    @field_validator("cors_origins")
    @classmethod
    def _plain_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not re.fullmatch(r"https?://[^/?#@*\s]+", origin):
                raise ValueError(f"{origin!r} is no origin; write https://host or https://host:port, each by name")
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

    @field_validator("load_key")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]{16,256}", value.get_secret_value()):
            raise ValueError("write 16 to 256 characters without spaces, all of them ASCII")
        return value

    @field_validator("public_url")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("write http://host or https://host")
        return value


class SettingsError(Exception):
    """Settings that cannot be used: one line for each fault, and never a secret in it."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def load(flags: Mapping[str, object], environ: Mapping[str, str], config: str | None = None) -> Settings:
    """Return the settings from `flags` (by name; None if not given), `environ` and the TOML file `config`.

    Without `config` the file is the one that SALEROOM_CONFIG names, if any. Raises SettingsError with all faults.
    """
    faults: list[str] = []
    values: dict[str, object] = {}
    said: dict[str, str] = {}
    """The place at which the user set each setting."""
    file = config or environ.get(CONFIG_VARIABLE)
    for name, value in _from_file(file, faults).items():
        values[name], said[name] = value, f"{name} in {file}"
    for variable, text in _from_environment(environ, faults):
        name = variable.removeprefix(PREFIX).lower()
        values[name], said[name] = text, variable
    for name, value in flags.items():
        if value is not None:
            values[name], said[name] = value, flag(name)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise SettingsError(faults + [_line(detail, said) for detail in details]) from None
    if settings.mqtt not in ("embedded", "off"):
        remedy = "leave it out, and write the other broker's host and port into mqtt"
        faults += [f"{said[name]} is for the embedded broker: {remedy}" for name in EMBEDDED_ONLY if name in said]
    if faults:
        raise SettingsError(faults)
    return settings


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return f"--{name.replace('_', '-')}"


def explain(name: str) -> str:
    """Return a setting's help and its default, for people."""
    field = Settings.model_fields[name]
    return f"{field.description} Default: {shown_default(name)}."


def shown_default(name: str) -> str:
    """Return a setting's default as a user would write it."""
    default: Any = Settings.model_fields[name].default
    return "none" if default is None or default == () else str(default).lower() if default is True else str(default)


def _from_file(file: str | None, faults: list[str]) -> dict[str, Any]:
    """Read the known settings of a TOML file; add its faults to `faults`."""
    if file is None:
        return {}
    try:
        content = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        faults.append(f"cannot read {file}: {error.strerror}")
        return {}
    except ValueError as error:
        faults.append(f"{file} is not TOML: {error}")
        return {}
    known = Settings.model_fields
    faults += [f"{key} in {file} is no setting{_nearest(key, list(known))}" for key in content if key not in known]
    return {key: value for key, value in content.items() if key in known}


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are settings; add to `faults` those that only look like one."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for variable, text in environ.items():
        if variable in known:
            if text:
                yield variable, text
        elif (
            variable.upper().startswith(PREFIX)
            and variable != CONFIG_VARIABLE
            and not variable.startswith(FOREIGN_PREFIXES)
        ):
            faults.append(f"{variable} is no setting{_nearest(variable.upper(), [*known, CONFIG_VARIABLE])}")


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else "; docs/settings.md lists all"


def _line(detail: ErrorDetails, said: Mapping[str, str]) -> str:
    """Return the line for one fault: the place at which the user set it, and the correction."""
    name = str(detail["loc"][0])
    reason = str(detail["ctx"]["error"]) if detail["type"] == "value_error" else detail["msg"]
    return f"{said.get(name, name)}: {reason}"
