"""Reasons for which a transaction fails, besides those of its use case."""

from __future__ import annotations


class DatabaseUnavailable(Exception):
    """The database cannot be reached or stayed too busy.

    If the connection is lost during a commit, it is unknown whether the write took effect; a repeat with the same
    Idempotency-Key gives the answer.
    """


class DatabaseDamaged(DatabaseUnavailable):
    """The file of the database is damaged, or is none of SQLite. Only a backup puts that right."""

    remedy = "put a backup in its place"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; {self.remedy}")


class LockTimeout(DatabaseUnavailable):
    """Another session holds the lock of a row, and has not released it within the time that the house waits."""


class TryAgain(Exception):
    """Raised by a use case whose transaction lost a race and would succeed if it ran again."""


class HangUp(Exception):
    """The client hung up before its turn came, or before a read was done."""
