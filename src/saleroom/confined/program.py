"""The program of a confined process: it limits itself, reads the file of a stranger, and answers what a function says.

The kernel enforces the limits; macOS ignores the one on memory. The process starts no other, writes no file, and ends with
the house. It runs as the user of the house, so it is no sandbox against code that a file makes a library run.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from saleroom.kernel.errors import Fault, Invalid

READY = b"r"
"""The first output: the limits are set, so any failure from here on is due to the file."""
LENGTH_BYTES = 8
NICENESS = 10
FILES_MAX = 16
"""Python opens files for modules that it loads late; the work needs none."""
_KILL_ME_FIRST = "1000"


class FaultRecord(Struct, frozen=True):
    """A `kernel.errors.Fault` of the file, ready for MessagePack."""

    code: str
    message: str
    facts: dict[str, Any]


class Answer(Struct, frozen=True):
    """The answer for a file: `made` as MessagePack, or its `faults` by field, or that it took too much memory."""

    made: bytes = b""
    faults: Mapping[str, list[FaultRecord]] = {}
    is_too_costly: bool = False


def main() -> None:
    """Read a file from standard input, after its length, and write the answer to standard output.

    The arguments are the function, such as `saleroom.sales.service.files.sheets:read`, its seconds of processor time, and its
    bytes of address space without the file.
    """
    function, cpu_seconds, memory_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    importlib.import_module(function.partition(":")[0])
    limit(cpu_seconds)
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    data = source.read(int.from_bytes(source.read(LENGTH_BYTES)))
    threading.Thread(target=end_with, args=(source,), daemon=True).start()
    set_limit(resource.RLIMIT_NPROC, 0)
    set_limit(resource.RLIMIT_AS, memory_bytes + 2 * len(data))
    answers.write(answer_to(function, data))
    answers.flush()
    os._exit(0)


def answer_to(function: str, data: bytes) -> bytes:
    """Return the answer of a function to a file, as it is sent to the house."""
    module, _, name = function.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)(data)
        return msgspec.msgpack.encode(Answer(made=msgspec.msgpack.encode(made)))
    except Invalid as invalid:
        return msgspec.msgpack.encode(
            Answer(faults={field: _records(every) for field, every in invalid.faults.items()})
        )
    except MemoryError:
        return msgspec.msgpack.encode(Answer(is_too_costly=True))


def _records(faults: list[Fault]) -> list[FaultRecord]:
    return [FaultRecord(one.code, one.message, one.facts) for one in faults]


def limit(cpu_seconds: int, file_bytes: int = 0, files: int = FILES_MAX) -> None:
    """Set the limits that do not depend on the work: priority below the house, processor time, files."""
    os.nice(NICENESS)
    with suppress(OSError):  # Linux: if memory runs out, the kernel kills this process and not the house
        Path("/proc/self/oom_score_adj").write_text(_KILL_ME_FIRST)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, file_bytes)
    set_limit(resource.RLIMIT_CPU, cpu_seconds)
    set_limit(resource.RLIMIT_NOFILE, files)


def end_with(source: BinaryIO) -> None:
    """End once standard input is closed: the house has ended, or has given up the work."""
    source.read(1)
    os._exit(1)


def set_limit(kind: int, limit: int) -> None:
    """Set a limit that cannot be raised again; some systems do not know every limit."""
    _, hard = resource.getrlimit(kind)
    value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))
