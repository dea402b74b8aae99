"""All trials, by their names, with the seconds for which bids may wait at most."""

from tests.failover import breaks
from tests.failover.trial import Trial

LOST, CRASHED, SWITCHED, UNHURT = 30.0, 10.0, 5.0, 5.0
"""The limits after a machine is lost, after a crash, after a switchover, and where the primary is not touched."""

ROUND_TRIPS = 12
"""How often something goes to and fro between the new primary and a standby until that one has the first bid."""

APART = (0, 5, -5)
"""By how many seconds the machines' clocks are ahead: of two of them, one is 5 s behind the other, or 10."""

SHORT = Trial("PostgreSQL killed", breaks.postgresql_killed("primary"), CRASHED)

ALL = (
    Trial("nothing", breaks.nothing, UNHURT),
    SHORT,
    Trial("standby killed", breaks.postgresql_killed("standby"), UNHURT),
    Trial("machine lost", breaks.machine_lost("primary"), LOST),
    Trial("machine of a standby lost", breaks.machine_lost("standby"), UNHURT),
    Trial("machine lost without standbys", breaks.lost_without_standbys, LOST),
    Trial("machine frozen for 3 s", breaks.frozen("primary", 3), LOST),
    Trial("machine frozen for 15 s", breaks.frozen("primary", 15), LOST),
    Trial("machine frozen for 40 s", breaks.frozen("primary", 40), LOST),
    Trial("machine of a standby frozen for 40 s", breaks.frozen("standby", 40), UNHURT),
    Trial("machine isolated", breaks.isolated("primary", 40), LOST),
    Trial("machine of a standby isolated", breaks.isolated("standby", 40), UNHURT),
    Trial("machine mute", breaks.mute("primary", 40), LOST),
    Trial("machine deaf", breaks.deaf("primary", 40), LOST),
    Trial("switchover", breaks.switchover, SWITCHED),
    Trial("clocks apart at a crash", breaks.postgresql_killed("primary"), CRASHED, clocks=APART),
    Trial("clocks apart at a planned change", breaks.switchover, SWITCHED, clocks=APART),
    Trial("slow links", breaks.slow_links, UNHURT, slow_links=True),
    Trial(
        "slow links at a crash",
        breaks.killed_with_slow_links,
        CRASHED + ROUND_TRIPS * 2 * breaks.SLOW_SECONDS,
        slow_links=True,
    ),
    Trial("disk full", breaks.disk_full, CRASHED, small_disks=True),
    Trial("houses upgraded", breaks.houses_upgraded, UNHURT),
    Trial("houses upgraded with steps of the tables", breaks.houses_upgraded_with_steps, UNHURT),
    Trial("house killed", breaks.house_killed, UNHURT),
    Trial("core broker killed", breaks.broker_killed("c"), UNHURT),
    Trial("edge broker killed", breaks.broker_killed("b"), UNHURT),
    Trial("sessions ended", breaks.sessions_ended, UNHURT),
    Trial("machine lost after cancelled waits", breaks.lost_after_cancelled_waits, LOST),
    Trial("asynchronous control", breaks.lost_without_standbys, LOST, control=True),
)
