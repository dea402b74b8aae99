"""The judge finds each fault that is planted in its input, and reports nothing if there is none."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.kernel.merkle import MerkleTree
from tests.faults.bidding import BidStorm
from tests.faults.judging import (
    Row,
    cut_short,
    faults,
    judge_closes,
    judge_read,
    judge_receipts,
    judge_records,
    judge_told,
    tracebacks,
)
from tests.mqtt.equipment import PrintedMessage
from tests.rows import each_of

GID = "k3X9mQ2vTa1_"
OTHER = "another-one"


def event(gid: str, number: int, amount: int | None = None) -> bytes:
    """An event in its wire form; with an amount it is a bid of ben's."""
    said = {"id": f"{gid}/{number}", "sequence": number, "type": "auction.created", "data": {}}
    bid = {"type": "bid.placed", "data": {"bidder": "ben", "amount": f"{amount}.000"}}
    return json.dumps(said | (bid if amount else {})).encode()


LOG = {gid: [event(gid, 1), *(event(gid, number, number) for number in range(2, 6))] for gid in (GID, OTHER)}
ORDER = [f"{gid}/{number}" for number in range(1, 6) for gid in (GID, OTHER)]
ACCEPTED = [(gid, "ben", f"{number}.000") for gid in LOG for number in range(2, 6)]

Messages = list[PrintedMessage]


def told() -> Messages:
    """The messages of a subscriber if nothing goes wrong: all events, then a state."""
    messages = [
        PrintedMessage(f"saleroom/auctions/{gid}/events", payload, False) for gid in LOG for payload in LOG[gid]
    ]
    return [*messages, state(GID, 5)]


def state(gid: str, version: int, retained: bool = False) -> PrintedMessage:
    """A state of an auction."""
    return PrintedMessage(f"saleroom/auctions/{gid}/state", json.dumps({"version": version}).encode(), retained)


def swapped(messages: Messages) -> Messages:
    """Two events of an auction the wrong way round."""
    messages[2], messages[3] = messages[3], messages[2]
    return messages


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lambda m: m, {}),
        (lambda m: m[:3] + m[1:], {}),  # a repeat that begins with an earlier one
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
    """A subscriber's missing, disordered, differing and unknown messages are counted."""
    assert found == faults(judge_told(LOG, harm(told())))


def test_only_acknowledged_events_may_be_lost_with_a_broker() -> None:
    """Only events that a dead broker had acknowledged may be missing, and those after them are not out of order."""
    messages = told()
    del messages[2:4]
    lost = {f"{GID}/3", f"{GID}/4"}
    assert {} == faults(judge_told(LOG, messages, excused=lost))
    assert {"missing": 1, "disordered": 1} == faults(judge_told(LOG, messages, excused={f"{GID}/4"}))


def test_a_broker_that_was_brought_back_repeats_older_events() -> None:
    """It goes on after the last one, past events that the subscriber has had; from any other broker that is out of order."""
    messages = told()
    messages.insert(4, messages[1])
    assert {} == faults(judge_told(LOG, messages, states=False))
    assert {"disordered": 1} == faults(judge_told(LOG, messages))


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
    """A reader's events that are missing, doubled, or in another order than the table are counted."""
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
    """A bid that was acknowledged but is not in the log is counted, and so is one in the log that was not acknowledged."""
    assert found == faults(judge_records(LOG, harm(ACCEPTED)))


def test_a_bid_that_is_in_the_log_twice() -> None:
    """The same bid twice in the log is one too many."""
    assert {"doubled": 1} == faults(judge_records({GID: [*LOG[GID], event(GID, 6, 5)]}, ACCEPTED[:4]))


END = "2026-11-21T12:00:09.000000Z"
Story = list[dict[str, Any]]


def story() -> Story:
    """An auction with an end and a reserve, two bids, and its close."""
    events = [
        ("auction.created", "2026-11-21T12:00:00.000000Z", {"endsAt": END}),
        ("bid.placed", "2026-11-21T12:00:03.000000Z", _bid("ada", "1.000", reserve_met=False)),
        ("bid.placed", "2026-11-21T12:00:05.000000Z", _bid("ben", "2.000", reserve_met=True)),
        ("auction.closed", END, {"outcome": "sold", "winner": "ben", "price": "2.000"}),
    ]
    return [{"type": kind, "time": at, "data": data} for kind, at, data in events]


def _bid(bidder: str, amount: str, *, reserve_met: bool) -> dict[str, Any]:
    return {"bidder": bidder, "amount": amount, "leading": True, "reserveMet": reserve_met, "endsAt": END}


def _with(number: int, **data: Any) -> Callable[[Story], Story]:
    def harm(told: Story) -> Story:
        told[number]["data"] |= data
        return told

    return harm


def _at(number: int, time: str) -> Callable[[Story], Story]:
    def harm(told: Story) -> Story:
        told[number]["time"] = time
        return told

    return harm


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lambda told: told, {}),
        (lambda told: told[:3], {"unclosed": 1}),
        (lambda told: [*told, told[3]], {"repeated": 1}),
        (lambda told: [*told, told[2]], {"repeated": 1}),
        (_with(3, winner="ada"), {"disagreeing": 1}),
        (_with(3, price="1.000"), {"disagreeing": 1}),
        (_with(3, outcome="reserve_not_met", winner=None, price=None), {"disagreeing": 1}),
        (_with(2, reserveMet=False), {"disagreeing": 2}),  # neither the event nor the row say so
        (_at(3, "2026-11-21T12:00:10.000000Z"), {"disagreeing": 1}),
        (_at(2, END), {"late": 1}),
        (_with(0, endsAt="2026-11-21T12:00:02.000000Z"), {"late": 1}),
    ],
)
def test_a_close(harm: Callable[[Story], Story], found: dict[str, int]) -> None:
    """A close that is missing, doubled, or contradicts the bids and the end is counted, and so are late bids."""
    log = {GID: [json.dumps(said).encode() for said in harm(story())]}
    assert found == faults(judge_closes(log, {GID: ("closed", "sold", "2.000")}, [GID]))


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (("open", "sold", "2.000"), {"unclosed": 1}),
        (("closed", None, "2.000"), {"disagreeing": 1}),
        (("closed", "sold", "1.000"), {"disagreeing": 1}),
    ],
)
def test_a_row_that_is_not_as_the_close_says(row: Row, found: dict[str, int]) -> None:
    """The auction's own row has to say what its close says."""
    log = {GID: [json.dumps(said).encode() for said in story()]}
    assert found == faults(judge_closes(log, {GID: row}, [GID]))


def test_an_auction_that_nobody_was_told_of() -> None:
    """An auction in the log that was not acknowledged, and one that is missing there, are counted."""
    log = {GID: [json.dumps(said).encode() for said in story()]}
    rows = {GID: ("closed", "sold", "2.000")}
    assert {"unknown": 1} == faults(judge_closes(log, rows, []))
    assert {"unknown": 1} == faults(judge_closes(log, rows, [GID, OTHER]))


def test_receipts() -> None:
    """A receipt with another signer, outside the signed tree, for another ledger, or for a missing bid is found."""
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    keys = {"keys": [{"kid": "1", "x": _encoded(key.public_key().public_bytes_raw())}]}
    bid = {"hash": "ab", "time": END, "data": {"bidder": "ada", "amount": "1.000"}}
    log = {GID: [json.dumps({"hash": "00", "time": END, "data": {}}).encode(), json.dumps(bid).encode()]}
    content = {"gid": GID, "sequence": 2, "hash": "ab", "bidder": "ada", "amount": "1.000", "decidedAt": END}

    def judged(signer: Ed25519PrivateKey = key, kid: str = "1", place: str = "", **changes: Any) -> str:
        leaf = json.dumps(["salt", content | changes]).encode()
        tree = MerkleTree([b"another", leaf])
        head = {"root": _encoded(tree.root), "size": 2}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"kid": kid}, head))
        place = place or f"1{tree.paths(_encoded)[1]}"
        text = f"{signed}.{_encoded(signer.sign(signed.encode()))}~{_encoded(leaf)}~{place}"
        return "".join(judge_receipts(log, keys, [text]))

    assert "" == judged()
    assert "no such place" in judged(place="1")
    assert "not in the signed tree" in judged(place=f"0.{_encoded(bytes(32))}")
    assert "not signed" in judged(other)
    assert "not signed" in judged(kid="2")
    assert "another ledger" in judged(hash="cd")
    assert "another ledger" in judged(sequence=3)
    assert "another ledger" in judged(gid=OTHER)
    assert "not there" in judged(amount="2.000")
    assert "not there" in judged(bidder="ben")


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_a_bid_that_was_cut_off_by_an_end_in_order() -> None:
    """A bid decided while the house was ending, and never answered, is found; at any other time it is allowed."""
    began = datetime(2026, 11, 21, 12, tzinfo=UTC)
    endings = [(began, began + timedelta(seconds=1))]
    within, after = began + timedelta(seconds=0.5), began + timedelta(seconds=2)
    assert [within] == cut_short([within, after], endings)
    assert [] == cut_short([within], [])


@each_of(
    {"status": 503, "retry_after": "1", "faults_found": 0},
    {"status": 503, "retry_after": None, "faults_found": 1},
    {"status": 503, "retry_after": "soon", "faults_found": 1},
    {"status": 500, "retry_after": "1", "faults_found": 1},
    {"status": 500, "retry_after": None, "faults_found": 1},
    {"status": 422, "retry_after": None, "faults_found": 1},
)
def test_an_answer_that_settles_nothing(status: int, retry_after: str | None, faults_found: int) -> None:
    """A write that fails must get 503, with the seconds after which to come back; any other answer is a fault."""
    storm = BidStorm("http://127.0.0.1:1", 1, 1)
    storm._unsettled(status, retry_after, {})
    assert faults_found == len(storm.faults)


def test_tracebacks_in_the_log_are_found() -> None:
    """The end of each traceback is returned; lines without a traceback return nothing."""
    logged = 'Traceback (most recent call last):\n  File "a.py", line 1\n    fail()\nLookupError: gone\n[info] on\n'
    assert ["LookupError: gone"] == [found.rpartition(" / ")[2] for found in tracebacks(logged)]
    assert [] == tracebacks("[error] the database is unavailable")
