"""The HAProxy of three machines, before something that stands in for the houses."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests.http.proxies import running
from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.process import wait_until

RECIPE = Path(__file__).parents[2] / "deploy" / "three-nodes" / "haproxy.cfg"


class _House(ThreadingHTTPServer):
    """It serves, and is ready or not."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.ready = True


class _Answer(BaseHTTPRequestHandler):
    server: _House

    def do_GET(self) -> None:
        """Answer with 200; for `/readyz` only if it is ready."""
        self.send_response(503 if self.path == "/readyz" and not self.server.ready else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Answer as to a `GET`."""
        self.do_GET()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@contextmanager
def _house() -> Iterator[_House]:
    with _House() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()


def test_a_house_that_is_not_ready_is_read_if_no_other_is(tmp_path: Path) -> None:
    """Without a standby no house is ready. People then read pages all the same, instead of the proxy's own words."""
    port = free_port()
    with _house() as house:
        text = RECIPE.read_text().replace("bind :8080", f"bind 127.0.0.1:{port}").replace("/dev/log", "127.0.0.1:9")
        text = re.sub(r"192\.0\.2\.\d:9000", f"127.0.0.1:{house.server_port}", text)
        text = re.sub(r"192\.0\.2\.\d:5432|127\.0\.0\.1:5000", f"127.0.0.1:{free_port()}", text)
        (tmp_path / "haproxy.cfg").write_text(text)
        command = [need("haproxy"), "-db", "-f", "haproxy.cfg"]
        for ports in running(command, tmp_path, {"houses": port}):
            with httpx.Client(base_url=f"http://127.0.0.1:{ports['houses']}") as reader:
                wait_until(lambda: reader.post("/auctions/x/bids").status_code == 200)
                house.ready = False
                wait_until(lambda: reader.post("/auctions/x/bids").status_code == 503)
                for path in ("/", "/lots/x", "/lots/x/live"):
                    assert 200 == reader.get(path).status_code
                house.ready = True
                wait_until(lambda: reader.post("/auctions/x/bids").status_code == 200)
