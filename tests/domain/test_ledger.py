"""Replay: what a log must be to give back an auction."""

import pytest

from saleroom.domain.ledger import replay
from tests.domain.examples import an_auction, place


def test_a_log_starts_with_the_creation() -> None:
    """A log without its beginning, or without anything, is an error that names the auction."""
    _, log = place(an_auction(), "bob 100")
    for broken in (log, []):
        with pytest.raises(ValueError, match=r"auction 7: .* auction\.created"):
            replay(7, broken)
