"""HTTP before it is a request: a bound on what comes before the body, and JSON also for what is not HTTP at all.

The server would keep the headers of a request in memory for as long as they come in; the guard sees them only afterwards.
"""

from __future__ import annotations

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from saleroom.domain.errors import Invalid, Refused
from saleroom.doors import problems
from saleroom.doors.guard import HAS_ARRIVED, HEADER_BYTES_MAX, SECURITY_HEADERS
from saleroom.doors.problems import HeadersTooLarge

HEAD_BYTES_MAX = 4 * HEADER_BYTES_MAX
"""What may arrive of a head that is not complete; the guard is stricter with those that are."""


class Http(HttpToolsProtocol):
    """The server's protocol for one connection."""

    _in_head = False
    _head_bytes = 0
    _ends_another = False

    def data_received(self, data: bytes) -> None:
        """Parse, and hang up on a head that does not end."""
        self._ends_another = False
        super().data_received(data)
        # A piece that ends the request before holds some of its body: how much of it is head is not known.
        if self._in_head and not self._ends_another:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
                self._hang_up(HeadersTooLarge(limit=HEADER_BYTES_MAX))

    def on_message_begin(self) -> None:
        """Start to count."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting: from here on the guard decides."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that what comes next belongs to another request, and that this one is here to its end."""
        self._ends_another = True
        self.scope[HAS_ARRIVED] = True  # type: ignore[literal-required]  # a key of our own
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser cannot read. `msg` is the parser's own and says no more than that."""
        self._hang_up(Invalid.one("request", "malformed_http", "is not HTTP/1.1"))

    def _hang_up(self, refused: Refused) -> None:
        answer = problems.answer(refused)
        status = HTTPStatus(answer.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in (*answer.raw_headers, *SECURITY_HEADERS)]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)]))
        self.transport.close()
