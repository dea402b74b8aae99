"""`saleroom doctor`: what it finds in houses with one fault each, and that it shows no secret."""

import asyncio
import json
import os
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from saleroom.admin import machine_checks
from saleroom.bidding.service.signing import renew
from saleroom.broker.embedded import EmbeddedBroker
from saleroom.cli import main
from saleroom.notices.domain.webhooks import Off, Scope
from saleroom.notices.service import webhooks
from saleroom.notices.storage.webhooks import switch_off
from saleroom.outbox import store
from saleroom.outbox.message import WEBHOOK, Message
from saleroom.storage.database import Database
from tests.admin.conftest import SECRET, Examine
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock
from tests.fixtures_process import Start
from tests.litestream import LitestreamProcess
from tests.mqtt.equipment import free_port
from tests.process import ServeProcess, wait_until
from tests.settlement.paying import provider
from tests.settlement.stripe_server import KEY


def _certificate(folder: Path, days: int) -> Path:
    """Make a certificate for localhost that signs itself, with its key in the same file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = folder / "certificate.pem"
    file.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return file


@contextmanager
def _served(file: Path) -> Iterator[int]:
    """Speak TLS with this certificate at a free port of localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("localhost", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with suppress(OSError), context.wrap_socket(connection, server_side=True) as spoken:
                        spoken.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def test_a_sound_house(examine: Examine, database_url: str) -> None:
    """On either database a house with its tables has no fault, and the database can be written; nothing stays behind."""
    for _ in range(2):
        found = examine(database=database_url)
        assert ["ok", "ok"] == [level for level, _ in found["database"]]
        assert {"ok"} == {level for name in ("settings", "tables", "clock", "ports") for level, _ in found[name]}
        assert {"off"} == {level for name in ("broker", "mail", "certificate", "backups") for level, _ in found[name]}


def test_copies_by_litestream(examine: Examine, tmp_path: Path, sqlite_template: Path) -> None:
    """They are fine, or the fault is named; then the database itself has none."""
    database = tmp_path / "saleroom.db"
    shutil.copy(sqlite_template, database)
    copier = LitestreamProcess(tmp_path, database)
    settings = {"database": f"sqlite:///{database}", "litestream_socket": str(copier.socket)}
    [(level, what)] = examine(code=1, **settings)["copies"]
    assert "fault" == level
    assert f"Litestream: it does not answer at {copier.socket}: [Errno 2]" in what
    copier.start()
    try:
        wait_until(copier.socket.exists)
        assert [("ok", "Litestream has copied all that is in the database")] == examine(**settings)["copies"]
    finally:
        copier.kill()
    assert {"ok"} == {level for level, _ in examine(code=1, **settings)["database"]}


def test_it_says_so_in_lines(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --json each finding is a line, and its remedy the next one; a file of SQLite that is missing is not made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALEROOM_MQTT", "off")
    assert 0 == main(["doctor", "--database", "sqlite:///away.db"])
    lines = capfd.readouterr().out.splitlines()
    at = lines.index("warn  database     sqlite:///away.db is not there yet")
    assert lines[at + 1].split()[:4] == ["->", "saleroom", "serve", "makes"]
    assert not (tmp_path / "away.db").exists()


def test_wrong_settings(examine: Examine) -> None:
    """Every wrong setting is a finding, and nothing else is checked."""
    found = examine(code=1, workers="many", log_level="loud")
    assert {"settings": 2} == {name: len(found[name]) for name in found}
    assert {"fault"} == {level for level, _ in found["settings"]}


def test_the_broker(examine: Examine, sqlite_template: Path) -> None:
    """A broker that takes the account is fine; a wrong account, or nobody there, is a fault."""
    broker = EmbeddedBroker("saleroom/", port=0)
    address = broker.start()
    database = f"sqlite:///{sqlite_template}"
    try:
        house = {"database": database, "mqtt": address.url, "mqtt_user": address.user}
        [(level, _)] = examine(**house, mqtt_password=address.password)["broker"]
        assert "ok" == level
        [(level, _)] = examine(code=1, **house, mqtt_password=SECRET)["broker"]
        assert "fault" == level
    finally:
        broker.stop()
    [(level, _)] = examine(code=1, **house, mqtt_password=SECRET)["broker"]
    assert "fault" == level


def test_the_mail_server(examine: Examine, sqlite_template: Path) -> None:
    """A mail server that is away is a fault, without its password."""
    url = f"smtp+starttls://ada:{SECRET}@127.0.0.1:{free_port()}"
    [(level, what)] = examine(
        code=1, database=f"sqlite:///{sqlite_template}", smtp_url=url, mail_sender="house@bids.example"
    )["mail"]
    assert ("fault", True) == (level, "nothing listens" in what)


async def _with_troubles(url: str) -> None:
    """Post to webhooks that fail, and switch one off."""
    database = Database(url, clock=FakeClock(datetime.now(UTC) - timedelta(hours=2)))
    try:
        for number in ("7", "8", "9"):
            await database.write(store.post, Message(kind="test", key=number, address=number, channel=WEBHOOK))
        for [word] in (await database.read(store.due, WEBHOOK, 10))[:2]:
            await database.write(store.claim, [word], 1.0)
        ada = await person(database, "ada")
        url = f"https://shop.example/{SECRET}"
        made = await database.write(webhooks.make, ada.token, lambda: b"k", url, ("*",), Scope.OWN)
        await database.write(switch_off, made.webhook.id, Off.GONE)
    finally:
        await database.close()


def test_webhooks_and_push(examine: Examine, sqlite_template: Path, tmp_path: Path) -> None:
    """Webhooks that fail for long are a warning, and so is push that cannot say whom services may write to."""
    sqlite_url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'house.db')}"
    found = examine(database=sqlite_url, web_push="public")
    assert (["ok"], ["warn"]) == tuple([level for level, _ in found[name]] for name in ("webhooks", "push"))
    asyncio.run(_with_troubles(sqlite_url))
    found = examine(database=sqlite_url, mail_sender="house@bids.example")
    assert [("warn", "2 fail for more than an hour, and 1 were switched off in the last seven days")] == found[
        "webhooks"
    ]
    assert ["ok"] == [level for level, _ in found["push"]]
    found = examine(database=sqlite_url, webhooks="off", web_push="off")
    assert (["off"], ["off"]) == tuple([level for level, _ in found[name]] for name in ("webhooks", "push"))


def test_ports(examine: Examine, sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that another program has is a fault, and all is well if a house serves there."""
    database = f"sqlite:///{sqlite_template}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(machine_checks, "ANSWER_SECONDS_MAX", 1)
        [(level, what)] = examine(code=1, database=database, port=port)["ports"]
    assert ("fault", True) == (level, port in what)
    house = ServeProcess(tmp_path, mqtt="off")
    try:
        [(level, what)] = examine(database=database, port=house.url.rpartition(":")[2])["ports"]
    finally:
        house.kill()
    assert ("ok", True) == (level, "a house serves" in what)


def test_processes(examine: Examine, database_url: str, start: Start) -> None:
    """One start is fine; of two, each with an embedded broker of its own, only one gets events. A killed one does not count."""
    given = {"database": database_url, "mqtt": "embedded", "mqtt_port": "0"}

    def found(**other: str) -> tuple[str, str]:
        [one] = examine(**{**given, **other})["processes"]
        return one

    assert "off" == found()[0]
    first, second = start(database=database_url), start(database=database_url)
    wait_until(lambda: "2 serve" in found()[1])
    assert "warn" == found()[0]
    assert "ok" == found(mqtt="off")[0]
    second.kill()
    level, what = found()
    assert ("ok", True) == (level, what.startswith(f"1 serve: {first.process.pid} on "))


def test_disk(examine: Examine, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little room is a warning, and hardly any a fault."""
    levels = []
    for free in (10, 1, 0.1):
        monkeypatch.setattr(
            "saleroom.storage.room.shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free * 2**30)
        )
        found = examine(code=int(free < 1), database=f"sqlite:///{sqlite_template}")
        levels += [level for level, _ in found["disk"]]
    assert ["ok", "warn", "fault"] == levels


def test_files_and_backups(examine: Examine, sqlite_template: Path, tmp_path: Path) -> None:
    """A file with settings that everybody may read is a warning; no backup, or an old one, is a fault."""
    config, folder = tmp_path / "house.toml", tmp_path / "backups"
    config.write_text(f'load_key = "{SECRET}"\n')
    config.chmod(0o644)
    folder.mkdir()
    given, database = ("--config", str(config), "--backups", str(folder)), f"sqlite:///{sqlite_template}"
    found = examine(*given, code=1, database=database)
    assert "warn" in [level for level, what in found["files"] if "house.toml" in what]
    assert ["fault"] == [level for level, _ in found["backups"]]
    config.chmod(0o600)
    (backup := folder / "monday.db").write_text("a backup")
    found = examine(*given, database=database)
    assert ["ok"] == [level for level, what in found["files"] if "house.toml" in what]
    assert ["ok"] == [level for level, _ in found["backups"]]
    os.utime(backup, (time.time() - 30 * 3600,) * 2)
    assert ["fault"] == [level for level, _ in examine(*given, code=1, database=database)["backups"]]


@pytest.mark.parametrize(("days", "trusted", "expected"), [(60, True, "ok"), (5, True, "warn"), (60, False, "fault")])
def test_the_certificate(
    examine: Examine,
    sqlite_template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    trusted: bool,
    expected: str,
) -> None:
    """A certificate that is valid for a while is fine, one that ends soon a warning, one that nobody trusts a fault."""
    file = _certificate(tmp_path, days)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with _served(file) as port:
        found = examine(
            code=int(not trusted), database=f"sqlite:///{sqlite_template}", public_url=f"https://localhost:{port}"
        )
    assert [expected] == [level for level, _ in found["certificate"]]


@contextmanager
def _answered(status: int, body: bytes) -> Iterator[str]:
    """Answer every GET at a free port of this machine like this."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


async def test_the_address(examine: Examine, database: Database, database_url: str) -> None:
    """What answers at public_url is this house, another, none, or away."""

    async def found(url: str, code: int = 0) -> tuple[str, str]:
        [one] = (await asyncio.to_thread(examine, code=code, database=database_url, public_url=url))["address"]
        return one

    kid = (await database.write(renew)).kid
    assert "warn" == (await found(f"http://127.0.0.1:{free_port()}"))[0]
    for status, body, code, level, words in [
        (200, json.dumps({"service": "saleroom", "keys": [{"kid": kid}]}), 0, "ok", "{url} leads to this house"),
        (
            200,
            json.dumps({"service": "saleroom", "keys": [{"kid": "x"}]}),
            1,
            "fault",
            "another house answers at {url}",
        ),
        (404, "<h1>It works!</h1>", 1, "fault", "no house answers at {url} (status 404)"),
        (502, "", 0, "warn", "{url} answers 502"),
    ]:
        with _answered(status, body.encode()) as url:
            assert (level, words.format(url=url)) == await found(url, code)


def test_the_card_provider(examine: Examine, sqlite_template: Path) -> None:
    """Without a key it is off. A key that is refused is a fault, and so is a provider that is away; a test key is warned of."""
    house = {"database": f"sqlite:///{sqlite_template}"}
    assert "off" == examine(**house)["cards"][0][0]
    with provider() as stripe:
        cards = {
            "stripe_key": KEY, "stripe_webhook_secret": f"whsec_{SECRET}", "stripe_url": stripe.url,
            "public_url": "http://127.0.0.1",
        }  # fmt: skip
        assert ("warn", "stripe_key is a test key: no real money moves") == examine(**house, **cards)["cards"][0]
        [(level, what)] = examine(code=1, **house, **{**cards, "stripe_key": f"sk_test_{SECRET.replace('-', '_')}"})[
            "cards"
        ]
        assert ("fault", f"{stripe.url}: it refuses the key") == (level, what)
    [(level, what)] = examine(code=1, **house, **cards)["cards"]
    assert ("fault", f"{stripe.url}: it did not answer") == (level, what)
