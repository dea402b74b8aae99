"""Which threads decode MessagePack, and how often."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec


@contextmanager
def decodings() -> Iterator[Counter[str]]:
    """Yield how many values each thread has decoded, by its name: this one, and those that begin within the block."""
    found = Counter[str]()

    def hear(_: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and isinstance(getattr(called, "__self__", None), msgspec.msgpack.Decoder):
            found[threading.current_thread().name] += 1

    threading.setprofile(hear)
    sys.setprofile(hear)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
