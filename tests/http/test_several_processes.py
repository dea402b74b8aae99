"""HAProxy and Caddy before two processes of a house: a lot's bids meet in one, streams and devices get through."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect as open_websocket
from websockets.typing import Subprotocol

from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker
from tests.broker import raw
from tests.fixtures_house import House, settings_for
from tests.http.proxies import running
from tests.http.test_deploy import NAME, SAMPLES, certify
from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import wait_until

pytestmark = pytest.mark.databases("postgresql")
LOTS = 24
"""With so many lots, one time in 8 million one of two processes gets none by chance."""
BIDS = 12
SERVED_BY = "x-served-by"
"""A header that the tests add to what the proxy answers."""


class Front:
    """A running proxy before `houses`: its client for HTTPS, and its ports by name."""

    def __init__(self, houses: list[House], folder: Path, ports: dict[str, int]) -> None:
        self.houses, self.ports = houses, ports
        self.trust = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
        self.http = self.client()

    def client(self) -> httpx.Client:
        """Return a client with connections of its own."""
        headers = {"Host": NAME, "X-Requested-With": "test"}
        base = f"https://127.0.0.1:{self.ports['https']}"
        client = httpx.Client(base_url=base, headers=headers, timeout=SECONDS_MAX, verify=self.trust)
        client.event_hooks = {"request": [lambda sent: sent.extensions.update(sni_hostname=NAME)]}
        return client

    def dialled(self, name: str) -> socket.socket:
        """Return a connection to one of its ports."""
        return socket.create_connection(("127.0.0.1", self.ports[name]), SECONDS_MAX)


def haproxy(folder: Path, houses: list[House], broker: BrokerAddress, ports: dict[str, int]) -> list[str]:
    """Install the sample of HAProxy in `folder`; return the command that runs it."""
    program = need("haproxy")
    (folder / "saleroom.pem").write_text((folder / "fullchain.pem").read_text() + (folder / "privkey.pem").read_text())
    text = (SAMPLES / "haproxy" / "saleroom.cfg").read_text().replace("/etc/haproxy/saleroom.pem", "saleroom.pem")
    for port, name in ((":80\n", "http"), (":443 ", "https"), (":8883 ", "mqtt")):
        text = text.replace(f"bind {port}", f"bind 127.0.0.1:{ports[name]}{port[-1]}")
    text = re.sub("log /dev/log .*\n|log global\n", "\n", text)
    text = text.replace("    default_backend", f"    http-response set-header {SERVED_BY} %s\n    default_backend")
    (folder / "haproxy.cfg").write_text(_addressed(text, houses, broker))
    return [program, "-db", "-f", "haproxy.cfg"]


def caddy(folder: Path, houses: list[House], broker: BrokerAddress, ports: dict[str, int]) -> list[str]:
    """Install the sample of Caddy in `folder`; return the command that runs it."""
    program = need("caddy")
    text = (SAMPLES / "caddy" / "Caddyfile.several").read_text()
    text = text.replace(f"{NAME} {{", f"{NAME} {{\n\ttls fullchain.pem privkey.pem\n\tbind 127.0.0.1", 1)
    text = text.replace("lb_policy", f"header_down {SERVED_BY} {{http.reverse_proxy.upstream.hostport}}\n\t\tlb_policy")
    ways = f"http_port {ports['http']}\n\thttps_port {ports['https']}"
    options = f"{{\n\tadmin off\n\tstorage file_system storage\n\t{ways}\n}}\n"
    (folder / "Caddyfile").write_text(options + _addressed(text, houses, broker))
    return ["env", f"HOME={folder}", program, "run", "--config", "Caddyfile", "--adapter", "caddyfile"]


def _addressed(text: str, houses: list[House], broker: BrokerAddress) -> str:
    """Return a sample with the ports of these houses and this broker; each is named in it."""
    ports = (houses[0].port, houses[1].port, broker.websocket_port, broker.port)
    for sample, port in zip(("9001", "9002", "9083", "1883"), ports, strict=True):
        assert f"127.0.0.1:{sample}" in text or sample == "1883"
        text = text.replace(f"127.0.0.1:{sample}", f"127.0.0.1:{port}")
    return text


@pytest.fixture(params=[haproxy, caddy], ids=["haproxy", "caddy"])
def front(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[Front]:
    """A proxy of deploy/ before two processes of one house, and its broker."""
    install: Callable[[Path, list[House], BrokerAddress, dict[str, int]], list[str]] = request.param
    more = {"public_url": f"https://{NAME}", "trusted_proxies": ("127.0.0.1",)}
    with contextlib.ExitStack() as stack:
        houses = []
        for _ in range(2):
            houses.append(House(settings_for(database_url, **more)))
            houses[-1].start()
            stack.callback(_stopped, houses[-1])
        broker = EmbeddedBroker("saleroom/", port=0, websocket_port=0, origins=[f"https://{NAME}"])
        stack.callback(broker.stop)
        certify(tmp_path)
        ports = {name: free_port() for name in ("http", "https", "mqtt")}
        command = install(tmp_path, houses, broker.start(), ports)
        listening = ports if install is haproxy else {name: ports[name] for name in ("http", "https")}
        stack.enter_context(contextlib.contextmanager(running)(command, tmp_path, listening))
        made = Front(houses, tmp_path, listening)
        with made.http:
            yield made


def _stopped(house: House) -> None:
    """Stop a house, unless a test has done it."""
    if house._thread.is_alive():
        house.stop()


def bid(front: Front, gid: str, token: str, amount: int) -> str:
    """Bid over a new connection; return the process that took it."""
    headers = {"Authorization": f"Bearer {token}"}
    with front.client() as client:
        answer = client.post(f"/auctions/{gid}/bids", json={"amount": str(amount)}, headers=headers)
    assert 201 == answer.status_code, answer.text
    return answer.headers[SERVED_BY]


def test_bids_on_a_lot_meet_in_one_process_and_lots_are_spread(front: Front) -> None:
    """All bids and looks at one lot go to one process, from all senders; if it ends, the other one takes the next bid."""
    ada, ben, cyd = (front.houses[0].user(name) for name in ("ada", "ben", "cyd"))
    gid = ada.auction()
    took = {bid(front, gid, (ben, cyd)[turn % 2].token, 10 + turn) for turn in range(BIDS)}
    assert 1 == len(took)
    forged = {"X-Lot": "another", "X-Forwarded-For": "203.0.113.9"}
    paths = (f"/auctions/{gid}", f"/auctions/{gid}/bids", f"/lots/{gid}", f"/auctions/{gid}?x=1")
    assert took == {front.http.get(path, headers=forged).headers[SERVED_BY] for path in paths}
    others = {front.http.get(f"/lots/lot-{number}").headers[SERVED_BY] for number in range(LOTS)}
    assert 2 == len(others)
    [name] = took
    first = name in ("a", f"127.0.0.1:{front.houses[0].port}")
    front.houses[not first].stop()
    [left] = others - took
    # A proxy learns by a request that a connection which it keeps has ended, and repeats none that may have taken a bid.
    wait_until(lambda: front.http.get(f"/auctions/{gid}").headers.get(SERVED_BY) == left)
    assert left == bid(front, gid, ben.token, 10 + BIDS)
    assert 200 == front.http.get("/").status_code


def test_a_stream_brings_a_bid_that_another_process_took(front: Front) -> None:
    """A stream through the proxy is open while a bid comes in at the other process, past the proxy."""
    ada, ben, cyd = (front.houses[0].user(name) for name in ("ada", "ben", "cyd"))
    gid = ada.auction()
    with front.http.stream("GET", f"/auctions/{gid}/events") as stream:
        lines = stream.iter_lines()
        next(lines)  # the stream has begun
        for number, (house, bidder) in enumerate(zip(front.houses, (ben, cyd), strict=True)):
            by = {"Authorization": f"Bearer {bidder.token}"}
            assert (
                201 == house.anyone.post(f"/auctions/{gid}/bids", json={"amount": 20 + number}, headers=by).status_code
            )
            assert any('"type":"bid.placed"' in line for line in lines)


def test_http_leads_to_https(front: Front) -> None:
    """A person who comes by http is sent to the same page by https."""
    plain = httpx.get(f"http://127.0.0.1:{front.ports['http']}/lots/x", headers={"Host": NAME})
    assert plain.status_code in (301, 308)
    assert f"https://{NAME}/lots/x" == plain.headers["location"]


def test_devices_reach_the_broker(front: Front) -> None:
    """A device gets a connection of MQTT by WebSocket at /mqtt, and through HAProxy over TLS too."""
    with front.dialled("https") as line:
        names = [Subprotocol("mqtt")]
        with open_websocket(f"wss://{NAME}/mqtt", sock=line, ssl=front.trust, subprotocols=names) as device:
            device.send(raw.connect())
            assert raw.CONNACK == device.recv(SECONDS_MAX)
    if "mqtt" in front.ports:
        with front.trust.wrap_socket(front.dialled("mqtt"), server_hostname=NAME) as by_tls:
            by_tls.sendall(raw.connect("other"))
            assert raw.CONNACK == by_tls.recv(4)
