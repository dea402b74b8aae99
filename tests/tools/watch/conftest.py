"""Fixtures of the watch: watchers, lines that can be cut, and both brokers."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.fixtures_process import Start
from tests.line import Line
from tests.mqtt.equipment import Mosquitto, free_port
from tests.process import BACK_SOON
from tests.tools.watch.watching import Watcher


@pytest.fixture
def start(start: Start) -> Start:
    """Start houses that are soon back after they were killed, as are those who watch them."""
    return partial(start, test_constants=BACK_SOON)


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    """Begin watches: `watch(url, ...)`."""
    watchers: list[Watcher] = []

    def begin(*arguments: str, **settings: str) -> Watcher:
        watchers.append(Watcher(tmp_path, *arguments, **settings))
        return watchers[-1]

    yield begin
    for watcher in watchers:
        watcher.process.kill()
        watcher.process.wait()


@pytest.fixture
def line() -> Iterator[Callable[[str], Line]]:
    """Connections to servers that can be cut and restored: `line(url)`."""
    lines: list[Line] = []

    def lay(url: str) -> Line:
        lines.append(Line(url))
        return lines[-1]

    yield lay
    for laid in lines:
        laid.cut()


@pytest.fixture(params=["embedded", "mosquitto"])
def broker(request: pytest.FixtureRequest) -> tuple[int, dict[str, str]]:
    """Each broker's port, and the settings with which the house uses it."""
    if request.param == "embedded":
        port = free_port()
        return port, {"mqtt": "embedded", "mqtt_port": str(port)}
    mosquitto: Mosquitto = request.getfixturevalue("mosquitto")
    return mosquitto.port, {"mqtt": f"mqtt://127.0.0.1:{mosquitto.port}"}
