"""A lot's page that shows what the house has lost, as after a failover, is put right by itself."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Enter
from tests.fixtures_house import House


def _alter(page: Page, path: str, changes: dict[str, str]) -> list[str]:
    """Alter the first answer at `path`: patterns become texts. The list has the addresses that were asked for."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        response = route.fetch()
        text = response.text()
        for old, new in changes.items() if len(asked) == 1 else ():
            text, count = re.subn(old, new, text)
            assert count, f"the page has no {old}"
        route.fulfill(response=response, body=text)

    page.route(f"**{path}", answer)
    return asked


def test_a_page_takes_an_earlier_version_from_a_house_that_has_lost_the_later_one(
    enter: Enter, sqlite_house: House
) -> None:
    """The page shows a bid that only a lost server had. Otherwise a page takes no version that is earlier than its own."""
    gid = sqlite_house.user("ada").auction(startingPrice="10")
    page = enter().page
    _alter(page, f"/lots/{gid}", {'data-version="1"': 'data-version="9"', "head=[0-9a-f]+": "head=lost"})
    page.goto(f"/lots/{gid}")
    expect(page.locator("#lot-panel")).to_have_attribute("data-renewed", "")
    expect(page.locator("#lot-panel")).to_have_attribute("data-version", "1")


def test_a_page_whose_event_the_house_has_lost_is_loaded_again(enter: Enter, sqlite_house: House) -> None:
    """The house refuses to go on after an event that it has not. Asking again and again would not help."""
    gid = sqlite_house.user("ada").auction(startingPrice="10")
    page = enter().page
    asked = _alter(page, f"/lots/{gid}", {r"live\?after=1&amp;": "live?after=9&amp;"})
    page.goto(f"/lots/{gid}")
    sqlite_house.user("grace").bid(gid, amount="11")
    expect(page.locator("#lot-panel")).to_contain_text("€11.00")
    assert 2 == len(asked)
