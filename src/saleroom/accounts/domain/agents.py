"""The names of devices, from the User-Agent of their browsers."""

from __future__ import annotations

import re

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
"""Words of a User-Agent and their browsers. The first match counts, as most browsers also claim to be others."""
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


def agent(user_agent: str) -> str:
    """Return a device's name for people, such as `Firefox on Android`, or a program's own name, or an empty text.

    No other text of the header is returned: pages show the name, and a sender must not choose the words of a page.
    """
    browser = next((name for word, name in _BROWSERS if re.search(rf"{word}\w*/", user_agent)), None)
    system = next((name for word, name in _SYSTEMS if word in user_agent), None)
    if browser is None:
        program = _PROGRAM.match(user_agent)
        return "" if program is None or user_agent.startswith("Mozilla/") else program[0]
    return browser if system is None else f"{browser} on {system}"
