"""What a device is called, made of what its browser says of itself."""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
"""What a User-Agent says, and whose it is; the first that is found, as most claim to be the others too."""
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


def agent(request: HTTPConnection) -> str:
    """Return what people call the device, such as `Firefox on Android`; of a program its name; empty where it says nothing.

    Never more than that of the header: what somebody writes into it would else be shown to them as the house's own words.
    """
    said = request.headers.get("user-agent", "")
    browser = next((name for word, name in _BROWSERS if re.search(rf"{word}\w*/", said)), None)
    system = next((name for word, name in _SYSTEMS if word in said), None)
    if browser is None:
        program = _PROGRAM.match(said)
        return "" if program is None or said.startswith("Mozilla/") else program[0]
    return browser if system is None else f"{browser} on {system}"
