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
READY_SECONDS_MAX = 5.0
ALIVE_SECONDS_MAX = 10
"""The house says at least this often that it is alive, and three times in each period that the manager allows."""


def say_ready(status: str) -> None:
    """Say that the house serves; `status` is one line for people. A manager that does not listen is waited for some seconds."""
    _send(f"READY=1\nSTATUS={status}", READY_SECONDS_MAX)


def say_alive() -> None:
    """Say that this process is alive. A manager that cannot be reached now is told later: no auction waits for it."""
    _send("WATCHDOG=1", 0)


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


def _send(words: str, seconds: float) -> None:
    """Send a notice, if there is a manager; wait so long for room. A notice that cannot be sent is a line in the log."""
    address = os.environ.get(SOCKET_VARIABLE)
    if not address:
        return
    # A name that begins with @ is in the abstract namespace of Linux, where it begins with a NUL.
    name = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.settimeout(seconds)
        try:
            line.connect(name)
            line.send(words.encode())
        except OSError as error:
            log.warning("the service manager cannot be told how the house is", notice=words, reason=str(error))
