"""The judge finds each fault that is planted in what it is given, and nothing where there is none."""

import json
from collections.abc import Callable

import pytest

from tests.delivery.equipment import Received
from tests.faults.judging import faults, judge_read, judge_records, judge_told

GID = "k3X9mQ2vTa1_"
OTHER = "another-one"


def event(gid: str, number: int, amount: int | None = None) -> bytes:
    """An event as it is on the wire; with an amount it is a bid of ben's."""
    said = {"id": f"{gid}/{number}", "sequence": number, "type": "auction.created", "data": {}}
    bid = {"type": "bid.placed", "data": {"bidder": "ben", "amount": f"{amount}.000"}}
    return json.dumps(said | (bid if amount else {})).encode()


LOG = {gid: [event(gid, 1), *(event(gid, number, number) for number in range(2, 6))] for gid in (GID, OTHER)}
ORDER = [f"{gid}/{number}" for number in range(1, 6) for gid in (GID, OTHER)]
ACCEPTED = [(gid, "ben", f"{number}.000") for gid in LOG for number in range(2, 6)]

Messages = list[Received]


def told() -> Messages:
    """What a subscriber gets where nothing goes wrong: all events, then a state."""
    messages = [Received(f"saleroom/auctions/{gid}/events", payload, False) for gid in LOG for payload in LOG[gid]]
    return [*messages, state(GID, 5)]


def state(gid: str, version: int, retained: bool = False) -> Received:
    """A state of an auction."""
    return Received(f"saleroom/auctions/{gid}/state", json.dumps({"version": version}).encode(), retained)


def swapped(messages: Messages) -> Messages:
    """Two events of an auction the wrong way round."""
    messages[2], messages[3] = messages[3], messages[2]
    return messages


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lambda m: m, {}),
        (lambda m: m[:3] + m[1:], {}),  # a repeat from an earlier one on
        (lambda m: m[5:] + m[:5], {}),  # between auctions there is no order
        (lambda m: [state(GID, 3, retained=True), *m, state(GID, 4, retained=True)], {}),
        (lambda m: m[:4] + m[5:], {"missing": 1}),
        (lambda m: m[:2] + m[3:], {"missing": 1, "disordered": 1}),
        (swapped, {"disordered": 2}),
        (lambda m: [*m[:5], m[1], m[3], *m[5:]], {"disordered": 1}),  # a repeat that skips one
        (lambda m: [*m, m[4]._replace(payload=event(GID, 5, 6))], {"doubled": 1}),
        (lambda m: [*m[:4], m[4]._replace(payload=event(GID, 5, 6)), *m[5:]], {"doubled": 1}),
        (lambda m: [*m, m[4]._replace(payload=event(GID, 6, 6))], {"unknown": 1}),
        (lambda m: [*m, state(GID, 4)], {"stale": 1}),
    ],
)
def test_a_subscriber(harm: Callable[[Messages], Messages], found: dict[str, int]) -> None:
    """What a subscriber lacks, has in the wrong order, has in two forms, or should not have, is counted."""
    assert found == faults(judge_told(LOG, harm(told())))


def test_what_was_lost_with_a_broker() -> None:
    """What a dead broker had acknowledged may be missing, that alone, and what comes after it is not out of order."""
    messages = told()
    del messages[2:4]
    lost = {f"{GID}/3", f"{GID}/4"}
    assert {} == faults(judge_told(LOG, messages, excused=lost))
    assert {"missing": 1, "disordered": 1} == faults(judge_told(LOG, messages, excused={f"{GID}/4"}))


def test_duplicates_are_counted_and_are_no_fault() -> None:
    """A repeat is counted as such."""
    messages = told()
    verdict = judge_told(LOG, messages[:3] + messages[1:])
    assert (12, 2, {}) == (verdict.received, verdict.duplicates, faults(verdict))


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lambda ids: ids, {}),
        (lambda ids: ids[:3] + ids[4:], {"missing": 1}),
        (lambda ids: [*ids[:3], ids[2], *ids[3:]], {"doubled": 1}),
        (lambda ids: [ids[1], ids[0], *ids[2:]], {"disordered": 1}),
        (lambda ids: [*ids, f"{GID}/6"], {"unknown": 1}),
    ],
)
def test_a_reader(harm: Callable[[list[str]], list[str]], found: dict[str, int]) -> None:
    """What a reader of a stream lacks, has twice, or has in another order than the table is counted."""
    ids = harm(ORDER)
    payloads = {f"{gid}/{number}": payload for gid in LOG for number, payload in enumerate(LOG[gid], 1)}
    assert found == faults(judge_read(LOG, ORDER, ids, [payloads.get(name, b"") for name in ids]))


def test_a_reader_of_other_bytes() -> None:
    """A stream whose bytes are not the log's is found."""
    assert {"doubled": 1} == faults(judge_read(LOG, [ORDER[0]], [ORDER[0]], [b"{}"]))


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lambda bids: bids, {}),
        (lambda bids: [*bids, (GID, "ben", "6.000")], {"lost": 1}),
        (lambda bids: bids[1:], {"doubled": 1}),
    ],
)
def test_records(
    harm: Callable[[list[tuple[str, str, str]]], list[tuple[str, str, str]]], found: dict[str, int]
) -> None:
    """A bid that was acknowledged and is not in the log, and one that is and was not, are counted."""
    assert found == faults(judge_records(LOG, harm(ACCEPTED)))


def test_a_bid_that_is_in_the_log_twice() -> None:
    """The same bid twice in the log is one too many."""
    assert {"doubled": 1} == faults(judge_records({GID: [*LOG[GID], event(GID, 6, 5)]}, ACCEPTED[:4]))
