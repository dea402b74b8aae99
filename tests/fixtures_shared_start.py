"""Houses and clients of this process share the results of their start: tests/shared_start.py."""

from collections.abc import Iterator

import pytest

from saleroom.accounts.service import passwords
from tests import shared_start as sharing


@pytest.fixture(scope="session", autouse=True)
def shared_start() -> Iterator[None]:
    """Let them compute each result once."""
    with pytest.MonkeyPatch.context() as patch:
        sharing.share(patch.setattr)
        yield


@pytest.fixture
def slow_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords get the digests that they get outside tests."""
    monkeypatch.setattr(passwords, "HASHER", sharing.HASHER)
