"""The sweeper of accounts."""

import pytest

from saleroom.accounts.service.idempotency import once
from saleroom.accounts.service.sweeper import sweep
from saleroom.accounts.storage.idempotency import RETENTION
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Database
from tests.bidding.domain.examples import after
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock

pytestmark = pytest.mark.databases("sqlite")


async def test_sweeping(clocked_database: Database, clock: FakeClock) -> None:
    """Expired tokens and old idempotency keys are deleted, and nothing else."""
    ada = await person(clocked_database)
    await clocked_database.write(once, ada.account, IdempotencyKey("k", b""), lambda: b"answer")
    clock.advance(RETENTION.total_seconds())
    assert 0 == await clocked_database.write(sweep)
    clock.advance(microseconds=1)
    assert 1 == await clocked_database.write(sweep)
    clock.now = after(days=30)
    assert 1 == await clocked_database.write(sweep)
