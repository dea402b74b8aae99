"""`saleroom watch` reads the messages of a house, or of a server that pretends to be one."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from saleroom.kernel.terminal import printable
from saleroom.tools.amounts import Money, in_currency
from saleroom.tools.event_stream import Comment, EventStreamParser, Message, NotAnEventStream
from saleroom.tools.watch import messages, words
from saleroom.tools.watch.messages import LotEvent, LotState
from saleroom.tools.watch.sale import Sale
from tests.fuzz.mangling import any_json, as_bytes, bounded, mangled, nasty

lines = st.sampled_from(
    [
        b"data: {}\n",
        b"id: a/1\n",
        b"retry: 1000\n",
        b": time x\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"event: x\n",
        b"data\n",
        b"\xef\xbb\xbf",
    ]
)
streams = mangled(st.lists(lines, max_size=20).map(b"".join))


def parsed(chunks: list[bytes]) -> tuple[list[Message | Comment], int | None]:
    """Return all messages of a stream, and when to come back."""
    parser = EventStreamParser()
    return [said for chunk in chunks for said in parser.feed(chunk)], parser.retry_ms


@example(b"retry: " + b"9" * 5_000 + b"\n\n", [])
@given(streams, st.lists(st.integers(0, 400), max_size=5))
def test_a_stream_says_the_same_however_it_is_cut(stream: bytes, cuts: list[int]) -> None:
    """Any bytes give messages and comments, and the same ones wherever the network splits them."""
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:end] for start, end in pairwise(places)]
    with bounded():
        whole = parsed([stream])
        assert whole == parsed(pieces)
        assert whole == parsed([bytes([one]) for one in stream])


def test_a_line_without_an_end_is_refused() -> None:
    """An endless line is not a stream of events, and is not kept without a limit."""
    parser = EventStreamParser()
    try:
        with bounded():
            for _ in range(40):
                list(parser.feed(b"a" * 65_536))
    except NotAnEventStream:
        return
    raise AssertionError("it was read on and on")


some_instants = st.sampled_from(["2026-11-21T12:00:00Z", "2026-11-21T12:00:00", "9999-12-31T23:59:59+00:00"]) | nasty()
facts = st.dictionaries(
    st.sampled_from(
        ["name", "status", "minimumBid", "startsAt", "endsAt", "amount", "bidder", "leading", "outcome", "price"]
    ),
    nasty() | some_instants | any_json(),
)
events = st.fixed_dictionaries(
    {
        "id": nasty(),
        "source": st.sampled_from(["/auctions/a", "/auctions/b", ""]) | nasty(),
        "type": st.sampled_from(
            [
                "auction.created",
                "bid.placed",
                "reserve.met",
                "auction.extended",
                "auction.closed",
                "auction.cancelled",
                "x",
            ]
        ),
        "time": some_instants,
        "sequence": st.integers(-1, 5) | st.just(10**30),
        "data": facts,
    }
)
states = st.fixed_dictionaries(
    {
        "gid": st.sampled_from(["a", "b"]),
        "name": nasty(),
        "status": st.sampled_from(["open", "closed", "cancelled", "x"]),
        "version": st.integers(-1, 5) | st.just(10**30),
    },
    optional={
        "endsAt": some_instants | st.none(),
        "currentBid": nasty(),
        "outcome": st.sampled_from(["sold", "x"]),
        "bidCount": st.integers(),
    },
)


def written(value: Any) -> bytes:
    """Return JSON in UTF-8, including lone surrogates."""
    return as_bytes(json.dumps(value, ensure_ascii=False))


MONEY = in_currency("EUR")


class TextDisplay:
    """A display that writes everything out."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, payload: str, event: LotEvent, lot: LotState | None) -> None:
        """Take the text that would be shown."""
        self.lines += [words.words(event, MONEY), "" if lot is None else words.standing(lot, MONEY)]
        if lot is not None:
            self.lines.append(words.left(lot.ends_at, datetime(2026, 11, 21, tzinfo=UTC)))

    def write_money(self, money: Money) -> None:
        """Write amounts as ever."""

    def notice(self, text: str) -> None:
        """Take the message that would be printed."""
        self.lines.append(printable(text))


@example([b'{"id":"","source":"","type":"","time":"2026-11-21T12:00:00Z","sequence":1,"data":' + b"[" * 100_000])
@example([b"{" * 100_000])
@example([b'{"gid":"a","name":"\xff","status":"open","version":1}'])
@given(st.lists(mangled(events.map(written) | states.map(written)), max_size=6))
def test_a_sale_takes_any_message_of_a_house(said: list[bytes]) -> None:
    """Anything but a lot or an event is refused; lots and events are shown without characters that could steer a terminal."""
    display = TextDisplay()
    sale = Sale(None, display)
    with bounded():
        for payload in said:
            try:
                lot = messages.read_lot(payload)
            except msgspec.DecodeError:
                pass
            else:
                sale.state(lot)
                display.notice(words.standing(lot, MONEY) + words.left(lot.ends_at, datetime(2026, 11, 21, tzinfo=UTC)))
            try:
                event = messages.read_event(payload)
            except msgspec.DecodeError:
                pass
            else:
                sale.event("", event)
    assert all(line.isprintable() or " " in line for line in display.lines)
    assert not any("\x1b" in line or "\n" in line for line in display.lines)


@given(
    mangled(st.fixed_dictionaries({"auctions": st.lists(states, max_size=2), "next": st.none() | nasty()}).map(written))
)
def test_a_page_of_lots_is_read_or_refused(page: bytes) -> None:
    """A page is read as lots, or refused as not a house's."""
    with bounded():
        try:
            found = messages.read_page(page)
        except msgspec.DecodeError:
            return
    assert msgspec.json.encode(found)
