"""What is hashed, byte by byte. Otherwise a name misspelt on both sides would pass, and no other verifier would agree."""

import hashlib

import msgspec

from saleroom.bidding.domain.events import MaximumRaised
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter, commitment, enter, hidden_event
from saleroom.bidding.domain.views import event_parts, sealed_part
from saleroom.kernel.chain import ZERO, Chain, link, salt
from tests.bidding.domain.examples import after, an_auction, eur, place


def test_a_link_is_a_hash_of_the_link_before_and_canonical_json() -> None:
    """A link is SHA-256 over 64 digits, a line feed, and the sorted members without white space."""
    expected = hashlib.sha256(b"0" * 64 + b'\n{"a":[1,null],"b":"\xc3\xa9"}').hexdigest()
    assert expected == link(ZERO, {"b": "é", "a": [1, None]})
    assert "0" * 64 == ZERO == Chain().head == Chain().hidden
    assert "" == Chain().seed


def test_a_hidden_event_has_three_members() -> None:
    """A raise is linked, and later opened, as data, time and type; its data are the request."""
    raised = MaximumRaised(at=after(1), maximum=eur("200"))
    sealed = sealed_part(MaximumRaised, event_parts(raised)[1])
    hidden = hidden_event(MaximumRaised, raised.at, sealed)
    assert "200.000" == sealed["maximum"]
    assert {"data": sealed, "time": "2026-11-21T12:00:01.000000Z", "type": "maximum.raised"} == hidden


def test_a_commitment_is_to_both_members() -> None:
    """A commitment covers the sealed members as `data`, and the head of the hidden chain as `hidden`."""
    assert link("5" * 64, {"data": {"x": 1}, "hidden": ZERO}) == commitment("5" * 64, {"x": 1}, ZERO)


def test_salts_differ_by_event_and_by_auction() -> None:
    """No two events of an auction have the same salt, nor do events at one place of two auctions."""
    assert 4 == len({salt(seed, version) for seed in ("1" * 64, "2" * 64) for version in (1, 2)})


def test_the_next_public_event_commits_to_hidden_ones() -> None:
    """Each raise adds its hash to the hidden chain; the next public event commits to that chain and starts a new one."""
    _, log = place(an_auction(), "bob up to 150", "bob up to 200", "bob up to 250", "cyd 300")
    state, hidden, salts = an_auction(), ZERO, 1
    for event in log:
        state, entry = enter(state.after(event), event)
        sealed = sealed_part(type(event), event_parts(event)[1])
        if isinstance(event, MaximumRaised):
            hidden = link(hidden, hidden_event(MaximumRaised, event.at, sealed))
            assert hidden == state.chain.hidden
            continue
        salts += 1
        assert entry.payload is not None
        public = msgspec.json.decode(entry.payload)
        assert commitment(salt(state.chain.seed, salts), sealed, hidden) == public["commitment"]
        assert (public["hash"], ZERO) == (state.chain.head, state.chain.hidden)
        hidden = ZERO


def test_an_opened_line_says_which_raises_came_before_it() -> None:
    """Raises between two public events are in the line of the second, once, and in no other line."""
    auction, log = place(an_auction(), "bob up to 150", "bob up to 200", "bob up to 250", "cyd 300")
    lines: list[LedgerEvent] = []
    state = an_auction()
    for event in log:
        state, entry = enter(state.after(event), event)
        sealed = event_parts(event)[1]
        lines.append(LedgerEvent(event.TYPE, event.at, entry.payload, sealed))
    assert auction.version == state.version
    raises = [line.count(b'"maximum.raised"') for line in LedgerWriter("5" * 64).of(lines)]
    assert [0, 2, 0] == raises
