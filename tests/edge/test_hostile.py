"""An edge before a house that lies, hangs or forks: no reader gets what no house sends, and nothing of a reader leaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, nullcontext
from typing import Self, cast

import httpx
import pytest

from saleroom.edge import channel, house, hub, upstream
from saleroom.edge.addresses import EVENTS
from saleroom.edge.catching_up import CatchUp, CatchUpTurns
from saleroom.edge.house import House
from saleroom.kernel.identifiers import BEGINNING
from saleroom.log.store import LoggedEvent
from saleroom.tools.event_stream import Message
from saleroom.tools.watch.channel import Pauses
from tests.edge.edge import Edge, edge_of
from tests.edge.lying import STREAM, LyingHouse, event, lying_house, started
from tests.feed.stream import following
from tests.patience import SECONDS_MAX
from tests.process import wait_until

pytestmark = pytest.mark.databases("sqlite")

LOT = "k3X9mQ2vTa1_"
QUIET_SECONDS = 30.0
"""For how long a reader waits for what must not come; which answer of the script a stream gets is a matter of chance."""
PATH = f"/auctions/{LOT}/events"


@pytest.fixture
def liar() -> Iterator[LyingHouse]:
    """A server in place of a house."""
    with lying_house() as served:
        yield served


@pytest.fixture
def edge(liar: LyingHouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    """An edge before it, which waits for nothing long."""
    monkeypatch.setattr(upstream, "BEGIN_SECONDS_MAX", 2.0)
    monkeypatch.setattr(channel, "BEGIN_SECONDS_MAX", 2.0)
    monkeypatch.setattr(house, "OPEN_SECONDS_MAX", 1.0)
    monkeypatch.setattr(Pauses, "next", lambda *_: 0.05)
    with edge_of(liar.url) as served:
        yield served


HEAD = started(f"{LOT}/1")
END = b"HTTP/1.1 204 No Content\r\n\r\n"
"""The answer after the last event."""
NO_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"


@pytest.mark.parametrize(
    "answer",
    [
        (NO_STREAM,),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",),
        (b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",),
        (b"SSH-2.0-OpenSSH\r\n",),
        (b"",),
        (STREAM, b""),
        (STREAM + b"x" * 3_000_000, b""),
        (STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + b"\x1f\x8b", b""),
        (STREAM + b"event: stream.started\nid: nonsense\ndata: {}\n\n", b""),
    ],
    ids=["page", "500", "redirect", "ssh", "closed", "silent", "endless line", "compressed", "no id"],
)
def test_a_house_that_gives_no_stream(liar: LyingHouse, edge: Edge, answer: tuple[bytes, ...]) -> None:
    """A reader is told to come back, and the edge goes on to serve others."""
    liar.script[PATH] = [answer]
    refused = edge.plain.get(PATH)
    assert (503, "busy", "1") == (refused.status_code, refused.json()["code"], refused.headers["retry-after"])
    assert 200 == edge.plain.get("/healthz").status_code
    assert 0 == edge.inside(len)


@pytest.mark.parametrize(
    "said",
    [event(f"{LOT}/4"), event(f"{LOT}/2"), event("another/4"), b"data: {}\n\n", event(f"{LOT}/3", "{\ndata: }")],
    ids=["gap", "repeat", "another lot", "no id", "two lines"],
)
def test_a_house_that_sends_no_such_events(liar: LyingHouse, edge: Edge, said: bytes) -> None:
    """A reader never gets a gap, a repeat or another lot's event: its stream ends, or goes on once the house is right."""
    good = [(HEAD, b""), (STREAM + event(f"{LOT}/1"), event(f"{LOT}/2"), said, b"")]
    liar.script[PATH] = [*good, (STREAM + event(f"{LOT}/2") + event(f"{LOT}/3"),), (END,)]
    ids, until = list[str](), time.monotonic() + QUIET_SECONDS
    with edge.plain.stream("GET", PATH + "?after=0") as answer:
        for line in answer.iter_lines():  # the edge says the time every few seconds
            if line.startswith("id: "):
                ids.append(line.removeprefix("id: "))
            if time.monotonic() > until:
                break
    assert answer.status_code in (400, 503) or [f"{LOT}/1", f"{LOT}/2", f"{LOT}/3"][: len(ids)] == ids


def test_a_reader_who_comes_as_a_stream_is_given_up_is_sent_away(
    liar: LyingHouse, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for the beginning, its stream may be closed. It is told to come back, and does not wait for ever."""
    begun = upstream.Upstream.until_begun

    async def until_given_up(self: upstream.Upstream) -> None:
        await begun(self)
        edge.hub.drop(edge.hub._channels[self._address])

    liar.script[PATH] = [(HEAD, b""), (STREAM + event(f"{LOT}/1"), b"")]
    monkeypatch.setattr(upstream.Upstream, "until_begun", until_given_up)
    with edge.plain.stream("GET", PATH + "?after=0") as answer:
        assert 503 == answer.status_code


def test_what_came_before_a_fault_is_sent(liar: LyingHouse, edge: Edge) -> None:
    """Events that came together with something that no house sends reach the readers, once, and so do later ones."""
    liar.script[PATH] = [
        (HEAD, b""),
        (STREAM + event(f"{LOT}/1"),),
        (HEAD, b""),
        (STREAM + event(f"{LOT}/1") + event(f"{LOT}/2") + event(f"{LOT}/3") + b"data: {}\n\n", b""),
        (STREAM + event(f"{LOT}/3") + event(f"{LOT}/4"), b""),
    ]
    with following(edge, PATH + "?after=0") as stream:
        stream.take(4)
        assert [f"{LOT}/{version}" for version in range(1, 5)] == stream.ids


def test_a_fork_ends_all_streams(liar: LyingHouse, edge: Edge) -> None:
    """If the house comes back with another event by the id of the last one, readers of all streams are sent away."""
    liar.script[PATH] = [(HEAD, b""), (STREAM + event(f"{LOT}/1", '"a"'), event(f"{LOT}/2", '"b"'))]
    later = event(f"{LOT}/3")
    liar.script[f"{PATH} after {LOT}/1"] = [(STREAM + event(f"{LOT}/2", '"fork"') + later, b"")]
    liar.script[f"{PATH} after {LOT}/2"] = [(STREAM + later, b"")]
    with following(edge, "/events") as everything, following(edge, PATH + "?after=0") as stream:
        assert ['"a"', '"b"'] == stream.rest()
        assert [] == everything.rest()
    assert 1 == edge.inside(lambda one: one.rewinds)


def test_a_lost_event_ends_all_streams(liar: LyingHouse, edge: Edge) -> None:
    """If the house does not know the last event any more, readers of all streams are sent away."""
    refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    liar.script[PATH] = [(HEAD, b""), (STREAM + event(f"{LOT}/1"), event(f"{LOT}/2")), (refusal,)]
    with following(edge, "/events") as everything, following(edge, PATH + "?after=0") as stream:
        assert 2 == len(stream.rest())
        assert [] == everything.rest()


def test_a_break_is_nothing_to_readers(liar: LyingHouse, edge: Edge) -> None:
    """A stream that breaks off in the middle of an event goes on, and its readers get each event once."""
    liar.script[PATH] = [
        (HEAD, b""),
        (STREAM + event(f"{LOT}/1"), event(f"{LOT}/2") + b"id: " + LOT.encode()),
        (HEAD, b""),
        (STREAM + event(f"{LOT}/2"), event(f"{LOT}/3") + event(f"{LOT}/4"), b""),
    ]
    with following(edge, PATH + "?after=0") as stream:
        stream.take(4)
        assert [f"{LOT}/{version}" for version in range(1, 5)] == stream.ids


def test_nothing_of_a_reader_reaches_the_house(liar: LyingHouse, edge: Edge) -> None:
    """Cookies, tokens, addresses and unknown parameters stay on the edge; the language is one of the house's."""
    secret = {
        "Cookie": "other=secret",
        "Authorization": "Bearer secret",
        "X-Forwarded-For": "secret",
        "Referer": "secret",
        "User-Agent": "secret",
        "Accept-Language": "de-AT, secret",
    }
    asked = ["/live?lots=b,a&secret=1", f"/lots/{LOT}/live?story=secret", f"{PATH}?after={LOT}/1"]
    for path in asked:
        edge.plain.get(path, headers=secret)
    assert not any("secret" in head for head in liar.heads)
    assert any("GET /live?lots=a,b HTTP" in head and "Accept-Language: de-AT\r\n" in head for head in liar.heads)


def test_the_edge_is_not_ready_while_the_house_is_silent(
    liar: LyingHouse, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A house that keeps its connections and says nothing is noticed; those who follow stay."""
    with following(edge, "/events"):
        assert 200 == edge.plain.get("/readyz").status_code
        monkeypatch.setattr(hub, "HEARD_SECONDS_MAX", 0.0)
        answer = edge.plain.get("/readyz")
        assert (503, "silent", 1) == (answer.status_code, answer.json()["house"], answer.json()["readers"])
        monkeypatch.undo()
        wait_until(lambda: edge.plain.get("/readyz").status_code == 200)


def test_one_network_does_not_take_all_turns_to_catch_up(
    liar: LyingHouse, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who names an old event and takes it slowly keeps a turn; readers of other networks still have theirs."""
    monkeypatch.setattr(edge.hub, "turns", CatchUpTurns(2, 1))
    latest = b"".join(event(f"{LOT}/{version}") for version in range(201, 301))
    liar.script[PATH] = [(started(f"{LOT}/300"), b""), (STREAM + latest, b"")]
    liar.script[f"{PATH} after {LOT}/1"] = [(started(f"{LOT}/1"), b"")]
    old = f"{PATH}?after={LOT}/1"
    with (
        httpx.Client(base_url=edge.base, transport=httpx.HTTPTransport(local_address="127.0.0.2")) as elsewhere,
        edge.plain.stream("GET", old) as first,
        edge.plain.stream("GET", old) as second,
        elsewhere.stream("GET", old) as third,
    ):
        assert [200, 503, 200] == [one.status_code for one in (first, second, third)]


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00"]
)
def test_a_clock_at_the_end_of_all_dates_is_not_taken(liar: LyingHouse, edge: Edge, time: str) -> None:
    """A time with which nobody can reckon ends no stream, neither that of the log nor that of a lot."""
    nonsense = f": time {time}\n\n".encode()
    liar.script[PATH] = [
        (HEAD, b""),
        (STREAM + nonsense + event(f"{LOT}/1"), event(f"{LOT}/2") + nonsense, event(f"{LOT}/3"), b""),
    ]
    with following(edge, PATH + "?after=0") as stream:
        stream.take(3)
    assert edge.inside(lambda one: one.house.now()).year == 2026


def test_one_network_does_not_take_all_streams_of_the_house(
    liar: LyingHouse, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network causes so many streams of the house. It still reads what others read, and others have theirs."""
    monkeypatch.setattr(hub, "NETWORK_STREAMS_MAX", 2)
    for lot in "abcd":
        said = b"event: time\ndata: 2026-11-27T12:00:00.000000Z\n\n"
        liar.script[f"/live?lots={lot * 12}"] = [(STREAM + said, b"")]
    elsewhere = httpx.Client(base_url=edge.base, transport=httpx.HTTPTransport(local_address="127.0.0.2"))
    with ExitStack() as stack:
        stack.enter_context(elsewhere)

        def asked(client: httpx.Client, lot: str) -> int:
            return stack.enter_context(client.stream("GET", f"/live?lots={lot * 12}")).status_code

        assert [200, 200, 503, 200] == [asked(edge.plain, lot) for lot in "abca"]
        assert [200, 200] == [asked(elsewhere, "c"), asked(edge.plain, "c")]
        edge.inside(lambda one: one.drop(next(each for each in one._channels.values() if each.address != EVENTS)))
        assert [200, 503] == [asked(edge.plain, "d"), asked(edge.plain, "e")]


class BrokenHouse:
    """A house whose stream meets a fault that nobody has thought of."""

    @asynccontextmanager
    async def stream(self, *_: object) -> AsyncIterator[Self]:
        """Begin the stream."""
        yield self

    async def batches(self) -> AsyncIterator[list[Message]]:
        """Yield one message, and fail."""
        yield [Message(f"{LOT}/2", "{}")]
        raise ZeroDivisionError


async def test_a_fault_ends_a_reader_who_catches_up() -> None:
    """The reader gets what has come, and then the end: it never waits for what nobody sends any more."""
    catch_up = CatchUp(cast("House", BrokenHouse()), EVENTS, BEGINNING, nullcontext())
    await catch_up.begin()
    async with asyncio.timeout(SECONDS_MAX):
        while (found := await catch_up.read()) == ():
            pass
        assert found is not None
        assert [f"{LOT}/2"] == [message.id for message in found]
        while (found := await catch_up.read()) == ():
            pass
    assert found is None


@pytest.mark.parametrize("status", [b"400 Bad Request", b"404 Not Found", b"410 Gone"])
def test_another_server_in_place_of_the_house_is_named_and_asked_again(
    liar: LyingHouse, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], status: bytes
) -> None:
    """An edge that was started before the house says what it hears instead, and follows the house once it is there."""
    monkeypatch.setattr(Pauses, "next", lambda *_: 0.05)
    refusal = b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n"
    liar.script["/events"] = [(refusal,), (started("0") + event(f"{LOT}/1"), b"")]
    with edge_of(liar.url) as edge, following(edge, "/events?after=0") as stream:
        stream.take(1)
        assert 1 == edge.inside(lambda one: one.house.failures)
    said = capfd.readouterr()
    assert "is this the address of an auction house?" in said.out + said.err


def test_the_log_of_the_house_is_followed_whatever_happens(liar: LyingHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that nobody has thought of ends the stream of all events for a moment, and not the edge."""
    taken = upstream.Upstream._taken
    faults = [ZeroDivisionError()]

    def fails_once(self: upstream.Upstream, message: Message) -> LoggedEvent | None:
        if self._pinned and faults:
            raise faults.pop()
        return taken(self, message)

    monkeypatch.setattr(upstream.Upstream, "_taken", fails_once)
    monkeypatch.setattr(Pauses, "next", lambda *_: 0.05)
    liar.script["/events"] = [(started("0") + event(f"{LOT}/1"), b"")]
    with edge_of(liar.url) as edge, following(edge, "/events?after=0") as stream:
        stream.take(1)
    assert not faults


def test_too_many_readers_are_refused(liar: LyingHouse) -> None:
    """A reader beyond `followers_max` is told to come back."""
    with edge_of(liar.url, followers_max=1) as small, following(small, "/events"):
        assert 503 == small.plain.get("/events").status_code
