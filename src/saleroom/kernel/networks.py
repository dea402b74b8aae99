"""The network of an address, for limits by address."""

from __future__ import annotations

import ipaddress


def network(address: str) -> str:
    """Return an IPv4 address itself, or the network of 64 bits that an IPv6 provider gives one home.

    A home with IPv6 has 2**64 addresses. Text that is no address, such as `unknown`, is returned as it is.
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
