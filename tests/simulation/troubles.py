"""The kinds of faults that a plan has, and how often each of them comes."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    """The kinds of faults."""

    KILLED = "killed"
    STOPPED = "stopped in order"
    OUTAGE = "all processes killed"
    CRASH_BEFORE_COMMIT = "crashes before a commit"
    CRASH_AFTER_COMMIT = "crashes after a commit"
    CRASH_BEFORE_MARK = "crashes before it has marked what was acknowledged"
    CRASH_AFTER_MARK = "crashes after it has marked what was acknowledged"
    COMMIT_LOST = "the database is lost before a commit"
    COMMIT_UNKNOWN = "the database is lost after a commit, and the process does not know of it"
    DATABASE_AWAY = "no database"
    SLOW = "stands still"
    SLOW_COMMITS = "slow commits"
    CLOSER_LATE = "all closers stand still"
    CLOCK_BACK = "the clock steps back"
    BROKER_AWAY = "no broker"
    BROKER_FORGETS = "the broker restarts without its memory"
    ACK_LOST = "the connection breaks before an acknowledgement"
    RESET = "the connection to the broker is reset"
    SILENCE = "nothing passes to or from the broker"


WEIGHTS = {
    Trouble.KILLED: 3,
    Trouble.STOPPED: 1,
    Trouble.OUTAGE: 3,
    Trouble.CRASH_BEFORE_COMMIT: 2,
    Trouble.CRASH_AFTER_COMMIT: 3,
    Trouble.CRASH_BEFORE_MARK: 2,
    Trouble.CRASH_AFTER_MARK: 1,
    Trouble.COMMIT_LOST: 3,
    Trouble.COMMIT_UNKNOWN: 3,
    Trouble.DATABASE_AWAY: 2,
    Trouble.SLOW: 3,
    Trouble.SLOW_COMMITS: 2,
    Trouble.CLOSER_LATE: 2,
    Trouble.CLOCK_BACK: 2,
    Trouble.BROKER_AWAY: 2,
    Trouble.BROKER_FORGETS: 3,
    Trouble.ACK_LOST: 3,
    Trouble.RESET: 2,
    Trouble.SILENCE: 1,
}
"""How often each fault comes, beside the others."""
