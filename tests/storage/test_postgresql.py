"""The reasons that PostgreSQL and its driver give."""

import asyncpg
import pytest

from saleroom.storage.postgresql import in_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
            "the server closed the connection",
        ),
        (TimeoutError(), "no answer in time"),
        (asyncpg.AdminShutdownError("terminating connection"), "terminating connection"),
        (ConnectionRefusedError(), "ConnectionRefusedError"),
    ],
)
def test_why_is_said_for_the_operator(error: Exception, words: str) -> None:
    """The reason in the log is never about the driver's own states, and never empty, also if SQLAlchemy has wrapped it."""
    assert words == in_words(error)
    wrapped = Exception(f"<class 'driver'>: {error}")
    wrapped.__cause__ = error
    assert isinstance(error, OSError) or words == in_words(wrapped)
