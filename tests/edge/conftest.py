"""The fixtures of the edge's tests."""

from collections.abc import Iterator

import pytest

from tests.edge.edge import Edge, edge_of
from tests.fixtures_house import House
from tests.process import wait_until


@pytest.fixture
def edge(house: House) -> Iterator[Edge]:
    """An edge before the house, for this test alone."""
    with edge_of(house.base) as served:
        wait_until(lambda: served.inside(lambda hub: hub.ready))
        yield served
