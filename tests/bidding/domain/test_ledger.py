"""The ledger: which logs give back an auction, and how their entries are chained."""

import base64
import hashlib
import hmac
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.events import AuctionCreated, AuctionOpened, Event, PhotosArranged, ShownFile, ShownPhoto
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter, enter, replay
from saleroom.kernel.chain import ZERO, canonical
from tests.bidding.domain.examples import an_auction, place
from tests.bidding.domain.oracle import Terms
from tests.bidding.domain.playing import Game, play
from tests.histories import History, histories

SEED = "5a1e" * 16
"""The seed of a ledger that hashes names, as those of older houses do."""
SEEDS = (SEED, f"p{SEED}")


def test_a_log_starts_with_the_creation() -> None:
    """A log without its beginning, or an empty log, is an error that names the auction."""
    _, log = place(an_auction(), "bob 100")
    for broken in (log, []):
        with pytest.raises(ValueError, match=r"auction 7: .* auction\.created"):
            replay(7, broken)


@pytest.mark.parametrize("seed", SEEDS)
@given(history=histories())
def test_the_chain_is_as_documented(seed: str, history: History) -> None:
    """A verifier written from docs/ledger.md alone, without the house's code, agrees with every line, opened or not."""
    auction, log = _logged(play(history).log, seed)
    head, hidden_count = ZERO, 0
    for text in b"".join(LedgerWriter(seed).of(log)).splitlines(keepends=True):
        line = json.loads(text)
        assert _jcs(line) + b"\n" == text
        opened, event = line["opened"], line["event"]
        hidden = ZERO
        for one in opened["hidden"]:
            hidden = _sha(hidden, one)
            hidden_count += 1
        assert event["commitment"] == _sha(opened["salt"], {"data": opened["data"], "hidden": hidden})
        digest = event.pop("hash")
        salts = event["data"].pop("salts", {})
        for member in {"author", "bidder", "currentBidder", "winner"} & event["data"].keys():
            if event["data"][member] in salts:
                event["data"][member] = _pseudonym(salts[event["data"][member]], event["data"][member])
        head = _sha(head, event)
        assert digest == head
    assert head == auction.chain.head
    closed = b"".join(LedgerWriter(None).of(log))
    assert [json.loads(line)["event"]["hash"] for line in closed.splitlines()][-1] == head
    assert hidden_count == sum(one.payload is None for one in log) or auction.chain.hidden != ZERO


def test_the_hash_has_its_place_whatever_the_event_says() -> None:
    """An event is canonical JSON also if its data have a member `id`, or texts that look like one."""
    words = {"name": '","id":"', "description": '"id":1'}
    created = msgspec.structs.replace(Game(Terms(100_000)).log[0], **words)
    assert isinstance(created, AuctionCreated)
    photos = PhotosArranged(at=created.at, photos=(ShownPhoto("photo", (ShownFile(320, "ab"),)),))
    opened = AuctionOpened(at=created.at)
    auction = begin(7, created)
    for event in (created, photos, opened):
        auction, entry = enter(auction if event is created else auction.after(event), event)
        assert entry.payload is not None
        assert _jcs(json.loads(entry.payload)) == entry.payload
        assert json.loads(entry.payload)["hash"] == auction.chain.head


@given(histories())
def test_nothing_hidden_can_be_seen_before_the_end(history: History) -> None:
    """While the auction runs, no line has sealed members, salts or the seed, and a raise leaves no trace."""
    _, log = _logged(play(history).log)
    for line in LedgerWriter(None).of(log):
        assert {"event"} == json.loads(line).keys()
        assert SEED.encode() not in line
    assert len(list(LedgerWriter(None).of(log))) == sum(one.payload is not None for one in log)


def test_a_commitment_does_not_give_away_what_it_commits_to() -> None:
    """The commitment to a maximum differs in another auction, and at another place of the same auction."""
    seen = set()
    for seed in (SEED, "0" * 64):
        auction = msgspec.structs.replace(an_auction(), chain=msgspec.structs.replace(an_auction().chain, seed=seed))
        for name in ("bob", "cyd"):
            after, events = place(auction, f"{name} {'100' if auction.leader is None else '120'}")
            for event in events:
                auction, entry = enter(auction.after(event), event)
                assert entry.payload is not None
                seen.add(json.loads(entry.payload)["commitment"])
            assert after.current_bid == auction.current_bid
    assert 4 == len(seen)


def test_salts_are_the_seeds() -> None:
    """The salt of an event is HMAC-SHA256 of its sequence, keyed with the auction's seed."""
    _, log = _logged(Game(Terms(100_000)).log)
    [line] = [json.loads(line) for line in LedgerWriter(SEED).of(log)]
    assert hmac.new(SEED.encode(), b"1", "sha256").hexdigest() == line["opened"]["salt"]


def test_canonical_is_rfc_8785() -> None:
    """Strings are escaped as in RFC 8785, members are sorted, and there is no white space."""
    value = {"b": ['\x00\x1f\x7f\u2028\U0001f600/"\\\b\f\n\r\té', True, None, 7], "a": {}}
    text = '"\\u0000\\u001f\x7f\u2028\U0001f600/\\"\\\\\\b\\f\\n\\r\\té"'
    assert f'{{"a":{{}},"b":[{text},true,null,7]}}'.encode() == canonical(value)


def _logged(events: list[Event], seed: str = SEED) -> tuple[Auction, list[LedgerEvent]]:
    """Return the auction, and its log as read back from storage."""
    log: list[LedgerEvent] = []
    auction = None
    for event in [msgspec.structs.replace(events[0], seed=seed), *events[1:]]:
        if isinstance(event, AuctionCreated):
            auction, entry = enter(begin(7, event), event)
        else:
            assert auction is not None
            auction, entry = enter(auction.after(event), event)
        log.append(LedgerEvent(event.TYPE, event.at, entry.payload, msgspec.json.decode(entry.private)))
    assert auction is not None
    return auction, log


def _pseudonym(salt: str, name: str) -> str:
    digest = hashlib.sha256(f"{salt}\n{name}".encode()).digest()
    return "erased." + base64.urlsafe_b64encode(digest[:18]).decode()


def _sha(previous: str, value: Any) -> str:
    return hashlib.sha256(previous.encode() + b"\n" + _jcs(value)).hexdigest()


def _jcs(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
