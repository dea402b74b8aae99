"""A live sale over HTTP: its clerk acts, and its followers read the stream of the block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.patience import SECONDS_MAX
from tests.sales.api.test_participants import published


class LiveSale:
    """A published live sale of lots from 10, whose increment is 5; the bidders have paddles."""

    def __init__(self, house: House, count: int = 3, **terms: Any) -> None:
        self.house = house
        self.staff = house.staff(Role.AUCTIONEER)
        said = {"kind": "live", "increment": "5", "names": "paddles", "registration": "open", **terms}
        self.gid, self.lots = published(self.staff, count, **said)

    def block(self) -> Any:
        """Return the block as the clerk sees it."""
        return self.staff.json("GET", f"/sales/{self.gid}/block")

    def act(self, act: str, **said: Any) -> Any:
        """Act as the clerk who has just looked at the block."""
        return self.staff.json(
            "POST", f"/sales/{self.gid}/block", json={"act": act, "seen": self.block()["tag"], **said}
        )

    def bidder(self) -> User:
        """Return a new bidder, who has registered."""
        user = self.house.newcomer()
        user.json("PUT", f"/sales/{self.gid}/registration")
        return user

    @contextmanager
    def follow(self, view: str = "state", *, base: str | None = None, **headers: str) -> Iterator[Iterator[str]]:
        """Follow the block; gives the messages that are not the time."""
        url = f"{base or self.house.base}/sales/{self.gid}/block/live?view={view}"
        with httpx.stream("GET", url, headers=headers, timeout=SECONDS_MAX) as stream:
            assert "text/event-stream" == stream.headers["content-type"], stream.read()
            yield (message for message in _messages(stream.iter_text()) if "event: time" not in message)


def _messages(chunks: Iterator[str]) -> Iterator[str]:
    text = ""
    for chunk in chunks:
        text += chunk
        *whole, text = text.split("\n\n")
        yield from whole


def block_in(message: str) -> Any:
    """Return the block in a message."""
    return json.loads(message.partition("data: ")[2])
