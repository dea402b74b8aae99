"""Houses and clients of this process share the results of their start: tests/shared_start.py."""

from collections.abc import Iterator

import pytest

from tests import shared_start as sharing


@pytest.fixture(scope="session", autouse=True)
def shared_start() -> Iterator[None]:
    """Let them compute each result once."""
    with pytest.MonkeyPatch.context() as patch:
        sharing.share(patch.setattr)
        yield
