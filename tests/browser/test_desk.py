"""The cashier's desk and rate cards in a real Chromium: a buyer is closed by keyboard alone, and the pages fit a phone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests import cashier
from tests.browser.people import BrowserVisitor, fits_a_phone
from tests.fixtures_house import House
from tests.process import wait_until
from tests.settlement.api.test_desk import Settling


def test_a_cashier_closes_buyers_by_keyboard(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """Paddle, Enter, cash, Enter: the change is said, and the field of the next paddle has the focus."""
    settling = Settling(sqlite_house, 2)
    paddles = [settling.bidder(), settling.bidder()]
    for paddle in paddles:
        settling.sell(paddle)
    page = enter(settling.cashier).page
    page.goto(f"/admin/desk/{settling.gid}")
    for paddle in paddles:
        expect(page.get_by_label("Paddle, or username")).to_be_focused()
        page.keyboard.type(str(paddle))
        page.keyboard.press("Enter")
        expect(page.get_by_label("Cash")).to_be_focused()
        page.keyboard.type("20")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Change: €5.12.")
    assert ["0.000", "0.000"] == [settling.desk(paddle)["owed"] for paddle in paddles]


def test_a_cashier_closes_buyers_in_every_way(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """As `python -m tests.cashier` does: cash, card, in parts, netted; each leaves with one invoice, and few keys do it."""
    sale = cashier.BusySale(sqlite_house, 5)
    spent = cashier.close_all(enter(sale.settling.cashier).page, sale)
    assert [] == sale.faults()
    assert {"note": 10, "card": 7, "exact": 6, "both": 10, "netted": 9} == {way: keys for way, keys, _ in spent}


def test_hasty_keys_pay_once(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A second Enter pays neither twice nor for somebody who was only looked up, nor does a paddle become an amount."""
    settling = Settling(sqlite_house, 2)
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.sell(second)
    page = enter(settling.cashier).page
    cash, paddle = page.get_by_label("Cash", exact=True), page.get_by_label("Paddle, or username")
    page.goto(f"/admin/desk/{settling.gid}")
    expect(paddle).to_be_focused()
    page.keyboard.type(str(first))
    page.keyboard.press("Enter")
    expect(cash).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Please fill this in.")).to_be_visible()
    expect(cash).to_be_focused()  # the browser moves the focus there after the page is shown
    assert [] == settling.desk(first)["money"]
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Done.")
    expect(paddle).to_be_focused()  # although 10.88 are left
    page.keyboard.press("Enter")
    page.keyboard.type(str(second))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"#{second} ")).to_be_visible()
    expect(cash).to_be_focused()
    page.keyboard.type("*")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    # The second one sends the form again, or does nothing on the next page: that depends on how fast the answer came.
    wait_until(lambda: bool(settling.desk(second)["money"]))
    page.wait_for_load_state()
    assert [["4.000"], ["14.880"]] == [[one["moved"] for one in settling.desk(who)["money"]] for who in (first, second)]


def test_keys_before_a_slow_answer_change_nothing(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """The answer waits until all keys are typed: one form is sent, and its change is said, but not again by a reload."""
    settling = Settling(sqlite_house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    page, held = enter(settling.cashier).page, list[Route]()
    page.route("**/payments", lambda route: held.append(route))  # noqa: PLW0108  # Playwright takes no built-in
    page.goto(f"/admin/desk/{settling.gid}?buyer={paddle}")
    expect(page.get_by_label("Cash", exact=True)).to_be_focused()
    page.keyboard.type("20")
    with page.expect_request("**/payments"):
        page.keyboard.press("Enter")
    page.keyboard.type("101")
    page.keyboard.press("Enter")
    held[0].continue_()
    expect(page.get_by_role("status")).to_contain_text("Change: €5.12.")
    assert (1, ["14.880"]) == (len(held), [each["moved"] for each in settling.desk(paddle)["money"]])
    page.wait_for_url(lambda address: "change=" not in address)  # the script takes what was said out of the address
    page.reload()
    expect(page.get_by_text("Nothing is left to pay.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_count(0)


def test_the_pages_fit_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """axe finds no fault on a page, in light and in dark, and in neither language is one wider than the screen."""
    settling = Settling(sqlite_house, 1)
    buyer = settling.sale.bidder()
    paddle = buyer.json("GET", f"/sales/{settling.gid}/registration")["paddle"]
    settling.sell(paddle)
    settling.pay(paddle, ("card", "5"))
    issued = [
        settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=sent)["document"]
        for sent in (
            {"documentKind": "invoice", "paddle": paddle},
            {"documentKind": "statement", "consignor": settling.code},
        )
    ]
    [card] = [
        one for one in settling.manager.json("GET", "/rate-cards")["rateCards"] if one["cardName"] == settling.gid
    ]
    desk = f"/admin/desk/{settling.gid}"
    cashier, bidder, manager = (enter(one).page for one in (settling.cashier, buyer, settling.manager))
    for page, path in (
        (cashier, "/admin/desk"),
        (cashier, f"{desk}?buyer={paddle}"),
        (cashier, f"{desk}/accounts"),
        (cashier, f"{desk}/documents"),
        (cashier, f"/admin/documents/{issued[0]}"),
        (cashier, f"/admin/documents/{issued[1]}"),
        (bidder, "/mine/documents"),
        (bidder, f"/mine/documents/{issued[0]}"),
        (cashier, f"{desk}/statements/{settling.code}"),
        (manager, "/admin/rates"),
        (manager, f"/admin/rates/{card['card']}?price=100"),
    ):
        fits_a_phone(page, path)
