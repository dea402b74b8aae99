"""A seller, with browsers without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import House, User
from tests.site.visitor import Visitor


@pytest.fixture
def seller(house: House) -> User:
    """A new user, known to no other test."""
    return house.newcomer()


@pytest.fixture
def come(house: House, seller: User) -> Iterator[Come]:
    """Open a browser of the seller, or of another user."""
    visitors: list[Visitor] = []

    def another(user: User | None = seller, **headers: str) -> Visitor:
        visitors.append(Visitor(house, user, **headers))
        return visitors[-1]

    yield another
    for visitor in visitors:
        visitor.http.close()
