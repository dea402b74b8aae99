"""The streams of pages on an edge: what the house renders, once for all readers of a lot in a language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import msgspec
import pytest

from saleroom.bidding.web import live as lot_pages
from saleroom.edge import hub
from tests.bidding.web.test_questions import answer, ask
from tests.edge.edge import Edge, streams
from tests.feed.stream import StreamServer
from tests.fixtures_house import House
from tests.patience import SECONDS_MAX
from tests.process import wait_until

pytestmark = pytest.mark.databases("sqlite")


class Page:
    """A page that follows a stream."""

    def __init__(self, response: httpx.Response) -> None:
        self._texts = response.iter_text()
        self._text = ""
        self._messages: list[str] = []

    def until(self, part: str) -> str:
        """Return the next message that has a text. The time is left out."""
        while True:
            while self._messages:
                message = self._messages.pop(0)
                if part in message:
                    return re.sub(r"^(: .*|retry: .*)\n", "", message, flags=re.MULTILINE)
            self._text += next(self._texts)
            *whole, self._text = self._text.split("\n\n")
            self._messages += [one for one in whole if "event: time" not in one or "event: time" in part]


@contextmanager
def page(served: StreamServer, path: str, **headers: str) -> Iterator[Page]:
    """Open the stream of a page."""
    with served.plain.stream("GET", path, headers=headers, timeout=SECONDS_MAX) as response:
        assert (200, "text/event-stream") == (response.status_code, response.headers["content-type"])
        yield Page(response)


def lot(house: House, bids: int = 1) -> str:
    """Return a lot with bids."""
    gid = house.user("ada").auction()
    for number in range(bids):
        assert house.user("grace" if number % 2 else "bob").bid(gid, amount=str(10 + number)).is_success
    return gid


@pytest.mark.parametrize("language", ["de-CH", "en-US"])
def test_a_lot_changes_as_in_the_house(house: House, edge: Edge, language: str) -> None:
    """A page gets the messages of the house, in its language, at the present state and after each change."""
    gid = lot(house)
    path, headers = f"/lots/{gid}/live?after=2&story=0.0.0", {"Accept-Language": language}
    with page(house, path, **headers) as there, page(edge, path, **headers) as here:
        here.until("event: time")
        assert house.user("cyd").bid(gid, amount="1234.5").is_success
        assert there.until("lot-panel") == (shown := here.until("lot-panel"))
        assert "id: " + gid + "/3" in shown
        assert ("1’234.50" if language == "de-CH" else "1,234.50") in shown


def test_all_readers_of_a_lot_cost_the_house_one_stream(house: House, edge: Edge) -> None:
    """Readers who opened their pages at other versions share a stream; those of another language have their own."""
    gid = lot(house, 5)
    with ExitStack() as stack:
        pages = [stack.enter_context(page(edge, f"/lots/{gid}/live?after={version}")) for version in (6, 3, 1, 6)]
        german = stack.enter_context(page(edge, f"/lots/{gid}/live?after=6", **{"Accept-Language": "de"}))
        for one in pages[1:3]:
            assert f"id: {gid}/6" in one.until("lot-panel")
        assert house.user("cyd").bid(gid, amount="77").is_success
        for one in pages:
            assert f"id: {gid}/7" in one.until("€77.00")
        assert "77,00" in german.until("lot-panel")
        assert 2 == streams(edge)


def test_a_page_is_told_that_its_lot_is_over(house: House, edge: Edge) -> None:
    """The last message of a page is `over`, for a page that was there and for one that comes later."""
    gid = lot(house)
    path = f"/lots/{gid}/live?after=2"
    with page(edge, path) as here:
        here.until("event: time")
        assert house.user("ada").post(f"/auctions/{gid}/close", json={}).is_success
        assert "lot-panel" in here.until("lot-panel")
        here.until("event: over")
    for later in (path, f"/lots/{gid}/live?after=3", f"/lots/{gid}/live"):
        with page(edge, later) as here:
            here.until("event: over")


def test_a_story_is_told_to_each_page_that_has_not_read_it(
    house: House, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question and its answer come to pages that were there, and to one that was opened before and comes later."""
    monkeypatch.setattr(lot_pages, "STORY_SECONDS", 0.0)
    gid = lot(house)
    answer(house.user("ada"), gid, ask(house.user("bob"), gid), "Like a clock.")
    with page(edge, f"/lots/{gid}/live?after=2&story=0.0.0") as first:
        assert "Like a clock." in first.until("Like a clock.")
        with page(edge, f"/lots/{gid}/live?after=2&story=0.0.0") as second:
            assert "Like a clock." in second.until("Like a clock.")
            assert 1 == streams(edge)
        with page(edge, f"/lots/{gid}/live?after=2&story=0.1.0") as reader:
            assert house.user("cyd").bid(gid, amount="88").is_success
            assert "Like a clock." not in reader.until("€88.00")


def test_cards_begin_with_the_present_state(house: House, edge: Edge) -> None:
    """A list gets its cards and each change; one that joins after many changes gets the present state too."""
    gid, other = lot(house), lot(house)
    path = f"/live?lots={gid},{other}"
    with page(house, path) as there, page(edge, path) as here:
        assert sorted(re.findall(r'id="card-[^"]+', there.until(gid))) == sorted(
            re.findall(r'id="card-[^"]+', here.until(gid))
        )
        for amount in range(100, 130):
            assert house.user("bob" if amount % 2 else "cyd").bid(gid, amount=str(amount)).is_success
            here.until(f"€{amount}.00")
        with page(edge, f"/live?lots={other},{gid}") as later:
            assert "€129.00" in later.until("€129.00")
        assert 1 == streams(edge)


def test_a_stranger_who_asks_for_many_lists_leaves_few_streams(
    house: House, edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams without readers stay for a while, but only some of them: the longest unread one is closed first."""
    monkeypatch.setattr(hub, "IDLE_MAX", 2)
    gid = lot(house)
    for other in range(5):
        with page(edge, f"/live?lots={gid},lot-number-{other}") as here:
            here.until("event: time")
        wait_until(lambda: not edge.inside(len))
    assert 2 == streams(edge)
    with page(edge, f"/live?lots={gid},lot-number-4") as here:
        here.until(gid)
        assert 2 == streams(edge)


def test_a_list_that_comes_back_is_told_to_look(house: House, edge: Edge) -> None:
    """A page of a list that comes back may have missed a change of its list."""
    gid = lot(house)
    path = f"/live?list=1&lots={gid}"
    with page(edge, path) as first:
        assert "list-news" not in first.until(gid)
    with page(edge, path, **{"Last-Event-ID": f"{gid}/1"}) as again:
        assert "list-news" in again.until(gid)


def test_a_screen_begins_with_the_present_state(house: House, edge: Edge) -> None:
    """A screen gets the present state alone, and then each change."""
    gid = lot(house)
    path = f"/lots/{gid}/screen/live"
    with page(edge, path) as first:
        first.until("€10.00")
        for amount in (50, 60):
            assert house.user("cyd" if amount % 20 else "bob").bid(gid, amount=str(amount)).is_success
            first.until(f"€{amount}.00")
        with page(edge, path) as second, page(house, path) as there:
            shown = second.until("screen-state")
            assert there.until("€60.00") == shown.removeprefix(f"id: {gid}/4\n")
        assert 1 == streams(edge)


def test_a_reader_with_a_session_is_led_to_the_house(house: House, edge: Edge) -> None:
    """A cookie or a token never reaches a shared stream: what depends on a session is refused, the rest ignores it."""
    gid = lot(house)
    token = house.user("bob").token
    cookies = [{"Cookie": f"saleroom_session={token}"}, {"Cookie": f"a=b; __Host-saleroom_session={token}"}]
    for headers in cookies:
        for path in (f"/lots/{gid}/live?after=2", f"/live?lots={gid}", "/sales/nobody/block/live?view=bidder"):
            refused = edge.plain.get(path, headers=headers)
            assert (421, "no_sessions") == (refused.status_code, refused.json()["code"])
        with page(edge, f"/lots/{gid}/screen/live", **headers) as screen:
            screen.until("€10.00")
        with edge.plain.stream("GET", f"/auctions/{gid}/events?after=0", headers=headers) as log:
            assert 200 == log.status_code
    with page(edge, f"/lots/{gid}/live", Authorization=f"Bearer {token}") as shown:
        shown.until("event: time")
    wait_until(lambda: edge.inside(len) == 0)


def refusals(gid: str) -> list[tuple[str, dict[str, str], int]]:
    """Return requests that are refused, with the status."""
    return [
        ("/lots/nobody/live", {}, 404),
        ("/lots/no%20body/live", {}, 404),
        ("/lots/nobody/screen/live", {}, 404),
        ("/sales/nobody/block/live", {}, 404),
        (f"/sales/{gid}/block/live?view=all", {}, 400),
        ("/live", {}, 400),
        ("/live?lots=a,,b", {}, 400),
        ("/live?lots=" + "a," * 100 + "a", {}, 400),
        (f"/lots/{gid}/live?after=999999", {}, 400),
        (f"/lots/{gid}/live", {"Last-Event-ID": "nonsense"}, 400),
        (f"/lots/{gid}/live", {"Last-Event-ID": "other/1"}, 400),
        (f"/lots/{gid}/live", {"Last-Event-ID": f"{gid}/999999"}, 400),
    ]


def test_the_edge_refuses_what_the_house_refuses(house: House, edge: Edge) -> None:
    """Requests that no stream answers have the same status as in the house."""
    gid = lot(house)
    for path, headers, status in refusals(gid):
        there, here = (served.plain.get(path, headers=headers).status_code for served in (house, edge))
        assert (status, status) == (there, here), path
    assert 405 == edge.plain.post("/live", headers={"X-Requested-With": "t"}).status_code
    assert 403 == edge.plain.post("/live").status_code
    assert 404 == edge.plain.get("/auctions").status_code


def test_the_edge_tells_how_it_is(edge: Edge) -> None:
    """It lives and is ready, with its readers."""
    answers: list[Any] = [msgspec.json.decode(edge.plain.get(path).content) for path in ("/healthz", "/readyz")]
    assert [{"status": "ok"}, {"status": "ok", "house": "ok", "readers": 0}] == answers
