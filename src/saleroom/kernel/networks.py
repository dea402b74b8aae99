"""The network that an address belongs to, for limits by address."""

from __future__ import annotations

import ipaddress


def network(address: str) -> str:
    """Return what counts as one place to come from: an IPv4 address, or the 64 bits that an IPv6 provider gives one home.

    Whoever has a home's IPv6 has 2**64 addresses. What is no address, such as `unknown`, is itself.
    """
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
