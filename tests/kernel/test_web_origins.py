"""The origins of pages in settings, as browsers write them."""

import pytest

from saleroom.kernel.server_urls import web_origin


@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ("https://shop.example", "https://shop.example"),
        ("HTTPS://Shop.Example/", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("http://shop.example:80/", "http://shop.example"),
        ("http://shop.example:443", "http://shop.example:443"),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("https://Bücher.example", "https://xn--bcher-kva.example"),
        ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
    ],
)
def test_an_origin_is_kept_as_browsers_write_it(written: str, origin: str) -> None:
    """Capitals, the usual port, a slash at the end and letters beyond ASCII make no other origin."""
    assert origin == web_origin(written)


@pytest.mark.parametrize(
    "written",
    [
        "shop.example",
        "ftp://shop.example",
        "https://",
        "https://*",
        "https://*.shop.example",
        "https://shop.example/path",
        "https://shop.example?",
        "https://shop.example#top",
        "https://ada:secret@shop.example",
        "https://@shop.example",
        "https:// shop.example",
        "https://shop.example:0",
        "https://shop.example:99999",
        "https://shop.example:port",
        "https://shop.example,https://other.example",
        "https://[::1",
        "null",
    ],
)
def test_what_is_more_or_less_than_an_origin_is_none(written: str) -> None:
    """An account, a path, a query, a pattern, and a host or port that cannot be: all of it is refused."""
    assert web_origin(written) is None
