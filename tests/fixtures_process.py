"""Houses as separate processes and their clients over TCP, and commands without a process of their own."""

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process import Client, ServeProcess
from tests.terminal import CommandResult

Start = Callable[..., ServeProcess]
Visit = Callable[[ServeProcess], Client]
Run = Callable[..., CommandResult]


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


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run one command in an empty folder, without starting a process for it."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SALEROOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: str, stdin: str = "") -> CommandResult:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        from saleroom.cli import main  # not every test that finds this file needs the program

        code = main(list(args))
        return CommandResult(code, *capfd.readouterr())

    return run
