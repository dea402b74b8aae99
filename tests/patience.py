"""How long tests wait for what must come, which no busy machine needs; and how they wait for it in the event loop."""

import asyncio
import time
from collections.abc import Callable

SECONDS_MAX = 240.0
_ROUNDS = 20


def pause_after(waited: float) -> float:
    """Return how many seconds to pause until the next look: one look often is a request, and costs more than the wait."""
    return min(0.25, max(0.01, waited / 10))


async def until(holds: Callable[[], bool], what: str, seconds: float = SECONDS_MAX) -> None:
    """Wait until `holds()`, or fail saying `what` did not happen."""
    try:
        async with asyncio.timeout(seconds):
            start = time.monotonic()
            while not holds():
                await asyncio.sleep(pause_after(time.monotonic() - start))
    except TimeoutError:
        raise AssertionError(f"within {seconds} s: {what}") from None


async def settled() -> None:
    """Let every task go as far as it can without a thread, a socket or a clock."""
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
