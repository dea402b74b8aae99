"""`python -m tests.evening`: keys alone sell every lot of a sale in a real browser, while others follow and bid online."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.async_api import Browser, Page, async_playwright

from saleroom.accounts.domain.rights import Role
from saleroom.storage.database import Database
from tests.browser.conftest import ARGUMENTS
from tests.fixtures_house import _add_user, _digest, _give_role
from tests.needs import need
from tests.process import ServeProcess

PADDLES = range(101, 121)
SENT = """window.sent = []; let at = 0;
addEventListener('keydown', () => { at = performance.timeOrigin + performance.now(); }, true);
const was = window.fetch;
window.fetch = async (...args) => {
  const answer = await was(...args);
  if (args[1]?.method === 'POST' && answer.ok) answer.clone().json().then((body) => sent.push([at, body.tag]));
  return answer;
};"""
"""Notes for each act when its key was pressed, and the tag of the block after it."""
SEEN = """window.seen = [];
new MutationObserver(() => {
  const tag = document.getElementById('hall-state')?.dataset.tag;
  if (tag && seen.at(-1)?.[1] !== tag) seen.push([performance.timeOrigin + performance.now(), tag]);
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-tag'] });"""
"""Notes when a page shows another state of the block."""


def say(line: str) -> None:
    """Write a line of the answer."""
    sys.stdout.write(f"{line}\n")


class Clerk:
    """A console whose keys are counted."""

    def __init__(self, page: Page, pause: float) -> None:
        self.page = page
        self.pause = pause
        self.keys = 0

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until the house has answered what they do."""
        for key in keys:
            self.keys += 1
            await self.page.keyboard.press(key)
        await self.page.wait_for_function("() => document.querySelector('[data-slot=pending]').hidden")
        await asyncio.sleep(self.pause)


async def read_stream(base: str, path: str, token: str) -> None:
    """Follow the sale as a page does, and drop what comes."""
    host, port = urlsplit(base).hostname, urlsplit(base).port
    reader, writer = await asyncio.open_connection(host, port)
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: saleroom_session={token}\r\n\r\n"
    writer.write(head.encode())
    try:
        while await reader.read(65536):
            pass
    finally:
        writer.close()


async def prepare(house: httpx.AsyncClient, lots: int) -> str:
    """Publish a sale with so many lots and twenty paddles, and return its gid."""
    made = {
        "title": "An evening",
        "kind": "live",
        "names": "paddles",
        "registration": "open",
        "startsAt": "2099-05-01T12:00:00Z",
    }
    gid: str = (await house.post("/sales", json=made)).raise_for_status().json()["gid"]
    for number in range(1, lots + 1):
        lot = {"name": f"Lot number {number}", "startingPrice": "10"}
        (await house.post(f"/sales/{gid}/lots", json=lot)).raise_for_status()
    (await house.post(f"/sales/{gid}/publish")).raise_for_status()
    for paddle in PADDLES:
        someone = {"personName": f"Person {paddle}", "contact": "in the hall", "paddle": paddle}
        (await house.post(f"/sales/{gid}/participants", json=someone)).raise_for_status()
    return gid


async def bid(house: httpx.AsyncClient, gid: str, tokens: list[str], ask: str) -> None:
    """Have all bidders take the ask at once: one gets it, the others are told the next."""
    heads = [{"Authorization": f"Bearer {token}"} for token in tokens]
    await asyncio.gather(*(house.post(f"/auctions/{gid}/bids", json={"amount": ask}, headers=one) for one in heads))


async def sell(house: httpx.AsyncClient, clerk: Clerk, lots: int, online: list[str]) -> list[int]:
    """Sell every lot: the first, third and so on to the hall, the others online. Return the keys of each."""
    keys: list[int] = []
    chance = random.Random(17)  # which paddle bids
    for number in range(lots):
        before = clerk.keys
        await clerk.press("Enter")
        lot = await clerk.page.evaluate("desk.confirmed.block.onBlock")
        if number % 2 and online:
            await bid(house, lot["gid"], online, lot["auction"]["minimumBid"])
            await clerk.page.wait_for_function("() => desk.confirmed.block.onBlock?.auction.currentBid")
            await clerk.press("h")
        else:
            await clerk.press("Space")
            await clerk.press(*str(chance.choice(PADDLES)), "h")
        keys.append(clerk.keys - before)
    return keys


def place(tag: str) -> tuple[str, int]:
    """Return the lot and the version in a tag."""
    gid, version = tag.rsplit("-", 2)[:2]
    return gid, int(version)


def delays(sent: list[list[Any]], seen: list[list[Any]]) -> list[float]:
    """Return for each act the milliseconds until a page showed it, or a later state."""
    found = []
    for at, tag in sent:
        gid, version = place(tag)
        shown = ((when, *place(one)) for when, one in seen if when >= at)
        after = [when - at for when, lot, reached in shown if lot != gid or reached >= version]
        found += after[:1]
    return sorted(found)


def told(name: str, found: list[float]) -> str:
    """Return a row of the table."""
    if not found:
        return f"{name:<24} nothing was seen"
    p50, p99 = (found[min(len(found) - 1, int(len(found) * part))] for part in (0.5, 0.99))
    return f"{name:<24} p50 {p50:6.0f} ms   p99 {p99:6.0f} ms   of {len(found)} acts"


async def watching(browser: Browser, base: str, path: str, token: str, script: str) -> Page:
    """Open a page of the sale with a user's session."""
    context = await browser.new_context(base_url=base, service_workers="block", bypass_csp=True)
    await context.add_cookies([{"name": "saleroom_session", "value": token, "url": base}])
    page = await context.new_page()
    await page.add_init_script(script)
    await page.goto(path)
    return page


async def people(url: str, bidders: int) -> tuple[str, list[str]]:
    """Return the tokens of an auctioneer and of bidders."""
    database = Database(url)
    made = [await database.write(_add_user, f"evening.{number}", _digest()) for number in range(bidders + 1)]
    await database.write(_give_role, "evening.0", Role.AUCTIONEER)
    await database.close()
    return made[0], made[1:]


async def evening(asked: argparse.Namespace, base: str, url: str) -> None:
    """Hold the sale, and print the figures."""
    staff, online = await people(url, asked.bidders)
    heads = {"Authorization": f"Bearer {staff}", "X-Requested-With": "evening"}
    limits = httpx.Limits(max_connections=100)
    async with (
        httpx.AsyncClient(base_url=base, headers=heads, limits=limits, timeout=60) as house,
        async_playwright() as p,
    ):
        gid = await prepare(house, asked.lots)
        for token in online:
            path = f"/sales/{gid}/registration"
            (await house.put(path, headers={"Authorization": f"Bearer {token}"})).raise_for_status()
        browser = await p.chromium.launch(executable_path=need("chromium"), args=ARGUMENTS)
        stream = f"/sales/{gid}/{asked.stream}"
        followers = [asyncio.create_task(read_stream(base, stream, staff)) for _ in range(asked.followers)]
        hall = await watching(browser, base, f"/sales/{gid}/screen", staff, SEEN)
        phone = await watching(browser, base, f"/sales/{gid}/live", online[0] if online else staff, SEEN)
        clerk = Clerk(await watching(browser, base, f"/sales/{gid}/console", staff, SENT), asked.pause)
        await asyncio.sleep(1)
        began = time.monotonic()
        keys = await sell(house, clerk, asked.lots, online)
        seconds = time.monotonic() - began
        await asyncio.sleep(1)
        sent = await clerk.page.evaluate("sent")
        block = (await house.get(f"/sales/{gid}/block")).json()
        say(
            f"{asked.lots} lots, {asked.followers} followers, {asked.bidders} bidders online; lots left: {block['lotsLeft']}"
        )
        say(
            f"{asked.lots * 3600 / seconds:.0f} lots an hour; keys of a lot: {keys[0]} in the hall"
            + (f", {keys[1]} online" if online and len(keys) > 1 else "")
        )
        say(told("key to hall screen", delays(sent, await hall.evaluate("seen"))))
        say(told("key to bidder's page", delays(sent, await phone.evaluate("seen"))))
        for task in followers:
            task.cancel()
        await browser.close()


def main() -> None:
    """Read the options, serve a house, and hold the sale."""
    parser = argparse.ArgumentParser(prog="python -m tests.evening", description=__doc__)
    parser.add_argument("--lots", type=int, default=200)
    parser.add_argument("--followers", type=int, default=500)
    parser.add_argument("--bidders", type=int, default=50, help="who bid online, all at once on every second lot")
    parser.add_argument("--pause", type=float, default=0, help="seconds between the acts of the clerk")
    parser.add_argument("--stream", default="block/live", help="what the followers follow: block/live or events")
    parser.add_argument("--database", help="the URL of an empty PostgreSQL database; without it, a file of SQLite")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = asked.database or f"sqlite:///{folder}/evening.db"
        house = ServeProcess(
            Path(folder), "--database", url, "--workers", str(asked.workers), connections_per_address_max="10000"
        )
        try:
            asyncio.run(evening(asked, house.url, url))
        finally:
            house.terminate()


if __name__ == "__main__":
    main()
