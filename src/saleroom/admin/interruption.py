"""The owner's long transactions, which end soon after their command is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from saleroom.storage.database import Transaction

R = TypeVar("R")
StopCheck = Callable[[], None]


async def run_interruptible(
    transact: Callable[[Callable[[Transaction], R]], Awaitable[R]], work: Callable[[Transaction, StopCheck], R]
) -> R:
    """Run `work` in a transaction until it is done or this is cancelled.

    `work` runs in a thread, which nobody can end from outside. It therefore calls its StopCheck now and then, which raises
    once the command is to stop, so that nothing is committed after that.
    """
    stopped = False

    def stop_check() -> None:
        if stopped:
            raise InterruptedError("stopped")

    def checked(tx: Transaction) -> R:
        answer = work(tx, stop_check)
        stop_check()
        return answer

    running = asyncio.ensure_future(transact(checked))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        # Set before the transaction is cancelled, which waits for its thread to call stop_check().
        stopped = True
        running.cancel()
        await asyncio.wait({running})
        running.cancelled() or running.exception()  # fetches the exception, which asyncio otherwise reports as never retrieved
        raise
