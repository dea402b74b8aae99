"""Texts from outside: amounts as people write them, languages, settings, addresses, single headers."""

import json
import re
from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.requests import HTTPConnection

from saleroom.accounts.domain.accounts import parse_password, parse_username
from saleroom.accounts.domain.agents import agent
from saleroom.bidding.api.auctions import BY_MARK
from saleroom.bidding.api.devices import command_id
from saleroom.bidding.api.photos import photo_ids
from saleroom.http import forgery, forms, requests
from saleroom.http.cursors import CursorText
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import VERSION_MAX, EventId, parse_event_id
from saleroom.kernel.instants import instant as wire_instant
from saleroom.kernel.money import LIMIT, ZERO, parse_money
from saleroom.mqtt.topics import MqttSettings
from saleroom.settings import PREFIX, Settings, SettingsError, load
from saleroom.site.language import Languages
from saleroom.site.local_times import LocalTime, read_local
from saleroom.storage.database import parse_url
from saleroom.tools.errors import WrongUsage
from saleroom.tools.watch import command
from tests.fuzz.mangling import as_bytes, bounded, mangled, mangled_text, nasty
from tests.sealing import cursors

SECRET = "secret-word"
SECRETIVE = ("SALEROOM_DATABASE", "SALEROOM_MQTT")
"""The settings that may hold a password."""
LANGUAGES = Languages("EUR")
CURSOR = BY_MARK[1]
LOCALES = st.sampled_from(
    ["en", "de", "de-CH", "fr-FR", "hi-IN", "ar-EG", "sv", "ja", "en-IN", "de-AT", "fa", "my", "sw"]
)
ZONES = st.sampled_from(["UTC", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Mars/Olympus", "."])

money = st.decimals(ZERO, LIMIT, places=3).map(str)
instants = st.datetimes().map(lambda at: at.isoformat() + "Z")
hosts = st.sampled_from(
    ["localhost", "127.0.0.1", "[::1]", "[::1", "a.example", "münchen.example", "x" * 300, "a b", ""]
)
accounts = st.sampled_from(["", "user@", "user:secret-word@", ":secret-word@", "us%20er:%ff@", "a:b@c@", "%"])
ports = st.sampled_from(["", ":1883", ":0", ":65536", ":-1", ":x", ":٣", ":" + "9" * 5000])
tails = st.sampled_from(
    ["", "/", "/name", "/name?sslmode=require", "?host=/tmp&port=x", "#f", "/%00", "//a", "?a=1&a=2"]
)


def urls(*schemes: str) -> st.SearchStrategy[str]:
    """Addresses that are almost right."""
    return mangled_text(
        st.builds(lambda *parts: "".join(parts), st.sampled_from(schemes), accounts, hosts, ports, tails)
    )


def request(**headers: str) -> HTTPConnection:
    """A request with these headers, as the server hands it over."""
    raw = [(name.replace("_", "-").encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "headers": raw})


def cursor(text: str) -> object:
    """Read a cursor as a query does."""
    found = CURSOR.parse(as_bytes(json.dumps(text, ensure_ascii=False)))
    return cursors().read(found) if isinstance(found, CursorText) else found


@given(mangled_text(money))
def test_money_is_read_exactly_or_refused(text: str) -> None:
    """An amount that is read is written as the same number; otherwise the fault has a code."""
    with bounded():
        found = parse_money(text)
    if isinstance(found, Fault):
        assert found.code.startswith("money_")
    else:
        assert Decimal(text) == found
        assert found == parse_money(str(found))


@given(LOCALES, mangled_text(money | st.sampled_from(["1.234,50 €", "1,234.50", "EUR 12", "१२", "1'234.50", "€5"])))
def test_money_as_people_write_it(tag: str, text: str) -> None:
    """In every format, an amount is read as it is written there, or refused in words; a page reads what it writes."""
    language = LANGUAGES.negotiate(tag)
    with bounded():
        found = language.parse_money(text)
    if isinstance(found, Fault):
        assert found.message
    else:
        assert ZERO <= found <= LIMIT
        assert found == language.parse_money(language.amount(found))
        assert language.money(found)


@example("9999-12-31T23:59:59.999999-23:59")
@example("1970-01-01T00:00:00+14:00")
@given(mangled_text(instants) | nasty())
def test_instants_are_read_or_refused(text: str) -> None:
    """An instant is in UTC and comes back from its wire form; anything else is a fault."""
    with bounded():
        found = forms.instant(as_bytes(json.dumps(text, ensure_ascii=False)))
    if not isinstance(found, Fault):
        assert 1970 <= found.year <= 9999
        assert found == forms.instant(json.dumps(wire_instant(found)).encode())


@example("9999-12-31T23:59", "America/New_York")
@example("0001-01-01T00:00", "Asia/Tokyo")
@given(mangled_text(st.datetimes().map(lambda at: at.isoformat(timespec="minutes"))), ZONES | nasty())
def test_local_times_are_read_or_refused(text: str, zone: str) -> None:
    """A date and time of a form, in any zone, is an instant in UTC or a fault, even at the ends of the calendar."""
    with bounded():
        found = read_local(text, zone)
    if isinstance(found, LocalTime):
        assert UTC == found.at.tzinfo
    else:
        assert found.message


@example(f"k3X9mQ2vTa1_/{VERSION_MAX + 1}")
@example("k3X9mQ2vTa1_/" + "9" * 5000)
@given(mangled_text(st.sampled_from(["k3X9mQ2vTa1_/7", "0", "a/1", "abc", "ada.l"])) | nasty())
def test_names_and_numbers_are_read_or_refused(text: str) -> None:
    """Ids of events and commands, user names and passwords: the value, or a Fault, never anything else."""
    for read in (parse_event_id, command_id, parse_username, parse_password, cursor):
        with bounded():
            found = read(text)
        if isinstance(found, Fault):
            assert found.message
        if isinstance(found, EventId):
            assert found.version <= VERSION_MAX
    name = parse_username(text)
    if isinstance(name, str):
        assert name == parse_username(name)
        assert name == quote(name)


@given(mangled(st.lists(st.text("abc-_"), max_size=4).map(lambda ids: json.dumps(ids).encode())))
def test_lists_of_photos_are_read_or_refused(raw: bytes) -> None:
    """A list of ids, or a Fault."""
    with bounded():
        assert isinstance(photo_ids(raw), list | Fault)


@given(
    mangled_text(st.sampled_from(["de-CH,de;q=0.9,*;q=0.1", "en", "*", "fr;q=0", "x-" * 90, "de;q=1.0000"])), nasty()
)
def test_every_reader_has_a_language(accepted: str, chosen: str) -> None:
    """For any preference of a browser and any choice in a cookie, there is a language, and it writes money."""
    with bounded():
        language = LANGUAGES.negotiate(accepted, chosen)
    assert language.money("1234.500")
    assert re.fullmatch(r"[A-Za-z0-9-]+", language.tag)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "authorization": mangled_text(st.sampled_from(["Bearer abcdefghijklmno=", "Bearer", " ", "Basic a b c"])),
            "cookie": mangled_text(st.sampled_from(["saleroom_session=abc; saleroom_csrf=x", "a=1; a=2", '="', ";;="])),
            "content_type": mangled_text(
                st.sampled_from(["application/json; charset=utf-8", "multipart/form-data; boundary=x"])
            ),
            "user_agent": mangled_text(
                st.sampled_from(["Mozilla/5.0 (X11; Linux) Firefox/140.0", "curl/8.1", "a" * 60])
            ),
        },
    )
)
def test_headers_are_read(headers: dict[str, str]) -> None:
    """Each function that reads a header has a result: a token, a cookie, a type, a device's name of at most a few words."""
    sent = request(**headers)
    with bounded():
        assert isinstance(requests.bearer_token(sent.scope), str | None)
        assert isinstance(requests.session_token(sent), str | None)
        assert requests.media_type(sent.scope) == requests.media_type(sent.scope).lower()
        called = agent(sent.headers.get("user-agent", ""))
    assert len(called) <= 40
    assert called.isprintable()


@given(nasty())
def test_a_token_that_no_page_made_matches_nothing(sent: str) -> None:
    """Any token that this house did not issue is read as bytes that match nothing."""
    with bounded():
        assert isinstance(forgery._unmasked(sent), bytes)


def told(read: Callable[[], Any], *refusals: type[Exception]) -> tuple[Any, str]:
    """Return the value read, or None and the text of the refusal; any other exception is raised."""
    with bounded():
        try:
            return read(), ""
        except refusals as error:
            return None, str(error)


@given(urls("sqlite:///", "postgresql://", "postgres://", "mysql://", "", "postgresql+psycopg://"))
def test_database_urls_are_read_or_refused(text: str) -> None:
    """A URL for one of the two drivers, or a refusal that does not repeat the password."""
    url, fault = told(lambda: parse_url(text), ValueError)
    assert SECRET not in fault
    assert url is None or url.drivername in ("sqlite", "postgresql+asyncpg")


@given(urls("mqtt://", "mqtts://", "http://", ""))
def test_broker_urls_are_read_or_refused(text: str) -> None:
    """A broker with a host and a port, or a refusal that does not repeat the password."""
    found, fault = told(lambda: MqttSettings.from_url(text), ValueError)
    assert SECRET not in fault
    if found is not None:
        assert found.host
        assert 0 < found.port < 65536
        assert SECRET not in found.url + repr(found)


@given(urls("http://", "https://", "mqtt://", "ftp://", ""), nasty() | st.none(), nasty() | st.none())
def test_addresses_to_watch_are_read_or_refused(url: str, gid: str | None, prefix: str | None) -> None:
    """`saleroom watch` gets options, or an error that does not repeat the password."""
    found, fault = told(lambda: command.read_options(url, gid, prefix=prefix), WrongUsage)
    assert SECRET not in fault
    assert found is None or SECRET not in found.url


_values = urls("sqlite:///", "postgresql://", "mqtt://", "https://") | nasty() | st.sampled_from(["1", "true"])
_words = st.dictionaries(st.sampled_from(list(Settings.model_fields)), _values, max_size=4)


@given(_words, st.dictionaries(nasty(), nasty(), max_size=2))
def test_settings_are_read_or_refused(words: dict[str, str], others: dict[str, str]) -> None:
    """Any environment gives settings, or all their faults; neither shows a password from a setting that may hold one."""
    environ = {PREFIX + name.upper(): value for name, value in words.items()} | others
    environ = {name: value for name, value in environ.items() if "\0" not in name + value}
    found, fault = told(lambda: load({}, environ), SettingsError)
    assert found is not None or fault
    if all(SECRET not in value for name, value in environ.items() if name not in SECRETIVE):
        assert SECRET not in fault + repr(found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    mangled(
        st.sampled_from(
            [b'port = 1\ndatabase = "sqlite:///a.db"\n', b'cors_origins = ["https://a.example"]\n', b"[a]\n"]
        )
    )
)
def test_a_file_of_settings_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    """Any file gives settings, or faults."""
    file = tmp_path / "saleroom.toml"
    file.write_bytes(content)
    found, fault = told(lambda: load({}, {}, str(file)), SettingsError)
    assert found is not None or fault


def test_a_path_that_is_none_is_refused() -> None:
    """An impossible path of a settings file is a fault as well."""
    with pytest.raises(SettingsError):
        load({}, {}, "a/\0")
