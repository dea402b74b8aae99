"""The MQTT client: settings as people write them, and connections to both brokers."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from structlog.testing import capture_logs

from saleroom.mqtt import relay as relay_module
from saleroom.mqtt.connection import connect, online
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import OFFLINE, ONLINE, MqttSettings
from tests.mqtt.equipment import Mosquitto, Sales, Subscriber
from tests.needs import need
from tests.patience import SECONDS_MAX, until
from tests.process import ending

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mqtt://broker", MqttSettings("broker", 1883)),
        ("mqtts://broker", MqttSettings("broker", 8883, tls=True)),
        ("MQTT://Broker:99/", MqttSettings("broker", 99)),
        ("mqtt://ada:p%40ss%2Fw%C3%B6rd@broker", MqttSettings("broker", 1883, user="ada", password="p@ss/wörd")),
        ("mqtt://ada:a@b:c@broker", MqttSettings("broker", 1883, user="ada", password="a@b:c")),
        ("mqtt://ada@broker", MqttSettings("broker", 1883, user="ada")),
        ("mqtt://[::1]:1884", MqttSettings("::1", 1884)),
    ],
)
def test_a_url_is_read_as_people_write_it(url: str, expected: MqttSettings) -> None:
    """Scheme, account, host and port come out of the URL, percent-decoded, with the usual ports."""
    assert expected == MqttSettings.from_url(url)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://ada:secret@broker", "mqtt://"),
        ("broker:1883", "mqtt://"),
        ("", "mqtt://"),
        ("mqtt://", "host"),
        ("mqtt://ada:secret", "port"),
        ("mqtt://ada:secret@broker:70000", "port"),
        ("mqtt://ada:secret@broker:0", "port"),
        ("mqtt://ada:secret@broker:x", "port"),
        ("mqtt://ada:secret@[::1", "host"),
        ("mqtt://ada:secret@" + "x" * 64, "host"),
        ("mqtt://ada:secret@\N{CARE OF}", "host"),
        ("mqtt://ada:se#cret@broker", "%23"),
        ("mqtt://ada:secret@broker/topic", "%2F"),
        ("mqtt://ada:secret%FF@broker", "UTF-8"),
        ("mqtt://:secret@broker", "user"),
    ],
)
def test_a_bad_url_is_refused_without_its_password(url: str, fault: str) -> None:
    """The error says what is wrong and never repeats the password, not even in its cause."""
    with pytest.raises(ValueError, match=fault) as caught:
        MqttSettings.from_url(url)
    assert "secret" not in str(caught.value)
    assert "se#" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"prefix": "saleroom"}, "prefix"),
        ({"prefix": "a/+/"}, "prefix"),
        ({"prefix": "a/#/"}, "prefix"),
        ({"prefix": "a\0/"}, "prefix"),
        ({"client_id": ""}, "client id"),
        ({"ca_file": "ca.pem"}, "mqtts"),
    ],
)
def test_bad_details_are_refused(given: dict[str, Any], fault: str) -> None:
    """Prefix, client id and authority file are checked at once, not when the broker is reached."""
    with pytest.raises(ValueError, match=fault):
        MqttSettings.from_url("mqtt://broker", **given)


def test_a_bad_authority_file_is_refused(tmp_path: Path) -> None:
    """The error names an authority file that is missing or not a certificate."""
    no_certificate = tmp_path / "ca.pem"
    no_certificate.write_text("no certificate")
    for file in (no_certificate, tmp_path / "missing.pem"):
        with pytest.raises(ValueError, match=file.name):
            MqttSettings.from_url("mqtts://broker", ca_file=str(file))


def test_arguments_come_before_the_url() -> None:
    """A user and a password in separate settings win over those in the URL, and neither is shown."""
    settings = MqttSettings.from_url("mqtt://ada:one@broker", user="bob", password="two", client_id="c", prefix="p/")
    assert MqttSettings("broker", 1883, user="bob", password="two", client_id="c", prefix="p/") == settings
    assert "two" not in repr(settings)
    assert "mqtt://broker:1883" == settings.url


async def test_status_follows_the_connection(broker: MqttSettings, subscribe: Subscribe) -> None:
    """The status is online once connected and offline after a clean end, retained both times."""
    async with connect(broker) as connection, online(connection, broker):
        during = subscribe(broker, broker.status_topic)
        await until(lambda: bool(during.messages), "the status")
    await until(lambda: len(during.messages) >= 2, "the second status")
    after = subscribe(broker, broker.status_topic)
    await until(lambda: bool(after.messages), "the retained status")
    assert [(ONLINE, True), (OFFLINE, False)] == [(m.payload, m.retained) for m in during.messages]
    assert [(OFFLINE, True)] == [(m.payload, m.retained) for m in after.messages]


async def test_the_last_will_says_offline_for_a_process_that_was_killed(
    broker: MqttSettings, subscribe: Subscribe
) -> None:
    """When the service's process is killed the broker itself retains offline."""
    program = (
        "import asyncio, sys\n"
        "from saleroom.mqtt.connection import connect, online\n"
        "from saleroom.mqtt.topics import MqttSettings\n"
        "async def main():\n"
        "    settings = MqttSettings.from_url(sys.argv[1], client_id=sys.argv[2])\n"
        "    async with connect(settings) as connection, online(connection, settings):\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    account = f"{broker.user}:{broker.password}@" if broker.user else ""
    url = f"mqtt://{account}{broker.host}:{broker.port}"
    subscriber = subscribe(broker, broker.status_topic)
    with ending(subprocess.Popen([sys.executable, "-c", program, url, broker.client_id])):
        await until(lambda: [ONLINE] == subscriber.payloads(broker.status_topic), "online")
    await until(lambda: [ONLINE, OFFLINE] == subscriber.payloads(broker.status_topic), "offline")
    late = subscribe(broker, broker.status_topic)
    await until(lambda: bool(late.messages), "the retained status")
    assert [(broker.status_topic, OFFLINE, True)] == late.messages


async def test_a_second_connection_ends_the_first(broker: MqttSettings, subscribe: Subscribe) -> None:
    """Two processes never publish at once: the newer connection cuts the older off, and the status stays online."""
    async with connect(broker) as older, online(older, broker):
        lost = asyncio.create_task(older.closed())
        async with connect(broker) as newer, online(newer, broker):
            with pytest.raises(aiomqtt.MqttError):
                await asyncio.wait_for(lost, SECONDS_MAX)
            subscriber = subscribe(broker, broker.status_topic)
            await until(lambda: bool(subscriber.messages), "the status")
            assert [ONLINE] == subscriber.payloads(broker.status_topic)


@on_sqlite
async def test_user_and_password_open_mosquitto(
    sales: Sales, tmp_path: Path, relaying: Relaying, subscribe: Subscribe
) -> None:
    """With the right account events reach a broker that lets nobody in without one."""
    passwords = tmp_path / "passwords"
    subprocess.run([need("mosquitto_passwd"), "-b", "-c", str(passwords), "ada", "p@ss wörd"], check=True)
    broker = Mosquitto(tmp_path, f"password_file {passwords}")
    broker.start()
    settings = replace(broker.settings, user="ada", password="p@ss wörd")
    await _is_served(sales, settings, relaying, subscribe)
    wrong = replace(settings, password="wrong")
    await _is_warned_of(sales, wrong, relaying, "uthori")
    broker.kill()


@on_sqlite
async def test_a_password_that_is_accepted_at_last_brings_everything(
    sales: Sales, tmp_path: Path, relaying: Relaying, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay that a broker refuses tries again, and all owed events go out once the account is right."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    passwords = tmp_path / "passwords"
    set_to = [need("mosquitto_passwd"), "-b", str(passwords), "ada"]
    passwords.touch(0o600)
    subprocess.run([*set_to, "another"], check=True)
    broker = Mosquitto(tmp_path, f"password_file {passwords}")
    broker.start()
    settings = replace(broker.settings, user="ada", password="right")
    relay = relaying(settings)
    gid = await sales.sell()
    await sales.bid(gid, 3)
    await asyncio.sleep(0.5)
    assert [False, 4] == [relay.connected, await relay.owed()]
    subprocess.run([*set_to, "right"], check=True)
    broker.kill()
    broker.start()
    subscriber = subscribe(settings, settings.events_topic("+"), as_service=True)
    await until(lambda: len(subscriber.messages) >= 4, "the events")
    assert await sales.payloads(gid) == subscriber.payloads(settings.events_topic(gid))
    await relay.stop()
    broker.kill()


@pytest.mark.filterwarnings(
    "ignore:unclosed <ssl.SSLSocket:ResourceWarning"
)  # paho leaves a failed handshake to the GC
@on_sqlite
async def test_tls_needs_a_certificate_of_the_given_authority(
    sales: Sales, tmp_path: Path, relaying: Relaying, subscribe: Subscribe
) -> None:
    """Over TLS events reach a broker whose certificate the authority signed; any other broker is not trusted."""
    ca, lines = _authority(tmp_path)
    broker = Mosquitto(tmp_path, *lines)
    broker.start()
    url = f"mqtts://127.0.0.1:{broker.port}"
    await _is_served(sales, MqttSettings.from_url(url, ca_file=str(ca)), relaying, subscribe)
    await _is_warned_of(sales, MqttSettings.from_url(url), relaying, "CERTIFICATE_VERIFY_FAILED")
    broker.kill()


async def _is_served(sales: Sales, settings: MqttSettings, relaying: Relaying, subscribe: Subscribe) -> None:
    subscriber = subscribe(settings, settings.events_topic("+"), as_service=True)
    relay = relaying(settings)
    gid = await sales.sell()
    await sales.until_delivered()
    await until(lambda: bool(subscriber.messages), "the event")
    assert await sales.payloads(gid) == [message.payload for message in subscriber.messages]
    await relay.stop()


async def _is_warned_of(sales: Sales, settings: MqttSettings, relaying: Relaying, reason: str) -> None:
    """The relay warns once, without the password, and the house goes on."""
    with capture_logs() as lines, pytest.MonkeyPatch.context() as patch:
        patch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
        relay = relaying(settings)
        owed = await sales.owed()
        await until(lambda: bool(lines), "a warning")
        await sales.sell()
        await asyncio.sleep(0.5)
        assert [False, owed + 1] == [relay.connected, await relay.owed()]
        await relay.stop()
    assert ["warning"] == [line["log_level"] for line in lines]
    assert reason in lines[0]["reason"]
    assert "wrong" not in str(lines)


def _authority(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Make an authority and a certificate for 127.0.0.1; return the authority's file and Mosquitto's lines."""
    openssl = need("openssl")

    def run(*words: str) -> None:
        subprocess.run([openssl, *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=Test authority")
    run("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=broker")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-extfile", "names")
    run("x509", "-req", "-in", "server.csr", "-out", "server.pem", *signed)
    return folder / "ca.pem", (f"certfile {folder}/server.pem", f"keyfile {folder}/server.key")
