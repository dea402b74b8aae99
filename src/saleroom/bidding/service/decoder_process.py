"""The program of the process that decodes one picture: it limits itself, reads the picture, and answers.

The kernel enforces the limits; macOS ignores the one on memory. The process starts no other, writes no file, and ends with
the house. It runs as the user of the house, so it is no sandbox against code that a picture makes a library run.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from saleroom.bidding.service.renditions import FIELD, Renditions, make
from saleroom.kernel.errors import Invalid

CPU_SECONDS_MAX = 10
MEMORY_BYTES_MAX = 512 * 2**20
"""Address space of the process, without the file of the picture. Python and the libraries take some 60 MB of it."""
READY = b"r"
"""The first output: the limits are set, so any failure from here on is due to the picture."""
LENGTH_BYTES = 8
NICENESS = 10
FILES_MAX = 16
"""Python opens files for modules that it loads late; decoding needs none."""
_KILL_ME_FIRST = "1000"


class FaultRecord(Struct, frozen=True):
    """A `kernel.errors.Fault` of the picture, ready for MessagePack."""

    code: str
    message: str
    facts: dict[str, Any]


class DecoderAnswer(Struct, frozen=True):
    """The answer for a picture: `made`, or `fault`."""

    made: Renditions | None = None
    fault: FaultRecord | None = None


def main() -> None:
    """Read a picture from standard input, after its length, and write the answer to standard output."""
    _limit()
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    data = source.read(int.from_bytes(source.read(LENGTH_BYTES)))
    _limit_further(len(data), source)
    answers.write(msgspec.msgpack.encode(_answer(data)))
    answers.flush()
    os._exit(0)


def _answer(data: bytes) -> DecoderAnswer:
    try:
        return DecoderAnswer(made=make(data))
    except Invalid as invalid:
        fault = invalid.faults[FIELD][0]
        return DecoderAnswer(fault=FaultRecord(fault.code, fault.message, fault.facts))


def _limit() -> None:
    """Set the limits that do not depend on the picture: priority below the house, processor time, files."""
    os.nice(NICENESS)
    with suppress(OSError):  # Linux: if memory runs out, the kernel kills this process and not the house
        Path("/proc/self/oom_score_adj").write_text(_KILL_ME_FIRST)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, 0)
    set_limit(resource.RLIMIT_CPU, CPU_SECONDS_MAX)
    set_limit(resource.RLIMIT_NOFILE, FILES_MAX)


def _limit_further(length: int, source: BinaryIO) -> None:
    """Set the limits for decoding a picture of this length, and begin to watch the house."""
    threading.Thread(target=end_with, args=(source,), daemon=True).start()
    set_limit(resource.RLIMIT_NPROC, 0)
    set_limit(resource.RLIMIT_AS, MEMORY_BYTES_MAX + 2 * length)


def end_with(source: BinaryIO) -> None:
    """End once standard input is closed: the house has ended, or has given up the picture."""
    source.read(1)
    os._exit(1)


def set_limit(kind: int, limit: int) -> None:
    """Set a limit that cannot be raised again; some systems do not know every limit."""
    _, hard = resource.getrlimit(kind)
    value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))
