"""Addresses of the internet, and those of private networks, which strangers must not reach through the house."""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Address, IPv6Address

PRIVATE = "must be a public address: this house posts to none of its own machine or of a private network"
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""By such addresses of IPv6, routers reach those of IPv4 (RFC 6052)."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""The part of IPv6 that the internet uses (RFC 4291). Python takes others for global, which a network may translate."""
_RESERVED = tuple(
    ipaddress.ip_network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "168.63.129.16/32")
)
"""What some versions of Python, or all, take for global and is not of the internet.

The first three are reserved by IANA (RFC 6890, 7526 and 9637). Clouds answer a machine of theirs, and nobody else: Oracle Cloud
Classic with its secrets at 192.0.0.192, and Azure at 168.63.129.16.
"""
_NUMBER = re.compile("[0-9]+|0x[0-9a-f]*")
"""The last part of an address of IPv4 in any spelling; no name of the internet ends so (WHATWG URL, host parsing)."""
_PRIVATE_ENDS = ("localhost", ".localhost", ".local", ".internal", ".home.arpa", ".lan")


def is_public(text: str) -> bool:
    """Return whether an address, such as one that a name resolved to, is one of the public internet."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(
        one.is_global
        and not one.is_multicast
        and (one.version == 4 or one in _UNICAST)
        and not any(one in network for network in _RESERVED)
        for one in _meant(address)
    )


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return an address, and those of IPv4 that stand in it."""
    if isinstance(address, IPv4Address):
        return [address]
    inner: list[IPv4Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _TRANSLATED:
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    found: list[IPv4Address | IPv6Address] = [one for one in inner if one is not None]
    mapped = address.ipv4_mapped is not None or address in _TRANSLATED
    return found if mapped else [address, *found]


def is_private_name(host: str) -> bool:
    """Return whether a host of an address is private by how it is written; for other names, what they resolve to counts."""
    name = host.rstrip(".").lower()
    if name in ("localhost", "") or name.endswith(_PRIVATE_ENDS):
        return True
    try:
        ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None  # other spellings of an address of IPv4
    return not is_public(name.strip("[]"))
