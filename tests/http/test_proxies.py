"""Behind nginx and HAProxy with kept-alive connections, every client gets the answer to its own request."""

import contextlib
import http.client
import json
import random
import threading
import time
from pathlib import Path

from tests.fixtures_house import House
from tests.http.proxies import WAYS, dialled, proxied
from tests.http.test_framing import UPGRADES
from tests.patience import SECONDS_MAX

REQUESTS = 2_000
"""Once a body that is left unread is taken for a request, a wrong answer comes within some 130 requests."""
VICTIMS, ATTACKERS = 4, 3
"""Clients of each kind at each way in."""


class Crowd:
    """Clients of one way in: victims that request their own data, and attackers."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.left = REQUESTS
        self.swapped: list[str] = []
        self._lock = threading.Lock()

    def go_on(self) -> bool:
        """Count one request. Return False if there were enough, or if a client got another's answer."""
        with self._lock:
            self.left -= 1
            return self.left >= 0 and not self.swapped

    def victim(self, port: int, name: str) -> None:
        """Request an own account and auction, over and over, on one connection."""
        user = self.house.user(name)
        headers = {"Authorization": f"Bearer {user.token}", "X-Requested-With": "x", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
        for turn in range(REQUESTS):
            if not self.go_on():
                break
            method, path, body, field, expected = (
                ("GET", "/me", None, "username", name),
                ("GET", f"/auctions/{user.gid()}", None, "gid", user.gid()),
                ("PATCH", f"/auctions/{user.gid()}", json.dumps({"description": f"{name} {turn}"}), "gid", user.gid()),
            )[turn % 8 % 3]
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or json.loads(content).get(field) != expected:
                self.swapped.append(f"{name} asked {method} {path}: {answer.status} {content[:200]!r}")
        connection.close()

    def attacker(self, port: int, name: str) -> None:
        """Hide a request in the bodies of others, in changing ways, and send the body late."""
        chance = random.Random(name)
        hidden = f"GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.house.user(name).token}\r\n\r\n".encode()
        while self.go_on():
            upgrade = UPGRADES[chance.choice([*UPGRADES])]
            chunked = b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
            length = b"Content-Length: %d\r\n\r\n" % len(hidden), hidden
            head, body = chance.choice([chunked, length])
            target = chance.choice([b"POST /login", b"GET /healthz", b"POST /nowhere", b"PUT /me"])
            expect = chance.choice([b"", b"", b"Expect: 100-continue\r\n"])
            with contextlib.suppress(OSError), dialled(port) as connection:
                connection.sendall(
                    target + b" HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\n" + upgrade + expect + head
                )
                time.sleep(chance.choice([0, 0.001, 0.005]))
                connection.sendall(body)
                connection.settimeout(5)
                connection.recv(1000)


def test_answers_are_never_swapped(sqlite_house: House, tmp_path: Path) -> None:
    """Of 2,000 mixed requests through real proxies, every client gets its own answers, whatever attackers hide in bodies."""
    crowd = Crowd(sqlite_house)
    people: list[threading.Thread] = []
    with contextlib.ExitStack() as stack:
        ports = proxied(tmp_path, sqlite_house.port, stack)
        for way in WAYS:
            for kind, count in ((crowd.victim, VICTIMS), (crowd.attacker, ATTACKERS)):
                for number in range(count):
                    name = f"{kind.__name__}.{way.replace(' ', '.')}.{number}"
                    sqlite_house.user(name).gid()
                    people.append(threading.Thread(target=kind, args=(ports[way], name)))
        for one in people:
            one.start()
        for one in people:
            one.join()
    assert [] == crowd.swapped
    assert crowd.left < 0
