"""Parts that the pages of the back office and of "My saleroom" share, in a real Chromium on the smallest phone."""

from __future__ import annotations

from collections.abc import Callable

from saleroom.accounts.domain.rights import Role
from tests.browser.people import PHONE, BrowserVisitor
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots

BUTTON = "getComputedStyle(document.querySelector('[type=file]'), '::file-selector-button').backgroundColor"
LAID_OUT = """() => {
    const box = (one) => one.getBoundingClientRect();
    const row = document.querySelector(".lot-rows > li");
    const tabs = [...document.querySelectorAll("nav.tabs li")].map(box);
    return {
        words: box(row.querySelector("div")).width / box(row).width,
        summaries: Math.min(...[...document.querySelectorAll("summary")].map((one) => box(one).height)),
        gaps: tabs.slice(1).map((tab, n) => tab.top === tabs[n].top ? Math.round(tab.left - tabs[n].right) : 16),
    };
}"""
INDENTED = """() => {
    const label = [...document.querySelectorAll("label.choice")].find((one) => one.textContent.trim().length > 60);
    const words = document.createRange();
    words.selectNodeContents(label);
    const box = label.querySelector("input").getBoundingClientRect();
    return [...words.getClientRects()].every((line) => line.width === 0 || line.left >= box.left
        && (line.left > box.right || line.right <= box.right));
}"""


def test_the_editor_of_a_sale_on_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A lot's words have most of its row, a fold is as high as a finger needs, and tabs stand side by side."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    page = enter(staff, viewport=PHONE).page
    page.goto(f"/admin/sales/{with_lots(staff, 1)}")
    laid_out = page.evaluate(LAID_OUT)
    assert laid_out["words"] > 0.7
    assert laid_out["summaries"] >= 24
    assert {16} == set(laid_out["gaps"])


def test_file_buttons_have_the_colours_of_the_house(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """The button to choose a file is no stranger among the others, in light and in dark."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 1)
    for scheme, color in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(30, 28, 23)")):
        page = enter(staff, viewport=PHONE, color_scheme=scheme).page
        page.goto(f"/admin/sales/{gid}/import")
        assert color == page.evaluate(BUTTON)


def test_words_beside_a_box_stay_beside_it(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A choice with several lines begins each of them beside its box, not below it."""
    page = enter(sqlite_house.newcomer(), viewport=PHONE).page
    page.goto("/mine/notices")
    assert page.evaluate(INDENTED)
