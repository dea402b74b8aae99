"""Reports, bank statements, overdue invoices and the total of the evening in a real Chromium: the pages fit a phone."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from saleroom.sales.web import hall
from tests.browser.people import BrowserVisitor, fits_a_phone, go_offline
from tests.fixtures_house import House
from tests.settlement.api.test_bank import Banking
from tests.settlement.camt import credit, statement
from tests.settlement.late import issue_late

LATE_MS = 60_000


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """axe finds no fault on a page, in light and in dark, and in neither language is one wider than the screen."""
    banking = Banking(sqlite_house, 2)
    paddle = banking.bidder()
    banking.sell(paddle, "1000")
    banking.sale.act("call")
    banking.sale.act("pass")
    invoice = issue_late(sqlite_house.settings, banking.cashier.token, banking.gid, paddle, days=20)
    number, mark = invoice["documentNumber"], secrets.token_hex(8)
    banking.send(statement(credit("20.00", f"{number} {mark}"), credit("3.00", mark)))
    desk = f"/admin/desk/{banking.gid}"
    taxes = "/admin/taxes?firstDay=2020-01-01&lastDay=2099-12-31"
    page = enter(banking.manager).page
    for path in (
        f"{desk}/report",
        taxes,
        "/admin/bank",
        "/admin/overdue",
        f"{desk}/pickup",
        f"{desk}/offers",
        "/mine/offers",
        f"/sales/{banking.gid}/total",
    ):
        fits_a_phone(page, path)


def test_the_total_says_when_the_net_is_cut(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old figures are said to be old, until the house answers again. The page asks often, so that they are old soon."""
    monkeypatch.setattr(hall, "REFRESH_SECONDS", 1)
    banking = Banking(sqlite_house, 1)
    page = enter(banking.cashier).page
    page.goto(f"/sales/{banking.gid}/total")
    expect(page.locator("#offline")).to_be_hidden()
    go_offline(page)
    expect(page.locator("#offline")).to_be_visible(timeout=LATE_MS)
    expect(page.locator("#offline")).to_contain_text("The connection was lost.")
    page.context.set_offline(False)
    expect(page.locator("#offline")).to_be_hidden(timeout=LATE_MS)
