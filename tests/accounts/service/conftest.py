"""What tests of accounts share."""

from collections.abc import Iterator

import pytest

from saleroom.accounts.service.passwords import Passwords


@pytest.fixture(scope="module")
def passwords() -> Iterator[Passwords]:
    """The two threads for digests."""
    passwords = Passwords()
    yield passwords
    passwords.close()
