"""Planted faults are found, and reported briefly."""

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.simulation import __main__ as program
from tests.simulation import planted_desk, planted_sales  # noqa: F401  # they add to PLANTS
from tests.simulation.plan import plan
from tests.simulation.planted import PLANTS, SEARCHED, SHORT, searched
from tests.simulation.run import run
from tests.simulation.storage import File


@pytest.fixture(scope="module")
def file() -> Iterator[File]:
    """A database for one seed after the other."""
    one = File()
    yield one
    one.remove()


@pytest.mark.parametrize("name", PLANTS)
def test_each_planted_fault_is_found(name: str, file: File) -> None:
    """Every fault that is planted is found by one of the seeds that find nothing without it, as test_simulation.py shows."""
    with PLANTS[name]():
        found = next((seed for seed in searched(name) if run(plan(seed), file).breach is not None), None)
    assert found is not None
    assert found <= SEARCHED or run(plan(found), file).breach is None, "it is found by a seed that is not in that test"


def test_a_failing_seed_is_told_in_few_words(capsys: pytest.CaptureFixture[str]) -> None:
    """The command shrinks a failing seed to few entries that break the same property, and says how to replay it."""
    broken = "BROKEN every decision is the one the rules give"
    assert 1 == program.main(["--seeds", f"{SHORT}..{SHORT}", "--plant", "An Idempotency-Key is not kept"])
    output = capsys.readouterr().out
    assert broken in output
    [replay] = re.findall(r"replay: python -m tests\.simulation (.*)", output)
    words = shlex.split(replay)
    kept = words[words.index("--keep") + 1].split(",")
    assert len(kept) <= 5 < len(plan(SHORT).entries)
    assert len(kept) == len(re.findall(r"^ {2}[ \d]{4}  +\d+\.\d\d s  ", output, re.MULTILINE))
    assert 1 == program.main([*words, "--quiet"])
    assert broken in capsys.readouterr().out
