"""Streams that belong to a session: they end with it, whatever ended it, and those of visitors go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

import httpx
import pytest

from saleroom.accounts.domain.accounts import expiry
from saleroom.accounts.service import accounts
from saleroom.accounts.service.sessions import end_all
from saleroom.accounts.storage import accounts as rows
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import sessions, streams
from saleroom.feed.feed import Feed
from saleroom.feed.sessions import SessionStreams
from saleroom.storage.database import Database, Transaction
from saleroom.storage.tokens import Tokens
from tests.fixtures_database import T0, FakeClock
from tests.fixtures_house import ServeHouse
from tests.patience import SECONDS_MAX
from tests.sales.live_sale import LiveSale


@pytest.fixture
async def feed(clocked_database: Database) -> AsyncIterator[Feed]:
    """A running feed of a database with a clock."""
    running = Feed(clocked_database, LOG, 1000)
    task = asyncio.create_task(running.run())
    yield running
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _log_out(tx: Transaction, token: str) -> None:
    accounts.log_out(tx, token)


def _end_all(tx: Transaction, token: str) -> None:
    end_all(tx, token)


def _new_password(tx: Transaction, token: str) -> None:
    accounts.set_digest(tx, "ada", "another digest")


def _everybody(tx: Transaction, token: str) -> None:
    rows.delete_all_sessions(tx)


@pytest.mark.parametrize("end", [_log_out, _end_all, _new_password, _everybody])
async def test_a_stream_ends_with_its_session(
    clocked_database: Database, clock: FakeClock, feed: Feed, end: Callable[[Transaction, str], None]
) -> None:
    """At the next look after a logout, a new password or the last instant of the session: this stream, and no visitor's."""

    def add(tx: Transaction) -> list[str]:
        users = [accounts.register(tx, name, "a digest") for name in ("ada", "grace")]
        return [accounts.issue_token(tx, user.id).value for user in users]

    ada, grace = await clocked_database.write(add)
    ended = SessionStreams(feed, Tokens(clocked_database, accounts.token_owners, accounts.live_tokens))
    own, other, visitor = [await feed.follow(None, None, session) for session in (ada, grace, None)]
    clock.now = expiry(T0) - timedelta(microseconds=1)
    await ended.look()
    assert [False, False, False] == [own.ended, other.ended, visitor.ended]
    await clocked_database.write(end, ada)
    await ended.look()
    assert [True, end is _everybody, False] == [own.ended, other.ended, visitor.ended]
    clock.advance(microseconds=1)
    await ended.look()
    assert [True, True, False] == [own.ended, other.ended, visitor.ended]


async def test_a_look_uses_no_session(clocked_database: Database, feed: Feed) -> None:
    """An open page alone does not keep a session from ending for inactivity."""
    used: list[str] = []
    clocked_database.after_commit(rows.SESSIONS_USED, used.extend)

    def add(tx: Transaction) -> str:
        return accounts.issue_token(tx, accounts.register(tx, "ada", "a digest").id).value

    token = await clocked_database.write(add)
    tokens = Tokens(clocked_database, accounts.token_owners, accounts.live_tokens)
    await feed.follow(None, None, token)
    await SessionStreams(feed, tokens).look()
    assert [] == used
    await tokens.owner(token)
    assert [accounts.token_digest(token)] == used


async def test_thousands_of_pages_take_few_statements(clocked_database: Database, feed: Feed) -> None:
    """A look asks once for 512 sessions, however many pages they have open."""
    asked: list[int] = []

    def live(tx: Transaction, tokens: Sequence[str]) -> list[str]:
        asked.append(len(tokens))
        return accounts.live_tokens(tx, tokens)

    for number in range(600):
        await feed.follow(None, None, f"token {number % 514}")
    await SessionStreams(feed, Tokens(clocked_database, accounts.token_owners, live)).look()
    assert [512, 2] == asked
    assert all(follower.ended for follower in feed.of_sessions())


@pytest.mark.parametrize("page", ["lot", "cards", "hall"])
def test_the_stream_of_a_page_ends_after_the_logout(
    serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """A page with a cookie is told nothing more once its session is over; it comes back, and its new stream stays."""
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.3)
    house = serve_house()
    sale, user = LiveSale(house, 1), house.newcomer()
    gid = sale.lots[0]
    path = {
        "lot": f"/lots/{gid}/live?after=1",
        "cards": f"/live?lots={gid}",
        "hall": f"/sales/{sale.gid}/block/live?view=bidder",
    }[page]
    headers = {"Cookie": f"saleroom_session={user.token}"}
    with httpx.stream("GET", house.base + path, headers=headers, timeout=SECONDS_MAX) as stream:
        pieces = stream.iter_text()
        next(pieces)
        user.json("DELETE", "/logout")
        assert "event: over" not in "".join(pieces)
    with httpx.stream("GET", house.base + path, headers=headers, timeout=SECONDS_MAX) as stream:
        times = (piece for piece in stream.iter_text() if "event: time" in piece)
        assert [True] * 3 == [bool(next(times)) for _ in range(3)]
