"""The profile of a bid: where the sampler finds the processor, and to which steps that belongs."""

import importlib
import json
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import pytest

from bench import profile
from bench.profile import DATABASE, OTHERS, Profile, Samples
from bench.sampler import Sampler, stack
from bench.steps import LOOP, NONE, STEPS, step_of

ROOT = Path(__file__).parents[1]


def test_every_step_is_in_the_document() -> None:
    """The table in docs/maintaining/performance.md has a line for each step."""
    explained = (ROOT / "docs" / "maintaining" / "performance.md").read_text("utf-8")
    assert [] == [step for step in (*STEPS, OTHERS, DATABASE, NONE) if f"\n| {step} |" not in explained]


def test_a_sample_belongs_to_the_innermost_known_step() -> None:
    """Helpers count for the step that calls them, unless they have a step of their own; the longest name decides."""
    bottom = ("uvicorn.server:Server.run", "asyncio.runners:Runner.run", "saleroom.cli:main")
    receipt, view = "receipt and its signature", "views and events as JSON"
    cases = {
        (
            "base64:b64encode",
            "saleroom.bidding.service.signing:_base64",
            "saleroom.bidding.service.bidding:_answer",
        ): receipt,
        ("saleroom.kernel.instants:instant", "saleroom.bidding.domain.views:auction_view"): view,
        ("saleroom.bidding.service.bidding:_answer", "saleroom.bidding.service.bidding:place_bids"): view,
        ("saleroom.bidding.service.bidding:place_bids",): "deciding",
        ("sqlalchemy.engine.default:DefaultDialect.do_execute", "saleroom.log.store:Log.append"): (
            "SQL: rows, statements, drivers"
        ),
        (): LOOP,
        # The event loop calls everything: only its own time is its own.
        ("structlog:log",): NONE,
        ("greenletish:switch",): NONE,
    }
    assert list(cases.values()) == [step_of((*frames, *bottom[1:])) for frames in cases]
    assert NONE == step_of(())


def test_the_steps_name_what_exists() -> None:
    """Each module and function of the table of steps is there, so that a renamed one does not fall out of the profile."""
    missing = [place for places in STEPS.values() for place in places if not _exists(place)]
    assert [] == missing


def _exists(place: str) -> bool:
    module, _, function = place.partition(":")
    if not function:
        return find_spec(module) is not None
    found: object = importlib.import_module(module)
    for part in function.removesuffix(".<locals>").split("."):
        found = getattr(found, part, None)
    return found is not None


def test_shares_are_of_the_whole() -> None:
    """The shares of all steps, of other threads and of no step make one; the functions of no step are named."""
    samples = Samples(
        stacks=[
            (["saleroom.bidding.domain.bidding:place_bid", "asyncio.runners:Runner.run"], 3.0),
            (["asyncio.runners:Runner.run"], 2.0),
            (["structlog:log", "asyncio.runners:Runner.run"], 4.0),
        ],
        others=1.0,
    )
    shares, unknown = profile.grouped(samples)
    assert pytest.approx(1.0) == sum(shares.values())
    assert pytest.approx((0.3, 0.2, 0.4, 0.1)) == (shares["deciding"], shares[LOOP], shares[NONE], shares[OTHERS])
    assert ["structlog:log"] == unknown
    told = profile.markdown({"pg-hot": Profile(bids=1, shares=shares, database=0.25, unknown=unknown)})
    assert f"\n| {NONE} | 40.0% |\n| {DATABASE} | 25% |" in told


def test_a_sampler_sees_where_the_processor_is(tmp_path: Path) -> None:
    """A function that uses the processor is at the top of most samples, and one that waits is in none."""
    file = tmp_path / "samples.json"
    sampler = Sampler(file)
    before = signal.signal(signal.SIGPROF, sampler.sample)
    try:
        sampler.begin(0, None)
        _sleep()
        _burn()
        sampler.end(0, None)
    finally:
        signal.signal(signal.SIGPROF, before)
    found = json.loads(file.read_text())
    seconds = {
        name: sum(spent for frames, spent in found["stacks"] if any(name in each for each in frames))
        for name in (":_burn", ":_sleep")
    }
    assert seconds[":_burn"] > 0.3 > seconds[":_sleep"]


def _sleep() -> None:
    time.sleep(0.5)


def _burn() -> None:
    until = time.thread_time() + 0.5
    while time.thread_time() < until:
        sum(range(1000))


def test_a_frame_that_has_only_begun_is_its_callers() -> None:
    """A signal that is delivered at the first instruction of a function was due before it."""
    seen: list[tuple[str, ...]] = []

    def callee() -> None:
        """Be called."""

    def trace(frame: FrameType, _: str, __: object) -> None:
        seen.append(stack(frame))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        callee()
    finally:
        sys.settrace(before)
    name = f"{__name__}:test_a_frame_that_has_only_begun_is_its_callers"
    assert name == seen[0][0]
