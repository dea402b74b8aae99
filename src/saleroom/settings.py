"""The settings of all areas and of the platform together; and the only code that reads settings.

A setting comes from the first of: a flag, the environment (`SALEROOM_` and its name in capitals; an empty variable counts
as not set), a folder of secrets (a file for each setting), a TOML file, its default. All wrong and unknown settings are named
at once.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from saleroom.accounts.settings import AccountSettings
from saleroom.bidding.settings import BiddingSettings
from saleroom.kernel.small_files import read_small
from saleroom.notices.settings import NoticeSettings
from saleroom.settlement.settings import SettlementSettings

PREFIX = "SALEROOM_"
CONFIG_VARIABLE = "SALEROOM_CONFIG"
SECRETS_VARIABLE = "SALEROOM_SECRETS"
SECRET_BYTES_MAX = 65_536
"""The largest file of a secret. A longer one is something else, put there by mistake."""
FILE_BYTES_MAX = 1_048_576
"""The largest TOML file."""
FOREIGN_PREFIXES = ("SALEROOM_TEST_", "SALEROOM_INTERNAL_")
"""Variables of the tests, and between this program's own processes; they are not settings."""
EMBEDDED_ONLY = ("mqtt_host", "mqtt_port", "mqtt_websocket_port")
"""Settings that only the embedded MQTT broker has."""
_WHOLE, _FRACTION, _YES_OR_NO = "write a whole number", "write a number", "write true or false"
_REASONS = {
    "value_error": "{error}",
    "greater_than": "write a number above {gt}",
    "greater_than_equal": "write a number from {ge} up",
    "less_than": "write a number below {lt}",
    "less_than_equal": "write a number up to {le}",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _FRACTION,
    "float_parsing": _FRACTION,
    "finite_number": _FRACTION,
    "bool_type": _YES_OR_NO,
    "bool_parsing": _YES_OR_NO,
    "literal_error": "write {expected}",
    "enum": "write {expected}",
    "string_type": "write a text, in quotation marks",
    "string_unicode": "write a text in UTF-8",
    "path_type": "write a path, in quotation marks",
    "tuple_type": "write a list of texts",
    "too_short": "write something, or leave it out",
    "string_pattern_mismatch": "write a text of the form {pattern}",
    "string_too_short": "write a text of at least {min_length} characters",
    "string_too_long": "write a text of at most {max_length} characters",
}
"""The words for each kind of fault that the types of the settings find."""
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # what they mean for a listener


def _lowered(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class Settings(NoticeSettings, SettlementSettings, BiddingSettings, AccountSettings):
    """The settings of one house, checked: those of its areas and of the platform."""

    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lowered)] = Field(
        "info", description="Least important kind of log line to write: debug, info, warning or error."
    )
    log_format: Literal["console", "json"] = Field("console", description="Log lines for people (console) or programs.")


class SettingsError(Exception):
    """Settings that cannot be used: one line for each fault, and never a secret in it."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def load(flags: Mapping[str, object], environ: Mapping[str, str], config: str | None = None) -> Settings:
    """Return the settings from `flags` (by name; None if not given), `environ` and the TOML file `config`.

    Without `config` the file is the one that SALEROOM_CONFIG names, if any. SALEROOM_SECRETS names the folder of secrets, if
    there is one. Raises SettingsError with all faults.
    """
    faults: list[str] = []
    values: dict[str, object] = {}
    said: dict[str, str] = {}
    """The place at which the user set each setting."""
    file = config or environ.get(CONFIG_VARIABLE)
    for name, value in _from_file(file, faults).items():
        values[name], said[name] = value, f"{name} in {file}"
    for name, (text, place) in _from_folder(environ.get(SECRETS_VARIABLE), faults).items():
        values[name], said[name] = text, place
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
    faults += _shared_ports(settings, said)
    if faults:
        raise SettingsError(faults)
    return settings


def listeners(settings: Settings) -> dict[str, tuple[str, int]]:
    """Return the address and the port of each listener that the settings ask for, by the setting of its port.

    A port of 0 is a free one, and so is that of the embedded broker where nobody chose it and it is taken.
    """
    found = {"port": (settings.host, settings.port)}
    if settings.mqtt == "embedded":
        if "mqtt_port" in settings.model_fields_set:
            found["mqtt_port"] = (settings.mqtt_host, settings.mqtt_port)
        if settings.mqtt_websocket_port is not None:
            found["mqtt_websocket_port"] = (settings.mqtt_host, settings.mqtt_websocket_port)
    if settings.metrics_port is not None:
        found["metrics_port"] = (settings.metrics_host, settings.metrics_port)
    return {name: (host, port) for name, (host, port) in found.items() if port}


def _shared_ports(settings: Settings, said: Mapping[str, str]) -> Iterator[str]:
    """Yield a fault for each two listeners with one port. The system may let both have it, and one would never be asked."""
    for (name, (host, port)), (other, (other_host, other_port)) in combinations(listeners(settings).items(), 2):
        if port == other_port and _overlap(host, other_host):
            both = f"{said.get(name, name)} and {said.get(other, other)}"
            yield f"{both}: both listeners would have port {port}; choose another for one of them"


def _overlap(host: str, other: str) -> bool:
    """Return whether two listeners at these addresses could meet on one port."""
    one, two = ("127.0.0.1" if name == "localhost" else name for name in (host, other))
    return one == two or one in _EVERY_ADDRESS or two in _EVERY_ADDRESS


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
    if default is None or default == ():
        return "none"
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def _from_file(file: str | None, faults: list[str]) -> dict[str, Any]:
    """Read the known settings of a TOML file; add its faults to `faults`."""
    if file is None:
        return {}
    try:
        written = read_small(Path(file), FILE_BYTES_MAX)
        if len(written) > FILE_BYTES_MAX:
            faults.append(f"{file} is larger than {FILE_BYTES_MAX} bytes; name a file of settings")
            return {}
        content = tomllib.loads(written.decode().replace("\r\n", "\n"))
    except OSError as error:
        faults.append(f"cannot read {file}: {error.strerror}")
        return {}
    except UnicodeDecodeError as error:
        faults.append(f"{file} is not TOML: it is not UTF-8 at byte {error.start}")
        return {}
    except ValueError as error:
        faults.append(f"{file} is not TOML: {error}")
        return {}
    known = Settings.model_fields
    faults += [f"{key} in {file} is no setting{_nearest(key, list(known))}" for key in content if key not in known]
    return {key: value for key, value in content.items() if key in known}


def _from_folder(folder: str | None, faults: list[str]) -> dict[str, tuple[str, str]]:
    """Return the settings in a folder of secrets, each with its text and its file; add what cannot be used to `faults`.

    A file is named like a setting, with or without `saleroom_` before it: systemd and container engines choose names of their
    own. Folders and hidden files are left alone, as Kubernetes keeps its own things there. An empty file counts as not set.
    """
    if not folder:
        return {}
    try:
        files = sorted(file for file in Path(folder).iterdir() if not file.name.startswith(".") and not file.is_dir())
    except OSError as error:
        faults.append(f"cannot read the folder {folder} that {SECRETS_VARIABLE} names: {error.strerror}")
        return {}
    found: dict[str, tuple[str, str]] = {}
    known = Settings.model_fields
    for file in files:
        name = file.name.removeprefix(PREFIX.lower())
        if name not in known:
            faults.append(f"{file} is no setting{_nearest(name, list(known))}")
        elif name in found:
            faults.append(f"{file} and {found[name][1]} are the same setting; remove one of them")
        elif text := _secret_text(file, faults):
            found[name] = text, str(file)
    return found


def _secret_text(file: Path, faults: list[str]) -> str:
    """Return the text of a file of a secret without the line feed at its end, or nothing if it cannot be used."""
    try:
        content = read_small(file, SECRET_BYTES_MAX)
        text = content.decode()
    except OSError as error:
        faults.append(f"cannot read {file}: {error.strerror}")
        return ""
    except UnicodeDecodeError:
        faults.append(f"{file} is not UTF-8; write the secret as text")
        return ""
    if len(content) > SECRET_BYTES_MAX:
        faults.append(f"{file} is larger than {SECRET_BYTES_MAX} bytes; write the secret alone into it")
        return ""
    return text.removesuffix("\n").removesuffix("\r")


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are settings; add to `faults` those that only look like one."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for variable, text in environ.items():
        if variable in known:
            if text:
                yield variable, text
        elif (
            variable.upper().startswith(PREFIX)
            and variable not in (CONFIG_VARIABLE, SECRETS_VARIABLE)
            and not variable.startswith(FOREIGN_PREFIXES)
        ):
            faults.append(
                f"{variable} is no setting{_nearest(variable.upper(), [*known, CONFIG_VARIABLE, SECRETS_VARIABLE])}"
            )


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else "; docs/settings.md lists all"


def _line(detail: ErrorDetails, said: Mapping[str, str]) -> str:
    """Return the line for one fault: the place at which the user set it, and the correction."""
    if not detail["loc"]:  # settings that do not fit together, which the reason names
        return str(detail["ctx"]["error"])
    name = str(detail["loc"][0])
    context = detail.get("ctx", {})
    known = _REASONS.get(detail["type"])
    reason = detail["msg"] if known is None else known.format_map(context)
    return f"{said.get(name, name)}: {reason}"
