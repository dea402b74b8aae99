"""`python -m tests.cashier`: keys alone close buyers at the cashier's desk in a real browser; keys and seconds per buyer."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright._impl._api_structures import SetCookieParam
from playwright.sync_api import Page, Playwright, expect, sync_playwright
from structlog.testing import capture_logs

from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests.browser.conftest import ARGUMENTS
from tests.browser.people import WAIT_MS_MAX, BrowserVisitor
from tests.fixtures_house import House, settings_for
from tests.needs import need
from tests.settlement.api.test_desk import Settling

DUE = "14.88"
"""What a lot for 10 costs by the rate card of the sale."""


class Cashier:
    """A desk whose keys are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = 0

    def type(self, text: str) -> None:
        """Type characters into the field that has the focus."""
        self.keys += len(text)
        self.page.keyboard.type(text)

    def press(self, key: str) -> None:
        """Press a key that is no character."""
        self.keys += 1
        self.page.keyboard.press(key)

    def close(self, paddle: int, way: str) -> None:
        """Close a buyer: by a note with change, by card, or in parts by both."""
        self.type(str(paddle))
        self.press("Enter")
        expect(self.page.get_by_label("Cash")).to_be_focused()
        if way == "note":
            self.type("20")
        elif way == "card":
            self.press("Tab")
            self.type(DUE)
        else:
            self.type("10")
            self.press("Tab")
            self.type("4.88")
        self.press("Enter")
        expect(self.page.get_by_role("status")).to_contain_text("Done.")
        expect(self.page.get_by_label("Paddle, or username")).to_be_focused()


WAYS = ("note", "card", "both")


def close_all(page: Page, gid: str, paddles: list[int]) -> list[tuple[int, float]]:
    """Close all buyers, one after the other; return the keys and the seconds of each."""
    page.goto(f"/admin/desk/{gid}")
    expect(page.get_by_label("Paddle, or username")).to_be_focused()
    spent = []
    for place, paddle in enumerate(paddles):
        cashier, begun = Cashier(page), time.monotonic()
        cashier.close(paddle, WAYS[place % len(WAYS)])
        spent.append((cashier.keys, time.monotonic() - begun))
    return spent


def sold(house: House, count: int) -> tuple[Settling, list[int]]:
    """Sell a lot to each of so many paddles."""
    settling = Settling(house, count)
    paddles = [settling.bidder() for _ in range(count)]
    for label, paddle in enumerate(paddles, 1):
        line = {"labels": [str(label)], "price": "10", "paddle": paddle}
        settling.sale.staff.json("POST", f"/sales/{settling.gid}/results", json=line)
    return settling, paddles


def main(count: int) -> None:
    """Close so many buyers in a house of their own, and say what it took."""
    with tempfile.TemporaryDirectory() as folder, capture_logs():
        url = f"sqlite:///{Path(folder) / 'house.db'}"
        asyncio.run(_made(url))
        house = House(settings_for(url))
        house.start()
        settling, paddles = sold(house, count)
        with sync_playwright() as playwright:
            spent = _closed(playwright, settling, paddles)
        left = {one["owed"] for one in settling.accounts()["buyers"]}
        receipts = settling.cashier.json("GET", f"/sales/{settling.gid}/documents?limit=100")["documents"]
        faults = settling.faults()
        house.stop()
    keys, seconds = [one for one, _ in spent], sorted(took for _, took in spent)
    sys.stdout.write(
        f"{count} buyers, {len(receipts)} receipts, left to pay: {', '.join(sorted(left))}; faults: {faults}\n"
    )
    sys.stdout.write(f"keys per buyer: {statistics.mean(keys):.1f} ({min(keys)} to {max(keys)})\n")
    middle, late = statistics.median(seconds), seconds[len(seconds) * 95 // 100]
    sys.stdout.write(f"seconds per buyer: median {middle:.2f}, 95 of 100 within {late:.2f}, all {sum(seconds):.0f}\n")


async def _made(url: str) -> None:
    database = Database(url)
    await database.write(migrate)
    await database.close()


def _closed(playwright: Playwright, settling: Settling, paddles: list[int]) -> list[tuple[int, float]]:
    expect.set_options(timeout=WAIT_MS_MAX)
    browser = playwright.chromium.launch(executable_path=need("chromium"), args=ARGUMENTS)
    visitor = BrowserVisitor(browser, settling.house.base)
    cookie: SetCookieParam = {"name": "saleroom_session", "value": settling.cashier.token, "url": settling.house.base}
    visitor.page.context.add_cookies([cookie])
    spent = close_all(visitor.page, settling.gid, paddles)
    visitor.leave()
    browser.close()
    return spent


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m tests.cashier")
    arguments.add_argument("count", nargs="?", type=int, default=60)
    main(arguments.parse_args().count)
