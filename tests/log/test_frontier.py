"""The frontier: how far the log is complete, however transactions take their numbers and commit."""

import random

from hypothesis import given
from hypothesis import strategies as st

from saleroom.log.frontier import Frontier
from saleroom.log.store import LogPage, LogPosition


class NumberedTransactions:
    """Transactions that take numbers of the log and end in any order, for a reader that may look at any moment."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.next_number, self.next_transaction = 1, 1
        self.under_way: dict[int, list[int]] = {}
        self.committed: set[int] = set()

    def step(self) -> None:
        """Begin a transaction, or take some numbers in one, or end one."""
        if not self.under_way or self.chance.random() < 0.3:
            self.under_way[self.next_transaction] = []
            self.next_transaction += 1
            return
        one = self.chance.choice(list(self.under_way))
        if self.chance.random() < 0.6:
            count = self.chance.randrange(1, 4)
            self.under_way[one] += range(self.next_number, self.next_number + count)
            self.next_number += count
            return
        numbers = self.under_way.pop(one)
        if self.chance.random() < 0.7:
            self.committed.update(numbers)

    def bounds(self) -> tuple[int, int]:
        """Return the number below which all transactions are over, and the number that the next transaction will get."""
        return min([*self.under_way, self.next_transaction]), self.next_transaction


@given(st.integers(0, 2**32))
def test_the_frontier_never_passes_what_will_appear_and_does_not_wait_for_ever(seed: int) -> None:
    """Later commits are above the frontier. Once all transactions are over, two looks bring the frontier to the end."""
    world = NumberedTransactions(random.Random(seed))
    for _ in range(world.chance.randrange(40)):
        world.step()
    frontier = Frontier(sorted(world.committed), 1000)
    given_out = set(range(1, frontier.head + 1))

    def look(meanwhile: int) -> None:
        settled, begun = world.bounds()
        for _ in range(meanwhile):
            world.step()  # between the two statements of a look
        seen = sorted(n for n in world.committed if n > frontier.head or n in frontier.missing)
        given_out.update(seen)
        frontier.advance(LogPage(seen, [], settled, begun, LogPosition(max([*seen, frontier.head])), more=False))
        below = {n for n in world.committed if n <= frontier.complete}
        assert below <= given_out
        possible = {n for numbers in world.under_way.values() for n in numbers}
        assert not {n for n in possible if n <= frontier.complete}

    for _ in range(30):
        for _ in range(world.chance.randrange(6)):
            world.step()
        look(world.chance.randrange(3))
    while world.under_way:
        world.committed.update(world.under_way.popitem()[1])
    for _ in range(3):
        look(0)
    assert frontier.head == frontier.complete == max(world.committed, default=0)
