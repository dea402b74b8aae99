"""`saleroom watch` over TLS, with a trusted certificate and without."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import Mosquitto
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, environment


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    file = tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    command = [
        need("openssl"),
        "req",
        "-x509",
        *curve,
        *subject,
        "-keyout",
        str(tmp_path / "key.pem"),
        "-out",
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return file


@pytest.fixture
async def over_tls(start: Start, visit: Visit, certificate: Path) -> AsyncIterator[tuple[str, str]]:
    """The address of a house behind a TLS proxy, and the gid of a lot that is over."""
    house = start()
    client = visit(house)
    ada = client.enter("ada")
    gid = client.sell(ada)
    client.post(f"/auctions/{gid}/close", ada)
    there = urlsplit(house.url)

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except OSError:
            pass  # one of the two has closed
        finally:
            writer.close()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection(there.hostname, there.port)
        await asyncio.gather(passing(reader, forth), passing(back, writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server = await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", gid
    server.close()


async def watched(*arguments: str | Path) -> tuple[int, str]:
    """Watch to the end, and return the exit code and standard error."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "watch", *arguments, env=environment(), stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(SECONDS_MAX):
        _, stderr = await process.communicate()
    assert process.returncode is not None, "it has ended"
    return process.returncode, stderr.decode()


async def test_a_house_over_https(over_tls: tuple[str, str], certificate: Path) -> None:
    """A house over HTTPS is watched if its certificate is trusted; otherwise one line says why not."""
    url, gid = over_tls
    code, stderr = await watched(url, gid, "--ca-file", certificate)
    assert (0, f"saleroom: {gid} (Longcase clock) is over: closed without a bid\n") == (code, stderr)
    code, stderr = await watched(url, gid)
    assert (1, 1) == (code, stderr.count("\n")) and "its certificate is not trusted (self" in stderr


async def test_a_broker_over_tls(start: Start, visit: Visit, tmp_path: Path, certificate: Path) -> None:
    """A broker over TLS is watched if its certificate is trusted; otherwise one line says why not."""
    key = certificate.with_name("key.pem")
    broker = Mosquitto(tmp_path, f"certfile {certificate}", f"keyfile {key}")
    broker.start()
    try:
        url = f"mqtts://127.0.0.1:{broker.port}"
        client = visit(start(mqtt=url, mqtt_ca_file=str(certificate)))
        ada = client.enter("ada")
        gid = client.sell(ada)
        client.post(f"/auctions/{gid}/close", ada)
        code, stderr = await watched(url, gid, "--ca-file", certificate)
        assert 0 == code and stderr.endswith(f"{gid} (Longcase clock) is over: closed without a bid\n")
        code, stderr = await watched(url, gid)
        assert (1, 1) == (code, stderr.count("\n")) and "certificate verify failed" in stderr
    finally:
        broker.kill()
