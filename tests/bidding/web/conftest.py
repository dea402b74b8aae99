"""A seller, with browsers without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import House, User
from tests.site.visitor import PRESENT, Visitor


@pytest.fixture
def seller(house: House) -> User:
    """A new user, known to no other test."""
    return house.newcomer()


@pytest.fixture
def come(house: House, seller: User) -> Come:
    """Open a browser of the seller, or of another user."""
    return lambda user=seller, **headers: Visitor(house, user, **headers)


@pytest.fixture(autouse=True)
def leave() -> Iterator[None]:
    """Close every visitor's browser at the end of the test."""
    yield
    while PRESENT:
        PRESENT.pop().close()
