"""All trials: what goes wrong, how often, and on which databases."""

from tests.faults import troubles
from tests.faults.devices import DeviceStorm
from tests.faults.mortal import POINTS
from tests.faults.trial import AUTOSAVE, ON_ONE, ON_POSTGRESQL, ON_TWO, Trial

DROPS = ("max_queued_messages 100",)
EVENT_POINTS = [point for point in POINTS if not point.startswith("reply")]

OUT = (
    *(Trial(f"killed: {point}", troubles.death(point)) for point in EVENT_POINTS),
    Trial("killed at random", troubles.death_by_chance, times=20),
    Trial("lease holder killed", troubles.death_of_the_holder, times=3, on=ON_TWO, hasty=False),
    Trial("broker killed", troubles.broker_death, states=False),
    Trial("broker with memory killed", troubles.broker_death_with_memory, broker=AUTOSAVE, states=False),
    Trial("broker away for a while", troubles.absence),
    Trial("connection to broker reset", troubles.cut, times=20),
    Trial("connection to broker half open", troubles.half_open, times=3),
    Trial("slow subscriber", troubles.frozen_subscriber, times=1, broker=DROPS),
    Trial("database connections ended", troubles.lost_connections, times=10, on=ON_POSTGRESQL),
    Trial("database restarted", troubles.restarted_server, times=5, on=ON_POSTGRESQL),
)
"""From the log to a subscriber over MQTT."""

STREAMS = (Trial("readers cut off", troubles.often_cut_readers, times=1, subscribers=(), readers=10, cuts=100),)
"""From the log to readers of server-sent events."""

COMMANDS = (
    *(
        Trial(f"commands, killed: {point}", troubles.death(point), storm=DeviceStorm)
        for point in ("bid decided", "bid committed", "reply due", "reply sent")
    ),
    Trial("commands, killed at random", troubles.death_by_chance, times=20, storm=DeviceStorm),
    Trial("commands, connection reset", troubles.cut, times=20, storm=DeviceStorm),
    Trial("commands, connection half open", troubles.half_open, times=3, storm=DeviceStorm),
)
"""From a device over MQTT to the log and back."""

FULL = (*OUT, *STREAMS, *COMMANDS)

SHORT = (
    Trial("killed at every point", troubles.death(*EVENT_POINTS), times=1),
    Trial("lease holder killed", troubles.death_of_the_holder, times=2, on=ON_TWO),
    Trial("broker killed", troubles.broker_death, times=1, states=False, on=("sqlite",)),
    Trial("broker with memory killed", troubles.broker_death_with_memory, times=2, broker=AUTOSAVE, states=False),
    Trial("network", troubles.in_turn(troubles.cut, troubles.half_open, troubles.absence), times=1, on=("sqlite",)),
    Trial("slow subscriber", troubles.frozen_subscriber, times=1, broker=DROPS, on=("sqlite",)),
    Trial("database connections ended", troubles.lost_connections, times=3, on=ON_POSTGRESQL),
    Trial("readers cut off", troubles.cut_readers, times=2, on=ON_ONE, subscribers=(), readers=10, cuts=10),
    Trial(
        "readers cut off", troubles.cut_readers, times=2, on=ON_TWO, dawdles=0.01, subscribers=(), readers=10, cuts=10
    ),
    Trial(
        "commands",
        troubles.in_turn(troubles.death("bid committed", "reply due", "reply sent"), troubles.cut),
        times=1,
        storm=DeviceStorm,
    ),
)
"""The same in small, for the tests: a few faults in one storm."""
