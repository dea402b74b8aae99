"""Houses as separate processes, and their clients over TCP."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process import Client, ServeProcess

Start = Callable[..., ServeProcess]
Visit = Callable[[ServeProcess], Client]


@pytest.fixture
def start(tmp_path: Path, sqlite_template: Path) -> Iterator[Start]:
    """Start houses in the test's folder; MQTT is off unless the test says otherwise.

    The usual database is there, with its tables: making them costs as much as the rest of a start.
    """
    shutil.copy(sqlite_template, tmp_path / "saleroom.db")
    houses: list[ServeProcess] = []

    def serve(*arguments: str, **settings: str) -> ServeProcess:
        houses.append(ServeProcess(tmp_path, *arguments, **({"mqtt": "off"} | settings)))
        return houses[-1]

    yield serve
    for house in houses:
        house.kill()


@pytest.fixture
def visit() -> Iterator[Visit]:
    """Return a client of a house."""
    clients: list[Client] = []

    def come(house: ServeProcess) -> Client:
        clients.append(Client(house.url))
        return clients[-1]

    yield come
    for client in clients:
        client.close()
