"""`saleroom watch` as people run it, against houses that serve, brokers of both kinds, and lines that break."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures_process import Start, Visit
from tests.line import Line
from tests.mqtt.equipment import Mosquitto, free_port
from tests.process import PROGRAM, Served, environment, saleroom, wait_until
from tests.tools.watch.watching import SECONDS_MAX, Floor, Watcher


def test_the_lines_are_the_log(
    start: Start, visit: Visit, watch: Callable[..., Watcher], line: Callable[[str], Line], tmp_path: Path
) -> None:
    """Through a line that breaks and a house that is killed, every event is printed once, in order, as it is in the log.

    So it is for all lots from now on, for all from the beginning of the log, and for one lot, whose end is the watch's end.
    """
    port = str(free_port())
    house = start("--port", port)
    floor = Floor(visit(house), tmp_path)
    one, other = floor.sell(), floor.sell(name="Rug")
    before = len(floor.log())
    way = line(house.url)
    fresh, whole, lot = (
        watch(way.url, "--json"),
        watch(way.url, "--json", "--after", "0"),
        watch(house.url, one, "--json"),
    )
    for watcher in (fresh, whole, lot):
        watcher.until_live()
    floor.bid(one, 3)
    floor.bid(other, 2)
    fresh.until_shown(5)
    lot.until_shown(3)
    way.cut()
    floor.bid(one, 20)
    way.mend()
    for watcher in (fresh, whole):
        watcher.until_live(2)
    way.cut()  # it cannot bear a house that is not there
    house.kill()
    start("--port", port)
    way.mend()
    floor.bid(one, 3)
    floor.close(one)
    assert 0 == lot.process.wait(SECONDS_MAX)
    floor.close(other)
    fresh.until_shown(len(floor.log()) - before)
    whole.until_shown(len(floor.log()))
    assert floor.log(one)[1:] == lot.lines
    assert floor.log()[before:] == fresh.lines
    assert floor.log() == whole.lines
    assert (0, 0) == (fresh.end(), whole.end(signal.SIGTERM))
    for watcher in (fresh, whole, lot):
        assert "connection lost" in watcher.said and "missed" not in watcher.said and "Traceback" not in watcher.said


def test_a_broker_shows_the_log_too(
    broker: tuple[int, dict[str, str]], start: Start, visit: Visit, watch: Callable[..., Watcher], tmp_path: Path
) -> None:
    """Over either broker, and through a house that is killed, every event comes once and in order."""
    mqtt_port, settings = broker
    port = str(free_port())
    house = start("--port", port, **settings)
    floor = Floor(visit(house), tmp_path)
    one, other = floor.sell(), floor.sell(name="Rug")
    url = f"mqtt://127.0.0.1:{mqtt_port}"
    _until_delivered(tmp_path)
    whole, lot = watch(url, "--json"), watch(url, one, "--json")
    for watcher in (whole, lot):
        watcher.until_live()
    floor.bid(one, 10)
    # The embedded broker dies with the house, and takes along what a reader has not got.
    whole.until_shown(10)
    lot.until_shown(10)
    house.kill()
    start("--port", port, **settings)
    whole.until_live(2 if settings["mqtt"] == "embedded" else 1)
    lot.until_live(2 if settings["mqtt"] == "embedded" else 1)
    floor.bid(one, 10)
    floor.bid(other, 1)
    floor.close(one)
    assert 0 == lot.process.wait(SECONDS_MAX), lot.said
    floor.close(other)
    whole.until_shown(len(floor.log()) - 2)
    assert floor.log(one)[1:] == lot.lines
    assert floor.log()[2:] == whole.lines
    assert "missed" not in whole.said + lot.said and "Traceback" not in whole.said + lot.said
    assert 0 == whole.end()


def _until_delivered(folder: Path) -> None:
    """Wait until the broker has all that it is owed."""
    with closing(sqlite3.connect(folder / "saleroom.db")) as database:
        wait_until(
            lambda: database.execute("SELECT count(*) FROM events WHERE delivered_at IS NULL").fetchone() == (0,)
        )


def test_a_gap_over_mqtt_is_said(
    broker: tuple[int, dict[str, str]],
    start: Start,
    visit: Visit,
    watch: Callable[..., Watcher],
    line: Callable[[str], Line],
    tmp_path: Path,
) -> None:
    """What a broker did not keep while the line was down is said to be missing, by number; the rest goes on."""
    mqtt_port, settings = broker
    house = start(**settings)
    floor = Floor(visit(house), tmp_path)
    gid = floor.sell()
    way = line(f"mqtt://127.0.0.1:{mqtt_port}")
    watcher = watch(way.url, gid)
    watcher.until_live()
    floor.bid(gid, 2)
    watcher.until_shown(2)
    way.cut()
    floor.bid(gid, 3)
    _until_delivered(tmp_path)
    way.mend()
    watcher.until_live(2)
    floor.bid(gid, 1)
    watcher.until_shown(3)
    floor.close(gid)
    assert 0 == watcher.process.wait(SECONDS_MAX)
    assert [f"{gid}/{number}" for number in (2, 3, 7, 8)] == [found.split()[1] for found in watcher.lines]
    assert 1 == watcher.said.count(f"missed: events 4 to 6 of {gid} (Longcase clock)")
    assert "Longcase clock: sold to" in watcher.lines[-1]


@pytest.mark.parametrize("broker", ["mosquitto"], indirect=True)
def test_a_close_that_nobody_told_ends_the_watch(
    broker: tuple[int, dict[str, str]],
    start: Start,
    visit: Visit,
    watch: Callable[..., Watcher],
    line: Callable[[str], Line],
    tmp_path: Path,
) -> None:
    """Where the close came while the line was down, the retained state says so: what is missing is said, and the result."""
    mqtt_port, settings = broker
    floor = Floor(visit(start(**settings)), tmp_path)
    gid = floor.sell()
    way = line(f"mqtt://127.0.0.1:{mqtt_port}")
    watcher = watch(way.url, gid)
    watcher.until_live()
    floor.bid(gid, 1)
    watcher.until_shown(1)
    way.cut()
    floor.bid(gid, 1)
    floor.close(gid)
    _until_delivered(tmp_path)
    way.mend()
    assert 0 == watcher.process.wait(SECONDS_MAX), watcher.said
    *_, missed, end = watcher.said.splitlines()
    assert f"saleroom: missed: events 3 to 4 of {gid} (Longcase clock)" == missed
    assert re.fullmatch(rf"saleroom: {gid} \(Longcase clock\) is over: sold to (ben|cyd) for 102\.000", end)


def test_the_terminal_shows_the_lots(start: Start, visit: Visit, tmp_path: Path) -> None:
    """On a terminal there is a view: connection, lots with price and leader, last events; Ctrl-C leaves it in order."""
    house = start()
    floor = Floor(visit(house), tmp_path)
    gid = floor.sell(name="Bracket clock")
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "watch", house.url],
        cwd=tmp_path,
        env=environment() | {"TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
        stdin=end,
        stdout=end,
        stderr=end,
    )
    os.close(end)
    seen = _read_until(terminal, "live from")
    floor.bid(gid, 1)
    seen += _read_until(terminal, "ben bids|cyd bids")
    seen += _read_until(terminal, r"101\.000 +(ben|cyd) +102\.000 +1 ")
    process.send_signal(signal.SIGINT)
    seen += _read_until(terminal, None)
    assert 0 == process.wait(SECONDS_MAX)
    assert "Bracket clock" in seen and "Traceback" not in seen
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l"), "the cursor is shown again"
    os.close(terminal)


def _read_until(terminal: int, pattern: str | None) -> str:
    """Return what comes on a terminal until it shows `pattern`, or with None until its end."""
    text = ""
    deadline = time.monotonic() + SECONDS_MAX
    while pattern is None or not re.search(pattern, re.sub(r"\x1b\[[0-9;]*m", "", text)):
        assert time.monotonic() < deadline, f"{pattern} was not shown: {text!r}"
        try:
            text += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # Linux's way of saying that the other end is closed
            assert pattern is None, text
            break
    return text


def test_what_cannot_be_watched_is_said_in_a_line(start: Start, watch: Callable[..., Watcher]) -> None:
    """An address where nobody is, a lot or a house that is not there, and wrong usage: one line, without a secret."""
    house = start(mqtt="embedded", mqtt_port="0")
    nobody = f"127.0.0.1:{free_port()}"
    broker = f"mqtt://127.0.0.1:{house.mqtt_port}"
    cases: list[tuple[int, tuple[str, ...], str]] = [
        (1, (f"http://{nobody}",), "connection refused"),
        (1, (f"mqtt://ada:hunter2@{nobody}",), "connection refused"),
        (1, (house.url, "nosuchlot123"), "there is no lot nosuchlot123"),
        (1, (f"{house.url}/docs",), "not as an auction house does"),
        (1, (f"{house.url}/docs", "nosuchlot123"), "no lot|not as an auction house does"),
        (1, (house.url, "--after", "nosuchlot123/4"), "does not know the event nosuchlot123/4"),
        (1, (f"http://127.0.0.1:{house.mqtt_port}",), "cannot be watched"),
        (1, (broker, "nosuchlot123"), "the state of a lot nosuchlot123"),
        (1, (broker, "--prefix", "other/"), "no house has left its status below other/"),
        (1, (f"mqtts://127.0.0.1:{house.mqtt_port}",), "cannot be watched"),
        (2, (f"http://ada:hunter2@{nobody}",), "leave user and password out"),
        (2, ("ftp://ada:hunter2@host",), "no address of a house"),
        (2, ("mqtt://ada:hunter2@host:port",), "no valid host and port"),
        (2, (house.url, "a/b"), "is no gid"),
        (2, (house.url, "--jsn"), "no such option: --jsn"),
        (1, (house.url, "-hyphenated-"), "there is no lot -hyphenated-"),
        (1, (house.url, "--json", "--hyphens---"), "there is no lot --hyphens---"),
        (2, (broker, "--after", "0"), "--after is for"),
        (2, (house.url, "--prefix", "x/"), "--prefix and --password-file are for"),
        (2, (broker, "--prefix", "#"), "a prefix ends with /"),
        (2, (broker, "--ca-file", "ca.pem"), "--ca-file is for"),
        (2, (broker, "--password-file", "nosuch"), "cannot read the password in nosuch"),
        (1, (broker.replace("mqtt:", "mqtts:"), "--ca-file", "nosuch"), "the authority file nosuch cannot be used"),
        (2, (), "Missing argument"),
    ]
    watchers = [watch(*arguments) for _, arguments, _ in cases]
    for (code, arguments, words), watcher in zip(cases, watchers, strict=True):
        assert code == watcher.process.wait(2 * SECONDS_MAX), (arguments, watcher.said)
        assert ([], 1) == (watcher.lines, watcher.said.count("\n")), (arguments, watcher.said)
        assert re.search(words, watcher.said), (arguments, watcher.said)
        assert "hunter2" not in watcher.said


def test_a_wrong_password_is_said_at_once(tmp_path: Path) -> None:
    """A broker that refuses the account ends the watch with one line, and the password is in none."""
    passwords = tmp_path / "passwords"
    passwords.write_text("")
    broker = Mosquitto(tmp_path, f"password_file {passwords}", "allow_anonymous false")
    broker.start()
    try:
        secret = tmp_path / "secret.txt"
        secret.write_text("hunter2\n")
        url = f"mqtt://ada@127.0.0.1:{broker.port}"
        done = saleroom(tmp_path, "watch", url, "--password-file", str(secret))
    finally:
        broker.kill()
    assert (1, "") == (done.returncode, done.stdout)
    assert re.fullmatch(
        r"saleroom: mqtt://127\.0\.0\.1:\d+ cannot be watched: (not authori[sz]ed|bad user.*)\n", done.stderr
    )


def test_a_reader_who_leaves_is_no_fault(start: Start, visit: Visit, tmp_path: Path) -> None:
    """`saleroom watch ... | head -1` ends by itself, without another event, and without a word on standard error."""
    house = start()
    gid = Floor(visit(house), tmp_path).sell()
    command = f'{PROGRAM} watch {house.url} --json --after 0 2>err.txt | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    first, code = done.stdout.splitlines()
    assert (f"{gid}/1", "0") == (json.loads(first)["id"], code)
    assert f"saleroom: live from {house.url}\n" == (tmp_path / "err.txt").read_text()


def test_a_lot_that_is_over_is_told_and_left(start: Start, visit: Visit, tmp_path: Path) -> None:
    """Whoever comes after the close gets the result and exit code 0, with nothing to wait for."""
    house: Served = start()
    floor = Floor(visit(house), tmp_path)
    gid = floor.sell()
    floor.bid(gid, 1)
    floor.close(gid)
    done = saleroom(tmp_path, "watch", house.url, gid)
    assert (0, "") == (done.returncode, done.stdout)
    assert re.fullmatch(rf"saleroom: {gid} \(Longcase clock\) is over: sold to (ben|cyd) for 101\.000\n", done.stderr)
