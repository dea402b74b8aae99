"""The framing and the target of a request: a head that two servers could read differently is refused.

The parser already refuses a bare line feed, a folded header and a second length. This module refuses the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from saleroom.kernel.errors import Invalid

LENGTH_DIGITS_MAX = 18
HOST_BYTES_MAX = 253
_HOST = re.compile(rb"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)

Headers = Mapping[bytes, bytes]


def malformed(fault: str) -> Invalid:
    """Return the refusal of a malformed request. `fault` is the sentence on its fault."""
    return Invalid.one("request", "malformed_http", fault)


def read_head(
    method: bytes, target: bytes, version: str, headers: Headers, every: Sequence[tuple[bytes, bytes]]
) -> tuple[bytes, bytes, int | None]:
    """Return the path, the query, and the length of the body in bytes; None as the length if the body comes in chunks.

    `every` holds all headers, and `headers` the first of each name. Raises Invalid.
    """
    if version not in ("1.1", "1.0"):
        raise malformed("is not HTTP/1.1")
    host = headers.get(b"host")
    if host is None:
        if version == "1.1":
            raise malformed("has no Host header; send one, with the name of this house")
    elif len(headers) < len(every) and sum(name == b"host" for name, _ in every) > 1:
        raise malformed("has several Host headers; send one")
    elif not _is_host(host):
        raise malformed("has a Host header that is no name or address with an optional port")
    length = _length(headers, version) if b"transfer-encoding" in headers or b"content-length" in headers else 0
    if target[:1] == b"/" and b"#" not in target:
        path, _, query = target.partition(b"?")
        return path, query, length
    return *_other_target(target, method, host), length


@lru_cache(64)
def _is_host(host: bytes) -> bool:
    return len(host) <= HOST_BYTES_MAX and _HOST.fullmatch(host.strip()) is not None


def _length(headers: Headers, version: str) -> int | None:
    declared, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
    if coding is None and declared is not None:
        digits = declared.strip()
        if not digits.isdigit() or len(digits) > LENGTH_DIGITS_MAX:
            raise malformed("has a Content-Length that is no number of bytes")
        return int(digits)
    if version == "1.0":
        raise malformed("has a Transfer-Encoding, which HTTP/1.0 does not know; send a Content-Length")
    if declared is not None or coding is None or coding.strip().lower() != b"chunked":
        raise malformed("has a Transfer-Encoding other than 'chunked'; send 'chunked' or a Content-Length")
    return None


def _other_target(target: bytes, method: bytes, host: bytes | None) -> tuple[bytes, bytes]:
    if target == b"*" and method == b"OPTIONS":
        return target, b""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or not _is_host(absolute[1]):
        raise malformed("has an address that does not begin with '/' or has a '#'")
    if host is not None and absolute[1].lower() != host.strip().lower():
        raise malformed("has another host in its address than in its Host header; send only the path")
    return absolute[2] or b"/", absolute[3] or b""
