"""Fixtures of the watch: watchers, lines that can be cut, and both brokers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.line import Line
from tests.mqtt.equipment import Mosquitto, free_port
from tests.tools.watch.watching import Watcher


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    """Start watchers: `watch(url, ...)`."""
    watchers: list[Watcher] = []

    def start(*arguments: str) -> Watcher:
        watchers.append(Watcher(tmp_path, *arguments))
        return watchers[-1]

    yield start
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
