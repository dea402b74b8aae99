"""The proxies of deploy/, with the real programs: TLS, streams, large uploads, and headers that nobody can forge."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.fixtures_house import ServeHouse
from tests.http.proxies import running
from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX

SAMPLES = Path(__file__).parents[2] / "deploy"
NAME = "bids.example"
Deploy = Callable[[int], tuple[httpx.Client, int]]


def nginx(folder: Path, house: int, http: int, https: int) -> list[str]:
    """Install the sample of nginx in `folder` with these ports; return the command that runs it."""
    program = need("nginx")
    text = (SAMPLES / "nginx" / "saleroom.conf").read_text()
    text = re.sub(r"listen \[::\].*\n", "", text)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{http};").replace("listen 443 ", f"listen 127.0.0.1:{https} ")
    text = text.replace("127.0.0.1:9000", f"127.0.0.1:{house}")
    text = re.sub(rf"/etc/letsencrypt/live/{NAME}/(fullchain|privkey)", r"\1", text)
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = " ".join(f"{kind}_temp_path {kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid nginx.pid; error_log nginx.log; {user} events {{}} http {{ access_log off; {temporary} {text} }}"
    )
    return [program, "-p", str(folder), "-c", "nginx.conf", "-e", "nginx.log"]


def caddy(folder: Path, house: int, http: int, https: int) -> list[str]:
    """Install the sample of Caddy in `folder` with these ports; return the command that runs it."""
    program = need("caddy")
    text = (SAMPLES / "caddy" / "Caddyfile").read_text().replace("127.0.0.1:9000", f"127.0.0.1:{house}")
    text = text.replace(f"{NAME} {{", f"{NAME} {{\n\ttls fullchain.pem privkey.pem\n\tbind 127.0.0.1", 1)
    options = f"{{\n\tadmin off\n\tstorage file_system storage\n\thttp_port {http}\n\thttps_port {https}\n}}\n"
    (folder / "Caddyfile").write_text(options + text)
    return ["env", f"HOME={folder}", program, "run", "--config", "Caddyfile"]


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def deploy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deploy]:
    """Start a proxy of deploy/ before the port of a house, and return a client of its HTTPS, and its port for http."""
    with contextlib.ExitStack() as stack:

        def start(house: int) -> tuple[httpx.Client, int]:
            certify(tmp_path)
            ports = {"http": free_port(), "https": free_port()}
            command = request.param(tmp_path, house, **ports)
            stack.enter_context(contextlib.contextmanager(running)(command, tmp_path, ports))
            trust = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))
            address = f"https://127.0.0.1:{ports['https']}"
            headers = {"Host": NAME, "X-Requested-With": "test"}
            client = httpx.Client(base_url=address, headers=headers, timeout=SECONDS_MAX, verify=trust)
            # Browsers ask for the certificate of the name, too.
            client.event_hooks = {"request": [lambda sent: sent.extensions.update(sni_hostname=NAME)]}
            return stack.enter_context(client), ports["http"]

        yield start


def certify(folder: Path) -> None:
    """Make a certificate for NAME, with its key."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    files = ["-keyout", "privkey.pem", "-out", "fullchain.pem"]
    command = [need("openssl"), "req", "-x509", *curve, *subject, *files]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def photo() -> bytes:
    """Return a photo of more than 2 MB, as a phone makes them."""
    file = BytesIO()
    Image.effect_noise((2400, 1800), 90).save(file, "JPEG", quality=80)
    assert len(file.getvalue()) > 2_000_000
    return file.getvalue()


def test_a_house_works_behind_the_proxy(deploy: Deploy, serve_house: ServeHouse) -> None:
    """Pages come over TLS, http leads there, a photo of 2 MB goes through, and a stream brings a bid while it is open."""
    house = serve_house(public_url=f"https://{NAME}", trusted_proxies=("127.0.0.1",))
    client, http = deploy(house.port)
    ada, bob = house.user("ada"), house.user("bob")
    home = client.get("/")
    assert 200 == home.status_code
    assert "max-age=" in home.headers["strict-transport-security"]
    plain = httpx.get(f"http://127.0.0.1:{http}/lots/x", headers={"Host": NAME})
    assert plain.status_code in (301, 308)
    assert f"https://{NAME}/lots/x" == plain.headers["location"]
    token = {"Authorization": f"Bearer {ada.token}", "Content-Type": "image/jpeg"}
    assert 201 == client.post("/photos", content=photo(), headers=token).status_code
    gid = ada.auction()
    with client.stream("GET", f"/auctions/{gid}/events") as stream:
        lines = stream.iter_lines()
        next(lines)  # the stream has begun
        bob.bid(gid, "100")
        assert any('"type":"bid.placed"' in line for line in lines)


def test_nobody_forges_what_the_proxy_says(deploy: Deploy) -> None:
    """The house gets the name that people use, and the address of the client alone, whatever the client claims."""
    seen: list[dict[str, str]] = []

    class HeaderRecorder(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), HeaderRecorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client, _ = deploy(server.server_port)
        assert 204 == client.get("/", headers={"X-Forwarded-For": "203.0.113.9"}).status_code
        server.shutdown()
    assert [(NAME, "127.0.0.1")] == [(each["host"], each["x-forwarded-for"]) for each in seen]
