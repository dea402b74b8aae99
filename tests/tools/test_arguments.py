"""Addresses as people paste them from a browser."""

import pytest

from saleroom.tools.errors import WrongUsage
from saleroom.tools.load import command as load
from saleroom.tools.verify.source import auction_address
from saleroom.tools.watch.command import read_options

HOUSE, GID = "https://bids.example/berlin", "k3X9mQ2vTa1_"
OF_THE_HOUSE = (HOUSE, f"{HOUSE}/", f"{HOUSE}/?q=clock", f"{HOUSE}/#main", f"{HOUSE}/?q=clock#main")
OF_THE_LOT = tuple(
    f"{HOUSE}/{kind}/{GID}{rest}"
    for kind in ("lots", "auctions")
    for rest in ("", "/", "?listed", "#lot-questions", "/#lot-box", "/screen", "/ledger?x=1#y")
)


@pytest.mark.parametrize("url", OF_THE_HOUSE)
def test_the_address_of_a_house_is_watched(url: str) -> None:
    """A slash, a query and a fragment do not count, and the house may be below a path."""
    options = read_options(url, None)
    assert (HOUSE, None) == (options.url, options.gid)


@pytest.mark.parametrize("url", OF_THE_LOT)
def test_the_address_of_a_lot_names_house_and_lot(url: str) -> None:
    """The address of a lot's page is its house and its gid, to watch and to verify; the same gid may be given too."""
    for gid in (None, GID):
        options = read_options(url, gid)
        assert (HOUSE, GID) == (options.url, options.gid)
    found = auction_address(url)
    assert (HOUSE, GID) == (found.base, found.gid)


@pytest.mark.parametrize(
    ("url", "gid", "reason"),
    [
        (f"{HOUSE}/lots/{GID}", "anotherlot12", f"the address is that of the lot {GID}, but anotherlot12"),
        (f"mqtt://bids.example/lots/{GID}", None, "the address of a broker is its host alone"),
        ("mqtt://bids.example?x", None, "the address of a broker is its host alone"),
        (f"https://ada:hunter2@bids.example/lots/{GID}", None, "leave user and password out"),
    ],
)
def test_a_contradiction_is_wrong_usage(url: str, gid: str | None, reason: str) -> None:
    """Two lots, a broker with a page, and an account in an address are refused, by name."""
    with pytest.raises(WrongUsage, match=reason) as caught:
        read_options(url, gid)
    assert "hunter2" not in str(caught.value)


def test_a_house_below_auctions_is_a_house() -> None:
    """Only a name of a gid's length makes an address that of a lot."""
    assert "https://bids.example/auctions/berlin" == read_options("https://bids.example/auctions/berlin/", None).url


@pytest.mark.parametrize("url", OF_THE_LOT)
def test_a_load_test_of_a_lot_is_wrong_usage(url: str) -> None:
    """A test makes lots of its own in a house: the address of a lot is refused before any request."""
    with pytest.raises(WrongUsage, match="this is the address of a lot, and a test needs that of its house"):
        load.run(url, "a-key", None, force=False)
