"""Other people's clients of event streams: npm's `eventsource` and httpx-sse. For a browser see test_event_source.py."""

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from itertools import islice

import httpx
from httpx_sse import ServerSentEvent, connect_sse

from tests.fixtures_process import Start, Visit
from tests.node import program
from tests.process import wait_until

PATHS = ("/auctions/{gid}/events", "/events")


@contextlib.contextmanager
def eventsource(address: str) -> Iterator[list[str]]:
    """Follow `address` with npm's client, and yield a list that grows by each line it prints."""
    lines: list[str] = []
    with subprocess.Popen([*program("follow.mjs"), address], stdout=subprocess.PIPE, text=True) as process:

        def read() -> None:
            assert process.stdout is not None, "it is a pipe"
            for line in process.stdout:
                lines.append(line.rstrip("\n"))  # noqa: PERF401  # each line as it comes

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield lines
        finally:
            process.kill()
            reader.join()


def test_npm_eventsource_loses_nothing_before_its_first_event(start: Start, visit: Visit) -> None:
    """Cut off before its first event, the client resumes at the stream's origin. `onmessage` gets the log's events only."""
    house = start()
    client = visit(house)
    ada, ben, cyd = (client.enter(name) for name in ("ada", "ben", "cyd"))
    gid = client.sell(ada)
    one, every = (eventsource(house.url + path.format(gid=gid)) for path in PATHS)
    with one as of_one, every as of_every:
        both = (of_one, of_every)
        wait_until(lambda: all(lines == ["open"] for lines in both))
        house.kill()
        # The client has yet to reconnect. A bid needs a house, so it follows the restart.
        port = house.url.rpartition(":")[2]
        house = start("--port", port)
        client.post(f"/auctions/{gid}/bids", ben, {"amount": "100"})
        wait_until(lambda: all(f"{gid}/2 bid.placed" in lines for lines in both))
        client.post(f"/auctions/{gid}/bids", cyd, {"amount": "110"})
        wait_until(lambda: all(f"{gid}/3 bid.placed" in lines for lines in both))
        for lines in both:
            assert [f"{gid}/2 bid.placed", f"{gid}/3 bid.placed"] == [line for line in lines if line != "open"]


def read(url: str, count: int, **headers: str) -> list[ServerSentEvent]:
    """Return the first `count` events of a stream as httpx-sse parses them."""
    with httpx.Client() as http, connect_sse(http, "GET", url, headers=headers) as source:
        return list(islice(source.iter_sse(), count))


def test_httpx_sse_finds_no_empty_event(start: Start, visit: Visit) -> None:
    """Each event has data that is an event. Without a requested start, the first one gives the stream's origin."""
    house = start()
    client = visit(house)
    ada, ben = client.enter("ada"), client.enter("ben")
    gid = client.sell(ada)
    urls = [house.url + path.format(gid=gid) for path in PATHS]
    for url in urls:
        [first] = read(url, 1)
        assert ("stream.started", f"{gid}/1", "stream.started") == (first.event, first.id, first.json()["type"])
    client.post(f"/auctions/{gid}/bids", ben, {"amount": "100"})
    for url in urls:
        for found in (read(f"{url}?after=0", 2), read(url, 2, **{"Last-Event-ID": "0"})):
            assert [("message", f"{gid}/{number}") for number in (1, 2)] == [(one.event, one.id) for one in found]
            assert ["auction.created", "bid.placed"] == [one.json()["type"] for one in found]
        [second] = read(url, 1, **{"Last-Event-ID": f"{gid}/1"})
        assert "bid.placed" == second.json()["type"]
