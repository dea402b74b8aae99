"""The house tells the service manager that it serves and lives, as systemd wants it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from saleroom.runtime import supervision
from tests.manager import Manager
from tests.patience import SECONDS_MAX
from tests.process import ServeProcess, ending, environment

WATCHDOG_USEC = "300000"


@pytest.mark.parametrize("before", ["", "@saleroom-test"])
def test_what_is_sent(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice is one datagram, with a line for each variable, to a file or into the abstract namespace."""
    with Manager(f"{before}{tmp_path}/notify") as manager:
        monkeypatch.setenv(supervision.SOCKET_VARIABLE, manager.address)
        supervision.say_ready("it serves")
        assert ["READY=1", "STATUS=it serves"] == manager.next()
        supervision.say_alive()
        assert ["WATCHDOG=1"] == manager.next()


def test_without_a_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A house that a person starts has nobody to tell, and is not asked whether it lives."""
    monkeypatch.delenv(supervision.SOCKET_VARIABLE, raising=False)
    monkeypatch.setenv(supervision.WATCHDOG_VARIABLE, "30000000")
    supervision.say_ready("it serves")
    supervision.say_alive()
    assert supervision.alive_seconds() is None


@pytest.mark.parametrize(
    ("microseconds", "process", "seconds"),
    [
        ("30000000", lambda: "", 10),
        ("3000000", lambda: str(os.getpid()), 1),
        ("600000000", lambda: "", 10),
        ("", lambda: "", None),
        ("30000000", lambda: "1", None),
    ],
)
def test_how_often_it_says_that_it_lives(
    microseconds: str, process: Callable[[], str], seconds: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times in each period, every ten seconds at least, and only if this very process is watched."""
    monkeypatch.setenv(supervision.SOCKET_VARIABLE, "/run/notify")
    monkeypatch.setenv(supervision.WATCHDOG_VARIABLE, microseconds)
    monkeypatch.setenv(supervision.PROCESS_VARIABLE, process())
    assert seconds == supervision.alive_seconds()


def test_a_house_says_that_it_serves_and_lives_until_it_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """READY comes once it serves, with its address; signs of life follow, and stop with the process."""
    with Manager(f"{tmp_path}/notify") as manager:
        monkeypatch.setenv(supervision.SOCKET_VARIABLE, manager.address)
        monkeypatch.setenv(supervision.WATCHDOG_VARIABLE, WATCHDOG_USEC)
        house = ServeProcess(tmp_path, "--mqtt", "off")
        try:
            ready, status = manager.next()
            assert ("READY=1", True) == (ready, house.url in status)
            assert [["WATCHDOG=1"]] * 2 == [manager.next(), manager.next()]
            house.process.send_signal(signal.SIGSTOP)
            manager.waiting()
            time.sleep(2.5)  # in which a house that goes on would say it twice
            assert 0 == manager.waiting()
            house.process.send_signal(signal.SIGCONT)
            assert ["WATCHDOG=1"] == manager.next()
            assert 0 == house.terminate()
        finally:
            house.kill()


def test_a_house_whose_output_nobody_reads_serves(tmp_path: Path, sqlite_template: Path) -> None:
    """A closed standard output stops no house: it says READY, serves, and ends as asked."""
    shutil.copy(sqlite_template, tmp_path / "saleroom.db")
    reading, writing = os.pipe()
    os.close(reading)
    with Manager(f"{tmp_path}/notify") as manager:
        command = [sys.executable, "-m", "saleroom", "serve", "--port", "0", "--mqtt", "off"]
        variables = environment() | {supervision.SOCKET_VARIABLE: manager.address}
        house = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        with ending(house):
            ready, status = manager.next()
            assert "READY=1" == ready
            url = status.partition("serves on ")[2].partition(";")[0]
            assert 200 == httpx.get(f"{url}/healthz").status_code
            house.send_signal(signal.SIGTERM)
            _, said = house.communicate(timeout=SECONDS_MAX)
            assert (0, False) == (house.returncode, b"Traceback" in said)


def test_a_manager_that_does_not_read_or_is_away_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notice that cannot be sent is left out with a line in the log: bids must not wait for it, nor the start for long."""
    monkeypatch.setattr(supervision, "READY_SECONDS_MAX", 0.05)
    with Manager(f"{tmp_path}/notify") as manager, capture_logs() as logs:
        monkeypatch.setenv(supervision.SOCKET_VARIABLE, manager.address)
        for _ in range(2000):  # more than the kernel keeps
            supervision.say_alive()
        supervision.say_ready("it serves")
        kept = manager.waiting()
    assert {"the service manager cannot be told how the house is"} == {each["event"] for each in logs}
    assert (2001, True) == (kept + len(logs), kept > 0)
    assert ("READY=1\nSTATUS=it serves", "timed out") == (logs[-1]["notice"], logs[-1]["reason"])
    with capture_logs() as logs:
        supervision.say_alive()
    assert ["[Errno 111] Connection refused"] == [each["reason"] for each in logs]
