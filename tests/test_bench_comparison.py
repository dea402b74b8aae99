"""The comparison of two revisions and the count of instructions: what they conclude from figures and files."""

import math
import os
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from bench import BenchError, comparison, instructions, revisions, turns
from bench.results import Reading, Results
from bench.verdicts import Comparison, Outcome, Round, chance, compare, spread
from tests.needs import need

ROOT = Path(__file__).parents[1]
GIT = ("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


def by_chance(chances: random.Random, factor: float = 1.0) -> Round:
    """Return a round of figures with noise, one in ten of them with much; this checkout's are `factor` times the other's."""
    noise = [math.exp(chances.gauss(0, 0.05 if chances.random() < 0.9 else 0.2)) for _ in range(3)]
    return Round(factor * noise[0], noise[1], noise[2])


def outcome(*rounds: Round, lower_is_better: bool = True) -> Outcome:
    """Return what the rounds say."""
    return compare(rounds, lower_is_better=lower_is_better).outcome


def test_a_dearer_revision_is_worse_and_a_cheaper_one_better() -> None:
    """A side that lies beyond both runs of the other in each round differs; which is better, the measure says."""
    dearer, cheaper = [Round(1.1, 1.0, 1.01)] * 5, [Round(0.9, 1.0, 1.01)] * 5
    assert Outcome.WORSE is outcome(*dearer)
    assert Outcome.BETTER is outcome(*cheaper)
    assert Outcome.BETTER is outcome(*dearer, lower_is_better=False)
    assert Outcome.WORSE is outcome(*cheaper, lower_is_better=False)


def test_a_difference_within_the_null_control_is_none() -> None:
    """A side between two runs of the other is the same, however far it lies from their middle; so is one beyond by less."""
    assert Outcome.SAME is outcome(*[Round(1.4, 1.0, 1.5)] * 14)
    # Always a little above the greater one, in a machine where two equal runs differ by a half.
    assert Outcome.SAME is outcome(*[Round(1.51, 1.0, 1.5)] * 14)


def test_few_rounds_prove_nothing() -> None:
    """Fewer than five rounds never say better or worse."""
    assert Outcome.TOO_FEW is outcome(*[Round(9.0, 1.0, 1.0)] * 4)
    assert Outcome.WORSE is outcome(*[Round(9.0, 1.0, 1.0)] * 5)


@pytest.mark.parametrize("count", [5, 8, 14])
def test_a_revision_is_the_same_as_itself(count: int) -> None:
    """Of a thousand comparisons of a revision with itself under noise, at most one in fifty finds a difference."""
    chances = random.Random(count)
    outcomes = [outcome(*(by_chance(chances) for _ in range(count))) for _ in range(1000)]
    assert 20 >= 1000 - outcomes.count(Outcome.SAME)


def test_a_great_difference_is_found_in_noise() -> None:
    """A figure that is a fifth dearer is found in nearly every comparison of eight rounds under noise."""
    chances = random.Random(8)
    outcomes = [outcome(*(by_chance(chances, 1.2) for _ in range(8))) for _ in range(200)]
    assert outcomes.count(Outcome.WORSE) > 150
    assert Outcome.BETTER not in outcomes


def test_the_chance_is_that_of_a_die() -> None:
    """One of three equal runs is the greatest by a chance of one in three, each round for itself."""
    assert [1.0, pytest.approx(19 / 27), pytest.approx(7 / 27), pytest.approx(1 / 27)] == [
        chance(beyond, 3) for beyond in range(4)
    ]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, (1, 1)), (5, (1, 5)), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (14, (3, 12)), (20, (6, 15))],
)
def test_the_spread_is_that_of_the_sign_test(count: int, expected: tuple[int, int]) -> None:
    """The interval of the median leaves out as many values as tables of the sign test do, and none of fewer than nine."""
    assert expected == spread(range(count, 0, -1))


def test_the_sides_of_a_round_meet() -> None:
    """The table compares the readings of one round; a row that only one side has is not compared, nor is a round of zeros."""
    sides = {"this": 100.0, "other": 100.0, "again": 101.0}
    readings = {
        f"sqlite-hot {side}": [
            Reading(value=value * turn, figures={"server_cpu_us": value / turn}) for turn in range(1, 6)
        ]
        for side, value in sides.items()
    }
    readings["sqlite-spread other"] = readings["sqlite-spread again"] = readings["sqlite-hot this"]
    readings["sqlite-spread this"] = [Reading(value=0.0, figures={"server_cpu_us": 0.0})]
    readings["pg-hot this"] = [Reading(value=1.0, figures={"server_cpu_us": 1.0, "database_cpu_us": 1.0})]
    found = comparison.comparisons(Results(at="", rounds=5, seconds_each=1.0, machine={}, readings=readings))
    assert [("sqlite-hot", "server_cpu_us"), ("sqlite-hot", "")] == [
        (name, measure.figure) for name, measure, _ in found
    ]
    for _, _, each in found:
        assert pytest.approx((1 / math.sqrt(1.01), 1 / 1.01)) == (each.ratio, each.null)
        assert Outcome.SAME is each.outcome
    assert not comparison.is_worse(found)
    name, measure, same = found[0]
    assert comparison.is_worse([*found, (name, measure, _worse(same))])


def _worse(same: Comparison) -> Comparison:
    return Comparison(**{name: getattr(same, name) for name in same.__struct_fields__} | {"outcome": Outcome.WORSE})


def test_every_row_of_the_comparison_is_explained() -> None:
    """docs/maintaining/performance.md names each row of the comparison."""
    explained = (ROOT / "docs" / "maintaining" / "performance.md").read_text("utf-8")
    assert [] == [row for row in comparison.ROWS if f"`{row}`" not in explained]


def test_the_processor_time_of_a_process_is_that_of_its_own_clock() -> None:
    """Turns read it from outside, to less than a microsecond: a storm takes some milliseconds, a tick of the kernel as many."""
    before = time.process_time_ns()
    seen = turns.cpu_seconds(os.getpid())
    assert before <= 1e9 * seen <= time.process_time_ns()


def test_the_totals_of_all_parts_count() -> None:
    """Callgrind's dumps are added up; files without a total are an error instead of a bid without cost."""
    first = "creator: callgrind-3.19.0\npart: 1\n\nevents: Ir\nsummary: 1005\n\nfn=(1) main\n0 5\n\ntotals: 1000\n"
    assert 1000 == instructions.totals([first])
    assert 1234 == instructions.totals([first, "events: Ir\ntotals: 234\n", ""])
    with pytest.raises(BenchError, match="counted nothing"):
        instructions.totals(["events: Ir\ntotals: 0\n"])


def test_a_process_under_callgrind_is_counted(tmp_path: Path) -> None:
    """Real callgrind counts what a process does between two counts: ten times the work, about ten times the instructions."""
    need("valgrind")
    file = tmp_path / "callgrind.out"
    source = "import sys\nfor line in sys.stdin:\n    sum(range(int(line)))\n    print(flush=True)"
    valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={file}"]
    command = [*valgrind, sys.executable, "-ISc", source]
    counted: list[int] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        callgrind = instructions.Callgrind(process.pid, file)
        for size in (0, 20_000, 200_000):
            process.stdin.write(f"{size}\n")
            process.stdin.flush()
            assert "\n" == process.stdout.readline()
            if size:
                counted.append(callgrind.count())
            else:
                callgrind.begin()
        process.stdin.close()
    few, many = counted
    assert 5 < many / few < 15


def test_the_reads_and_writes_of_a_process_are_counted() -> None:
    """A process that reads each line and writes it again does two calls for each."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        counts = []
        for _ in range(3):
            process.stdin.write(b"line\n")
            process.stdin.flush()
            assert b"line\n" == process.stdout.readline()
            counts.append(instructions.reads_and_writes(process.pid))
        process.stdin.close()
    assert [2, 2] == [after - before for before, after in pairwise(counts)]


def test_which_revision_is_older(tmp_path: Path) -> None:
    """An ancestor is the older side, a descendant the newer one; branches that have parted are told where they did."""

    def git(*arguments: str) -> str:
        told = subprocess.run([*GIT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return told.stdout.strip()

    def commit(text: str) -> str:
        git("commit", "--quiet", "--allow-empty", "--message", text)
        return git("rev-parse", "--short", "HEAD")

    git("init", "--quiet")
    first, second = commit("first"), commit("second")
    assert revisions.older_is_other(first, tmp_path)
    assert revisions.older_is_other("HEAD", tmp_path)
    git("checkout", "--quiet", "--detach", first)
    assert not revisions.older_is_other(second, tmp_path)
    commit("beside")
    with pytest.raises(BenchError, match=f"both sides have commits that the other one lacks.*REV={first}$"):
        revisions.older_is_other(second, tmp_path)
    git("checkout", "--quiet", "--orphan", "other")
    commit("stranger")
    with pytest.raises(BenchError, match="no commit in common"):
        revisions.older_is_other(second, tmp_path)
    with pytest.raises(BenchError, match=r"^nothing is no commit of this repository$"):
        revisions.older_is_other("nothing", tmp_path)
    with pytest.raises(BenchError, match=r"^--all is no commit of this repository$"):
        revisions.older_is_other("--all", tmp_path)


def test_a_revision_that_cannot_be_installed_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder of a revision is removed if its installation fails or is stopped; what it has started is ended."""
    monkeypatch.setattr(revisions, "FOLDER", tmp_path)
    monkeypatch.setattr(revisions, "PYTHON", tmp_path / "no-python")
    with (
        pytest.raises(BenchError, match=r"HEAD cannot be compared: it cannot be installed:\n"),
        revisions.installed("HEAD"),
    ):
        pass
    assert [] == list(tmp_path.iterdir())

    started = tmp_path / "started"
    program = f"""
import os, signal, time
with open({str(started)!r}, "w") as file:
    file.write(str(os.getpid()))
os.kill(os.getppid(), signal.SIGINT)
time.sleep(600)
"""
    source = f"""
import pathlib, signal, sys
from bench import revisions
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    revisions._run_program([sys.executable, "-c", {program!r}], pathlib.Path("."), "failed")
except KeyboardInterrupt:
    sys.exit(130)
"""
    ended = subprocess.run([sys.executable, "-c", source], cwd=ROOT, timeout=300, check=False)
    assert (130, False) == (ended.returncode, psutil.pid_exists(int(started.read_text())))
