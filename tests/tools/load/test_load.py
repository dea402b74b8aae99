"""`saleroom load` against served houses: correct ones on both databases, and some that lie."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from saleroom.tools.load.violations import Kind
from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, ServeProcess, ending, environment, saleroom, wait_until
from tests.terminal import answer, shown
from tests.tools.load.proxy import BROKEN, BUSY, DROPPED, Lie, LyingHouse

KEY = "a-key-for-load-tests"
SHORT = ("--seconds", "1", "--bidders", "6", "--lots", "3")
SECONDS = ("1", "10", "60")
"""How long a load test runs, at each try: on a busy machine it may see less than `ANSWERS` in the first."""
ANSWERS = {"bid 201", "bid 409 bid_too_low", "bid 409 auction_closed", "read 200"}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServeProcess]]:
    """Serve houses without a broker: `serve(database=url)`."""
    houses: list[ServeProcess] = []

    def start(**more: str) -> ServeProcess:
        folder = tmp_path / f"house-{len(houses)}"
        folder.mkdir()
        houses.append(ServeProcess(folder, **{"mqtt": "off", "load_key": KEY, **more}))
        return houses[-1]

    yield start
    for house in houses:
        house.kill()


class LoadTest:
    """A running load test with the key in its environment; its JSON goes to a file named after the port."""

    def __init__(self, folder: Path, url: str, *options: str) -> None:
        port = url.rpartition(":")[2]
        self._said = [folder / f"{port}.{name}" for name in ("out", "err")]
        command = [str(PROGRAM), "load", url, *options, "--json", f"{port}.json", "--force"]
        with self._said[0].open("wb") as out, self._said[1].open("wb") as err:
            self.process = Program(command, folder, environment(load_key=KEY) | {"COLUMNS": "200"}, out, err)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end, and return its exit code, output and errors."""
        code = self.process.wait(SECONDS_MAX)
        out, err = (file.read_text() for file in self._said)
        return code, out, err


@contextlib.contextmanager
def load(folder: Path, url: str, *options: str) -> Iterator[LoadTest]:
    """Run a load test, and kill it if it still runs at the end of the block."""
    test = LoadTest(folder, url, *options)
    try:
        yield test
    finally:
        test.process.kill()


def figures(folder: Path, url: str) -> dict[str, Any]:
    """Return the JSON that a load test has written."""
    written: dict[str, Any] = json.loads((folder / f"{url.rpartition(':')[2]}.json").read_text())
    return written


def test_a_correct_house_has_no_violation(
    database_url: str, serve: Callable[..., ServeProcess], tmp_path: Path
) -> None:
    """Against `saleroom serve` on each database, on PostgreSQL with two processes, all lots close and it exits with 0.

    Bids are accepted, refused and repeated meanwhile.
    """
    workers = "1" if database_url.startswith("sqlite") else "2"
    house, answers, result = serve(database=database_url, workers=workers), set[str](), dict[str, Any]()
    for seconds in SECONDS:
        with load(tmp_path, house.url, *SHORT, "--seconds", seconds) as test:
            code, out, err = test.end()
        assert (0, "") == (code, err), out
        assert "No violation found." in out and KEY not in out
        result = figures(tmp_path, house.url)
        assert {} == result["violationsByKind"] and [] == result["left"]
        assert (0, 0, 0) == (result["errors"], result["unsettled"], result["strangers"])
        answers |= result["answers"].keys()
        if answers >= ANSWERS:
            break
    assert answers >= ANSWERS
    assert result["accepted"] == result["answers"]["bid 201"] and result["bids"]["count"] == sum(
        bucket["bids"] for bucket in result["histogram"]
    )
    assert "error" not in house.log()


def forget(method: str, path: str, answer: Any) -> Any:
    """Leave a bid out of each history."""
    if path.endswith("/bids") and method == "GET" and not path.startswith("/me"):
        gone = next((bid for bid in answer["bids"] if not bid["automatic"]), None)
        answer["bids"] = [bid for bid in answer["bids"] if bid is not gone]
    return answer


def lag() -> Lie:
    """Show an open lot as it was at its first bid, every second time."""
    first: dict[str, Any] = {}
    looks: dict[str, int] = {}

    def lie(method: str, path: str, answer: Any) -> Any:
        if method == "GET" and "minimumBid" in answer and answer["bidCount"] and answer["status"] == "open":
            looks[path] = looks.get(path, 0) + 1
            return first.setdefault(path, answer) if looks[path] % 2 else answer
        return answer

    return lie


def please_everybody(method: str, path: str, answer: Any) -> Any:
    """Tell all bidders that they won."""
    if path == "/me/bids":
        answer["bids"] = [bid | {"standing": "won"} for bid in answer["bids"]]
    return answer


def round_off(method: str, path: str, answer: Any) -> Any:
    """Show prices with two decimals."""
    if isinstance(answer, dict) and answer.get("currentBid"):
        answer["currentBid"] = answer["currentBid"][:-1]
    return answer


def lose() -> Lie:
    """Lose the answers to some bids, and be too busy for others."""
    numbers = iter(range(10**9))

    def lie(method: str, path: str, answer: Any) -> Any:
        if method == "POST" and path.endswith("/bids"):
            return {0: DROPPED, 5: BUSY}.get(next(numbers) % 10, answer)
        return answer

    return lie


def break_down(method: str, path: str, answer: Any) -> Any:
    """Fail for every history and every logout."""
    return BROKEN if method == "DELETE" or (method == "GET" and path.endswith("/bids")) else answer


def test_lies_are_named_and_losses_forgiven(serve: Callable[..., ServeProcess], tmp_path: Path) -> None:
    """A house that forgets, lags, has two winners or rounds gets exit code 1. A house that loses answers does not.

    Without a history there is no verdict, but one line with the reason and one with the remaining test users.
    """
    house = serve()
    lies: list[tuple[Lie, Kind | None]] = [
        (forget, Kind.LOST_BID),
        (lag(), Kind.PRICE_FELL),
        (please_everybody, Kind.SEVERAL_WINNERS),
        (round_off, Kind.MONEY_FORM),
        (lose(), None),
        (break_down, None),
    ]
    proxies = [LyingHouse(house.url, lie) for lie, _ in lies]
    with contextlib.ExitStack() as stack:
        for proxy in proxies:
            stack.callback(proxy.stop)
        options = [*SHORT, "--seconds", "4", "--rate", "25"]
        tests = [stack.enter_context(load(tmp_path, proxy.url, *options)) for proxy in proxies]
        for (lie, kind), proxy, test in zip(lies, proxies, tests, strict=True):
            code, out, err = test.end()
            if kind is not None and code == 0:  # a busy machine has seen too little
                with load(tmp_path, proxy.url, *options, "--seconds", SECONDS[-1]) as again:
                    code, out, err = again.end()
            if lie is break_down:
                assert (1, 2) == (code, len(err.splitlines())), err
                assert "/bids?limit=100: 500" in err and "7 test users are not logged out" in err
                continue
            result = figures(tmp_path, proxy.url)
            assert (0 if kind is None else 1, "") == (code, err), out
            if kind is None:
                assert {} == result["violationsByKind"]
                assert result["errors"] > 0 == result["unsettled"]
            else:
                assert result["violationsByKind"][kind]["count"] > 0, out
                assert f"x {kind}: " in out


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_cleans_up(serve: Callable[..., ServeProcess], tmp_path: Path, stop: signal.Signals) -> None:
    """A stopped test cancels lots without bids, logs all its users out, prints what is left, and exits with 130."""
    file = tmp_path / "house.db"
    house = serve(database=f"sqlite:///{file}")
    options = ("--bidders", "2", "--lots", "40", "--rate", "5", "--seconds", f"{SECONDS_MAX:.0f}")
    with (
        load(tmp_path, house.url, *options) as test,
        contextlib.closing(sqlite3.connect(file, timeout=SECONDS_MAX)) as rows,
    ):
        wait_until(lambda: bool(rows.execute("SELECT count(*) FROM bids").fetchone()[0]))
        test.process.send_signal(stop)
        code, _, err = test.end()
        assert 130 == code
        assert err.startswith("saleroom: stopped\nsaleroom: ") and "close by themselves" in err
        assert (0,) == rows.execute("SELECT count(*) FROM auth_tokens").fetchone()
        left = rows.execute("SELECT status, count(*) FROM auctions GROUP BY status").fetchall()
        bid_on = rows.execute("SELECT count(DISTINCT auction_id) FROM bids").fetchone()[0]
        assert {"open": bid_on, "cancelled": 40 - bid_on} == dict(left)


def test_an_unusable_house_is_one_line(serve: Callable[..., ServeProcess], tmp_path: Path) -> None:
    """A wrong key, a house without the setting, and a missing house give exit code 1 and a line with the remedy."""
    with_key, without = serve(), serve(load_key="")
    for url, reason in (
        (with_key.url, "refuses the key"),
        (without.url, "load_key"),
        ("http://127.0.0.1:1", "is a house served there?"),
    ):
        done = saleroom(tmp_path, "load", url, load_key="another-key-than-the-house-has")
        assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
        assert reason in done.stderr and "another-key" not in done.stderr + done.stdout


def test_the_key_may_come_from_a_file(serve: Callable[..., ServeProcess], tmp_path: Path) -> None:
    """--key-file comes before the environment."""
    (tmp_path / "key.txt").write_text("a-key-that-is-wrong-though\n")
    done = saleroom(tmp_path, "load", serve().url, "--key-file", "key.txt", load_key=KEY)
    assert (1, True) == (done.returncode, "refuses the key" in done.stderr)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing argument 'URL'"),
        (("ftp://house",), "no address of a house"),
        (("http://",), "no address"),
        (("http://ada:pw@house",), "leave user and password out"),
        (("http://house", "--bidders", "0"), "--bidders"),
        (("http://house", "--rate", "0"), "--rate"),
        (("http://house", "--key-file", "none.txt"), "cannot read the key in none.txt"),
        (("http://house", "--key-file", "empty.txt"), "no key in the first line"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    """A wrong argument is named, before any request."""
    (tmp_path / "empty.txt").write_text("\n")
    done = saleroom(tmp_path, "load", *arguments, load_key=KEY)
    assert (2, "") == (done.returncode, done.stdout)
    assert reason in done.stderr


def test_without_a_key_and_a_terminal_it_is_wrong_usage(tmp_path: Path) -> None:
    """Without a terminal the command does not prompt for a key."""
    done = saleroom(tmp_path, "load", "http://house")
    assert (2, "saleroom: no key: set SALEROOM_LOAD_KEY, or give --key-file (see saleroom load --help)\n") == (
        done.returncode,
        done.stderr,
    )


def test_help_has_examples_and_exit_codes(tmp_path: Path) -> None:
    """`saleroom load --help` has examples and exit codes; the key is no option."""
    done = saleroom(tmp_path, "load", "--help")
    assert 0 == done.returncode
    assert "Examples:" in done.stdout and "Exit codes: 0 done, 1 a violation" in done.stdout
    assert "--key " not in done.stdout


def test_a_terminal_has_live_figures_and_a_prompt_for_the_key(
    serve: Callable[..., ServeProcess], tmp_path: Path
) -> None:
    """On a terminal the command prompts for the key without an echo, and keeps redrawing the figures."""
    ours, theirs = os.openpty()
    started = subprocess.Popen(
        [PROGRAM, "load", serve().url, *SHORT],
        cwd=tmp_path,
        env=environment() | {"COLUMNS": "120", "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    with ending(started) as process:
        output = answer(ours, "Load key:", KEY) + shown(ours, "No violation found")
        assert 0 == process.wait(SECONDS_MAX)
    os.close(ours)
    assert KEY not in output
    assert output.count("accepted/s") > 1 and "in flight" in output
