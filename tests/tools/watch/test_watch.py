"""`saleroom watch` as users run it, against served houses, both brokers, and connections that break."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures_process import Start, Visit
from tests.line import Line
from tests.mqtt.equipment import Mosquitto, free_port
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, ServeProcess, ending, environment, saleroom, wait_until
from tests.terminal import shown
from tests.tools.watch.watching import WatchedHouse, Watcher


def test_the_lines_are_the_log(
    start: Start, visit: Visit, watch: Callable[..., Watcher], line: Callable[[str], Line], tmp_path: Path
) -> None:
    """Despite a broken connection and a killed house, every event is printed once, in order, as in the log.

    This holds for all lots from now on, for all from the beginning of the log, and for one lot, at whose end the watch ends.
    """
    port = str(free_port())
    house = start("--port", port)
    floor = WatchedHouse(visit(house), tmp_path)
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
    way.cut()  # otherwise the connection would fail on the missing house
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
        assert (
            "connection lost" in watcher.errors and "missed" not in watcher.errors and "Traceback" not in watcher.errors
        )


def test_a_broker_shows_the_log_too(
    broker: tuple[int, dict[str, str]], start: Start, visit: Visit, watch: Callable[..., Watcher], tmp_path: Path
) -> None:
    """Over either broker, and despite a killed house, every event comes once and in order."""
    mqtt_port, settings = broker
    port = str(free_port())
    house = start("--port", port, **settings)
    floor = WatchedHouse(visit(house), tmp_path)
    one, other = floor.sell(), floor.sell(name="Rug")
    url = f"mqtt://127.0.0.1:{mqtt_port}"
    _until_delivered(tmp_path)
    whole, lot = watch(url, "--json"), watch(url, one, "--json")
    for watcher in (whole, lot):
        watcher.until_live()
    floor.bid(one, 10)
    # The embedded broker dies with the house, and loses the events that it has not delivered.
    whole.until_shown(10)
    lot.until_shown(10)
    house.kill()
    start("--port", port, **settings)
    whole.until_live(2 if settings["mqtt"] == "embedded" else 1)
    lot.until_live(2 if settings["mqtt"] == "embedded" else 1)
    floor.bid(one, 10)
    floor.bid(other, 1)
    floor.close(one)
    assert 0 == lot.process.wait(SECONDS_MAX), lot.errors
    floor.close(other)
    whole.until_shown(len(floor.log()) - 2)
    assert floor.log(one)[1:] == lot.lines
    assert floor.log()[2:] == whole.lines
    assert "missed" not in whole.errors + lot.errors and "Traceback" not in whole.errors + lot.errors
    assert 0 == whole.end()


def _until_delivered(folder: Path) -> None:
    """Wait until the broker has all events."""
    with closing(sqlite3.connect(folder / "saleroom.db")) as database:
        wait_until(
            lambda: database.execute("SELECT count(*) FROM events WHERE delivered_at IS NULL").fetchone() == (0,)
        )


def test_a_gap_over_mqtt_is_shown(
    broker: tuple[int, dict[str, str]],
    start: Start,
    visit: Visit,
    watch: Callable[..., Watcher],
    line: Callable[[str], Line],
    tmp_path: Path,
) -> None:
    """Events that the broker did not keep during an outage are shown as missing, by number; the watch continues."""
    mqtt_port, settings = broker
    house = start(**settings)
    floor = WatchedHouse(visit(house), tmp_path)
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
    assert 1 == watcher.errors.count(f"missed: events 4 to 6 of {gid} (Longcase clock)")
    assert "Longcase clock: sold to" in watcher.lines[-1]


@pytest.mark.parametrize("broker", ["mosquitto"], indirect=True)
def test_a_close_during_an_outage_ends_the_watch(
    broker: tuple[int, dict[str, str]],
    start: Start,
    visit: Visit,
    watch: Callable[..., Watcher],
    line: Callable[[str], Line],
    tmp_path: Path,
) -> None:
    """If the lot closed during an outage, the retained state shows it: the missing events and the result are printed."""
    mqtt_port, settings = broker
    floor = WatchedHouse(visit(start(**settings)), tmp_path)
    gid = floor.sell()
    way = line(f"mqtt://127.0.0.1:{mqtt_port}")
    soon = {"saleroom.tools.watch.sequence:GRACE_SECONDS": 0.2, "saleroom.tools.watch.channel:RETRY_SECONDS": 0.1}
    watcher = watch(way.url, gid, test_constants=json.dumps(soon))
    watcher.until_live()
    floor.bid(gid, 1)
    watcher.until_shown(1)
    way.cut()
    floor.bid(gid, 1)
    floor.close(gid)
    _until_delivered(tmp_path)
    way.mend()
    assert 0 == watcher.process.wait(SECONDS_MAX), watcher.errors
    *_, missed, end = watcher.errors.splitlines()
    assert f"saleroom: missed: events 3 to 4 of {gid} (Longcase clock)" == missed
    assert re.fullmatch(rf"saleroom: {gid} \(Longcase clock\) is over: sold to (ben|cyd) for €?102\.00", end)


def test_the_terminal_shows_the_lots(start: Start, visit: Visit, tmp_path: Path) -> None:
    """On a terminal the view has the connection, lots with price and leader, and the last events. Ctrl-C ends it in order."""
    house = start()
    floor = WatchedHouse(visit(house), tmp_path)
    gid = floor.sell(name="Bracket clock")
    terminal, end = pty.openpty()
    started = subprocess.Popen(
        [PROGRAM, "watch", house.url],
        cwd=tmp_path,
        env=environment() | {"TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
        stdin=end,
        stdout=end,
        stderr=end,
    )
    os.close(end)
    with ending(started) as process:
        seen = shown(terminal, "live from")
        floor.bid(gid, 1)
        seen += shown(terminal, "ben bids|cyd bids")
        seen += shown(terminal, r"€101\.00 +(ben|cyd) +€102\.00 +1 ")
        process.send_signal(signal.SIGINT)
        seen += shown(terminal)
        assert 0 == process.wait(SECONDS_MAX)
    assert "Bracket clock" in seen and "Traceback" not in seen
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l"), "the cursor is shown again"
    os.close(terminal)


def test_a_failure_is_one_line(start: Start, watch: Callable[..., Watcher]) -> None:
    """An address without a house, a missing lot, and wrong usage give one line without a secret."""
    house = start(mqtt="embedded", mqtt_port="0")
    nobody = f"127.0.0.1:{free_port()}"
    broker = f"mqtt://127.0.0.1:{house.mqtt_port}"
    failures: dict[tuple[str, ...], str] = {
        (f"http://{nobody}",): "connection refused",
        (f"mqtt://ada:hunter2@{nobody}",): "connection refused",
        (house.url, "nosuchlot123"): "there is no lot nosuchlot123",
        (f"{house.url}/docs",): "not as an auction house does",
        (f"{house.url}/docs", "nosuchlot123"): "no lot|not as an auction house does",
        (house.url, "--after", "nosuchlot123/4"): "does not know the event nosuchlot123/4",
        (f"http://127.0.0.1:{house.mqtt_port}",): "cannot be watched",
        (broker, "nosuchlot123"): "the state of a lot nosuchlot123",
        (broker, "--prefix", "other/"): "no house has left its status below other/",
        (f"mqtts://127.0.0.1:{house.mqtt_port}",): "cannot be watched",
        (house.url, "-hyphenated-"): "there is no lot -hyphenated-",
        (house.url, "--json", "--hyphens---"): "there is no lot --hyphens---",
        (broker.replace("mqtt:", "mqtts:"), "--ca-file", "nosuch"): "the authority file nosuch cannot be used",
    }
    wrong_usage: dict[tuple[str, ...], str] = {
        (f"http://ada:hunter2@{nobody}",): "leave user and password out",
        ("ftp://ada:hunter2@host",): "no address of a house",
        ("mqtt://ada:hunter2@host:port",): "no valid host and port",
        (house.url, "a/b"): "is no gid",
        (house.url, "--jsn"): "no such option: --jsn",
        (broker, "--after", "0"): "--after is for",
        (house.url, "--prefix", "x/"): "--prefix and --password-file are for",
        (broker, "--prefix", "#"): "a prefix ends with /",
        (broker, "--ca-file", "ca.pem"): "--ca-file is for",
        (broker, "--password-file", "nosuch"): "cannot read the password in nosuch",
        (): "Missing argument",
    }
    soon = json.dumps({"saleroom.tools.watch.mqtt:FIRST_SECONDS_MAX": 0.5})
    watchers = {arguments: watch(*arguments, test_constants=soon) for arguments in failures | wrong_usage}
    for arguments, message in (failures | wrong_usage).items():
        watcher = watchers[arguments]
        code = 1 if arguments in failures else 2
        assert code == watcher.process.wait(2 * SECONDS_MAX), (arguments, watcher.errors)
        assert ([], 1) == (watcher.lines, watcher.errors.count("\n")), (arguments, watcher.errors)
        assert re.search(message, watcher.errors), (arguments, watcher.errors)
        assert "hunter2" not in watcher.errors


def test_a_wrong_password_ends_the_watch(tmp_path: Path) -> None:
    """A broker that refuses the account ends the watch with one line, without the password."""
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


def test_a_closed_pipe_is_no_error(start: Start, visit: Visit, tmp_path: Path) -> None:
    """`saleroom watch ... | head -1` ends without another event and without an error."""
    house = start()
    gid = WatchedHouse(visit(house), tmp_path).sell()
    command = f'{PROGRAM} watch {house.url} --json --after 0 2>err.txt | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    first, code = done.stdout.splitlines()
    assert (f"{gid}/1", "0") == (json.loads(first)["id"], code)
    assert f"saleroom: live from {house.url}\n" == (tmp_path / "err.txt").read_text()


def test_a_lot_that_is_over_ends_the_watch(start: Start, visit: Visit, tmp_path: Path) -> None:
    """After the close the watch shows the result and exits with 0."""
    house: ServeProcess = start()
    floor = WatchedHouse(visit(house), tmp_path)
    gid = floor.sell()
    floor.bid(gid, 1)
    floor.close(gid)
    for arguments in ((house.url, gid), (f"{house.url}/auctions/{gid}",), (f"{house.url}/lots/{gid}/#lot-box",)):
        done = saleroom(tmp_path, "watch", *arguments)
        assert (0, "") == (done.returncode, done.stdout), arguments
        told = rf"saleroom: {gid} \(Longcase clock\) is over: sold to (ben|cyd) for €?101\.00\n"
        assert re.fullmatch(told, done.stderr), arguments
