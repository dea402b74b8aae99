"""A real browser's `EventSource` on a house that is killed and restarted: it resumes by itself and misses nothing."""

from __future__ import annotations

from playwright.sync_api import Browser, Page

from tests.fixtures_process import Start, Visit
from tests.patience import SECONDS_MAX
from tests.process import BACK_SOON, ServeProcess, wait_until

FOLLOW = """path => {
    window.ids = [];
    window.source = new EventSource(path);
    source.onmessage = message => ids.push([message.lastEventId, JSON.parse(message.data).type]);
}"""


def follow(chromium: Browser, house: ServeProcess, path: str) -> Page:
    """Open a page of the house, and return once it follows `path`."""
    page = chromium.new_context(base_url=house.url).new_page()
    page.goto("/")
    page.evaluate(FOLLOW, path)
    wait_until(lambda: page.evaluate("source.readyState === EventSource.OPEN"), SECONDS_MAX)
    return page


def received(page: Page, count: int) -> list[list[str]]:
    """Return the ids and types of the first `count` events. Fail if there are more or fewer."""
    wait_until(lambda: page.evaluate("ids.length") >= count, SECONDS_MAX)
    ids: list[list[str]] = page.evaluate("ids")
    assert count == len(ids)
    return ids


def test_a_browser_resumes_by_itself(chromium: Browser, start: Start, visit: Visit) -> None:
    """Cut off before its first event and again later, it gets every event once. After the last one it does not reconnect."""
    house = start(test_constants=BACK_SOON)
    client = visit(house)
    ada, *bidders = (client.enter(name) for name in ("ada", "ben", "cyd"))
    gid = client.sell(ada)
    lot, everything = follow(chromium, house, f"/auctions/{gid}/events"), follow(chromium, house, "/events")
    port = house.url.rpartition(":")[2]
    for number, price in enumerate(("100", "110")):
        house.kill()
        house = start("--port", port, test_constants=BACK_SOON)
        client.post(f"/auctions/{gid}/bids", bidders[number % 2], {"amount": price})
        expected = [[f"{gid}/{version}", "bid.placed"] for version in range(2, number + 3)]
        assert expected == received(lot, number + 1) == received(everything, number + 1)
    client.post(f"/auctions/{gid}/close", ada)
    assert [f"{gid}/4", "auction.closed"] == received(lot, 3)[-1] == received(everything, 3)[-1]
    wait_until(lambda: lot.evaluate("source.readyState === EventSource.CLOSED"), SECONDS_MAX)
    assert everything.evaluate("source.readyState !== EventSource.CLOSED")
    for page in (lot, everything):
        page.context.close()
