"""Pages that show what the house has not: a failover has taken a bid away, and no event says so."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from sqlalchemy import update

from saleroom.bidding.storage.tables import auctions
from saleroom.storage.database import Transaction
from tests.fixtures_house import House
from tests.patience import SECONDS_MAX

OTHER_HEAD = "f" * 64


def _replace(tx: Transaction, gid: str) -> None:
    """Give a lot another past, as a server has that takes over; nothing is told."""
    tx.execute(update(auctions).where(auctions.c.gid == gid).values(starting_price=77, head=OTHER_HEAD))


@contextmanager
def _following(house: House, path: str, **headers: str) -> Iterator[Iterator[str]]:
    """Follow a page's stream, whose messages are yielded one after the other."""
    with httpx.stream("GET", house.base + path, headers=headers, timeout=SECONDS_MAX) as stream:
        assert 200 == stream.status_code

        def messages() -> Iterator[str]:
            text = ""
            for chunk in stream.iter_text():
                *whole, text = (text + chunk).split("\n\n")
                yield from whole

        yield messages()


def _next(messages: Iterator[str], mark: str) -> str:
    """Return the next message with a mark; the stream goes on for ever with the time."""
    deadline = time.monotonic() + SECONDS_MAX
    for message in messages:
        if mark in message:
            return message
        assert time.monotonic() < deadline, f"no message has {mark}"
    raise AssertionError(f"the stream ended before {mark}")


def _head(house: House, gid: str) -> str:
    page = house.anyone.get(f"/lots/{gid}").text
    [found] = re.findall(r"head=([0-9a-f]{64})&", page)
    return str(found)


@pytest.mark.databases("postgresql")
def test_open_pages_are_put_right_after_a_failover(clocked_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a lot, cards and the hall's screen get the lot as the new server has it, within seconds and without an event.

    A page that shows the right lot gets nothing.
    """
    house, ada = clocked_house, clocked_house.user("ada")
    gid, same = ada.auction(), ada.auction()
    paths = (f"/lots/{gid}/live?after=1&head={_head(house, gid)}", f"/live?lots={gid}", f"/lots/{gid}/screen/live")
    marks = ("data-renewed", f'id="card-{gid}"', 'id="screen-state"')
    with ExitStack() as stack:
        lot, *others = [stack.enter_context(_following(house, path)) for path in paths]
        unchanged = stack.enter_context(_following(house, f"/lots/{same}/live?after=1&head={_head(house, same)}"))
        _next(lot, "event: time")
        _next(unchanged, "event: time")
        for messages, mark in zip(others, marks[1:], strict=True):
            _next(messages, mark)  # as it was
        house.write(_replace, gid)
        taken_over = threading.Event()
        monkeypatch.setattr(Transaction, "timeline", lambda _: "00000009" if taken_over.is_set() else "00000001")
        ada.auction()  # the feed looks, and knows a server
        taken_over.set()
        told = [_next(messages, mark) for messages, mark in zip((lot, *others), marks, strict=True)]
        assert ["€77.00" in message for message in told] == [True] * 3
        assert f"id: {gid}/1\n" in told[0]
        house.user("grace").bid(same, amount="12")
        assert "data-renewed" not in _next(unchanged, "lot-panel")


@pytest.mark.databases("sqlite")
def test_a_page_of_another_past_begins_with_the_lot_as_it_is(house: House) -> None:
    """A stream compares the page's head of the ledger with the lot's. If it differs, the page gets the lot and its bid box."""
    gid = house.user("ada").auction()
    right, wrong = (f"/lots/{gid}/live?after=1&head={head}" for head in (_head(house, gid), OTHER_HEAD))
    with _following(house, wrong) as messages:
        shown = _next(messages, "lot-panel")
        assert "data-renewed" in shown
        assert f'hx-get="/lots/{gid}/box"' in shown
    with _following(house, right) as messages:
        _next(messages, "event: time")
        house.user("grace").bid(gid, amount="12")
        assert "data-renewed" not in _next(messages, "lot-panel")


@pytest.mark.databases("sqlite")
def test_a_page_that_comes_back_gets_the_lot_as_it_is(house: House) -> None:
    """It may have shown more than the event whose id it sends. Its bid box stays: many come back at once."""
    gid = house.user("ada").auction()
    path = f"/lots/{gid}/live?after=1&head={_head(house, gid)}"
    with _following(house, path, **{"Last-Event-ID": f"{gid}/1"}) as messages:
        shown = _next(messages, "lot-panel")
    assert "data-renewed" in shown
    assert "/box" not in shown
