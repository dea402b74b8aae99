"""A service manager for tests: the socket of NOTIFY_SOCKET, on which systemd gets the notices of a service."""

import socket
from typing import Self

from tests.patience import SECONDS_MAX


class Manager:
    """A socket such as systemd gives to a service. `address` is the value of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(SECONDS_MAX)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)

    def next(self) -> list[str]:
        """Return the lines of the next notice."""
        return self._socket.recv(4096).decode().splitlines()

    def waiting(self) -> int:
        """Return how many notices have come since, and forget them."""
        self._socket.setblocking(False)
        count = 0
        try:
            while self._socket.recv(4096):
                count += 1
        except BlockingIOError:
            self._socket.settimeout(SECONDS_MAX)
        return count

    def __enter__(self) -> Self:
        """Listen."""
        return self

    def __exit__(self, *_: object) -> None:
        """Be away."""
        self._socket.close()
