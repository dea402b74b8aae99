"""The streams of the log on an edge: the same events and ids as in the house, resumed in memory or by the house."""

from __future__ import annotations

import pytest

from saleroom.edge import channel, upstream
from saleroom.edge.addresses import Kind
from saleroom.edge.window import Bounds
from tests.edge.edge import Edge, streams
from tests.feed.stream import following, payloads
from tests.fixtures_house import House
from tests.process import wait_until


def lot_with_bids(house: House, bids: int) -> str:
    """Return a lot with so many bids, in all one event more."""
    gid = house.user("ada").auction()
    for number in range(bids):
        assert house.user("grace" if number % 2 else "bob").bid(gid, amount=str(10 + number)).is_success
    return gid


def test_the_edge_sends_what_the_house_sends(house: House, edge: Edge) -> None:
    """From the beginning and as they happen, events have the bytes and the ids that they have in the house."""
    gid = lot_with_bids(house, 3)
    path = f"/auctions/{gid}/events?after=0"
    with following(house, path) as there, following(edge, path) as here:
        assert there.take(4) == here.take(4)
        assert house.user("ada2").bid(gid, amount="500").is_success
        assert there.take(1) == here.take(1)
        assert [f"{gid}/{version}" for version in range(1, 6)] == there.ids == here.ids


def test_a_stream_says_where_it_begins(house: House, edge: Edge) -> None:
    """A reader without an id is told the event after which its stream begins, also if others began before."""
    gid = lot_with_bids(house, 1)
    path = f"/auctions/{gid}/events"
    with following(edge, path) as first, following(house, path) as there:
        assert f"{gid}/2" == first.origin == there.origin
        assert there.started.keys() == first.started.keys()
        assert there.started["source"] == first.started["source"]
        assert house.user("ada2").bid(gid, amount="100").is_success
        first.take(1)
        with following(edge, path) as second:
            assert f"{gid}/3" == second.origin


def test_readers_share_one_stream_of_the_house(house: House, edge: Edge) -> None:
    """However many follow a lot, and wherever they resume, the house serves one stream."""
    gid = lot_with_bids(house, 4)
    path = f"/auctions/{gid}/events"
    readers = [following(edge, path, **{"Last-Event-ID": f"{gid}/{version}"}) for version in (1, 3, 5, 5)]
    opened = [reader.__enter__() for reader in readers]
    assert house.user("ada2").bid(gid, amount="100").is_success
    for stream, count in zip(opened, (5, 3, 1, 1), strict=True):
        stream.take(count)
        assert f"{gid}/6" == stream.ids[-1]
    assert 1 == streams(edge)
    for reader in readers:
        reader.__exit__(None, None, None)


@pytest.mark.parametrize("kept", [1, 3, 20])
def test_a_reader_resumes_beyond_memory(house: House, edge: Edge, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """A reader whose place is no longer in memory gets the rest from the house, each event once, and goes on as others do."""
    monkeypatch.setitem(channel._BOUNDS, Kind.LOG, Bounds(kept, 1_000_000))
    monkeypatch.setattr(upstream, "LOOK_BACK", kept)
    gid = lot_with_bids(house, 9)
    path = f"/auctions/{gid}/events"
    with following(edge, path), following(edge, path, **{"Last-Event-ID": f"{gid}/2"}) as late:
        late.take(8)
        assert house.user("ada2").bid(gid, amount="100").is_success
        assert late.take(1) == payload_after(house, gid, 10)
        assert [f"{gid}/{version}" for version in range(3, 12)] == late.ids
        wait_until(lambda: streams(edge) == 1)


def payload_after(house: House, gid: str, version: int) -> list[str]:
    """Return the event after a version, as the house has it."""
    with following(house, f"/auctions/{gid}/events?after={gid}/{version}") as stream:
        return stream.take(1)


def test_the_whole_log_is_resumed_anywhere(house: House, edge: Edge) -> None:
    """Readers of all events have one order, from the beginning of the log or from an event before the edge began."""
    gid = lot_with_bids(house, 2)
    with following(edge, f"/events?after={gid}/1") as here, following(house, f"/events?after={gid}/1") as there:
        assert there.take(2) == here.take(2)
        assert house.user("ada2").bid(gid, amount="100").is_success
        assert there.take(1) == here.take(1)
        with following(edge, f"/events?after={gid}/2") as other:
            other.take(2)
            assert here.ids[1:] == other.ids
    with following(edge, "/events?after=0") as here, following(house, "/events?after=0") as there:
        assert there.take(10) == here.take(10)
        assert there.ids == here.ids


def test_the_edge_refuses_what_the_house_refuses(house: House, edge: Edge) -> None:
    """Forged ids, ids of other lots and unknown lots get the answers of the house, and leave no stream behind."""
    gid, other = lot_with_bids(house, 1), lot_with_bids(house, 0)
    asked = [
        (f"/auctions/{gid}/events", {"Last-Event-ID": f"{gid}/3"}),
        (f"/auctions/{gid}/events", {"Last-Event-ID": f"{gid}/2147483647"}),
        (f"/auctions/{gid}/events", {"Last-Event-ID": f"{other}/1"}),
        (f"/auctions/{gid}/events", {"Last-Event-ID": "nonsense"}),
        (f"/auctions/{gid}/events?after={gid}/0", {}),
        (f"/auctions/{gid}/events?before=1", {}),
        ("/auctions/nobody/events", {}),
        ("/auctions/no%20body/events", {}),
        ("/sales/nobody/events", {}),
        ("/sales/nobody/events?after=nobody/1", {}),
        ("/events", {"Last-Event-ID": f"{gid}/77"}),
        ("/events?after=1", {}),
    ]
    for path, headers in asked:
        there, here = (served.plain.get(path, headers=headers) for served in (house, edge))
        assert (there.status_code, there.json()) == (here.status_code, here.json()), path
    wait_until(lambda: edge.inside(len) == 0)


def test_a_stream_ends_with_its_lot(house: House, edge: Edge) -> None:
    """After the last event of a lot its stream ends. A reader who asks again gets 204, and the whole log is still there."""
    gid = lot_with_bids(house, 2)
    path = f"/auctions/{gid}/events"
    with following(edge, path, **{"Last-Event-ID": f"{gid}/1"}) as stream:
        assert house.user("ada").post(f"/auctions/{gid}/close", json={}).is_success
        rest = stream.rest()
    assert payloads(house, gid)[1:] == rest
    assert payloads(house, gid) == payloads_of(edge, gid)
    last = {"Last-Event-ID": stream.ids[-1]}
    assert [204, 204] == [edge.plain.get(path).status_code, edge.plain.get(path, headers=last).status_code]


def payloads_of(edge: Edge, gid: str) -> list[str]:
    """Return the events of a lot that is over, as the edge sends them from the beginning."""
    with following(edge, f"/auctions/{gid}/events?after=0") as stream:
        return stream.rest()
