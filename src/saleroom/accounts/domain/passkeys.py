"""Passkeys: the address that they are bound to, and what their counters say (WebAuthn, level 3)."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit

import idna
from msgspec import Struct

PASSKEYS_MAX = 20
"""Of one user."""
CHALLENGE_LIFETIME = timedelta(minutes=5)
"""How long a device and its user may take to answer."""
CHALLENGE_BYTES = 32
HANDLE_BYTES = 32
"""Of the number by which devices know a user. It says nothing about them, as the standard demands."""
_PARTY = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)


class Party(Struct, frozen=True):
    """The house as browsers know it ("relying party"): the name that passkeys are bound to, and the origin of its pages."""

    id: str
    origin: str


class Lacks(StrEnum):
    """Why browsers have no passkeys for an address."""

    HTTPS = "https"
    NAME = "name"


def party_at(address: str) -> Party | Lacks:
    """Return the house at its address, or what the address lacks.

    Browsers offer passkeys on pages by https, and on `localhost`, as nobody stands between there. A number is no name.
    """
    url = urlsplit(address)
    host = (url.hostname or "").removesuffix(".")
    if url.scheme != "https" and host != "localhost" and not host.endswith(".localhost"):
        return Lacks.HTTPS
    name = _ascii(host)
    if name is None:
        return Lacks.NAME
    usual = {"http": 80, "https": 443}[url.scheme]
    port = "" if url.port in (None, usual) else f":{url.port}"
    return Party(name, f"{url.scheme}://{name}{port}")


def is_party(name: str) -> bool:
    """Return whether passkeys can be bound to a name."""
    return _PARTY.fullmatch(name) is not None


def is_copied(stored: int, sent: int) -> bool:
    """Return whether a counter says that two devices have the same passkey (section 7.2, step 22).

    Devices that count add one for each signature. Those that do not count send 0.
    """
    return (stored > 0 or sent > 0) and sent <= stored


def _ascii(host: str) -> str | None:
    """Return a name as browsers write it; None for a number, or what is no name."""
    try:
        ip_address(host)
    except ValueError:
        pass
    else:
        return None
    try:
        name = host.lower() if host.isascii() else idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return None
    return name if is_party(name) else None
