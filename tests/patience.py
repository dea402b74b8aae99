"""How long tests wait for what must come, which no busy machine needs; and how they wait for it in the event loop."""

import asyncio
from collections.abc import Callable

SECONDS_MAX = 240.0
_ROUNDS = 20


async def until(holds: Callable[[], bool], what: str, seconds: float = SECONDS_MAX) -> None:
    """Wait until `holds()`, or fail saying `what` did not happen."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"within {seconds} s: {what}") from None


async def settled() -> None:
    """Let every task go as far as it can without a thread, a socket or a clock."""
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
