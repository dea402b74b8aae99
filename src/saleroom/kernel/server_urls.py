"""Addresses of servers as settings give them: one URL with scheme, account, host and port."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import idna

_WEB_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*")
"""A name, or an address of IPv4 or IPv6, in lower-case ASCII."""


@dataclass(frozen=True)
class ServerUrl:
    """A server and the account on it."""

    scheme: str
    host: str
    port: int
    user: str | None
    password: str | None = field(repr=False)


def server_url(url: str, what: str, ports: Mapping[str, int], form: str) -> ServerUrl:
    """Read `scheme://user:password@host:port` with one of the schemes of `ports`; user and password are percent-decoded.

    Raises ValueError, which names the fault of the `what` URL and perhaps its `form`, never the password. The library's own
    errors may show it, so they are not passed on.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise ValueError(f"the {what} URL has no valid host and port; {form}") from None
    if parts.scheme not in ports:
        *most, last = (f"{scheme}://" for scheme in ports)
        raise ValueError(f"the {what} URL must start with {', '.join(most)} or {last}")
    if not parts.hostname:
        raise ValueError(f"the {what} URL names no host; {form}")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"the {what} URL goes on after host and port; {form}")
    if port == 0:
        raise ValueError(f"the {what} URL has port 0; write one from 1 to 65535, or none")
    user, password = _decoded(parts.username, what), _decoded(parts.password, what)
    return ServerUrl(parts.scheme, parts.hostname, port or ports[parts.scheme], user, password)


def web_origin(url: str) -> str | None:
    """Return the origin that a URL is, as browsers write it: in lower-case ASCII, without the usual port. None if it is none.

    A slash at its end does not count. An account, a path or a query is more than an origin.
    """
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
        host = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except ValueError:
        return None
    if (
        parts.scheme not in _WEB_PORTS
        or "@" in parts.netloc
        or parts.path not in ("", "/")
        or re.search(r"[?#\s]", url)
    ):
        return None
    if port == 0 or _HOST.fullmatch(host) is None:
        return None
    usual = _WEB_PORTS[parts.scheme]
    return f"{parts.scheme}://{authority(host, port or usual).removesuffix(f':{usual}')}"


def authority(host: str, port: int) -> str:
    """Return host and port as they stand in a URL: with brackets around an address of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _decoded(text: str | None, what: str) -> str | None:
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError:
        raise ValueError(f"user and password in the {what} URL must be percent-encoded UTF-8") from None
