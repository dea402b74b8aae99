"""The public address of a house: cookies are secure by it, and links begin with it."""

import pytest

from saleroom.settings import SettingsError, load


@pytest.mark.parametrize("url", ["HTTPS://bids.example", " https://bids.example"])
def test_an_address_with_https_makes_cookies_secure_however_it_is_written(url: str) -> None:
    """The scheme of the public address may be in capitals, and spaces around it, as of a file for a container, do not count."""
    settings = load({}, {"SALEROOM_PUBLIC_URL": url})
    assert ("https://bids.example", True) == (settings.public_url, settings.is_https)


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("https://ada:pw@bids.example", "without an account"),
        ("https://bids.example/?house=1", r"what follows a \?"),
        ("https://bids.example/#house", "a #"),
        ("https://bids example", "spaces"),
        ("https://bids.example:99999", "https://host"),
        ("bids.example", "https://host"),
    ],
)
def test_an_address_that_no_link_can_begin_with_is_refused(url: str, remedy: str) -> None:
    """A secret, a query, a fragment or a space would stand in each link, and a port that cannot be leads nowhere."""
    with pytest.raises(SettingsError, match=remedy):
        load({}, {"SALEROOM_PUBLIC_URL": url})
