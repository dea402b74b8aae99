"""Planted faults are found, and reported briefly."""

from collections.abc import Iterator

import pytest

from tests.simulation import __main__ as program
from tests.simulation import planted_desk, planted_sales  # noqa: F401  # they add to PLANTS
from tests.simulation.plan import plan
from tests.simulation.planted import PLANTS, SEARCHED, SHORT, searched
from tests.simulation.run import run
from tests.simulation.shrinking import shrunk
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


def test_a_failing_seed_is_told_in_few_words(file: File) -> None:
    """A shrunk failing seed breaks the same property, has few entries, and a command replays it."""
    name = "An Idempotency-Key is not kept"
    with PLANTS[name]():
        result = run(plan(SHORT), file)
        assert result.breach is not None
        least = shrunk(plan(SHORT), result.breach.kind, lambda smaller: run(smaller, file))
        breach = run(least, file).breach
        assert breach is not None and breach.kind == result.breach.kind
        assert len(least.entries) <= 5 < len(plan(SHORT).entries)
        assert len(least.lines()) == len(least.entries)
        words = program.command(least, name).split(" --plant")[0].split()[3:]
        assert 1 == program.main([*words, "--quiet", "--plant", name])
