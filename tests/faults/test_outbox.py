"""Words reach people whatever is killed while they are sent: the trial of the outbox in small."""

import asyncio
from pathlib import Path

from tests.faults import outbox
from tests.faults.conftest import OpenPlace


def test_each_word_arrives_in_order_though_the_senders_are_killed(tmp_path: Path, open_place: OpenPlace) -> None:
    """Two processes are killed again and again, and no server can be relied on: no word is lost or out of order."""
    with open_place("two processes") as there:
        outcome = asyncio.run(outbox.run(outbox.SHORT, tmp_path, "two processes", there))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.deaths >= outbox.SHORT.kills
