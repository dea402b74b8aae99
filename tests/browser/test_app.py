"""The site as an app in a real Chromium: the service worker, and the page that it shows without a connection."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from saleroom.outbox import hooks
from tests.browser.conftest import ARGUMENTS
from tests.browser.people import BrowserVisitor, broken_rules, go_offline, wait_for
from tests.fixtures_house import House, ServeHouse
from tests.needs import need
from tests.notices.api.test_pushes import browsers, given
from tests.notices.push_service import Browser, PushService, push_service
from tests.outbox.mail_server import certificate
from tests.process import wait_until

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
    wait_for(page, "navigator.serviceWorker.controller !== null")
    page.goto(f"/lots/{gid}")
    expect(page.get_by_role("heading", level=1)).to_have_text("A clock")
    ((name, kept),) = page.evaluate(KEPT)
    assert name.startswith("saleroom-")
    assert [] == [address for address in kept if "/assets/" not in address and "service-worker" not in address]

    go_offline(page)
    page.goto(f"/lots/{gid}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Keine Verbindung")
    expect(page.get_by_role("main")).to_contain_text("kein Gebot abgegeben")
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    page.context.set_offline(False)
    expect(page.get_by_role("heading", level=1)).to_have_text("A clock")


CHECKED = """
async (message) => {
  const heard = {}, shown = [], opened = [];
  const registration = { showNotification: async (title, options) => shown.push({ title, ...options }) };
  const clients = { matchAll: async () => [], openWindow: async (address) => opened.push(address) };
  const self = { addEventListener: (name, hear) => { heard[name] = hear; }, registration, clients };
  %s
  const sent = async (name, event) => {
    let done;
    heard[name]({ ...event, waitUntil: (promise) => { done = promise; } });
    await done;
  };
  await sent("push", { data: { json: () => message } });
  await sent("notificationclick", { notification: { close() {}, data: shown[0].data } });
  await sent("notificationclick", { notification: { close() {}, data: { url: "https://elsewhere.example/" } } });
  return [shown, opened];
}"""
"""Runs the script of the worker in a page: a headless browser shows no notifications."""

ALLOWED = """
Object.defineProperty(Notification, "permission", { get: () => "granted" });
Notification.requestPermission = async () => "granted";
const made = { toJSON: () => (%s), unsubscribe: async () => true };
PushManager.prototype.getSubscription = async () => (sessionStorage.made ? made : null);
PushManager.prototype.subscribe = async (options) => {
  if (options.applicationServerKey.length !== 87 || !options.userVisibleOnly) throw new Error("wrong options");
  sessionStorage.made = "1";
  return made;
};
"""
"""A browser that has a push service."""


def test_a_device_shows_messages(enter: Callable[..., BrowserVisitor], mail_house: House) -> None:
    """The button subscribes the browser, which is listed and ends by its button. A message is shown with its words."""
    grace = mail_house.newcomer()
    page = enter(grace, base=mail_house.base, service_workers="allow").page
    page.add_init_script(ALLOWED % json.dumps(given(Browser("grace"))))
    page.goto("/mine/notices")
    page.get_by_role("button", name="Show messages on this device").click()
    expect(page.get_by_text("this device", exact=True)).to_be_visible()
    assert {} == broken_rules(page)
    assert [True] == [one["current"] for one in browsers(grace)]
    page.get_by_role("button", name="Show no more").click()
    expect(page.get_by_role("button", name="Show messages on this device")).to_be_visible()
    assert [] == browsers(grace)
    script = mail_house.stranger.get("/service-worker.js").text
    message = {"title": "You were outbid: A clock", "body": "The price is €20.", "tag": "gid", "url": "/lots/gid"}
    shown, opened = page.evaluate(CHECKED % script, message | {"lang": "en", "dir": "ltr", "at": 0})
    assert [("You were outbid: A clock", "The price is €20.", "gid")] == [
        (s["title"], s["body"], s["tag"]) for s in shown
    ]
    assert [f"{mail_house.base}/lots/gid"] == opened


ACTIVE = "navigator.serviceWorker.getRegistration().then((one) => one?.active?.state === 'activated')"
SHOWN = """async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  const found = await registration.getNotifications();
  return found.map(({ title, body, tag, lang }) => ({ title, body, tag, lang }));
}"""
CLICKED = """async () => {
  const opened = [];
  self.clients.openWindow = async (address) => opened.push(address);
  const [notification] = await self.registration.getNotifications();
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  while (!opened.length) await new Promise((done) => setTimeout(done, 20));
  return [opened, (await self.registration.getNotifications()).length];
}"""
"""A browser lets a worker open a window only after the click of a person: here the address is noted instead."""


def deliver(page: Page, base: str, message: str) -> list[dict[str, str]]:
    """Hand a message to the service worker of an open page, as the browser does once it has decrypted it; return what it shows.

    One that the browser loses, as it may before the worker is quite there, is handed over again.
    """
    wait_for(page, ACTIVE)
    session, known = page.context.new_cdp_session(page), list[dict[str, Any]]()
    session.on("ServiceWorker.workerRegistrationUpdated", lambda told: known.extend(told["registrations"]))
    session.send("ServiceWorker.enable")
    while not known:
        page.wait_for_timeout(20)
    said = {"origin": base, "registrationId": known[-1]["registrationId"], "data": message}
    shown: list[dict[str, str]] = []

    def is_shown() -> bool:
        session.send("ServiceWorker.deliverPushMessage", said)
        page.wait_for_timeout(500)
        shown.extend(page.evaluate(SHOWN))
        return bool(shown)

    wait_until(is_shown)
    return shown


@pytest.fixture
def whole_chromium(chromium: Chromium) -> Iterator[Chromium]:
    """Chromium itself, as its headless shell shows no notifications."""
    program = need("chromium that shows notifications")
    browser = chromium.browser_type.launch(executable_path=program, args=ARGUMENTS)
    yield browser
    browser.close()


def test_a_message_of_the_house_is_shown_and_leads_to_its_lot(
    whole_chromium: Chromium, serve_house: ServeHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a bid over the push service, encrypted, to what Chromium shows; a click closes it, and opens the lot."""
    files = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    monkeypatch.setattr(hooks, "ssl", ssl)  # the authorities of this house, not those that houses of tests share
    with push_service(PushService(), files) as service:
        house = serve_house(web_push="anywhere", mail_sender="house@example.org")
        grace, ben = house.newcomer(), house.newcomer()
        gid = house.user("ada").auction(name="A clock <b>", increment="1")
        visitor = BrowserVisitor(whole_chromium, house.base, locale="de", service_workers="allow")
        page = visitor.page
        page.context.add_cookies([{"name": "saleroom_session", "value": grace.token, "url": house.base}])
        page.context.grant_permissions(["notifications"], origin=house.base)
        device = service.browser("phone")
        page.add_init_script(ALLOWED % json.dumps(given(device, endpoint=f"{service.origin}/send/phone")))
        page.goto("/mine/notices")
        page.get_by_role("button", name="Auf diesem Gerät Nachrichten zeigen").click()
        expect(page.get_by_text("dieses Gerät", exact=True)).to_be_visible()
        grace.bid(gid, amount="100")
        ben.bid(gid, amount="200")
        wait_until(lambda: bool(service.received))
        [shown] = deliver(page, house.base, device.read(service.received[0].body).decode())
        assert ("Sie wurden überboten: A clock <b>", gid, "de") == (shown["title"], shown["tag"], shown["lang"][:2])
        assert "200,00" in shown["body"]
        [worker] = page.context.service_workers
        (opened,), left = worker.evaluate(CLICKED)
        assert 0 == left
        page.goto(opened)
        expect(page.get_by_role("heading", level=1)).to_have_text("A clock <b>")
        visitor.leave()
