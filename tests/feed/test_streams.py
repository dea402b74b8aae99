"""Server-sent events over HTTP: their form, where streams begin and end, refusals, and slow readers."""

import re
import socket
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from saleroom.feed import follower, streams
from saleroom.runtime import serving
from tests.feed.stream import following, payloads, refusal
from tests.fixtures_house import House, ServeHouse
from tests.patience import SECONDS_MAX
from tests.process import wait_until


def closed(house: House, bids: int = 2) -> str:
    """Return the gid of a closed auction with some bids."""
    seller, gid = house.user("ada"), house.user("ada").auction()
    for number in range(bids):
        house.user(["bob", "cyd"][number % 2]).bid(gid, str(10 + number))
    assert 200 == seller.post(f"/auctions/{gid}/close", json={}).status_code
    return gid


def test_events_come_as_they_happen(house: House) -> None:
    """A follower gets the bid and the close, each with its id and as JSON on one line. Then the stream ends."""
    gid = house.user("ada").auction(description="Line\nbreak")
    with following(house, f"/auctions/{gid}/events") as stream:
        house.user("bob").bid(gid, "10")
        [bid] = stream.take(1)
        assert ["bid.placed", "10.000", f"{gid}/2"] == [
            msgspec.json.decode(bid)["type"],
            msgspec.json.decode(bid)["data"]["amount"],
            msgspec.json.decode(bid)["id"],
        ]
        house.user("ada").post(f"/auctions/{gid}/close", json={})
        assert 1 == len(stream.rest())
        assert [f"{gid}/2", f"{gid}/3"] == stream.ids


def test_all_auctions_are_followed_at_once(house: House) -> None:
    """`/events` has every auction's events, in an order that agrees with each auction's own stream."""
    with following(house, "/events") as stream:
        first, second = closed(house), closed(house, 1)
        assert payloads(house, first) + payloads(house, second) == stream.take(7)


def test_a_stream_begins_where_it_is_asked_to(house: House) -> None:
    """A stream begins after the event in `Last-Event-ID`, or in `after` if there is no such header. 0 is the beginning."""
    gid = closed(house)
    events = payloads(house, gid)
    assert 4 == len(events)
    path = f"/auctions/{gid}/events"
    for query, last_id, rest in (
        (f"?after={gid}/1", None, events[1:]),
        ("", f"{gid}/2", events[2:]),
        (f"?after={gid}/1", f"{gid}/3", events[3:]),
        (f"?after={gid}/1", "", events[1:]),
        ("?after=0", None, events),
        ("", "0", events),
    ):
        headers = {} if last_id is None else {"Last-Event-ID": last_id}
        with following(house, path + query, **headers) as stream:
            assert rest == stream.rest()
    with following(house, f"/events?after={gid}/2") as stream:
        assert events[2:] == stream.take(2)
    with following(house, "/events", **{"Last-Event-ID": f"{gid}/3"}) as stream:
        assert events[3:] == stream.take(1)


def test_a_client_that_resumes_before_the_first_event_misses_nothing(serve_house: ServeHouse) -> None:
    """A stream first sends its origin as an event. A client that resumes after that event misses nothing."""
    house = serve_house()  # lots of other tests may end meanwhile
    for path in ("/auctions/{gid}/events", "/events"):
        gid = house.user("ada").auction()
        with following(house, path.format(gid=gid)) as stream:
            assert f"{gid}/1" == stream.origin
            assert (path.format(gid=gid), "stream.started", 1) == (
                *(stream.started[name] for name in ("source", "type", "sequence")),
            )
        house.user("bob").bid(gid, 10)
        with following(house, path.format(gid=gid), **{"Last-Event-ID": stream.origin}) as stream:
            assert ["bid.placed"] == stream.types(1)


def test_a_new_house_is_followed_from_its_beginning(serve_house: ServeHouse) -> None:
    """If nothing has happened yet, the stream begins at 0."""
    house = serve_house()
    with following(house, "/events") as stream:
        assert "0" == stream.origin


def test_the_payload_is_that_of_the_log(house: House) -> None:
    """A stream is the auction's public log, complete and in order."""
    gid = closed(house, 5)
    sequence = [msgspec.json.decode(data)["sequence"] for data in payloads(house, gid)]
    assert list(range(1, house.anyone.json("GET", f"/auctions/{gid}")["version"] + 1)) == sequence


def test_nothing_private_is_told(house: House) -> None:
    """Followers never see a limit, a reserve, or a leader's raise of a limit."""
    gid = house.user("ada").auction(reservePrice="777.777")
    house.user("bob").bid(gid, maximum="654.321")
    house.user("bob").bid(gid, maximum="698.765")
    house.user("cyd").bid(gid, "20")
    house.user("ada").post(f"/auctions/{gid}/close", json={})
    events = payloads(house, gid)
    assert 5 == len(events)
    assert [] == re.findall(r"777\.777|654\.321|698\.765|maximum\.raised", "".join(events))


def test_an_auction_that_is_over_has_nothing_left_to_tell(house: House) -> None:
    """A stream of a closed auction without further events is 204, so that an EventSource does not reconnect."""
    gid = closed(house)
    for path in (f"/auctions/{gid}/events", f"/auctions/{gid}/events?after={gid}/4"):
        response = house.anyone.get(path)
        assert (204, b"") == (response.status_code, response.content)


def test_head_tells_the_headers_only(house: House) -> None:
    """HEAD answers at once, without a body, as for any other address."""
    gid = house.user("ada").gid()
    for path in ("/events", f"/auctions/{gid}/events"):
        response = house.plain.head(path)
        assert (200, "text/event-stream", b"") == (
            response.status_code,
            response.headers["content-type"],
            response.content,
        )
        assert "no-cache, no-transform" == response.headers["cache-control"]


@pytest.mark.parametrize(
    "sent", ["x", "/7", "a/0", "a/01", "a/-1", "a/1/2", "a/1 ", "a b/1", "a/99999999999", "-1", "00", "a/\u0661"]
)
def test_a_malformed_id_is_refused(house: House, sent: str) -> None:
    """A malformed id is 400, and the fault names the parameter or the header."""
    gid = house.user("ada").gid()
    for path in ("/events", f"/auctions/{gid}/events"):
        response = house.anyone.get(path, params={"after": sent})
        assert (400, ["after"]) == (response.status_code, list(response.json()["message"]))
        if sent.isascii() and sent == sent.strip():
            response = house.anyone.get(path, headers={"Last-Event-ID": sent})
            assert (400, ["Last-Event-ID"]) == (response.status_code, list(response.json()["message"]))


def test_an_id_that_is_not_in_the_log_is_refused(house: House) -> None:
    """No stream begins after an event that does not exist, or after an event of another auction."""
    gid, other = house.user("ada").gid(), house.user("bob").gid()
    assert (400, "unknown_event") == refusal(house.anyone.get(f"/auctions/{gid}/events?after={gid}/9"))
    assert (400, "unknown_event") == refusal(house.anyone.get(f"/events?after={gid}/9"))
    assert (400, "unknown_event") == refusal(house.anyone.get("/events?after=nowhere/1"))
    assert (400, "validation") == refusal(house.anyone.get(f"/auctions/{gid}/events?after={other}/1"))
    assert (404, "unknown_auction") == refusal(house.anyone.get("/auctions/nowhere/events"))
    assert (404, "unknown_auction") == refusal(house.anyone.get("/auctions/nowhere/events?after=nowhere/1"))


def test_a_comment_tells_the_houses_clock(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments give the time at the start and then regularly. It is the house's time, not the process's."""
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.2)
    ahead = timedelta(hours=3)
    house = serve_house(clock=lambda: datetime.now(UTC) + ahead)
    gid = house.user("ada").auction()
    with following(house, f"/auctions/{gid}/events") as stream:
        while len(stream.comments) < 3:
            stream._line()
        times = [datetime.fromisoformat(comment.removeprefix("time ")) for comment in stream.comments]
        assert times == sorted(times)
        assert abs(times[-1] - datetime.now(UTC) - ahead) < timedelta(hours=1)
        assert 1000 <= stream.retry <= 4000


def test_a_reader_too_many_is_refused(serve_house: ServeHouse) -> None:
    """A reader above the limit gets 503 with Retry-After. A place that becomes free is used again."""
    house = serve_house(followers_max=1)
    with following(house, "/events"):
        response = house.anyone.get("/events")
        assert ((503, "busy"), "1") == (refusal(response), response.headers["retry-after"])
    wait_until(lambda: house.plain.head("/events").status_code == 200 and _free(house))


def _free(house: House) -> bool:
    with house.plain.stream("GET", "/events") as response:
        return response.status_code == 200


def test_a_house_that_stops_ends_its_streams(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream ends in order and does not delay the stop. Nor does a client that does not read."""
    monkeypatch.setattr(serving, "GRACEFUL_SECONDS_MAX", 3600)
    house = serve_house()
    house._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # the kernel keeps little for a client
    ada = house.user("ada")
    gid = ada.auction()
    for number in range(20):
        ada.patch(f"/auctions/{gid}", json={"description": f"{number} {'A long one. ' * 800}"})
    with socket.socket() as stalled, following(house, f"/auctions/{gid}/events?after=0") as stream:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect(("127.0.0.1", house.port))
        stalled.sendall(f"GET /auctions/{gid}/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert b"HTTP/1.1 200" == stalled.recv(12)
        stream.take(21)
        house._server.end()
        assert [] == stream.rest()
        house._thread.join(SECONDS_MAX)
        assert not house._thread.is_alive()


def test_a_reader_that_does_not_read_is_cut_off(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If too much waits for a reader, its connection is cut. Bids and other readers go on, and it can resume without a gap."""
    monkeypatch.setattr(follower, "WAITING_MAX", 50)
    house = serve_house()
    seller, bidders = house.user("ada"), [house.user("bob"), house.user("cyd")]
    gid = seller.auction(description="A long one. " * 800)
    with socket.socket() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect(("127.0.0.1", house.port))
        stalled.sendall(f"GET /auctions/{gid}/events HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert stalled.recv(1).startswith(b"H")
        with following(house, f"/auctions/{gid}/events") as lively:
            sent, amount = 0, 10
            while not _is_cut(stalled):
                assert sent < 3000, "the stalled reader is not cut off"
                for bidder in bidders:
                    assert 201 == bidder.bid(gid, str(amount)).status_code
                    amount += 100
                    sent += 1
                lively.take(2)
    assert sent > 50
    with following(house, f"/auctions/{gid}/events", **{"Last-Event-ID": f"{gid}/1"}) as again:
        assert sent == len(again.take(sent))


def test_a_reader_whose_request_breaks_disturbs_no_other(serve_house: ServeHouse) -> None:
    """A reader whose stream has begun sends what is not HTTP. Its stream ends, and the others get every event."""
    house = serve_house()
    gid = house.user("ada").auction()
    with socket.create_connection(("127.0.0.1", house.port)) as broken:
        request = f"GET /auctions/{gid}/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        broken.sendall(request.encode())
        assert broken.recv(1).startswith(b"H")
        with following(house, f"/auctions/{gid}/events") as one, following(house, "/events") as everything:
            broken.sendall(b"not a length\r\n")
            wait_until(lambda: _is_cut(broken))
            for number, bidder in enumerate(("bob", "cyd", "bob")):
                assert 201 == house.user(bidder).bid(gid, str(10 + number)).status_code
            assert one.take(3) == everything.take(3)


def _is_cut(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection, without reading from it."""
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state != 1  # 1 is "established"


@pytest.mark.parametrize(
    ("followers", "seconds"), [(0, 4), (1000, 4), (2500, 10), (5000, 20), (15_000, 60), (1_000_000, 60)]
)
def test_the_more_follow_the_longer_they_take_to_come_back(followers: int, seconds: float) -> None:
    """After a restart all come back: no more than 250 a second to each process, as long as a minute is enough."""
    assert seconds == streams.spread_of(followers)


def test_readers_are_told_anew_when_many_follow(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who came first, when few followed, come back as late as the others. Nothing is said again without need."""
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.05)
    with following(house, "/events") as stream:
        stream.until_comments(3)
        first = stream.retry
        assert 1000 <= first <= 4000
        monkeypatch.setattr(streams, "RECONNECTS_PER_SECOND", 1 / 60)
        monkeypatch.setattr(streams, "RETRY_SECONDS_MIN", 59.0)
        stream.until_comments(6)
        assert 59_000 <= stream.retry <= 60_000
