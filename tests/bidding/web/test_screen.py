"""The screen in the hall: one lot for everyone to read, its result, and the way to the next lot."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import timedelta

import httpx
import pytest
import segno

from saleroom.bidding.web import qr_codes
from saleroom.bidding.web.qr_codes import Drawer
from saleroom.kernel.errors import Busy
from saleroom.site.qr_codes import MASK
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse
from tests.patience import SECONDS_MAX, settled
from tests.site.markup import Page

pytestmark = pytest.mark.databases("sqlite")

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 7*7 }}&amp;"""


def screen(house: House, gid: str, query: str = "") -> Page:
    """Return the screen of a lot as it is opened in the hall."""
    return Page(house.stranger.get(f"/lots/{gid}/screen{query}"))


def at(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


def state(shown: Page) -> str:
    """Return the text of the part that changes."""
    return shown.one("section", id="screen-state").text


def onward(house: House, gid: str, query: str = "", **headers: str) -> httpx.Response:
    """Return the answer to a screen that asks for the next lot."""
    return house.stranger.get(f"/lots/{gid}/screen/next{query}", headers=headers, follow_redirects=False)


def test_a_screen_shows_its_lot_and_the_last_bids(clocked_house: House, clock: FakeClock) -> None:
    """The screen has the price, the leader, whether the reserve is met, the time left and the last five bids."""
    ada, grace, hedy = (clocked_house.user(name) for name in ("ada", "grace", "hedy"))
    gid = ada.auction(name="Longcase clock", reservePrice="14", endsAt=at(clock, hours=1))
    assert "Starting price €10.00 Nobody has bid yet. Reserve not met yet" in state(screen(clocked_house, gid))
    for amount in range(10, 17):
        (grace if amount % 2 else hedy).bid(gid, amount=str(amount))
    shown = screen(clocked_house, gid)
    assert ("Longcase clock", "Longcase clock · Saleroom") == (shown.heading, shown.one("title").text)
    assert "Highest bid €16.00 Leader hedy Reserve met Next bid €17.00 Ends" in state(shown)
    assert "2026-11-21T13:00:00.000000Z" == shown.one("span", role="timer")["data-until"]
    assert [
        "hedy €16.00", "grace €15.00", "hedy €14.00", "grace €13.00", "hedy €12.00"
    ] == [row.text for row in shown.all("tr")[1:]]  # fmt: skip


def test_a_screen_has_nothing_but_its_lot(clocked_house: House) -> None:
    """There is no header and no footer, and nothing private, whichever user runs the projector."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    gid = ada.auction(reservePrice="777.777")
    grace.bid(gid, maximum="555.555")
    for user in (ada, grace):
        answer = clocked_house.stranger.get(f"/lots/{gid}/screen", headers={"Cookie": f"saleroom_session={user.token}"})
        assert ([], []) == (Page(answer).all("header"), Page(answer).all("footer"))
        assert not any(secret in answer.text for secret in ("777", "555"))


def test_a_result_is_told(clocked_house: House, clock: FakeClock) -> None:
    """A lot that is over shows its result: the hammer price and the winner, or why it was not sold."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    sold, unmet, unbid, cancelled = (ada.auction(**terms) for terms in ({}, {"reservePrice": "99"}, {}, {}))
    for gid in (sold, unmet):
        grace.bid(gid, amount="12")
    for gid in (sold, unmet, unbid):
        ada.json("POST", f"/auctions/{gid}/close", json={})
    ada.delete(f"/auctions/{cancelled}")
    states = [state(screen(clocked_house, gid)) for gid in (sold, unmet, unbid, cancelled)]
    coming = "The next lot comes by itself."
    assert [
        f"Sold Hammer price €12.00 Goes to grace {coming}",
        f"Not sold Highest bid €12.00 The reserve was not met. {coming}",
        f"Not sold Starting price €10.00 Nobody has bid. {coming}",
        f"Cancelled {coming}",
    ] == states


def test_a_lot_to_come_counts_down_to_its_start(clocked_house: House, clock: FakeClock) -> None:
    """Before its start the screen shows when the lot starts; for a lot without an end it says that the seller ends it."""
    gid = clocked_house.user("ada").auction(startsAt=at(clock, hours=1))
    shown = screen(clocked_house, gid)
    assert "Starts" in state(shown)
    assert "2026-11-21T13:00:00.000000Z" == shown.one("span", role="timer")["data-until"]
    clocked_house.advance(3600)
    assert "Open until the seller closes it" in state(screen(clocked_house, gid))


def test_the_next_lot_is_the_next_to_end(clocked_house: House, clock: FakeClock) -> None:
    """The screen goes on to the open lot that ends soonest, never to a lot that is over or has not begun."""
    ada = clocked_house.user("ada")
    first = ada.auction(endsAt=at(clock, hours=1))
    later, soon = ada.auction(endsAt=at(clock, hours=9)), ada.auction(endsAt=at(clock, hours=5))
    ada.auction(startsAt=at(clock, hours=4))
    ada.delete(f"/auctions/{ada.auction(endsAt=at(clock, hours=2))}")
    clocked_house.advance(3600)
    answer = onward(clocked_house, first)
    assert (303, f"/lots/{soon}/screen") == (answer.status_code, answer.headers["location"])
    assert f"/lots/{later}/screen" == onward(clocked_house, soon).headers["location"]


def test_a_screen_keeps_to_one_seller(clocked_house: House, clock: FakeClock) -> None:
    """With `author` only that seller's lots follow, and the next addresses keep `author`."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    first = ada.auction()
    grace.auction(endsAt=at(clock, hours=1))
    own = ada.auction(endsAt=at(clock, hours=5))
    ada.json("POST", f"/auctions/{first}/close", json={})
    answer = onward(clocked_house, first, "?author=ADA")
    assert f"/lots/{own}/screen?author=ada" == answer.headers["location"]
    shown = screen(clocked_house, own, "?author=ada")
    assert f"/lots/{own}/screen?author=ada" == shown.one("div", id="screen")["data-address"]
    assert "ada" == shown.one("input", name="author")["value"]


def test_a_screen_without_a_next_lot_waits(clocked_house: House, clock: FakeClock) -> None:
    """If no other lot is open, the screen says so and stays until there is one."""
    ada = clocked_house.user("ada")
    gid = ada.auction()
    ada.json("POST", f"/auctions/{gid}/close", json={})
    words = "No other lot is on sale just now. This screen waits for one."
    waiting = Page(onward(clocked_house, gid, **{"HX-Request": "true"}))
    assert (200, words) == (waiting.status, waiting.one("span", id="onward").text)
    assert f"/lots/{gid}/screen" == onward(clocked_house, gid).headers["location"]
    assert words in screen(clocked_house, gid).main
    another = ada.auction()
    assert f"/lots/{another}/screen" == onward(clocked_house, gid, **{"HX-Request": "true"}).headers["location"]


def test_a_screen_without_scripts_reloads_itself(clocked_house: House) -> None:
    """A browser without scripts reloads the page every few seconds, and after a result opens the next lot's."""
    ada = clocked_house.user("ada")
    gid = ada.auction()

    def refresh() -> list[str]:
        return [m["content"] for m in screen(clocked_house, gid).all("meta") if "http-equiv" in m.attributes]

    assert ["5"] == refresh()
    ada.json("POST", f"/auctions/{gid}/close", json={})
    assert ["12"] == refresh()
    following = ada.auction(name="What follows")
    assert [f"12; url=/lots/{following}/screen"] == refresh()
    assert "Next: What follows" in screen(clocked_house, gid).main


def test_the_code_leads_to_the_lot(serve_house: ServeHouse) -> None:
    """The QR code, dark on light with a quiet zone, holds the lot's public address, which is also written beside it."""
    served = serve_house(public_url="https://sales.example.org")
    gid = served.user("ada").auction()
    shown = screen(served, gid)
    address = f"https://sales.example.org/lots/{gid}"
    assert address in shown.links
    assert f"sales.example.org/lots/{gid}" in shown.main
    drawn = served.stranger.get(f"/lots/{gid}/qr.svg")
    assert (200, "image/svg+xml") == (drawn.status_code, drawn.headers["content-type"].partition(";")[0])
    assert "style" not in drawn.text
    viewed = re.search(r'viewBox="0 0 ([0-9]+) ([0-9]+)"', drawn.text)
    light, dark = re.findall(r'<path (?:fill|stroke)="#(fff|000)" d="([^"]+)"', drawn.text)
    matrix = segno.make(address, error="m", micro=False, boost_error=False, mask=MASK).matrix
    size = len(matrix) + 8
    assert viewed is not None
    assert ((str(size),) * 2, ("fff", f"M0 0h{size}v{size}h-{size}z")) == (viewed.groups(), light)
    assert {(x + 4, y + 4) for y, row in enumerate(matrix) for x, module in enumerate(row) if module} == dots(dark[1])


def dots(path: str) -> set[tuple[int, int]]:
    """Return the dark modules that a path of strokes draws."""
    found = set()
    x, y = 0.0, 0.0
    for kind, across, down in re.findall(r"([Mmh])(-?[0-9.]+)(?: ?(-?[0-9.]+))?", path):
        if kind == "h":
            found |= {(int(x) + step, int(y)) for step in range(int(across))}
        elif kind == "M":
            x, y = 0.0, 0.0
        x, y = x + float(across), y + float(down or 0)
    return found


async def test_a_code_is_drawn_once_and_not_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests for one address share one drawing, made in a thread; a bounded number of addresses is drawn and kept."""
    drawn: list[tuple[str, str]] = []
    over = threading.Event()

    def draw(address: str) -> bytes:
        drawn.append((address, threading.current_thread().name))
        over.wait(SECONDS_MAX)
        return address.encode()

    monkeypatch.setattr(qr_codes, "draw", draw)
    monkeypatch.setattr(qr_codes, "CACHED_MAX", 40)
    made = Drawer()
    same = [asyncio.create_task(made.code("a")) for _ in range(100)]
    others = [asyncio.create_task(made.code(str(number))) for number in range(qr_codes.WAITING_MAX + 8)]
    await settled()
    same[0].cancel()
    over.set()
    assert [b"a"] * 99 == await asyncio.gather(*same[1:])
    found = await asyncio.gather(*others, return_exceptions=True)
    assert 9 == sum(isinstance(one, Busy) for one in found)
    assert 1 == [address for address, _ in drawn].count("a")
    assert {"codes_0"} == {thread for _, thread in drawn}
    for number in range(100, 200):
        await made.code(str(number))
    await made.code("a")
    assert 2 == [address for address, _ in drawn].count("a"), "it was not kept for ever"


@pytest.mark.parametrize("path", ["screen", "screen/next", "qr.svg"])
@pytest.mark.parametrize("gid", ["none", "%00", "a" * 300, "';--"])
def test_an_unknown_lot_has_no_screen(house: House, gid: str, path: str) -> None:
    """The screen of an unknown lot is 404, as a page."""
    missing = Page(httpx.get(f"{house.base}/lots/{gid}/{path}"))
    assert 404 == missing.status


@pytest.mark.parametrize("author", ["a%20b", "%00", "x" * 40, "%3Cscript%3E"])
def test_a_seller_that_nobody_can_be_is_refused(house: House, author: str) -> None:
    """A mistyped seller is 400, with a page that says so."""
    gid = house.user("ada").gid()
    assert 400 == screen(house, gid, f"?author={author}").status


def test_markup_in_texts_makes_no_element(clocked_house: House) -> None:
    """Markup in a name is shown as it was written, and makes no element."""
    shown = screen(clocked_house, clocked_house.user("ada").auction(name=HOSTILE))
    assert HOSTILE == shown.heading
    assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
    for element in shown.elements:
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]
