"""Passkeys: which addresses can have them, and what counters say."""

import pytest

from saleroom.accounts.domain.passkeys import Lacks, Party, is_copied, is_party, party_at


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://bids.example", Party("bids.example", "https://bids.example")),
        ("https://Bids.Example.:443/", Party("bids.example", "https://bids.example")),
        ("https://ada@bids.example:8443", Party("bids.example", "https://bids.example:8443")),
        ("https://bücher.example", Party("xn--bcher-kva.example", "https://xn--bcher-kva.example")),
        ("http://localhost:9000", Party("localhost", "http://localhost:9000")),
        ("http://hall.localhost", Party("hall.localhost", "http://hall.localhost")),
        ("http://bids.example", Lacks.HTTPS),
        ("http://127.0.0.1:9000", Lacks.HTTPS),
        ("http://notlocalhost", Lacks.HTTPS),
        ("https://192.0.2.1", Lacks.NAME),
        ("https://[2001:db8::1]:8443", Lacks.NAME),
        ("https://-x-.example", Lacks.NAME),
        ("https://" + "x" * 64 + ".example", Lacks.NAME),
    ],
)
def test_the_house_as_browsers_know_it(address: str, found: Party | Lacks) -> None:
    """The name and the origin are those of the address as browsers write it; others have no passkeys."""
    assert found == party_at(address)
    assert not isinstance(found, Party) or is_party(found.id)


@pytest.mark.parametrize(
    ("stored", "sent", "copied"),
    [(0, 0, False), (0, 1, False), (1, 2, False), (1, 1, True), (2, 1, True), (1, 0, True)],
)
def test_a_counter_says_whether_there_is_a_copy(stored: int, sent: int, copied: bool) -> None:
    """A counter that does not grow means a copy, unless the device does not count."""
    assert copied == is_copied(stored, sent)
