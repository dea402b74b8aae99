"""What keeps a transaction from its end, and is no fault of the use case."""

from __future__ import annotations


class Unavailable(Exception):
    """The database cannot be reached or stayed too busy.

    Whether a write that was cut off during its commit took effect cannot be known: an Idempotency-Key settles it.
    """


class TryAgain(Exception):
    """A use case raises it where its transaction lost a race and would succeed from the start."""


class Abandoned(Exception):
    """Nobody waits for the answer any more: the client has hung up before its turn came, or before a read was done."""
