"""Networks: what counts as one home for limits by address."""

import pytest

from saleroom.kernel.networks import network


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::1%", "fe80::/64"),
        ("unknown", "unknown"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_networks(address: str, place: str) -> None:
    """An IPv4 address is a network. Of an IPv6 address the first 64 bits are the network, as one home has them."""
    assert place == network(address)
