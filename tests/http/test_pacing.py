"""Few changing requests begin in each pass of the event loop, and a bid waits only for those."""

import asyncio
import itertools

from saleroom.http.pacing import AT_ONCE, Pace


async def test_few_begin_in_each_pass() -> None:
    """Of hundreds of simultaneous requests a few begin in each pass, in order. Cancelled ones are skipped."""
    pace, began = Pace(), list[int]()

    async def one(number: int) -> None:
        await pace.begin()
        began.append(number)

    storm = [asyncio.create_task(one(number)) for number in range(200)]
    counts = [0]
    while not all(task.done() for task in storm):
        await asyncio.sleep(0)
        counts.append(len(began))
        storm[150].cancel()
    assert [number for number in range(200) if number != 150] == began
    assert AT_ONCE >= max(after - before for before, after in itertools.pairwise(counts))


async def test_a_single_request_begins_at_once() -> None:
    """A single request does not wait."""
    pace = Pace()
    for _ in range(10):
        begins = asyncio.create_task(pace.begin())
        await asyncio.sleep(0)
        assert begins.done()
        await asyncio.sleep(0)
