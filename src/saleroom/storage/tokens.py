"""Tokens: their users, and transactions on behalf of a live one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from saleroom.storage.batching import BATCH_MAX, SharedRead
from saleroom.storage.database import Database, Transaction

P = ParamSpec("P")
R = TypeVar("R")
Owners = Callable[[Transaction, Sequence[str]], Sequence[int | Exception]]
Live = Callable[[Transaction, Sequence[str]], Collection[str]]


class Tokens:
    """The tokens of one process. Questions that come at the same time share one read.

    `owners` returns the users' numbers by token, or Unauthenticated, as the area of users reads them. `live` returns those of
    some tokens that are live, and does not count as their use.
    """

    def __init__(self, database: Database, owners: Owners, live: Live) -> None:
        self._database = database
        self._live = live
        self._owners: SharedRead[str, int] = SharedRead(database, owners)

    def owner(self, token: str) -> Awaitable[int]:
        """Return the number of the token's user. Raises Unauthenticated or DatabaseUnavailable."""
        return self._owners.ask(token)

    async def dead(self, tokens: Collection[str]) -> set[str]:
        """Return those of the tokens that are dead. Raises DatabaseUnavailable."""
        asked, dead = list(tokens), set(tokens)
        for place in range(0, len(asked), BATCH_MAX):
            dead.difference_update(await self._database.read(self._live, asked[place : place + BATCH_MAX]))
        return dead

    async def write(
        self, use_case: Callable[Concatenate[Transaction, str, P], R], token: str, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a use case that needs a token, in a transaction that may write.

        A dead token is refused before that, so that it never takes a bidder's turn to write. Raises Unauthenticated, and
        as `Database.write` does.
        """
        await self._owners.ask(token)
        return await self._database.write(use_case, token, *args, **kwargs)
