"""Pages that change by themselves: the contents of their streams, for each reader, and their beginning."""

from __future__ import annotations

import re
import socket
import time
from typing import Any

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.site import live
from tests.fixtures_house import House, User
from tests.patience import SECONDS_MAX

pytestmark = pytest.mark.databases("sqlite")

MESSAGES_MAX = 2000
"""Streams tell the time without end; in tests that let them do so 20 times a second this takes 100 seconds."""


def messages(house: House, path: str, ends: str, act: Any, **headers: str) -> list[str]:
    """Follow a page's stream, `act` once it is there, and return its messages up to the one that holds `ends`."""
    found: list[str] = []
    with httpx.stream("GET", house.base + path, headers=headers) as stream:
        assert "text/event-stream" == stream.headers["content-type"]
        text = ""
        for chunk in stream.iter_text():
            text += chunk
            *whole, text = text.split("\n\n")
            found += whole
            if whole and act is not None:
                act()
                act = None
            if any(ends in message for message in whole):
                return found
            assert len(found) < MESSAGES_MAX, f"no message has {ends}"
    return found


def test_a_page_gets_each_change_of_its_lot(house: House) -> None:
    """After a bid the stream has the panel, the standing, the history and the news, in the requested language."""
    gid = house.user("ada").auction()
    seen = messages(
        house,
        f"/lots/{gid}/live?after=1",
        "lot-panel",
        lambda: house.user("grace").bid(gid, amount="1234.5"),
        **{"Accept-Language": "de-DE"},
    )
    shown = seen[-1]
    assert f"id: {gid}/2" in shown
    assert {"lot-panel", "lot-standing", "lot-history"} <= set(re.findall(r'id="([a-z-]+)"', shown))
    assert "1.234,50" in shown
    assert any(message.startswith("event: time") or "\nevent: time" in message for message in seen)


def test_a_page_is_told_every_price(house: House) -> None:
    """After each of several bids, a separate stream tells the page the price as it is then."""
    gid = house.user("ada").auction()
    for version, (name, amount) in enumerate((("grace", "12"), ("hedy", "20"), ("grace", "35")), 1):
        house.user(name).bid(gid, amount=amount)
        seen = messages(house, f"/lots/{gid}/live?after={version}", "lot-panel", None)
        assert f"€{amount}.00" in seen[-1]


def test_a_page_that_comes_back_misses_nothing(house: House) -> None:
    """After the version that a page has, or the last event that it saw, its stream has everything at once, up to the end."""
    gid = house.user("ada").auction()
    house.user("grace").bid(gid, amount="12")
    house.user("hedy").bid(gid, amount="20")
    house.user("ada").json("POST", f"/auctions/{gid}/close", json={})
    for path, headers in ((f"/lots/{gid}/live?after=1", {}), (f"/lots/{gid}/live", {"Last-Event-ID": f"{gid}/2"})):
        seen = messages(house, path, "event: over", None, **headers)
        assert "to hedy" in "".join(seen)


def test_each_reader_is_told_their_own(house: House) -> None:
    """The leader and an outbid user read the same event differently; no stream has another user's limit."""
    gid = house.user("ada").auction()
    grace, hedy = house.user("grace"), house.user("hedy")
    grace.bid(gid, maximum="33.333")
    hedy.bid(gid, maximum="77.777")
    streams = {}
    for user in (grace, hedy):
        streams[user.name] = "".join(
            messages(house, f"/lots/{gid}/live?after=1", "lot-panel", None, Cookie=f"saleroom_session={user.token}")
        )
    assert "You were outbid. " in re.sub("<[^>]+>", "", streams["grace"])
    assert "You lead at €34.33" in streams["hedy"]
    assert not any("77.777" in text for text in streams.values())


def test_a_page_that_is_read_slowly_skips_states_and_has_the_last(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page whose reader stops for a while is neither cut off nor told all that it missed, only the last state."""
    monkeypatch.setattr(live, "PAUSE_SECONDS", 0)
    gid, bidders = house.user("ada").auction(), [house.user("grace"), house.user("hedy")]
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(SECONDS_MAX)
        slow.connect(("127.0.0.1", house.port))
        slow.sendall(f"GET /lots/{gid}/live?after=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        text = slow.recv(100)
        for number in range(1, 151):
            bidders[number % 2].bid(gid, amount=str(10 * number))
        lively = messages(house, f"/lots/{gid}/live?after=150", 'data-version="151"', None)
        deadline = time.monotonic() + SECONDS_MAX  # comments come for ever
        while b'data-version="151"' not in text:
            received = slow.recv(65536)
            assert received, "the page was cut off"
            assert time.monotonic() < deadline, "the last state does not come"
            text += received
    told = [int(version) for version in re.findall(rb'data-version="([0-9]+)"', text)]
    assert sorted(told) == told
    assert len(told) < 100
    assert "€1,500.00" in lively[-1]


@pytest.mark.databases("sqlite", "postgresql")
def test_a_hidden_lot_leaves_the_screen_of_the_hall(house: House) -> None:
    """A screen that is open says that the lot was taken down, without a price or a name, and goes on; no other one opens."""
    staff, ada = house.staff(Role.OWNER), house.newcomer()
    gid = ada.auction()
    house.newcomer().bid(gid, amount="1234.5")
    path = f"/lots/{gid}/screen/live"

    def hide() -> None:
        staff.json("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})

    seen = messages(house, path, "Taken down", hide)
    assert "1,234.50" in "".join(seen[:-1])
    assert "1,234.50" not in seen[-1]
    assert f"/lots/{gid}/screen/next" in seen[-1]
    assert 410 == house.stranger.get(path).status_code
    over = ada.auction()
    staff.json("DELETE", f"/auctions/{gid}/hiding")
    assert "1,234.50" in "".join(messages(house, path, "screen-state", None))
    assert 404 == house.stranger.get("/lots/none/screen/live").status_code
    ada.json("POST", f"/auctions/{over}/close", json={})
    staff.json("PUT", f"/auctions/{over}/hiding", json={"reason": "It may be stolen."})
    assert 410 == house.stranger.get(f"/lots/{over}/screen/live").status_code


@pytest.mark.databases("sqlite", "postgresql")
def test_the_card_of_a_hidden_lot_has_no_price(house: House) -> None:
    """Cards that are open and cards that open later say that the lot was taken down; one that is shown again has its price."""
    staff, ada = house.staff(Role.OWNER), house.newcomer()
    running, over = ada.auction(), ada.auction()
    for gid in (running, over):
        house.newcomer().bid(gid, amount="1234.5")
    ada.json("POST", f"/auctions/{over}/close", json={})

    def cards(gid: str, ends: str, act: Any = None) -> list[str]:
        return messages(house, f"/live?lots={gid}", ends, act)

    def hide(gid: str) -> None:
        staff.json("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})

    for gid in (running, over):
        assert "1,234.50" in cards(gid, f"card-{gid}")[-1]
    seen = cards(running, "Taken down", lambda: hide(running))
    hide(over)
    for last in (seen[-1], cards(running, "card-")[-1], cards(over, "card-")[-1]):
        assert "Taken down" in last and "1,234.50" not in last
    for gid in (running, over):
        staff.json("DELETE", f"/auctions/{gid}/hiding")
        assert "1,234.50" in cards(gid, "card-")[-1]


def test_the_page_of_a_hidden_lot_has_no_price(house: House) -> None:
    """A page that is open, and a stream that begins later, say that it was taken down; its seller goes on to see all of it."""
    staff, ada, bob = house.staff(Role.OWNER), house.newcomer(), house.newcomer()
    running, over = ada.auction(), ada.auction()
    for gid in (running, over):
        bob.bid(gid, amount="1234.5")
    ada.json("POST", f"/auctions/{over}/close", json={})

    def page(gid: str, ends: str, act: Any = None, **headers: str) -> str:
        found = messages(house, f"/lots/{gid}/live?head=another", ends, act, **headers)
        return [one for one in found if ends in one][-1]

    def hide(gid: str) -> None:
        staff.json("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})

    def follow(user: User) -> dict[str, str]:
        return {"Cookie": f"saleroom_session={user.token}"}

    assert "1,234.50" in page(running, "lot-panel") and "1,234.50" in page(over, "lot-panel")
    for found in (page(running, "Taken down", lambda: hide(running)), page(running, "lot-panel", **follow(bob))):
        assert "The house has taken this lot down." in found and "1,234.50" not in found and "1234.5" not in found
    assert "1,234.50" in page(running, "lot-panel", **follow(ada))
    assert "1,234.50" in page(running, "lot-panel", **follow(staff))
    hide(over)
    assert 410 == house.stranger.get(f"/lots/{over}/live?head=another").status_code
    assert "1,234.50" in page(over, "lot-panel", **follow(bob))
    for gid in (running, over):
        staff.json("DELETE", f"/auctions/{gid}/hiding")
        assert "1,234.50" in page(gid, "lot-panel")


def test_cards_of_a_storm_end_with_the_last_prices(house: House) -> None:
    """A page of cards is told the last price of each lot, whatever came between."""
    ada, bidders = house.user("ada"), [house.user("grace"), house.user("hedy")]
    gids = [ada.auction() for _ in range(3)]

    def storm() -> None:
        for number in range(1, 21):
            for gid in gids:
                bidders[number % 2].bid(gid, amount=str(10 * number))

    text, deadline = "", time.monotonic() + 2 * SECONDS_MAX
    with httpx.stream("GET", f"{house.base}/live?lots={','.join(gids)}", timeout=SECONDS_MAX) as stream:
        for chunk in stream.iter_text():
            assert time.monotonic() < deadline, "the last prices do not come"
            storms, text = not text, text + chunk
            if storms:
                storm()
            if all(re.findall(rf'id="card-{gid}"[^>]*data-price="([^"]*)"', text)[-1:] == ["200.000"] for gid in gids):
                return
    pytest.fail("the stream ended before the last prices")


@pytest.mark.parametrize(
    "path", ["/live", "/live?lots=", "/live?lots=a,,b", "/live?lots=%00", "/live?lots=" + "a," * 100 + "a"]
)
def test_cards_of_no_lots_are_refused(house: House, path: str) -> None:
    """The stream of cards takes up to a hundred gids; other requests are 400 and say so."""
    assert 400 == house.stranger.get(path).status_code
