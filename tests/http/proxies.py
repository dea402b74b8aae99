"""nginx and HAProxy, before a house as people use them, and alone: which requests each of them reads."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import ending, wait_until

WAYS = ("nginx collecting", "nginx passing", "haproxy passing")
"""The ways to a house: a proxy collects the body first, or passes it on as it comes."""
_NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log nginx.log; {user}
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  keepalive_requests 100000;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream house {{ server 127.0.0.1:{house}; keepalive 4; keepalive_requests 100000; }}
  proxy_http_version 1.1;
  proxy_set_header Host $http_host;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade;
  server {{ listen 127.0.0.1:{collecting}; location / {{ proxy_pass http://house; }} }}
  server {{ listen 127.0.0.1:{passing}; proxy_request_buffering off; location / {{ proxy_pass http://house; }} }}
  server {{ listen 127.0.0.1:{alone}; location / {{ return 200 "$request_method $request_uri"; }} }}
}}
"""
_HAPROXY = """
global
  maxconn 500
defaults
  mode http
  timeout connect 120s
  timeout client 120s
  timeout server 120s
  timeout http-request 120s
  http-reuse always
frontend passing
  bind 127.0.0.1:{passing}
  default_backend house
backend house
  server house 127.0.0.1:{house}
frontend alone
  bind 127.0.0.1:{alone}
  http-request wait-for-body time 2s
  http-request return status 200 content-type text/plain lf-string "%[method] %[url]"
"""


@contextlib.contextmanager
def nginx(folder: Path, house: int) -> Iterator[dict[str, int]]:
    """Yield the ports of an nginx: before a house, collecting bodies or not, and alone, echoing its requests."""
    program = need("nginx")
    ports = dict(zip(("collecting", "passing", "alone"), (free_port() for _ in range(3)), strict=True))
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_NGINX.format(house=house, user=user, **ports))
    yield from running([program, "-p", str(folder), "-c", "nginx.conf", "-e", "nginx.log"], folder, ports)


@contextlib.contextmanager
def haproxy(folder: Path, house: int) -> Iterator[dict[str, int]]:
    """Yield the ports of an HAProxy: before a house, and alone, echoing its requests."""
    program = need("haproxy")
    ports = dict(zip(("passing", "alone"), (free_port() for _ in range(2)), strict=True))
    (folder / "haproxy.cfg").write_text(_HAPROXY.format(house=house, **ports))
    yield from running([program, "-db", "-f", "haproxy.cfg"], folder, ports)


def running(command: list[str], folder: Path, ports: dict[str, int]) -> Iterator[dict[str, int]]:
    """Run a proxy, and yield its ports once it listens on all of them."""
    with (folder / "output.txt").open("wb") as output:
        started = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    with ending(started) as process:
        wait_until(lambda: process.poll() is not None or all(map(_listens, ports.values())))
        assert process.poll() is None, (folder / "output.txt").read_text()
        yield ports
        process.terminate()
        process.wait(SECONDS_MAX)


def _listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def proxied(folder: Path, port: int, stack: contextlib.ExitStack) -> dict[str, int]:
    """Start both proxies before a house, and return the ports of all ways to it."""
    found: dict[str, int] = {}
    for name, start in (("nginx", nginx), ("haproxy", haproxy)):
        (folder / name).mkdir()
        ports = stack.enter_context(start(folder / name, port))
        found |= {f"{name} {kind}": number for kind, number in ports.items()}
    return found


def dialled(port: int) -> socket.socket:
    """Return a connection that sends each piece as a packet."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
