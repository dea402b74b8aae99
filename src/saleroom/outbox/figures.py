"""Figures of the outbox for the operator, by channel: what waits and for how long, what was settled, and tries that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from saleroom.kernel.figures import Figure, Kind, Sample, counters
from saleroom.outbox import store
from saleroom.outbox.message import CHANNELS, State
from saleroom.outbox.store import Backlog
from saleroom.storage.database import Database

_ENDS = (State.SENT, State.GIVEN_UP, State.DROPPED)


class OutboxFigures:
    """Counts what one process settles, and asks the database what waits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: Counter[tuple[str, ...]] = Counter({(one, end): 0 for one in CHANNELS for end in _ENDS})
        self._failed: Counter[tuple[str, ...]] = Counter({(one,): 0 for one in CHANNELS})
        database.after_commit(store.SETTLED, self._count)
        database.after_commit(store.FAILED, lambda channels: self._failed.update((one,) for one in channels))

    def _count(self, settled: list[store.Settled]) -> None:
        for channel, state, number in settled:
            self._settled[channel, state] += number

    def counted(self) -> Sequence[Figure]:
        """Return what this process has counted."""
        about = "Words that were sent, given up or dropped."
        return (
            counters("saleroom_outbox_settled", about, ("channel", "state"), self._settled),
            counters("saleroom_outbox_failed_tries", "Tries that failed for now.", ("channel",), self._failed),
        )

    async def asked(self) -> Sequence[Figure]:
        """Return what waits. Raises DatabaseUnavailable."""
        found = await self._database.read(store.backlog)

        def by_channel(name: str, about: str, value: Callable[[Backlog], float]) -> Figure:
            samples = tuple(Sample((channel,), value(one)) for channel, one in found.items())
            return Figure(name, about, Kind.STATE, samples, ("channel",))

        late = "How long a word has been due that waits behind no other."
        return (
            by_channel("saleroom_outbox_waiting", "Words that wait to be sent.", lambda one: one.waiting),
            by_channel("saleroom_outbox_oldest_seconds", "How long the first has waited.", lambda one: one.oldest),
            by_channel("saleroom_outbox_late_seconds", late, lambda one: one.late),
        )
