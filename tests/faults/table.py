"""All trials: their faults, how often each happens, and on which databases."""

from tests.faults import databases, troubles
from tests.faults.devices import DeviceStorm
from tests.faults.money import POINTS as MONEY_POINTS
from tests.faults.mortal import CARD_POINTS, POINTS
from tests.faults.photos import POINTS as PHOTO_POINTS
from tests.faults.trial import AUTOSAVE, ON_POSTGRESQL, ON_SQLITE, ON_TWO, Trial, Trouble

DROPS = ("max_queued_messages 1000",)
"""Mosquitto's own default; in the other trials it may hold as much as it has to."""
DROPS_EARLY = ("max_queued_messages 100",)
DAWDLES_SECONDS = 0.01
LOT_SECONDS = (3.0, 12.0)
BRIEF_LOT_SECONDS = (1.5, 4.0)
OTHER_POINTS = {*MONEY_POINTS, *CARD_POINTS, *PHOTO_POINTS}
"""The points of other trials: no bid leads there."""
EVENT_POINTS = [point for point in POINTS if not point.startswith(("reply", "act")) and point not in OTHER_POINTS]

KILLS = (
    Trial("200 kills", troubles.deaths_in_turn(*EVENT_POINTS), times=200, lot_seconds=LOT_SECONDS),
    *(Trial(f"killed: {point}", troubles.death(point), lot_seconds=LOT_SECONDS) for point in EVENT_POINTS),
    Trial("killed at random", troubles.death_by_chance, times=20, lot_seconds=LOT_SECONDS),
)
"""The house dies, while lots end by themselves."""

DATABASE = (
    Trial("disk full", databases.full_disk, on_disk=True, lot_seconds=LOT_SECONDS),
    Trial("database read-only", databases.read_only, on_disk=True, lot_seconds=LOT_SECONDS),
    Trial("disk slow", databases.slow_disk, on_disk=True, lot_seconds=LOT_SECONDS),
    Trial("connections taken", databases.no_connections, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
    Trial("pool exhausted", databases.locked_table, times=2, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
    Trial("database connections ended", troubles.lost_connections, times=10, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
    Trial("database restarted", troubles.restarted_server, times=5, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
    Trial("PostgreSQL killed", databases.killed_server, times=10, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
    Trial("backend killed", databases.killed_backend, times=10, on=ON_POSTGRESQL, lot_seconds=LOT_SECONDS),
)
"""The database cannot be written to, or dies."""

OUT = (
    Trial("ended in order", troubles.end_in_order, times=20, lot_seconds=LOT_SECONDS),
    Trial("lease holder killed", troubles.death_of_the_holder, times=3, on=ON_TWO, hasty=False),
    Trial("broker killed", troubles.broker_death, states=False),
    Trial("broker with memory killed", troubles.broker_death_with_memory, broker=AUTOSAVE, states=False),
    Trial("broker away", troubles.absence),
    Trial("way to broker reset", troubles.cut, times=20),
    Trial("way to broker half open", troubles.half_open, times=3),
    Trial("slow subscriber", troubles.frozen_subscriber, times=1, broker=DROPS),
)
"""From the log to a subscriber over MQTT."""


def _streams(name: str, on: tuple[str, ...], dawdles: float) -> Trial:
    trouble = troubles.cut_readers
    return Trial(name, trouble, times=5, on=on, dawdles=dawdles, subscribers=(), readers=10, cuts=100)


STREAMS = (
    _streams("streams cut off", (*ON_SQLITE, *ON_POSTGRESQL), 0),
    _streams("streams cut off and late commits", ON_TWO, DAWDLES_SECONDS),
)
"""From the log to readers of server-sent events."""

COMMANDS = (
    *(
        Trial(f"commands killed: {point}", troubles.death(point), storm=DeviceStorm)
        for point in ("bid decided", "bid committed", "reply due", "reply sent")
    ),
    Trial("commands killed at random", troubles.death_by_chance, times=20, storm=DeviceStorm),
    Trial("commands and way to broker reset", troubles.cut, times=20, storm=DeviceStorm),
    Trial("commands and way to broker half open", troubles.half_open, times=3, storm=DeviceStorm),
)
"""From a device over MQTT to the log and back."""

FULL = (*KILLS, *DATABASE, *OUT, *STREAMS, *COMMANDS)


def _short_streams(on: tuple[str, ...], *troubles_before: Trouble) -> Trial:
    trouble = troubles.in_turn(*troubles_before, troubles.cut_readers)
    return Trial("streams", trouble, times=1, on=on, subscribers=(), readers=10, cuts=10)


SHORT = (
    Trial("killed at every point", troubles.death(*EVENT_POINTS), times=1, on=ON_SQLITE, lot_seconds=BRIEF_LOT_SECONDS),
    Trial("killed", troubles.death("event sent", "event acknowledged", "mark written"), times=1, on=ON_TWO),
    Trial(
        "lease and connections",
        troubles.in_turn(troubles.death_of_the_holder, troubles.lost_connections),
        times=1,
        on=ON_TWO,
    ),
    Trial(
        "disk and end",
        troubles.in_turn(databases.full_disk, databases.read_only, databases.slow_disk, troubles.end_in_order),
        times=1,
        on=ON_SQLITE,
        on_disk=True,
        lot_seconds=BRIEF_LOT_SECONDS,
    ),
    Trial(
        "disk, connections and end",
        troubles.in_turn(
            databases.full_disk,
            databases.read_only,
            databases.no_connections,
            databases.killed_backend,
            databases.killed_server,
            troubles.end_in_order,
        ),
        times=1,
        on=ON_TWO,
        on_disk=True,
        lot_seconds=BRIEF_LOT_SECONDS,
    ),
    Trial("broker killed", troubles.broker_death, times=1, states=False, on=ON_SQLITE),
    Trial(
        "broker with memory killed",
        troubles.broker_death_with_memory,
        times=2,
        bids=300,  # after a hundred changes the broker saves its sessions; one that has not would know no subscriber
        broker=AUTOSAVE,
        states=False,
        on=ON_POSTGRESQL[:1],
    ),
    Trial("network", troubles.in_turn(troubles.cut, troubles.half_open, troubles.absence), times=1, on=ON_SQLITE),
    # The broker hands out twenty messages, keeps a hundred, and then drops.
    Trial("slow subscriber", troubles.frozen_subscriber, times=1, bids=300, broker=DROPS_EARLY, on=ON_SQLITE),
    _short_streams(ON_SQLITE),
    _short_streams(ON_TWO, troubles.late_commits),
    Trial(
        "commands",
        troubles.in_turn(troubles.death("bid committed", "reply due", "reply sent"), troubles.cut),
        times=1,
        on=ON_TWO,
        storm=DeviceStorm,
    ),
)
"""The same in small, for the tests: a few faults in one storm."""
