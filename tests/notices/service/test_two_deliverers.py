"""Webhooks that two processes deliver to: each event is posted in order, and again only after a process was stopped in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from saleroom.notices.service import webhooks
from saleroom.outbox.hooks import PostResult
from saleroom.outbox.message import State
from tests.bidding.service.people import bid, sells
from tests.fixtures_database import FakeClock
from tests.notices.hooks import Hooks, people


async def test_two_processes_post_each_event_once_and_in_order(hooks: Hooks) -> None:
    """Two processes at the same time, without any lease, neither double an event nor change the order."""
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada)
    await hooks.made(ada, "bid.placed")
    another = Hooks(hooks.database, hooks.receiver)
    try:
        for step in range(4):
            low = 1000 + 1000 * step
            await bid(hooks.database, ben.bids(gid, f"{low}"), cyd.bids(gid, f"{low + 500}"))
            await asyncio.gather(hooks.rounds(), another.rounds())
        await asyncio.gather(hooks.rounds(), another.rounds())
    finally:
        await another.deliverer.posts.close()
    assert list(range(2, 10)) == [body["data"]["sequence"] for body in hooks.receiver.bodies]
    assert 1 == hooks.receiver.most_under_way


async def test_a_try_that_was_killed_is_tried_again(hooks: Hooks, clock: FakeClock) -> None:
    """A process that ends in the middle of a post leaves the event for another, which posts it with the same id."""
    ada, _, _ = await people(hooks.database)
    made = await hooks.made(ada)
    await hooks.database.write(webhooks.test, ada.token, made.webhook.id)
    hooks.receiver.answers = ["hang"]
    await hooks.deliverer.round()
    while not hooks.receiver.posts:
        await asyncio.sleep(0.01)
    await hooks.deliverer.posts.close()
    another = Hooks(hooks.database, hooks.receiver)
    await another.deliver()
    assert 1 == len(hooks.receiver.posts)
    clock.advance(seconds=46)
    await another.deliver()
    await another.deliverer.posts.close()
    first, second = (headers["webhook-id"] for headers, _ in hooks.receiver.posts)
    assert first == second
    [word] = await hooks.words(ada, made)
    assert (State.SENT, 2) == (word.state, word.tries)


async def test_a_post_that_takes_too_long_is_not_overtaken(
    hooks: Hooks, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process posts an event again, as the first is stopped in it, nothing later comes before this repeat."""
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada)
    await hooks.made(ada, "bid.placed")
    await bid(hooks.database, ben.bids(gid, "100"), cyd.bids(gid, "200"), ben.bids(gid, "300"))
    await hooks.hooker.round()
    answered, goes_on, again, ends = (asyncio.Event() for _ in range(4))

    def stopped(hooks: Hooks, reached: asyncio.Event, until: asyncio.Event, *, before: bool) -> None:
        """Let the process stop before its first post leaves, or when it has been answered."""
        post = hooks.client.post

        async def once(*args: Any) -> PostResult:
            monkeypatch.setattr(hooks.client, "post", post)
            posted = None if before else await post(*args)
            reached.set()
            await until.wait()
            return posted or await post(*args)

        monkeypatch.setattr(hooks.client, "post", once)

    another = Hooks(hooks.database, hooks.receiver)
    stopped(hooks, answered, goes_on, before=False)
    stopped(another, again, ends, before=True)
    try:
        await hooks.deliverer.round()
        await answered.wait()
        clock.advance(seconds=46)
        await another.deliverer.round()
        await again.wait()
        goes_on.set()
        await hooks.deliver()
        ends.set()
        await another.deliver()
    finally:
        await another.deliverer.posts.close()
    assert [2, 2, 3, 4] == [body["data"]["sequence"] for body in hooks.receiver.bodies]
