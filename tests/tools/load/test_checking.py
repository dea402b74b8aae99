"""The judge of a load test: a correct house has no violation, and each fault planted in its record is found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from saleroom.tools.load.checking import check
from saleroom.tools.load.record import Attempt, BidRecord, BidReply, LotRecord, LotView, Record
from saleroom.tools.load.violations import EXAMPLES_MAX, Kind
from tests.rows import each_of
from tests.tools.load.planted import PLANTS, Plant
from tests.tools.load.simulated import START, STEP, simulate

SEEDS = st.integers(0, 2**32)


def found(record: Record) -> set[Kind]:
    """Return the kinds of violations that the judge finds."""
    return set(check(record).violations.by_kind())


@given(SEEDS, st.booleans(), st.integers(0, 200))
def test_a_right_house_is_never_accused(seed: int, strangers: bool, acts: int) -> None:
    """The record of a correct house has no violation, whatever bids, losses, repeats and strangers there are."""
    verdict = check(simulate(seed, acts, strangers=strangers))
    assert {} == verdict.violations.as_json()
    assert strangers or 0 == verdict.strangers


def test_strangers_are_counted_and_not_accused() -> None:
    """Bids of others in the history are counted apart from ours."""
    record = simulate(1, strangers=True)
    theirs = [bid for bid in record.lots["gid"].history if bid.bidder == "stranger"]
    assert 0 < len(theirs) == check(record).strangers


@pytest.mark.parametrize(("kind", "plant"), PLANTS, ids=[plant.__name__ for _, plant in PLANTS])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_each_planted_fault_is_found(kind: Kind, plant: Plant, seed: int) -> None:
    """A record with one fault in it has a violation of that fault's kind."""
    record = simulate(seed)
    plant(record, record.lots["gid"])
    assert kind in found(record), plant.__doc__


def test_every_kind_has_a_fault_that_shows_it() -> None:
    """A test provokes every kind of violation."""
    assert set(Kind) == {kind for kind, _ in PLANTS}


def test_a_lost_answer_explains_a_bid_once() -> None:
    """A bid whose answer was lost may be in the history, but not twice."""
    view = LotView(None, None, START, 0, "closed", "no_bids", 10**9)
    lot = LotRecord(
        "gid", START, STEP, [BidRecord(START, "ada", 1)], structs.replace(view, price=START, bidder="ada", count=1)
    )
    record = Record({"ada"}, {"gid": lot})
    record.attempts.append(Attempt("gid", "ada", START, None, "key", [BidReply(sent=0, received=1, status=0)]))
    assert Kind.INVENTED_BID not in found(record)
    assert 1 == check(record).unsettled
    lot.history.append(BidRecord(START, "ada", 2))
    assert Kind.INVENTED_BID in found(record)


@each_of(
    {"ask": START + STEP - 1, "minimum": START + STEP, "wrong": False},
    {"ask": START + STEP, "minimum": START + STEP, "wrong": True},
    {"ask": START - 1, "minimum": START, "wrong": False},
    {"ask": START, "minimum": START + STEP + 1, "wrong": True},
)
def test_a_refusal_stands_if_its_least_is_more_and_followed_some_price(ask: int, minimum: int, wrong: bool) -> None:
    """A bid is too low only below the minimum, which is the starting price or a price of the history plus a step."""
    final = LotView(START, "ada", None, 1, "closed", "sold", 10**9)
    lot = LotRecord("gid", START, STEP, [BidRecord(START, "ada", 1)], final, ["ada"])
    replies = [
        BidReply(sent=0, received=9, status=201, bid=lot.history[0], view=final, leading=True),
        BidReply(sent=0, received=9, status=409, code="bid_too_low", minimum=minimum),
    ]
    record = Record({"ada", "ben"}, {"gid": lot})
    record.attempts = [
        Attempt("gid", who, amount, None, who, [reply])
        for who, amount, reply in zip(("ada", "ben"), (START, ask), replies, strict=True)
    ]
    assert ({Kind.WRONG_REFUSAL} if wrong else set()) == found(record)


def test_only_the_first_examples_are_kept() -> None:
    """All violations are counted, and the first few are shown."""
    violations = check(Record(malformed=[str(number) for number in range(100)])).violations
    assert (100, ["0", "1", "2", "3", "4"]) == (violations.total, violations.by_kind()[Kind.MONEY_FORM].examples)
    assert 5 == EXAMPLES_MAX
