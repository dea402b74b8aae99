"""The names of devices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.accounts.domain.agents import agent

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
HEADERS = {
    "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0": "Firefox on Android",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Windows",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0": "Edge on Windows",
    f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/138.0.0.0 Mobile Safari/537.36 EdgA/138.0": "Edge on Android",
    f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/138.0.0.0 Mobile Safari/537.36": "Chrome on Android",
    f"Mozilla/5.0 (Linux; Android 14; SM-S921B) {WEBKIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36": (
        "Samsung Internet on Android"
    ),
    f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {WEBKIT} Chrome/138.0.0.0 Safari/537.36": "Chrome on ChromeOS",
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/138.0.0.0 Safari/537.36 OPR/122.0.0.0": "Opera on Linux",
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/138.0.0.0 Safari/537.36": "Chrome on Linux",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15": (
        "Safari on macOS"
    ),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1": (
        "Safari on iPhone"
    ),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/138.0 Mobile/15E148 Safari/604.1": (
        "Chrome on iPhone"
    ),
    "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 FxiOS/140.0 Mobile/15E148 Safari/605.1.15": (
        "Firefox on iPad"
    ),
    "Mozilla/5.0 (Haiku; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox",
    "curl/8.5.0": "curl",
    "python-httpx/0.28.1": "python-httpx",
    "Mozilla/5.0 (compatible; Whatever)": "",
    "<script>alert(1)</script>": "",
    "": "",
}


@pytest.mark.parametrize(("header", "name"), HEADERS.items(), ids=range(len(HEADERS)))
def test_devices_are_called_as_people_call_them(header: str, name: str) -> None:
    """A browser is named with its system, and a program by its name. A header without a known name gives no name."""
    assert name == agent(header)


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0")))
def test_a_name_is_short_and_harmless(header: str) -> None:
    """Any header gives a name of at most 80 plain characters."""
    name = agent(header)
    assert len(name) <= 80
    assert name.isascii() and all(character.isalnum() or character in " _.-" for character in name)
