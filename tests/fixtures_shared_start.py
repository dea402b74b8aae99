"""Houses and clients of this process share the results of their start (tests/shared_start.py), and decode pictures in it."""

import msgspec
import pytest

from saleroom.accounts.service import passwords
from saleroom.bidding.service import decoder, decoder_process
from tests import shared_start as sharing

DECODING_PROCESS = decoder._Process


class DecodingHere:
    """Decodes a picture without a process of its own, whose start takes a hundred times as long as a small picture."""

    def run(self, data: bytes) -> decoder.ProcessResult:
        """Return what the process would answer. It has no limits here, and nothing ends it."""
        answer = msgspec.msgpack.encode(decoder_process._answer(data))
        return decoder.ProcessResult(0, is_ready=True, answer=answer)

    def end(self) -> None:
        """Leave it to end by itself."""


def pytest_configure() -> None:
    """Let them compute each result once, and decode pictures in this process.

    It begins before the tests are imported, as some make languages and pages when they are.
    """
    sharing.share(setattr)
    decoder.__dict__["_Process"] = DecodingHere


@pytest.fixture
def decoding_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each picture is decoded in a process of its own, as outside tests."""
    monkeypatch.setattr(decoder, "_Process", DECODING_PROCESS)


@pytest.fixture
def slow_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords get the digests that they get outside tests."""
    monkeypatch.setattr(passwords, "HASHER", sharing.HASHER)
