"""Which addresses are of the public internet."""

import pytest

from saleroom.kernel.addresses import is_private_name, is_public


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
def test_public_addresses(address: str) -> None:
    """Addresses of the internet, also of IPv4 within IPv6."""
    assert is_public(address)
    assert not is_private_name(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.1"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1"),
        *(
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::a00:1",
            "fec0::1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0:127.0.0.1",
            "5f00::1",
        ),
        *(
            "192.0.0.8",
            "192.0.0.192",
            "192.88.99.1",
            "::ffff:192.0.0.192",
            "2002:c000:c0::",
            "3fff::1",
            "168.63.129.16",
        ),
    ],
)
def test_private_addresses(address: str) -> None:
    """This machine, private networks, link-local, multicast and reserved addresses, however they are written."""
    assert not is_public(address)
    assert is_private_name(address)


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "printer.local",
        "x.internal",
        "2130706433",
        "0x7f.1",
        "127.1",
        "127.0x1",
        "127.0.0.0X1.",
    ],
)
def test_private_names(name: str) -> None:
    """Names of this machine and of private networks, and other spellings of addresses."""
    assert is_private_name(name)


@pytest.mark.parametrize("name", ["example.org", "10.example", "local.example", "0x7f.example", "1.0xg"])
def test_names_of_the_internet(name: str) -> None:
    """What other names resolve to counts when they are connected to."""
    assert not is_private_name(name)
