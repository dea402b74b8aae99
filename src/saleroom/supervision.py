"""Notices to the service manager that started the house: it serves, and it is alive. The protocol is systemd's sd_notify(3).

Without the variable NOTIFY_SOCKET there is no such manager, and nothing is sent.
"""

from __future__ import annotations

import os
import socket

import structlog

log = structlog.get_logger(__name__)

SOCKET_VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_VARIABLE = "WATCHDOG_USEC"
PROCESS_VARIABLE = "WATCHDOG_PID"
ALIVE_SECONDS_MAX = 10
"""The house says at least this often that it is alive, and three times in each period that the manager allows."""


def say_ready(status: str) -> None:
    """Say that the house serves; `status` is one line for people. Raises OSError if the manager cannot be reached."""
    _send(f"READY=1\nSTATUS={status}")


def say_alive() -> None:
    """Say that this process is alive. A manager that cannot be reached now is told later: no auction waits for it."""
    try:
        _send("WATCHDOG=1", socket.MSG_DONTWAIT)
    except OSError as error:
        log.warning("the service manager cannot be told that the house is alive", reason=error.strerror)


async def say_alive_in_loop() -> None:
    """Say that this process and its event loop are alive, as `say_alive` does."""
    say_alive()


def alive_seconds() -> int | None:
    """Return how often the manager wants to hear that this process is alive, in whole seconds; None if it does not ask for it.

    Raises ValueError if the manager's own variables are malformed.
    """
    microseconds = os.environ.get(WATCHDOG_VARIABLE)
    if not microseconds or not os.environ.get(SOCKET_VARIABLE):
        return None
    process = os.environ.get(PROCESS_VARIABLE)
    if process and int(process) != os.getpid():  # the variables were inherited from a process that is watched
        return None
    return min(int(microseconds) // 3_000_000, ALIVE_SECONDS_MAX)


def _send(words: str, flags: int = 0) -> None:
    address = os.environ.get(SOCKET_VARIABLE)
    if not address:
        return
    # A name that begins with @ is in the abstract namespace of Linux, where it begins with a NUL.
    name = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.connect(name)
        line.send(words.encode(), flags)
