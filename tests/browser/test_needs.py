"""A fund-a-need in a real Chromium: paddles typed by keys alone, the total on the hall screen, a bidder who gives online."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import BrowserVisitor, broken_rules, wait_for_stream
from tests.fixtures_house import House
from tests.sales.live_sale import LiveSale

Enter = Callable[..., BrowserVisitor]
PHONE = {"width": 360, "height": 740}
PRESSED_AS_IT_CHANGES = """() => {
  const level = () => document.querySelector("#pledge-now button").dataset.pledge;
  const before = level();
  document.addEventListener("htmx:after:swap", function press() {
    if (level() === before) return; // another part of the page
    document.removeEventListener("htmx:after:swap", press);
    document.getElementById("pledge").requestSubmit();
  });
}"""
LEVELS = ("5000", "1000", "500", "100")


class Gala(LiveSale):
    """A live sale of one lot and a fund-a-need after it, with ten paddles from 11 on; the fund-a-need is called next."""

    def __init__(self, house: House) -> None:
        super().__init__(house, 1)
        said = {"name": "A new roof for the school", "levels": LEVELS, "goal": "60000", "description": "It leaks."}
        self.staff.json("POST", f"/sales/{self.gid}/lots", json=said)
        for paddle in range(11, 21):
            person = {"personName": f"Guest {paddle}", "bidsBy": "floor", "paddle": paddle}
            self.staff.json("POST", f"/sales/{self.gid}/participants", json=person)

    def need(self) -> Any:
        """What the fund-a-need has come to."""
        return self.staff.json("GET", f"/sales/{self.gid}/lots/2")["need"]


@pytest.fixture
def gala(sqlite_house: House) -> Gala:
    """A gala that has not begun."""
    return Gala(sqlite_house)


def shot(page: Page, name: str) -> None:
    """Keep a picture of the page, where somebody wants to look at them."""
    folder = os.environ.get("SALEROOM_TEST_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def console(enter: Enter, gala: Gala, **options: Any) -> Page:
    """Open the clerk's console."""
    page = enter(gala.staff, **{"service_workers": "block", **options}).page
    page.goto(f"/sales/{gala.gid}/console")
    expect(page.locator("main[data-ready]")).to_be_visible()
    return page


def typed(page: Page, *keys: str) -> None:
    """Press keys one after the other, a text digit by digit."""
    for key in keys:
        for one in [key] if len(key) > 1 and not key.isdigit() else list(key):
            page.keyboard.press(one)


def settled(page: Page) -> None:
    """Wait until the house has answered every act."""
    expect(page.locator("main [data-slot=pending]").first).to_be_hidden()


def test_forty_paddles_are_typed_by_keyboard(enter: Enter, gala: Gala) -> None:
    """Ten paddles at each of four levels and two undone rows, without a pointer; the hall screen shows the total."""
    hall = enter(None).page
    hall.goto(f"/sales/{gala.gid}/screen")
    wait_for_stream(hall)
    page = console(enter, gala)
    typed(page, "l", "2", "Enter")
    settled(page)
    expect(hall.locator(".need .ask")).to_contain_text("€5,000.00")
    for level in range(4):
        if level:
            typed(page, "-")
        for paddle in range(11, 21):
            typed(page, str(paddle), "Enter")
    settled(page)
    expect(page.locator("[data-slot=leader]").first).to_have_text("40 pledges")
    shot(page, "console")
    shot(hall, "hall")
    expect(hall.locator(".need .amount")).to_have_text("€66,000.00")
    assert ("66000.000", 40) == ((need := gala.need())["total"], need["pledges"])
    typed(page, "3", "u", "Control+z")
    settled(page)
    expect(hall.locator(".need .amount")).to_have_text("€60,900.00")
    assert [9, 10, 10, 9] == [one["pledges"] for one in gala.need()["byLevel"]]
    assert {} == broken_rules(page)
    assert {} == broken_rules(hall)
    typed(page, "h")
    settled(page)
    expect(hall.locator(".verdict")).to_have_text("Thank you")
    expect(page.locator("#results li")).to_have_text(["2 A new roof for the school Raised €60,900.00"])
    assert "closed" == gala.need()["stage"]


def test_a_paddle_typed_twice_is_asked_for(enter: Enter, gala: Gala) -> None:
    """A repeated paddle is asked for beside the next ones, which are noted; Y takes it, X drops it; a stranger is refused."""
    page = console(enter, gala)
    typed(page, "l", "2", "Enter")
    settled(page)
    typed(page, "11", "Enter", "11", "Enter", "12", "Enter", "12", "Enter", "13", "Enter")
    expect(page.locator("#repeat-words")).to_have_text("Paddle 11 has given €5,000.00 already. Once more?")
    settled(page)
    assert 3 == gala.need()["pledges"]
    shot(page, "repeat")
    typed(page, "y")
    expect(page.locator("#repeat-words")).to_have_text("Paddle 12 has given €5,000.00 already. Once more?")
    typed(page, "x")
    expect(page.locator("#repeat")).to_be_hidden()
    settled(page)
    assert ["#11", "#13", "#12", "#11"] == [one["bidder"] for one in gala.need()["lastPledges"]]
    typed(page, "99", "Enter")
    expect(page.locator("#trouble")).to_contain_text("Not done: €5,000.00 of paddle 99.")
    expect(page.locator("#trouble")).to_contain_text("Nobody has the paddle 99")
    typed(page, "f")
    expect(page.locator("#trouble")).to_contain_text("This is a fund-a-need.")
    page.get_by_role("button", name="Undo row 4").click()
    settled(page)
    expect(page.locator("[data-slot=leader]").first).to_have_text("3 pledges")


def test_a_bidder_gives_with_one_button(enter: Enter, gala: Gala) -> None:
    """On a phone the button names the level; who presses again is asked; the page says what was given, in German too."""
    user = gala.bidder()
    page = enter(user, viewport=PHONE, color_scheme="dark", locale="de-DE").page
    page.goto(f"/sales/{gala.gid}/live")
    wait_for_stream(page)
    gala.act("call", label="2")
    give = page.locator("#pledge-now button")
    expect(give).to_have_text("5.000,00\xa0€ geben")
    give.click()
    expect(page.locator(".own-result")).to_have_text("Sie haben 5.000,00\xa0€ zugesagt. Vielen Dank!")
    page.locator("#pledge-now button").click()
    page.get_by_role("button", name="noch einmal geben").click()
    expect(page.locator(".own-result")).to_have_text("Sie haben 10.000,00\xa0€ zugesagt. Vielen Dank!")
    page.evaluate(PRESSED_AS_IT_CHANGES)
    gala.act("level")
    expect(give).to_have_text("1.000,00\xa0€ geben")
    expect(page.locator("#said")).to_contain_text("Der Knopf hat sich gerade geändert.")
    assert 2 == gala.need()["pledges"], "a press right after the change gives nothing"
    shot(page, "bidder-german-dark-phone")
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    assert {} == broken_rules(page)
    gala.act("sell")
    expect(give).to_have_count(0)


def test_the_back_office_makes_and_lists_it(enter: Enter, gala: Gala) -> None:
    """A fund-a-need is added by its levels; its faults stand at the fields; the pledges are listed by giver."""
    page = enter(gala.staff, viewport=PHONE).page
    page.goto(f"/admin/sales/{gala.gid}")
    page.get_by_text("Add a fund-a-need", exact=True).click()
    form = page.locator("details form")
    form.get_by_label("Name").fill("A bus")
    form.get_by_label("Levels").fill("100 / 500")
    form.get_by_role("button", name="Add the fund-a-need").click()
    expect(page.locator(".fault")).to_have_text("Enter the levels from high to low, each once.")
    form.get_by_label("Levels").fill("500 / 100")
    form.get_by_role("button", name="Add the fund-a-need").click()
    expect(page.get_by_role("link", name="A bus")).to_be_visible()
    assert {} == broken_rules(page)
    gala.act("call", label="2")
    for paddle in (11, 12):
        gala.act("pledge", paddle=paddle, amount="5000")
    gala.act("undo_pledge", pledge=2)
    page.goto(f"/admin/sales/{gala.gid}/lots/2")
    page.get_by_role("link", name="Who has given what").click()
    expect(page.get_by_role("row", name="#11 Guest 11 €5,000.00")).to_be_visible()
    assert {} == broken_rules(page)
    shot(page, "pledges-phone")
    page.goto(f"/catalogues/{gala.gid}")
    expect(page.locator("#lot-2")).to_contain_text("Raised so far €5,000.00")
    assert {} == broken_rules(page)
    shot(page, "catalogue-phone")
    page.goto(f"/catalogues/{gala.gid}?q=leaks")
    expect(page.locator(".catalogue li h2")).to_have_text(["A new roof for the school"])
