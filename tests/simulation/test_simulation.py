"""The simulator itself: it finds nothing in the house, does the same each time, and reports what it finds."""

import asyncio
import re
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from tests.simulation import __main__ as program
from tests.simulation.judge import Breach
from tests.simulation.loop import STRAND, Deadlock, Strand, VirtualLoop
from tests.simulation.plan import plan
from tests.simulation.plan_entries import Plan
from tests.simulation.planted import SEARCHED, SHORT
from tests.simulation.run import Result, run
from tests.simulation.shrinking import shrunk
from tests.simulation.storage import File

BLOCKS = 6
SEEDS_EACH = SEARCHED // BLOCKS
"""Together as many as find each planted fault, as test_planted.py shows."""


@pytest.fixture(scope="module")
def file() -> Iterator[File]:
    """A database for one seed after the other."""
    one = File()
    yield one
    one.remove()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_seed_breaks_the_house(block: int, file: File) -> None:
    """Whatever fails, in dozens of seeds: every property holds after every commit, message and answer."""
    for seed in range(1 + block * SEEDS_EACH, 1 + (block + 1) * SEEDS_EACH):
        result = run(plan(seed), file)
        assert result.breach is None, f"make simulate SEED={seed}: {result.breach}"
        assert result.commits


def test_a_seed_always_goes_alike(file: File) -> None:
    """Two runs of a seed do the same at the same instants; only receipts differ, which each database signs by itself."""

    def told(result: Result) -> list[str]:
        return [re.sub(r'"receipt".*|0x[0-9a-f]+', "", line) for line in result.lines]

    first = told(run(plan(26), file, traces=True))
    assert len(first) > 50
    assert first == told(run(plan(26), file, traces=True))


def test_shrinking_keeps_the_entries_that_fail_together() -> None:
    """Of many entries only the two that fail together are left; a plan that fails in another way does not count."""
    whole = plan(2)
    wanted = {whole.entries[3].number, whole.entries[20].number}

    def fails(one: Plan) -> Result:
        left = {entry.number for entry in one.entries}
        return Result(Breach("this" if wanted <= left else "that", "")) if left & wanted else Result(None)

    assert wanted == {entry.number for entry in shrunk(whole, "this", fails).entries}


def test_the_command_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 0 if nothing was found, 1 if something was, and 2 for wrong arguments."""
    assert 0 == program.main(["--seeds", "6..7"])
    assert "2 seeds in" in capsys.readouterr().out
    assert 1 == program.main(["--seed", f"{SHORT}", "--quiet", "--plant", "An Idempotency-Key is not kept"])
    assert "BROKEN every decision is the one the rules give" in capsys.readouterr().out
    for words in (["--seeds", "none"], ["--seeds", "5..4"], ["--plant", "nothing"]):
        with pytest.raises(SystemExit) as stopped:
            program.main(words)
        assert 2 == stopped.value.code
    capsys.readouterr()


def test_time_is_virtual() -> None:
    """An hour passes at once, and a wait that cannot end raises an error."""
    loop = VirtualLoop()
    loop.run_until_complete(asyncio.sleep(3600))
    assert 3600 == loop.time()
    with pytest.raises(Deadlock):
        loop.run_until_complete(loop.create_future())
    loop.close()


def test_a_killed_process_does_nothing_and_a_paused_one_goes_on() -> None:
    """A killed process runs no `finally`, and a paused one goes on where it was."""
    loop, done = VirtualLoop(), list[str]()

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(1)
            done.append(f"{name} at {loop.time():g}")
        finally:
            done.append(f"{name} ends")

    async def world() -> None:
        for name in ("killed", "paused"):
            strand, context = strands.setdefault(name, Strand(loop)), copy_context()
            context.run(STRAND.set, strand)
            tasks.append(loop.create_task(work(name), context=context))
            await asyncio.sleep(0.5)
            strand.dead = name == "killed"
            if name == "paused":
                strand.pause(5)
        await asyncio.sleep(10)

    strands: dict[str, Strand] = {}
    tasks: list[asyncio.Task[None]] = []
    loop.run_until_complete(world())
    assert ["paused at 6", "paused ends"] == done
    strands["killed"].revive()
    loop.run_until_complete(tasks[0])
    loop.close()


def test_nothing_is_left_behind(file: File) -> None:
    """The folder of the database goes with it."""
    one = File()
    folder = Path(one.url.removeprefix("sqlite:///")).parent
    assert folder.is_dir()
    one.remove()
    assert not folder.exists()
