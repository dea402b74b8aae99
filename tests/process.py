"""`saleroom` as people run it: a separate process in its own folder, reached over TCP."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.forking import Program
from tests.patience import SECONDS_MAX, pause_after

PASSWORD = "correct horse"
PROGRAM = Path(sys.executable).with_name("saleroom")
BACK_SOON = json.dumps(
    {
        "saleroom.feed.streams:RETRY_SECONDS_MIN": 0.1,
        "saleroom.feed.streams:SPREAD_SECONDS_MIN": 0.2,
        "saleroom.mqtt.relay:LEASE_SECONDS": 1,
        "saleroom.mqtt.relay:RENEW_SECONDS": 0.2,
        "saleroom.mqtt.relay:STANDBY_SECONDS": 0.1,
        "saleroom.mqtt.relay:BACKOFF_SECONDS_MAX": 0.5,
        "saleroom.tools.watch.channel:RETRY_SECONDS": 0.1,
    }
)
"""As `test_constants`: what a house or its followers wait for before they come back is over in a second, not in ten."""
_SERVES = re.compile(r"saleroom (?:edge )?serves on (http://\S+:[0-9]+)")
_MQTT = re.compile(r"^  mqtt +mqtts?://[^ ]*:([0-9]+)", re.MULTILINE)


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment with `settings` as the only ones of the house's."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
    if plain.pop("PYTHONDONTWRITEBYTECODE", None):
        # Otherwise every start would compile all modules; the compiled files are kept out of the source tree.
        compiled = Path(tempfile.gettempdir()) / f"saleroom-tests-compiled-{os.getuid()}"
        compiled.mkdir(mode=0o700, exist_ok=True)
        plain["PYTHONPYCACHEPREFIX"] = str(compiled)
    return plain | {f"SALEROOM_{name.upper()}": value for name, value in settings.items()}


def wait_until(holds: Callable[[], bool], seconds: float = SECONDS_MAX) -> None:
    """Wait until `holds()`. Fails after `seconds`, which a busy machine does not need."""
    start = time.monotonic()
    while not holds():
        waited = time.monotonic() - start
        assert waited < seconds, f"it did not come to hold within {seconds} s"
        time.sleep(pause_after(waited))


@contextmanager
def ending(process: subprocess.Popen[Any]) -> Iterator[Any]:
    """Yield a process, and kill it if it still runs at the end of the block, as after a test that fails."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def saleroom(
    folder: Path, *arguments: str, stdin: str = "", program: str = str(PROGRAM), **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, or a `program` of a test's own."""
    with ExitStack() as stack:
        typed, output, errors = (stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
        typed.write(stdin)
        typed.seek(0)
        process = Program([program, *arguments], folder, environment(**settings), output, errors, typed)
        try:
            code = process.wait(SECONDS_MAX)
        finally:
            process.kill()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, code, output.read(), errors.read())


class ServeProcess:
    """A running `saleroom serve` on a free port; it serves when this returns."""

    program: Path = PROGRAM
    command: str = "serve"
    told_last: str = "\n  mqtt "
    """What it says once it serves."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        number = time.monotonic_ns()
        self._output, self._log = folder / f"stdout-{number}.txt", folder / f"stderr-{number}.txt"
        command = [str(self.program), self.command, "--port", "0", *arguments]
        with self._output.open("wb") as output, self._log.open("wb") as log:
            self.process = Program(command, folder, environment(**settings), output, log)
        try:
            self._until(lambda: self.told_last in self.output and self._answers(), "it serves")
        except BaseException:
            self.kill()
            raise

    @property
    def output(self) -> str:
        """Its output so far."""
        return self._output.read_text()

    @property
    def url(self) -> str:
        """The address that it printed at its start."""
        found = _SERVES.search(self.output)
        assert found is not None, self.told()
        return found[1]

    @property
    def mqtt_port(self) -> int:
        """The port of the broker that it names."""
        found = _MQTT.search(self.output)
        assert found is not None, self.told()
        return int(found[1])

    def log(self) -> str:
        """Return its log."""
        return self._log.read_text()

    def told(self) -> str:
        """Return its output and log, for a failing test."""
        return f"{self.output}\n{self.log()}"

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return self.process.wait(SECONDS_MAX)

    def kill(self) -> None:
        """End it and its worker processes, if they still run, without a chance to say anything."""
        if self.process.poll() is None:
            workers = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            for worker in workers:
                worker.kill()
        self.wait()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=SECONDS_MAX)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while not holds():
            assert self.process.poll() is None and time.monotonic() < deadline, f"not so: {what}\n{self.told()}"
            time.sleep(0.01)


class Client:
    """A client of the house over HTTP, with or without a token."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"X-Requested-With": "test"}, timeout=SECONDS_MAX)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(self, method: str, path: str, token: str | None = None, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request; `body` goes as JSON."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return self._http.request(method, path, headers=headers, json=body)

    def get(self, path: str, token: str | None = None) -> Any:
        """Return the JSON at `path`, which must be there."""
        answer = self.ask("GET", path, token)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, token: str | None = None, body: Any = None, **headers: str) -> Any:
        """Return the JSON of the answer to `body`, which must be accepted."""
        answer = self.ask("POST", path, token, {} if body is None else body, **headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def enter(self, name: str) -> str:
        """Register `name`, log in, and return the token."""
        self.post("/users", body={"username": name, "password": PASSWORD})
        return self.log_in(name)

    def log_in(self, name: str, password: str = PASSWORD) -> str:
        """Return a new token of `name`."""
        return str(self.post("/login", body={"username": name, "password": password})["token"])

    def sell(self, token: str, **terms: Any) -> str:
        """Create an auction and return its gid."""
        return str(self.post("/auctions", token, {"name": "Longcase clock", "startingPrice": "100", **terms})["gid"])

    def history(self, gid: str) -> list[dict[str, Any]]:
        """Return all bids of an auction, oldest first."""
        bids: list[dict[str, Any]] = []
        more = ""
        while True:
            page = self.get(f"/auctions/{gid}/bids?limit=100{more}")
            bids += page["bids"]
            if page["next"] is None:
                return bids[::-1]
            more = f"&cursor={page['next']}"
