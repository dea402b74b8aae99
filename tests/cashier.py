"""`python -m tests.cashier`: keys alone close buyers at the cashier's desk in a real browser; keys and seconds per buyer.

The sale has five lots for two buyers, a premium in two tiers, buyers who also sell, and pledges. The buyers pay in cash with
change, by card, partly in cash and the rest by transfer, and by what the house owes them; each leaves with an invoice.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from playwright._impl._api_structures import SetCookieParam
from playwright.sync_api import Page, expect, sync_playwright
from structlog.testing import capture_logs

from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests.browser.conftest import ARGUMENTS
from tests.browser.people import WAIT_MS_MAX, BrowserVisitor
from tests.fixtures_house import House, settings_for
from tests.needs import need
from tests.sales.api.test_block import act
from tests.settlement.api.test_desk import TERMS, Settling

TIERS = {"tiers": [{"above": "0", "percent": "25"}, {"above": "500", "percent": "20"}], "cumulative": True}
NOTE = Decimal(50)
"""The note of the buyers who pay in cash; they hand over as many as it takes."""
LOTS_FOR_TWO = 5
DEAR = 9_000
"""The price of every tenth lot: so that some who also sell get more than they owe."""
PLEDGE, ROOF = "50", {"name": "A new roof", "levels": ["500", "50"]}


class BusySale:
    """A sale whose buyers wait at the desk. Every fifth buyer brought lots to it; every fourth pledged."""

    def __init__(self, house: House, buyers: int) -> None:
        count = buyers * LOTS_FOR_TWO // 2
        self.settling = Settling(house, count)
        self.gid, staff = self.settling.gid, self.settling.sale.staff
        manager = self.settling.manager
        card = manager.json("POST", "/rate-cards", json={"name": f"{self.gid} 2", **TERMS, "premium": TIERS})["card"]
        manager.json("PUT", f"/sales/{self.gid}/rates", json={"card": card})
        self.ways: list[tuple[int, str]] = [(self._buyer(place), self._way(place)) for place in range(buyers)]
        for label in range(1, count + 1):
            price = DEAR if label % 10 == 0 else label * 10
            line = {"labels": [str(label)], "price": str(price), "paddle": self.ways[label % buyers][0], "isSure": True}
            staff.json("POST", f"/sales/{self.gid}/results", json=line)
        staff.json("POST", f"/sales/{self.gid}/lots", json=ROOF)
        act(staff, self.gid, "call", label=str(count + 1))
        act(staff, self.gid, "level", amount=PLEDGE)
        for paddle, _ in self.ways[::4]:
            act(staff, self.gid, "pledge", paddle=paddle, amount=PLEDGE)

    def _way(self, place: int) -> str:
        return "netted" if place % 5 == 4 else ("note", "card", "exact", "both")[place % 4]

    def _buyer(self, place: int) -> int:
        """Admit a buyer; one who also sells gets the lot after the one that they buy first."""
        settling = self.settling
        if self._way(place) != "netted":
            guest = {"personName": f"Guest {place}"}
            made: int = settling.sale.staff.json("POST", f"/sales/{self.gid}/participants", json=guest)["paddle"]
            return made
        user = settling.sale.bidder()
        code = f"{settling.code}{place}"[-16:]
        settling.manager.json("POST", "/consignors", json={"code": code, "name": user.name, "username": user.name})
        change = {"consignor": code}
        settling.manager.json("PATCH", f"/sales/{self.gid}/lots/{place + 1}", json=change)
        paddle: int = user.json("GET", f"/sales/{self.gid}/registration")["paddle"]
        return paddle

    def faults(self) -> list[str]:
        """Return what is wrong after all have been closed: money, papers, numbers."""
        settling = self.settling
        found = [*settling.faults(), *settling.house.write(lambda tx: [*document_faults(tx)])]
        found += [f"#{one['paddle']} owes {one['owed']}" for one in settling.accounts()["buyers"] if D(one["owed"])]
        papers = Counter((one["account"], one["documentKind"]) for one in self.papers())
        for paddle, way in self.ways:
            invoices, receipts = papers[str(paddle), "invoice"], papers[str(paddle), "receipt"]
            if invoices != 1 or receipts > 1 or (not receipts and way != "netted"):
                found.append(f"#{paddle} has {invoices} invoices and {receipts} receipts")
        return found

    def papers(self) -> list[Any]:
        """Return the documents of the sale."""
        path, found = f"/sales/{self.gid}/documents?limit=100", list[Any]()
        while path:
            page = self.settling.cashier.json("GET", path)
            found += [self.settling.cashier.json("GET", f"/documents/{one['document']}") for one in page["documents"]]
            path = f"/sales/{self.gid}/documents?limit=100&cursor={page['next']}" if page.get("next") else ""
        return found


def D(amount: str) -> Decimal:  # noqa: N802  # as other tests call it
    """Return an amount."""
    return Decimal(amount)


class Cashier:
    """A desk whose keys are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = 0

    def type(self, text: str) -> None:
        """Type characters into the field that has the focus."""
        self.keys += len(text)
        self.page.keyboard.type(text)

    def press(self, *keys: str) -> None:
        """Press keys that are no characters; one with Shift is two."""
        for key in keys:
            self.keys += 1 + key.count("+")
            self.page.keyboard.press(key)

    def close(self, paddle: int, way: str) -> None:
        """Close a buyer, as they pay."""
        page = self.page
        self.type(str(paddle))
        self.press("Enter")
        expect(page.get_by_label("Cash", exact=True)).to_be_focused()
        expect(page.get_by_role("heading", name=f"#{paddle} ")).to_be_visible()
        if way == "netted":
            self.press("Shift+Tab", "Enter")
            expect(page.get_by_role("status")).to_contain_text("Done.")
            if page.get_by_text("Nothing is left to pay.").count():
                return
            expect(page.get_by_label("Cash", exact=True)).to_be_focused()
            self.type("*")
        elif way == "note":
            owed = D(str(page.locator("input[name=owed]").first.get_attribute("value")))
            self.type(str((owed / NOTE).to_integral_value(ROUND_CEILING) * NOTE))
        elif way == "exact":
            self.type("*")
        elif way == "card":
            self.press("Tab")
            self.type("*")
        else:
            self.type("10")
            self.press("Tab", "Tab")
            self.type("*")
        self.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Done.")
        expect(page.get_by_label("Paddle, or username")).to_be_focused()


def close_all(page: Page, sale: BusySale) -> list[tuple[str, int, float]]:
    """Close all buyers, one after the other; return the way, the keys and the seconds of each."""
    page.goto(f"/admin/desk/{sale.gid}")
    spent = []
    for paddle, way in sale.ways:
        expect(page.get_by_label("Paddle, or username")).to_be_focused()
        cashier, begun = Cashier(page), time.monotonic()
        cashier.close(paddle, way)
        spent.append((way, cashier.keys, time.monotonic() - begun))
    return spent


def main(count: int) -> int:
    """Close so many buyers in a house of their own, and say what it took."""
    with tempfile.TemporaryDirectory() as folder, capture_logs():
        url = f"sqlite:///{Path(folder) / 'house.db'}"
        asyncio.run(_made(url))
        house = House(settings_for(url))
        house.start()
        sale = BusySale(house, count)
        spent = _closed(sale)
        faults, papers = sale.faults(), Counter(one["documentKind"] for one in sale.papers())
        house.stop()
    said = f"{count} buyers, {papers['invoice']} invoices, {papers['receipt']} receipts"
    lines = [f"{said}; {'all is paid and agrees' if not faults else ''}", *faults]
    for way in sorted({way for way, _, _ in spent}):
        keys = [one for name, one, _ in spent if name == way]
        lines.append(f"{way}: {len(keys)} buyers, keys {statistics.median(keys):g} ({min(keys)} to {max(keys)})")
    keys, seconds = sorted(one for _, one, _ in spent), sorted(took for _, _, took in spent)
    late = count * 9 // 10
    lines.append(f"keys per buyer: median {statistics.median(keys):g}, p90 {keys[late]}, all {sum(keys)}")
    lines.append(
        f"seconds per buyer: median {statistics.median(seconds):.2f}, p90 {seconds[late]:.2f}, all {sum(seconds):.0f}"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if faults else 0


async def _made(url: str) -> None:
    database = Database(url)
    await database.write(migrate)
    await database.close()


def _closed(sale: BusySale) -> list[tuple[str, int, float]]:
    expect.set_options(timeout=WAIT_MS_MAX)
    settling = sale.settling
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=need("chromium"), args=ARGUMENTS)
        visitor = BrowserVisitor(browser, settling.house.base)
        cookie: SetCookieParam = {
            "name": "saleroom_session",
            "value": settling.cashier.token,
            "url": settling.house.base,
        }
        visitor.page.context.add_cookies([cookie])
        spent = close_all(visitor.page, sale)
        visitor.leave()
        browser.close()
    return spent


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m tests.cashier")
    arguments.add_argument("count", nargs="?", type=int, default=60)
    sys.exit(main(arguments.parse_args().count))
