"""The attacks of strangers, each against a served house. The storms run in `make attack`, and all attacks on both databases."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.attacks.__main__ import ATTACKS, served
from tests.attacks.inputs import end_during_scans
from tests.attacks.table import Attack
from tests.attacks.target import ON, Target, attacked
from tests.fixtures_database import Template, _postgresql_database

ON_SQLITE_ONLY = (
    "a desk full of forged bids",
    "a picture of a thousand scans",
    "a request inside an Upgrade",
    "a secret raise in a ledger's pieces",
    "lots without an end",
    "requests behind a stream",
)
"""They take long, and are stopped before the database, or by a rule that is the same on both."""
AUCTIONS_MAX = "100"
"""Where a limit counts, the least that all attacks leave room for: to reach the usual one takes seconds."""
CASES = [
    (on, one)
    for on in ON
    for one in ATTACKS
    if on in one.on and one.run is not end_during_scans and (on == "sqlite" or one.name not in ON_SQLITE_ONLY)
]


@pytest.fixture(scope="module")
def targets(postgresql_template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    """A served house on each database, for all attacks."""
    folder = tmp_path_factory.mktemp("attacked")
    with (
        contextmanager(_postgresql_database)(*postgresql_template) as url,
        served("sqlite", auctions_per_user_max=AUCTIONS_MAX) as sqlite,
        attacked("postgresql", url, folder, auctions_per_user_max=AUCTIONS_MAX) as postgresql,
    ):
        yield {"sqlite": sqlite, "postgresql": postgresql}


@pytest.mark.parametrize(("on", "attack"), CASES, ids=[f"{on}-{one.name}" for on, one in CASES])
def test_the_house_withstands_it(on: str, attack: Attack, targets: dict[str, Target]) -> None:
    """An attack that once found something finds nothing now."""
    assert attack.run(targets[on]) is None


def test_the_end_does_not_wait_for_a_picture() -> None:
    """A house that is told to stop stops, whatever picture it has been sent."""
    with served("sqlite") as target:
        assert end_during_scans(target) is None
