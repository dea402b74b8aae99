"""An unchanged ledger is accepted, and every change is found at its line."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.events import AuctionCancelled, AuctionClosed, SoftClose
from saleroom.bidding.domain.pseudonyms import names_in
from saleroom.kernel.chain import name_salt
from saleroom.tools.verify.reading import Breakage
from tests.bidding.domain.examples import after
from tests.bidding.domain.playing import play
from tests.bidding.domain.test_retrace import PlayedAuction
from tests.histories import History, histories
from tests.tools.verify.ledgers import SEED, Json, broken, forged, lines_of, verified

CHANGES = 1_000


def story() -> PlayedAuction:
    """A sale with all kinds of events, and a hostile name."""
    made = PlayedAuction(
        reserve_price="300",
        soft_close=SoftClose(120, 120),
        ends_at=after(1000),
        name="L\u00f6ffel \u202e</script>\x1b[31m",
    )
    made.bids("bob up to 150").bids("cyd 120", seconds=2).bids("dee up to 150", seconds=3)
    made.bids("cyd up to 200", seconds=4).bids("cyd up to 250", seconds=5).bids("cyd up to 400", seconds=6)
    return made.bids("dee up to 500", seconds=990)


def closed() -> list[bytes]:
    """Return the ledger of a sale that is over."""
    return lines_of(story().then(settle, after(2000)).log)


def running() -> list[bytes]:
    """Return the ledger of a running sale."""
    return lines_of(story().log)


def one_byte_changed(raw: bytes, chance: random.Random) -> bytes:
    """Return the ledger with a random byte changed to another one."""
    place = chance.randrange(len(raw))
    other = chance.choice([byte for byte in range(256) if byte != raw[place]])
    return raw[:place] + bytes([other]) + raw[place + 1 :]


@pytest.mark.parametrize(("ledger", "number"), [(closed, CHANGES), (running, CHANGES // 4)])
def test_every_single_byte_counts(ledger: Callable[[], list[bytes]], number: int) -> None:
    """Every random change of a single byte is found at its line. A line feed belongs to the line that it ends."""
    raw, chance = b"".join(ledger()), random.Random(6)
    assert broken(raw) is None
    for _ in range(number * (20 if settings.get_current_profile_name() == "long" else 1)):
        changed = one_byte_changed(raw, chance)
        place = next(index for index, (one, two) in enumerate(zip(raw, changed, strict=True)) if one != two)
        where = broken(changed)
        assert where is not None, f"byte {place}: {changed[place - 20 : place + 20]!r}"
        assert where[0] == raw.count(b"\n", 0, place) + 1


@given(histories())
def test_every_history_makes_a_good_ledger(history: History) -> None:
    """Every history under the rules is accepted, with the same end, winner and price."""
    game = play(history)
    ledger = verified(b"".join(lines_of(game.log)))
    assert ledger.opened is game.auction.over
    assert len(ledger.hashes) == game.auction.version
    if ledger.trace is not None:
        auction = ledger.trace.auction
        assert (game.auction.status, game.auction.outcome) == (auction.status, auction.outcome)
        assert game.auction.current_bid == auction.current_bid
        leader = game.auction.leader
        assert (None if leader is None else leader.name) == (auction.leader and auction.leader.name)


@pytest.mark.parametrize("ledger", [closed, running])
def test_lines_that_are_gone_doubled_or_swapped_are_found(ledger: Callable[[], list[bytes]]) -> None:
    """No line can be dropped, doubled or moved, and the message says in plain words which of these happened."""
    lines = ledger()
    for index in range(len(lines)):
        number, last = index + 1, index == len(lines) - 1
        gone = lines[:index] + lines[number:]
        if last:
            assert ledger is running or said(gone) == (number, f"the ledger was cut after line {index}")
        else:
            why = f"line {number} does not belong here, as a line is missing before it"
            assert (number, why) == said(gone)
        assert (number + 1, f"line {number + 1} was added") == said(lines[:number] + lines[index:])
        for other in range(index + 1, len(lines)):
            swapped = [*lines]
            swapped[index], swapped[other] = swapped[other], swapped[index]
            assert (number, f"lines {number} and {other + 1} were exchanged") == said(swapped)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"time":"2026', b'"time":"2027'),
        (b'"salt":"', b'"salt":"\\u0030'),
        (b'"hidden":[', b'"hidden":[0,'),
        (b'"event":', b'"event": '),
        (b'"specversion":', b'"specversion"'),
    ],
)
def test_a_changed_line_is_named(old: bytes, new: bytes) -> None:
    """Whatever was changed in a line, the message says that this line was changed."""
    lines = closed()
    for index, line in enumerate(lines[1:], 1):
        spoilt = line.replace(old, new.replace(b"[0,", b"[0") if b'"hidden":[]' in line else new, 1)
        assert (index + 1, f"line {index + 1} was changed") == said([*lines[:index], spoilt, *lines[index + 1 :]])


def test_a_swapped_hash_is_found() -> None:
    """A hash alone that was changed is a changed line too; lines of another ledger are lines that were added."""
    lines = closed()
    wire = msgspec.json.decode(lines[2])
    wire["event"]["hash"] = "0" * 64
    spoilt = msgspec.json.encode(wire, order="sorted") + b"\n"
    assert (3, "line 3 was changed, in its hash") == said([*lines[:2], spoilt, *lines[3:]])
    assert (3, "line 3 was added") == said([*lines[:2], spoilt, *lines[2:]])
    assert (3, "line 3 was added") == said(
        [*lines[:2], lines_of(PlayedAuction().bids("dee 100").log, opened=True)[1], *lines[2:]]
    )


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"<!doctype html>\n<html></html>", "this is a web page, not a ledger"),
        (b"\n  <html>", "this is a web page, not a ledger"),
        (
            b'{"message": "There is no such auction.", "code": "unknown_auction"}',
            "this is the answer of a house that refused",
        ),
        (b'{\n "message": {"name": []}\n}\n', "this is the answer of a house that refused"),
        (b'{"gid": "a", "head": "0", "version": 1}', "this is an auction, not its ledger"),
        (b'{"bid": null, "receipt": "a.b.c"}', "this is the answer to a bid, not a ledger"),
        (b'{"keys": []}', "this is the list of a house's keys, not a ledger"),
        (b'{"a": 1}', "this is JSON, but not a ledger"),
        (b"[]\n", "this is JSON, but not a ledger"),
        (b"aaaa.bbbb." + b"c" * 86 + b"\n", "this is a receipt, not a ledger"),
    ],
)
def test_another_file_is_named(raw: bytes, what: str) -> None:
    """A file that is something else, such as a saved 404, is said to be that."""
    found = broken(raw)
    assert found is not None
    assert (1, True) == (found[0], found[1].startswith(what)), found


def said(lines: list[bytes]) -> tuple[int, str] | None:
    """Return the line at which a ledger breaks, and the plain words about it, without the exact reason after them."""
    found = broken(lines)
    return None if found is None else (found[0], found[1].partition(":")[0])


def test_a_ledger_that_was_cut_is_found() -> None:
    """An opened ledger ends with the end of its auction, and every line ends with a line feed."""
    lines = closed()
    for end in range(1, len(lines)):
        where = broken(lines[:end])
        assert where is not None
        assert where[0] == end + 1 or "an automatic bid answers" in where[1]
    assert broken(b"".join(lines)[:-1]) == (
        len(lines),
        "it does not end with a line feed: the ledger was cut within it",
    )
    assert broken(b"") == (1, "the ledger is empty")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda line: b"\xef\xbb\xbf" + line, "it is not JSON"),
        (lambda line: b"\n" + line, "it is not JSON"),
        (lambda line: line.replace(b'{"event":', b'{ "event":'), "it is not in canonical form (RFC 8785)"),
        (lambda line: line[:-1] + b"\r\n", "it is not in canonical form (RFC 8785)"),
        (lambda line: line.replace(b'"event":', b'"event":1,"event":', 1), "it is not in canonical form (RFC 8785)"),
        (lambda line: line.replace(b"Longcase", b"\\u004congcase"), "it is not in canonical form (RFC 8785)"),
        (
            lambda line: b"[1]\n",
            "it is no line of a ledger: a line has event, and also opened once the auction is over",
        ),
        (lambda line: b'{"event":[]}\n', "its members are not objects"),
        (lambda line: b'{"event":{}}\n', "line 1 was changed: its sequence is None, but 1 comes next"),
        (lambda line: b"[" * 100_000 + b"\n", "it is not JSON"),
        (lambda line: b'{"event":{"sequence":1e400}}\n', "it is not JSON"),
        (lambda line: b"\xff\xfe\n", "it is not JSON"),
    ],
)
def test_form_is_strict(spoil: Callable[[bytes], bytes], why: str) -> None:
    """There is one form of a line, so that all readers have the same bytes."""
    first, *others = lines_of(PlayedAuction().bids("bob 100").log)
    assert (1, why) == broken([spoil(first), *others])


def event(number: int, **members: Any) -> Callable[[list[Json]], None]:
    """Return a forgery that sets members of an event."""
    return lambda lines: lines[number - 1]["event"].update(members)


def data(number: int, **members: Any) -> Callable[[list[Json]], None]:
    """Return a forgery that sets members of an event's data."""
    return lambda lines: lines[number - 1]["event"]["data"].update(members)


def named(number: int, **names: str) -> Callable[[list[Json]], None]:
    """Return a forgery that sets names in an event's data, with the salts that a house would give."""

    def change(lines: list[Json]) -> None:
        there = lines[number - 1]["event"]["data"]
        there.update(names)
        there.pop("salts", None)
        if names_in(there):
            there["salts"] = {name: name_salt(SEED, name) for name in names_in(there)}

    return change


def sealed(number: int, **members: Any) -> Callable[[list[Json]], None]:
    """Return a forgery that sets members of the opened part."""
    return lambda lines: lines[number - 1]["opened"]["data"].update(members)


LAST = len(closed())


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (data(LAST, winner="bob"), LAST),
        (named(LAST, winner="bob"), LAST),
        (named(2, bidder="ada"), 2),
        (named(2, bidder="erased.xjBBd93BNrKk5Yy0sZTd1xZL"), 4),
        (data(2, salts={"bob": "5a" * 16}), 4),
        (data(2, salts={"eve": "5a" * 16}), 2),
        (lambda lines: lines[1]["event"]["data"].pop("salts"), 2),
        (lambda lines: lines[0]["event"]["data"].pop("salts"), 2),
        (data(LAST, price="411.000"), LAST),
        (data(LAST, outcome="no_bids"), LAST),
        (data(3, amount="121.000"), 3),
        (data(4, automatic=False), 4),
        (data(2, minimumBid="109.000"), 2),
        (data(3, endsAt=None), 3),
        (data(2, bidder="ada"), 2),
        (data(2, receivedAt="2026-11-21T12:00:09.000000Z"), 2),
        (data(2, extra=1), 2),
        (data(2, amount="100.0"), 2),
        (data(2, amount="NaN"), 2),
        (data(2, amount=100.0), 2),
        (data(2, leading="true"), 2),
        (data(1, startingPrice="1E+2"), 1),
        (data(1, startsAt="2026-11-21T11:00:00Z"), 1),
        (data(1, increment=[]), 1),
        (data(1, gid=None), 1),
        (event(2, extra=1), 2),
        (event(2, type="maximum.raised", data={}), 2),
        (event(2, type="auction.eaten"), 2),
        (event(2, type=7), 2),
        (event(2, data=[]), 2),
        (event(2, time="2026-11-21 12:00:01.000000Z"), 2),
        (event(2, time="2026-11-21T12:00:00.000000+01:00"), 2),
        (event(2, time=None), 2),
        (event(3, source="/auctions/other"), 3),
        (event(3, specversion="2.0"), 3),
        (event(3, time="2026-11-21T12:00:00.500000Z"), 3),
        (sealed(2, maximum="130.000"), 2),
        (sealed(3, maximum="121.000"), 3),
        (sealed(2, asked={"amount": None, "maximum": None}), 2),
        (sealed(2, bidderId=5), 2),
        (sealed(2, amount="100.000"), 2),
        (sealed(1, reservePrice="200.000"), 7),
        (lambda lines: lines[1]["opened"].update(salt="5a"), 2),
        (lambda lines: lines[1]["opened"].update(hidden={}), 2),
        (lambda lines: lines[1]["opened"].update(hidden=[{}]), 2),
        (lambda lines: lines[1]["opened"].update(more=1), 2),
        (lambda lines: lines[1].pop("opened"), 2),
        (lambda lines: [line.pop("opened") for line in lines], LAST),
        (lambda lines: lines[-1].update(opened=None), LAST),
        (lambda lines: next(x for x in lines if x["opened"]["hidden"])["opened"]["hidden"].pop(), None),
        (lambda lines: lines.pop(2), None),
        (lambda lines: lines.insert(4, lines[3] | {"event": dict(lines[3]["event"])}), None),
        (lambda lines: lines.pop(0), 1),
    ],
)
def test_a_consistent_forgery_breaks_the_rules(change: Callable[[list[Json]], object], line: int | None) -> None:
    """The rules find a forgery with new hashes, wherever it breaks them."""
    where = broken(forged(closed(), change))
    assert where is not None
    assert line is None or line == where[0], where


@pytest.mark.parametrize(
    ("change", "line", "why"),
    [
        (event(3, time="2026-11-21T12:00:00.500000Z"), 3, "it was received after it was decided"),
        (data(2, amount="1E+9"), 2, "1E+9 is no amount with three decimals"),
        (data(2, amount="sNaN"), 2, "sNaN is no amount with three decimals"),
    ],
)
def test_of_a_running_auction_what_is_public_is_checked(
    change: Callable[[list[Json]], object], line: int, why: str
) -> None:
    """While an auction runs, times, amounts and the price are checked, even though maximums are sealed."""
    assert (line, why) == broken(forged(running(), change))


def test_the_price_of_a_running_auction_rises() -> None:
    """A leading bid below the price is found while the ledger is sealed."""

    def change(lines: list[Json]) -> None:
        lines[3]["event"]["data"]["amount"] = "99.000"

    assert (4, "the price rises with each bid that leads, and was 100.000 before") == broken(forged(running(), change))


def test_a_ledger_from_before_a_member_was_known_is_good() -> None:
    """An old ledger without a newer null member still verifies, because hashes never change."""

    def old(lines: list[Json]) -> None:
        for line in lines:
            for members in (line["event"]["data"], line["opened"]["data"]):
                for name in ("downSince", "receivedAt", "asked"):
                    if members.get(name, "") is None:
                        del members[name]

    lines = forged(closed(), old)
    assert b"".join(lines) != b"".join(closed())
    assert verified(b"".join(lines)).trace is not None


def test_events_after_the_end_are_found() -> None:
    """No event follows a close, even in a sealed ledger."""

    def end(lines: list[Json]) -> None:
        lines.insert(2, {"event": {**lines[1]["event"], "type": "auction.cancelled", "data": {}}})

    assert (4, "the auction is over, and nothing happens any more") == broken(forged(running(), end))


def test_a_ledger_that_is_over_must_be_opened() -> None:
    """A ledger that is still sealed after the end is refused."""
    log = story().then(settle, after(2000)).log
    assert isinstance(log[-1], AuctionClosed)
    assert (LAST, "the auction is over, but its ledger is not opened: read it again from the house") == broken(
        lines_of(log, opened=False)
    )


def test_a_ledger_of_a_running_auction_must_not_be_opened() -> None:
    """An opened ledger has an end."""
    where = broken(lines_of(story().log, opened=True))
    assert where is not None
    assert "its last event is missing" in where[1]


def test_a_cancelled_auction_has_a_ledger_too() -> None:
    """A cancellation is an end."""
    made = PlayedAuction()
    made.log.append(AuctionCancelled(at=after(1)))
    ledger = verified(b"".join(lines_of(made.log)))
    assert ledger.opened
    assert 2 == len(ledger.hashes)


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless file does not fill the memory."""
    monkeypatch.setattr("saleroom.tools.verify.reading.LINE_BYTES_MAX", 1000)
    with pytest.raises(Breakage, match="larger than any ledger"):
        verified(b" " * 2000)
    monkeypatch.setattr("saleroom.tools.verify.reading.LINE_BYTES_MAX", 100_000)
    monkeypatch.setattr("saleroom.tools.verify.reading.LEDGER_BYTES_MAX", 3000)
    assert (broken(closed()) or (0, ""))[1] == "it is larger than any ledger: is this the file?"


def test_every_salt_is_its_own() -> None:
    """Two events that seal the same data have different commitments, so nobody can compare them."""
    lines = [msgspec.json.decode(line) for line in closed()]
    assert len(lines) == len({line["opened"]["salt"] for line in lines})
    assert len(lines) == len({line["event"]["commitment"] for line in lines})
