"""The viewer of a lot's photos in a real browser: it turns, zooms and closes, and keeps the focus."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import User
from tests.pictures import plain
from tests.process import wait_until

Open = Callable[..., Page]
PHOTOS = 3


@pytest.fixture
def open_lot(enter: Callable[..., BrowserVisitor], seller: User) -> Open:
    """Return a function that opens a lot with three photos in a new browser."""
    gid = seller.auction(name="Clock")
    sent = [
        seller.post("/photos", content=plain((1600, 900 + n)), headers={"Content-Type": "image/png"})
        for n in range(PHOTOS)
    ]
    seller.request("PUT", f"/auctions/{gid}/photos", json={"photos": [answer.json()["id"] for answer in sent]})

    def another(**options: object) -> Page:
        page = enter(**options).page
        page.goto(f"/lots/{gid}")
        return page

    return another


def shows(page: Page, number: int) -> None:
    """Wait until the viewer shows this photo, and only it."""
    expect(page.locator(".viewer .place")).to_have_text(f"{number} / {PHOTOS}")
    expect(page.locator(".viewer img").nth(number - 1)).to_be_in_viewport(ratio=0.9)
    expect(page.locator(".viewer img").nth(number % PHOTOS)).not_to_be_in_viewport()


def span(photo: Locator) -> tuple[float, float]:
    """Return where a photo begins, from the left, and how wide it is."""
    box = photo.bounding_box()
    assert box is not None
    return box["x"], box["width"]


def test_the_keyboard_turns_zooms_and_closes(open_lot: Open) -> None:
    """Enter opens a photo, arrows turn, + and - zoom, Tab stays inside, and Escape leads back to the photo shown last."""
    page = open_lot()
    page.locator(".views a").first.press("Enter")
    viewer = page.get_by_role("dialog", name="Photos")
    shows(page, 1)
    expect(page.get_by_role("button", name="Previous photo")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    shows(page, 2)
    page.keyboard.press("ArrowLeft")
    shows(page, 1)
    page.keyboard.press("End")
    shows(page, 3)
    page.keyboard.press("ArrowRight")
    shows(page, 3)
    photo = viewer.locator("img").nth(2)
    width = span(photo)[1]
    page.keyboard.press("+")
    wait_until(lambda: span(photo)[1] == 2 * width)
    left, _ = span(photo)
    page.keyboard.press("ArrowRight")
    wait_until(lambda: span(photo)[0] < left)
    page.keyboard.press("-")
    wait_until(lambda: span(photo)[1] == width)
    for key in ("Tab", "Shift+Tab"):
        for _ in range(10):
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.closest('.viewer') !== null")
    page.keyboard.press("Escape")
    expect(viewer).to_have_count(0)
    expect(page.locator(".views a").nth(2)).to_be_focused()
    assert page.url.split("/")[3] == "lots"


def test_the_mouse_turns_zooms_and_closes(open_lot: Open) -> None:
    """A click on a photo opens it, a second one zooms in where it was, and the buttons do all that the keys do."""
    page = open_lot(viewport={"width": 1366, "height": 650})
    page.locator(".views a").first.click()
    shows(page, 1)
    page.get_by_role("button", name="Next photo").click()
    shows(page, 2)
    page.mouse.click(300, 300)
    expect(page.get_by_role("button", name="Zoom out")).to_be_enabled()
    frame = page.locator(".viewer li").nth(1)
    assert [300, 300] == frame.evaluate("e => [e.scrollLeft, e.scrollTop]")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_role("button", name="Zoom in")).to_be_disabled()
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".viewer")).to_have_count(0)


def test_a_swipe_turns(open_lot: Open) -> None:
    """On a phone a swipe to the left shows the next photo."""
    page = open_lot(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator(".views a").first.tap()
    shows(page, 1)
    finger = page.context.new_cdp_session(page)
    for x in (330, *range(320, 40, -20)):
        kind = "touchStart" if x == 330 else "touchMove"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": 420}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    shows(page, 2)


def test_without_scripts_a_photo_is_a_link(open_lot: Open) -> None:
    """Without JavaScript a photo leads to the picture itself."""
    page = open_lot(java_script_enabled=False)
    address = page.locator(".views a").first.get_attribute("href")
    assert address is not None
    assert "image/webp" == page.request.get(address).headers["content-type"]


def test_axe_finds_nothing(open_lot: Open) -> None:
    """axe finds no fault in the viewer, with a whole photo and with a part of it."""
    page = open_lot()
    page.locator(".views a").first.click()
    shows(page, 1)
    found = [broken_rules(page)]
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Zoom out")).to_be_enabled()
    assert [{}, {}] == [*found, broken_rules(page)]
