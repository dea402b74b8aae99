"""The display of a watch: lots from their events, texts, and the view, with any names."""

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from saleroom.kernel.terminal import printable
from saleroom.tools.amounts import Money
from saleroom.tools.clock import HouseClock
from saleroom.tools.watch.channel import Pauses
from saleroom.tools.watch.display import EVENTS_SHOWN_MAX, Lines, LiveView
from saleroom.tools.watch.messages import LotEvent, LotState, read_event, read_lot
from saleroom.tools.watch.sale import ENDED_SHOWN_MAX, Sale
from saleroom.tools.watch.words import left
from tests.fixtures_house import House
from tests.terminal import MemoryTerminal

EVIL = "\x1b]0;owned\x07Clock\r\n\x9b31m\u202ekcolc\u2028"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class MemoryDisplay:
    """A display that keeps its input."""

    def __init__(self) -> None:
        self.events: list[tuple[str, LotState | None]] = []
        self.notices: list[str] = []

    def event(self, payload: str, event: LotEvent, lot: LotState | None) -> None:
        """Record an event."""
        self.events.append((event.id, lot))

    def write_money(self, money: Money) -> None:
        """Write amounts as ever."""

    def notice(self, text: str) -> None:
        """Record a sentence."""
        self.notices.append(text)


def event(kind: str, sequence: int = 1, gid: str = "abc", **data: Any) -> LotEvent:
    """Return an event."""
    return LotEvent(f"{gid}/{sequence}", f"/auctions/{gid}", kind, NOW, sequence, data)


def streamed(house: House, gid: str) -> list[str]:
    """Return all events of an auction so far, as its stream sends them."""
    count = house.plain.get(f"/auctions/{gid}").json()["version"]
    with house.plain.stream("GET", f"/auctions/{gid}/events", params={"after": "0"}) as answer:
        payloads = (line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
        return list(islice(payloads, count))


def test_events_alone_give_the_lot(sqlite_house: House) -> None:
    """A lot put together from its events is the lot that the house shows: bids, maximums, a reserve met, an end that moved."""
    ada, ben, cyd = (sqlite_house.newcomer() for _ in range(3))
    ends = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    extended = ada.auction(endsAt=ends, softClose={"window": 600, "extension": 600})
    ben.bid(extended, maximum="50")
    sold = ada.auction(reservePrice="60")
    ada.json("PATCH", f"/auctions/{sold}", json={"name": "Bracket clock", "startingPrice": "20"})
    ben.bid(sold, maximum="50")
    cyd.bid(sold, amount="40")
    ben.bid(sold, maximum="100")
    ada.json("POST", f"/auctions/{sold}/close", json={})
    cancelled = ada.auction(endsAt=ends)
    ada.json("DELETE", f"/auctions/{cancelled}")
    for gid in (sold, cancelled, extended):
        display = MemoryDisplay()
        sale = Sale(gid, display)
        payloads = streamed(sqlite_house, gid)
        for payload in payloads:
            sale.event(payload, read_event(payload))
        shown = read_lot(sqlite_house.plain.get(f"/auctions/{gid}").content)
        assert (shown, len(payloads)) == (sale.lots[gid], len(display.events))
        assert (gid != extended) is sale.over and [] == display.notices
        assert gid != extended or shown.ends_at is not None


def test_a_state_never_undoes_events() -> None:
    """A state older than the events changes nothing, and an event that a state includes counts once."""
    sale = Sale(None, MemoryDisplay())
    sale.state(LotState("abc", "Clock", "open", 3, current_bid="10.000", bid_count=1))
    sale.event("", event("bid.placed", 4, amount="11.000", bidder="ben", leading=True, minimumBid="12.000"))
    sale.state(LotState("abc", "Clock", "open", 3, current_bid="10.000", bid_count=1))
    assert ("11.000", "ben", 2) == _price(sale)
    sale.state(LotState("abc", "Clock", "open", 5, current_bid="12.000", current_bidder="cyd", bid_count=3))
    sale.event("", event("bid.placed", 5, amount="12.000", bidder="cyd", leading=True, minimumBid="13.000"))
    assert ("12.000", "cyd", 3) == _price(sale)


def _price(sale: Sale) -> tuple[str | None, str | None, int]:
    lot = sale.lots["abc"]
    return lot.current_bid, lot.current_bidder, lot.bid_count


def test_a_gap_is_shown_before_the_next_event() -> None:
    """A gap is shown with the lot's name and its events, and reported to the caller."""
    display = MemoryDisplay()
    sale = Sale(None, display)
    assert sale.event("", event("auction.created", 1, name="Clock"))
    assert not sale.event("", event("auction.extended", 4))
    assert not sale.event("", event("auction.extended", 6))
    assert ["missed: events 2 to 3 of abc (Clock)", "missed: event 5 of abc (Clock)"] == display.notices


def test_only_the_last_closed_lots_are_kept() -> None:
    """Of all lots that are over, the latest ENDED_SHOWN_MAX are kept."""
    sale = Sale(None, MemoryDisplay())
    for number in range(ENDED_SHOWN_MAX + 20):
        sale.event("", event("auction.created", 1, gid=f"g{number}", name="Clock", status="open"))
        sale.event("", event("auction.closed", 2, gid=f"g{number}", outcome="no_bids"))
    assert ENDED_SHOWN_MAX == len(sale.lots)
    assert f"g{ENDED_SHOWN_MAX + 19}" in sale.lots and "g0" not in sale.lots


@pytest.mark.parametrize("json_wanted", [False, True])
def test_lines_are_plain(json_wanted: bool) -> None:
    """Each event is one line without a control character, and JSON on a terminal keeps its meaning."""
    out, err = MemoryTerminal(), io.StringIO()
    payload = json.dumps({"name": EVIL}, ensure_ascii=False)
    lot = LotState("abc", EVIL, "open", 1)
    lines = Lines(out, err, json=json_wanted)
    lines.event(payload, event("bid.placed", bidder=EVIL, amount="1.000", leading=True), lot)
    lines.notice(EVIL)
    written = out.getvalue()
    assert 1 == written.count("\n") == err.getvalue().count("\n")
    assert written.removesuffix("\n") == "".join(mark for mark in written if mark.isprintable() or mark == " ")
    if json_wanted:
        assert json.loads(payload) == json.loads(written)
    else:
        assert f"abc/1 {printable(EVIL)}: {printable(EVIL)} bids 1.00, leads" in written


def test_the_view_fits_the_terminal() -> None:
    """With a thousand lots and many events the view fits the terminal, and the lot that ends first is on top."""
    console = Console(width=100, height=30, file=io.StringIO(), color_system=None)
    view = LiveView(console, screen=False)
    sale = Sale(None, view)
    ends_first = sale.clock.now() + timedelta(seconds=61)
    for number in range(1000):
        ends = None if number % 2 else ends_first + timedelta(seconds=number)
        sale.state(LotState(f"g{number}", f"{EVIL} {number}", "open", version=1, bid_count=1, ends_at=ends))
    for number in range(2, EVENTS_SHOWN_MAX + 5):
        bid = {"bidder": "ben" * 40, "amount": "9.000", "leading": True, "endsAt": ends_first.isoformat()}
        sale.event("", event("bid.placed", number, gid="g0", **bid))
    sale.connected("live " * 40)
    with console.capture() as capture:
        console.print(view.picture(sale))
    lines = capture.get().splitlines()
    text = capture.get()
    assert len(lines) <= 30 and max(map(cell_len, lines)) <= 100
    first = next(line for line in lines if "kcolc 0" in line)
    assert "9.00" in first and "ben" in first and "1:0" in first
    assert len(sale.lots) == 1000 > text.count(" open ") > 10
    assert "\x07" not in text and "]0;owned" in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shows_the_whole_result(width: int) -> None:
    """However narrow the terminal, the result can be read: lines of events and of the end are folded, not cut."""
    console = Console(width=width, height=24, file=io.StringIO(), color_system=None)
    view = LiveView(console, screen=False)
    sale = Sale("abc", view)
    sale.write_money("EUR")
    name = "Longcase clock with a very long name"
    sale.state(LotState("abc", name, "open", 2, current_bid="690.000", current_bidder="ben", bid_count=1))
    sale.event("", event("bid.placed", 3, bidder="cornelia.castellan", amount="1700.000", leading=True))
    sale.event("", event("auction.closed", 4, outcome="sold", winner="cornelia.castellan", price="1700.000"))
    sale.conclude()
    with console.capture() as capture:
        console.print(view.picture(sale))
    lines = capture.get().splitlines()
    text = " ".join(" ".join(lines).split())
    assert text.count("sold to cornelia.castellan for €1,700.00") >= 2, text
    assert len(lines) <= 24 and max(map(cell_len, lines)) <= width


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-5, "0:00"), (59.9, "0:59"), (61, "1:01"), (3661, "1:01:01"), (90_000, "1 d 1 h")],
)
def test_the_time_left_is_short(seconds: float, expected: str) -> None:
    """Seconds count down to 0 and not below; a day or more has days and hours."""
    assert expected == left(NOW + timedelta(seconds=seconds), NOW)
    assert "-" == left(None, NOW)


def test_the_clock_follows_the_house() -> None:
    """Once the house has sent its time, the clock shows that time, however wrong this machine's clock is."""
    clock = HouseClock()
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
    clock.set(NOW)
    assert NOW <= clock.now() < NOW + timedelta(seconds=60)


def test_pauses_are_never_shorter_than_asked_for() -> None:
    """Pauses start at the server's value, grow up to a bound, and start again after a success."""
    pauses = Pauses()
    pauses.least = 2.0
    waits = [pauses.next() for _ in range(40)]
    assert all(2.0 <= wait <= 12.0 for wait in waits) and max(waits) > 8.0
    assert len(set(waits)) > 30, "chance keeps them apart"
    pauses.reset()
    assert pauses.next() <= 4.0
    assert pauses.next(at_least=60.0) >= 60.0
