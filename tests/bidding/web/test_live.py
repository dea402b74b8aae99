"""Pages that change by themselves: the contents of their streams, for each reader, and their beginning."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.fixtures_house import House

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


def test_a_page_is_told_what_changed(house: House) -> None:
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


@pytest.mark.parametrize(
    "path", ["/live", "/live?lots=", "/live?lots=a,,b", "/live?lots=%00", "/live?lots=" + "a," * 100 + "a"]
)
def test_cards_of_no_lots_are_refused(house: House, path: str) -> None:
    """The stream of cards takes up to a hundred gids; other requests are 400 and say so."""
    assert 400 == house.stranger.get(path).status_code
