"""The site as an app in a real Chromium: the service worker, and the page that it shows without a connection."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House

KEPT = """async () => {
  const addresses = async (name) => (await (await caches.open(name)).keys()).map((one) => one.url);
  return Promise.all((await caches.keys()).map(async (name) => [name, await addresses(name)]));
}"""


def test_without_a_connection_there_is_a_page_that_says_so(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """The worker shows it in the language of the last page, and that page again with the connection. It keeps no page else."""
    grace = sqlite_house.user("grace")
    gid = grace.auction(name="A clock")
    page = enter(grace, locale="de", viewport={"width": 360, "height": 740}, service_workers="allow").page
    page.goto("/mine")
    page.evaluate("navigator.serviceWorker.ready")
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    page.goto(f"/lots/{gid}")
    expect(page.get_by_role("heading", level=1)).to_have_text("A clock")
    ((name, kept),) = page.evaluate(KEPT)
    assert name.startswith("saleroom-")
    assert [] == [address for address in kept if "/assets/" not in address and "service-worker" not in address]

    page.context.set_offline(True)
    page.goto(f"/lots/{gid}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Keine Verbindung")
    expect(page.get_by_role("main")).to_contain_text("kein Gebot abgegeben")
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.context.set_offline(False)
    expect(page.get_by_role("heading", level=1)).to_have_text("A clock")
