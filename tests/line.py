"""A line to PostgreSQL that can be cut, at any time or at the very commit of a bid."""

import contextlib
import socket
import threading
from typing import Literal

from sqlalchemy import make_url

Cut = Literal["before the commit", "after the commit"]


class Line:
    """Forwards connections to the server of `url` until `cut`; `cut_next_bid` hangs up on the one that brings a bid."""

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._open: list[socket.socket] = []
        self._next_bid: Cut | None = None
        self._lock = threading.Lock()
        self._listen(0)
        self.port = int(self._listener.getsockname()[1])
        self.url = self._target.set(host="127.0.0.1", port=self.port, query={}).render_as_string(hide_password=False)

    def _listen(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def cut(self) -> None:
        """End all connections and take no new one."""
        with self._lock:
            for end in (self._listener, *self._open):
                _hang_up(end)
            self._open.clear()

    def mend(self) -> None:
        """Take connections again, at the same port."""
        self._listen(self.port)

    def cut_next_bid(self, when: Cut) -> None:
        """Hang up on the next connection that commits the first bids it has ever brought.

        `before the commit` the server never gets it; `after the commit` the server has done it, and the answer is lost.
        """
        self._next_bid = when

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener is closed if the line is cut
            while True:
                near = listener.accept()[0]
                far = self._dial()
                with self._lock:
                    if listener.fileno() < 0:  # the line was cut meanwhile, and knew nothing of these two
                        _hang_up(near)
                        _hang_up(far)
                        return
                    self._open += [near, far]
                lost = threading.Event()
                threading.Thread(target=self._ask, args=(near, far, lost), daemon=True).start()
                threading.Thread(target=self._answer, args=(far, near, lost), daemon=True).start()

    def _dial(self) -> socket.socket:
        folder = self._target.query.get("host")
        if folder is None:
            return socket.create_connection((self._target.host or "127.0.0.1", self._target.port or 5432))
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"{folder}/.s.PGSQL.{self._target.port or 5432}")
        return far

    def _ask(self, near: socket.socket, far: socket.socket, lost: threading.Event) -> None:
        """Pass on the house's bytes; `lost` is set if the server's next answer is to be lost."""
        bids = False
        with contextlib.suppress(OSError):  # either end may be closed meanwhile
            while data := near.recv(65536):
                bids = bids or b"INSERT INTO bids" in data
                if self._next_bid is not None and bids and b"COMMIT" in data:
                    when, self._next_bid = self._next_bid, None
                    if when == "before the commit":
                        _hang_up(near)
                        break
                    lost.set()
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    def _answer(self, far: socket.socket, near: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):  # either end may be closed meanwhile
            while data := far.recv(65536):
                if lost.is_set():
                    _hang_up(near)
                    break
                near.sendall(data)
            near.shutdown(socket.SHUT_WR)


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side may have ended it
        end.shutdown(socket.SHUT_RDWR)
    end.close()
