"""Where a request begins and ends, and for whom it is: heads that two servers could read differently are refused.

The parser reads strictly already: no bare line feed, no folded header, no second length. Here is what it lets through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from saleroom.domain.errors import Invalid

LENGTH_DIGITS_MAX = 18
HOST_BYTES_MAX = 253
_HOST = re.compile(rb"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^?]*)(?:\?(.*))?", re.IGNORECASE | re.DOTALL)

Headers = Mapping[bytes, bytes]


def malformed(fault: str) -> Invalid:
    """Return the refusal of a request for its form. `fault` says what is wrong with the request."""
    return Invalid.one("request", "malformed_http", fault)


def check_version(version: str) -> None:
    """Raise Invalid where a request is not HTTP/1.1 or HTTP/1.0."""
    if version not in ("1.1", "1.0"):
        raise malformed("is not HTTP/1.1")


def length_of(headers: Headers, version: str) -> int | None:
    """Return how many bytes of body follow a head; None where they come in chunks. Raises Invalid."""
    declared, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
    if coding is not None:
        if version == "1.0":
            raise malformed("has a Transfer-Encoding, which HTTP/1.0 does not know; send a Content-Length")
        if declared is not None or coding.lower() != b"chunked":
            raise malformed("has a Transfer-Encoding other than 'chunked'; send 'chunked' or a Content-Length")
        return None
    if declared is None:
        return 0
    if not declared.isdigit() or len(declared) > LENGTH_DIGITS_MAX:
        raise malformed("has a Content-Length that is no number of bytes")
    return int(declared)


def check_host(headers: Headers, every: Sequence[tuple[bytes, bytes]], version: str) -> None:
    """Raise Invalid unless a head names one host in one `Host`; HTTP/1.0 may go without."""
    host = headers.get(b"host")
    if host is None:
        if version == "1.1":
            raise malformed("has no Host header; send one, with the name of this house")
        return
    if len(headers) < len(every) and sum(name == b"host" for name, _ in every) > 1:
        raise malformed("has several Host headers; send one")
    if len(host) > HOST_BYTES_MAX or _HOST.fullmatch(host) is None:
        raise malformed("has a Host header that is no name or address with an optional port")


def target_of(target: bytes, method: bytes, headers: Headers) -> tuple[bytes, bytes]:
    """Return the path and the query that a request is for. Raises Invalid."""
    if b"#" in target:
        raise malformed("has a '#' in its address; leave it out, with what follows")
    if target[:1] == b"/":
        path, _, query = target.partition(b"?")
        return path, query
    if target == b"*" and method == b"OPTIONS":
        return target, b""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or _HOST.fullmatch(absolute[1]) is None:
        raise malformed("has an address that does not begin with '/'")
    if absolute[1].lower() != headers.get(b"host", absolute[1]).lower():
        raise malformed("has another host in its address than in its Host header; send only the path")
    return absolute[2] or b"/", absolute[3] or b""
