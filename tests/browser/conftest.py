"""A real Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.people import WAIT_MS_MAX, BrowserVisitor
from tests.fixtures_house import House, User
from tests.needs import need

Enter = Callable[..., BrowserVisitor]

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
]


@pytest.fixture(scope="package")
def chromium(sqlite_template: Path) -> Iterator[Browser]:
    """A real Chromium, for the tests of this folder only: while it runs, this thread cannot run another event loop.

    So the template of all houses is made first, whichever test comes first.
    """
    program = need("chromium")
    expect.set_options(timeout=WAIT_MS_MAX)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def enter(chromium: Browser, sqlite_house: House) -> Iterator[Enter]:
    """Return a function that opens a new browser at the house, with a user's session or as a stranger."""
    visitors: list[BrowserVisitor] = []

    def come(user: User | None = None, *, base: str = sqlite_house.base, **options: Any) -> BrowserVisitor:
        visitors.append(BrowserVisitor(chromium, base, **options))
        if user is not None:
            visitors[-1].page.context.add_cookies([{"name": "saleroom_session", "value": user.token, "url": base}])
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.leave()


@pytest.fixture
def seller(sqlite_house: House) -> User:
    """A user that no other test knows, with a separate list of lots."""
    return sqlite_house.newcomer()
