"""Posts under way: what one class does for webhooks and push alike."""

import asyncio
from typing import Any, cast

from saleroom.notices.service.under_way import AT_ONCE, OF_USER_AT_ONCE, UnderWay
from saleroom.outbox.hooks import HookClient
from saleroom.outbox.message import PUSH
from saleroom.outbox.store import LetterChanged
from saleroom.storage.faults import DatabaseUnavailable


async def test_posts_are_shared_out_and_end_alone() -> None:
    """One address has one post, one user three, all users fifty; one that fails for whatever reason ends none but itself."""
    posts = UnderWay(cast("Any", None), PUSH, HookClient(private=True))
    woken: list[int] = []
    posts.wake = lambda: woken.append(1)
    go, begun = asyncio.Event(), list[str]()

    def post(name: str, fault: Exception | None = None) -> Any:
        async def run() -> None:
            begun.append(name)
            await go.wait()
            if fault is not None:
                raise fault

        return run

    posts.begin(0, "bug", post("bug", KeyError("a bug")))
    posts.begin(0, "gone", post("gone", DatabaseUnavailable("gone")))
    posts.begin(0, "changed", post("changed", LetterChanged()))
    posts.begin(0, "one more", post("one more"))
    posts.begin(1, "bug", post("the same address"))
    for user in range(2, 2 + AT_ONCE):
        posts.begin(user, str(user), post(str(user)))
    await asyncio.sleep(0)
    assert ["bug", "gone", "changed", "2"] == begun[: OF_USER_AT_ONCE + 1]
    assert AT_ONCE == len(begun) == len(posts.addresses)
    go.set()
    await posts.drain()
    assert (AT_ONCE, frozenset()) == (len(woken), posts.addresses)
    go.clear()
    posts.begin(1, "late", post("late"))
    await posts.close()
    assert frozenset() == posts.addresses
