"""The model of large houses and its document belong together, and the model behaves as queues do."""

from functools import cache

import pytest

from bench import BenchError, model, scale
from bench.model import Costs
from bench.results import Reading, Results, together


@cache
def costs() -> Costs:
    """Return the costs from the file of the document."""
    return model.costs(scale.figures())


def test_the_document_has_the_tables_of_the_model() -> None:
    """docs/scale.md says what the model says; `python -m bench scale` writes it."""
    text = scale.DOCUMENT.read_text("utf-8")
    assert scale.into_document(scale.figures(), text) == text


def test_the_error_of_the_model() -> None:
    """Nine of ten predictions for the machine of the file are within a factor of two, and all within a factor of three."""
    factors = [one.factor for one in scale.predictions(scale.figures())]
    assert sum(factor <= 2 for factor in factors) >= 0.9 * len(factors)
    assert max(factors) <= 3


def test_a_file_without_a_cost_is_refused() -> None:
    """The model names the measurement that a file lacks."""
    found = scale.figures()
    del found.readings["pg-lot-page"]
    with pytest.raises(BenchError, match="pg-lot-page"):
        model.costs(found)


def test_no_bid_is_lost_in_a_pause() -> None:
    """Every bid of a pause is decided after it: those that waited, and those that were refused for want of the database."""
    short = model.failover(costs(), costs().spread, rate=200.0, pause=2.0)
    assert 0 == short.refused
    assert 300 < short.longest < 500
    long = model.failover(costs(), costs().spread, rate=200.0, pause=12.0)
    assert long.refused > 0
    assert 0 < short.drained <= long.drained < 10


def test_a_wider_spread_shortens_the_wait() -> None:
    """Followers that come back at once wait for each other, and those within a minute hardly do."""
    at_once = model.reconnects(costs(), followers=15_000, spread=1.0)
    spread = model.reconnects(costs(), followers=15_000, spread=60.0)
    assert at_once.longest_wait > 10 * spread.longest_wait


def test_rounds_of_several_runs_are_those_of_one() -> None:
    """Files of one machine become one file with all their rounds."""
    one = Results(at="1", rounds=1, seconds_each=1, machine={}, readings={"a": [Reading(value=1)]})
    two = Results(
        at="2", rounds=1, seconds_each=1, machine={}, readings={"a": [Reading(value=2)], "b": [Reading(value=3)]}
    )
    both = together([one, two])
    assert ([1, 2], [3], "2") == (both.figure("a"), both.figure("b"), both.at)
