"""Selling in a real Chromium: photos chosen and dropped, with and without scripts, on a phone and by keyboard."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House, User
from tests.site.visitor import picture

PHONE = {"width": 360, "height": 740}
HOSTILE = """"><script>alert(1)</script><img src=x onerror="alert(1)">'{{ 7*7 }}"""

Browse = Callable[..., Page]


@pytest.fixture
def browse(enter: Callable[..., BrowserVisitor], seller: User) -> Browse:
    """Return a function that opens a page as the seller, in a new browser."""

    def come(path: str = "/sell", **options: Any) -> Page:
        page = enter(seller, **options).page
        page.goto(path)
        return page

    return come


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two pictures, and a file that is not a picture."""
    contents = {"red.jpg": picture("red"), "blue.png": picture("blue", kind="PNG"), "notes.jpg": b"no picture"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in contents]


def fill_in(page: Page, name: str = "Longcase clock", price: str = "100") -> None:
    """Fill in the required fields."""
    page.get_by_label("Name of the lot").fill(name)
    page.get_by_label("Starting price").fill(price)


def go_on(page: Page) -> None:
    """Press the visible button to the preview."""
    page.locator(".actions").get_by_role("button", name="Preview").click()


def publish(page: Page) -> str:
    """Publish the previewed lot, and return its gid."""
    page.get_by_role("button", name="Put it on sale").click()
    page.wait_for_url("**/lots/*")
    return page.url.rpartition("/")[2].removesuffix("?listed")


def thumbs(page: Page) -> Locator:
    """Return the photos of the form."""
    return page.locator(".thumb")


def sources(page: Page) -> list[str]:
    """Return the ids of the photos of the form, in their order."""
    return [str(one.get_attribute("value")) for one in page.locator("input[name=photo]").all()]


def photos_of(seller: User, gid: str) -> list[str]:
    """Return the ids of a lot's photos."""
    return [one["id"] for one in seller.json("GET", f"/auctions/{gid}/photos")["photos"]]


def drop(page: Page, *pictures: bytes) -> None:
    """Drop files onto the place for photos, as a user who drags them there."""
    encoded = [base64.b64encode(one).decode() for one in pictures]
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            files.forEach((data, number) => {
                const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
                transfer.items.add(new File([bytes], `dropped-${number}.jpg`, { type: "image/jpeg" }));
            });
            return transfer;
        }""",
        encoded,
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})


def test_a_lot_with_two_photos_is_on_sale(browse: Browse, seller: User, files: list[Path]) -> None:
    """Two photos chosen at once are uploaded, and appear in the preview and on the published lot."""
    page = browse()
    fill_in(page)
    page.get_by_label("Add photos").set_input_files(files[:2])
    expect(thumbs(page)).to_have_count(2)
    expect(page.locator(".photos .status")).to_have_text("2 of 12 photos")
    expected = sources(page)
    go_on(page)
    expect(page.locator("#lot-photos .views img")).to_have_count(2)
    expect(page.get_by_role("heading", name="Longcase clock")).to_be_visible()
    gid = publish(page)
    expect(page.get_by_role("heading", name="It is on sale. Share this address")).to_be_visible()
    expect(page.locator(".listed code")).to_have_text(f"{page.url.removesuffix('?listed')}")
    assert expected == photos_of(seller, gid)
    page.reload()
    assert all(page.evaluate("[...document.querySelectorAll('.gallery img')].map(one => one.naturalWidth > 0)"))


@pytest.mark.parametrize("scripts", [True, False])
def test_back_from_the_preview_nothing_is_lost(browse: Browse, files: list[Path], scripts: bool) -> None:
    """The browser's Back leads from the preview to the form with name, price, end and photos, and Forward to the preview."""
    page = browse(java_script_enabled=scripts, timezone_id="America/New_York")
    fill_in(page)
    page.locator("#endsAt").fill("2031-07-01T20:00")
    page.get_by_label("Add photos").set_input_files(files[:2])
    if scripts:
        expect(thumbs(page)).to_have_count(2)
    go_on(page)
    expect(page.locator("#lot-photos .views img")).to_have_count(2)
    page.go_back()
    expect(page.get_by_label("Name of the lot")).to_have_value("Longcase clock")
    expect(page.get_by_label("Starting price")).to_have_value("100")
    expect(page.locator("#endsAt")).to_have_value("2031-07-01T20:00")
    expect(thumbs(page)).to_have_count(2)
    page.get_by_label("Name of the lot").fill("Bracket clock")
    go_on(page)
    expect(page.get_by_role("heading", name="Bracket clock")).to_be_visible()
    page.go_back()
    page.go_forward()
    expect(page.get_by_role("heading", name="Bracket clock")).to_be_visible()
    page.get_by_role("button", name="Change something").click()
    expect(page.get_by_label("Name of the lot")).to_have_value("Bracket clock")


def test_a_form_is_saved_while_it_is_written(browse: Browse, files: list[Path]) -> None:
    """A form that was left without any button is a draft with its texts and photos, which a new form offers."""
    page = browse()
    fill_in(page)
    page.get_by_label("Add photos").set_input_files(files[:1])
    expect(page.get_by_text("Saved as a draft.")).to_be_visible()
    expect(thumbs(page)).to_have_count(1)
    page.get_by_label("Starting price").fill("250")
    page.goto("/sell")
    page.get_by_text("You have another draft").click()
    page.get_by_role("link", name="Longcase clock").click()
    expect(page.get_by_label("Starting price")).to_have_value("250")
    expect(thumbs(page)).to_have_count(1)
    page.goto("/mine/selling")
    page.get_by_text("Delete", exact=True).click()
    page.get_by_role("button", name="Yes, delete this draft").click()
    expect(page.get_by_role("link", name="Longcase clock")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1366])
def test_the_preview_shows_the_lot_as_it_will_be(
    browse: Browse, enter: Callable[..., BrowserVisitor], sqlite_house: House, files: list[Path], width: int
) -> None:
    """Each part of the lot has the same size and order in the preview as for a bidder, and the buttons are in view."""
    page = browse(viewport={"width": width, "height": 650})
    fill_in(page)
    page.get_by_label("Description").fill("Oak, about 1780.")
    page.get_by_label("Add photos").set_input_files(files[:2])
    expect(thumbs(page)).to_have_count(2)
    go_on(page)
    page.wait_for_url("**/preview")
    expect(page.get_by_role("button", name="Put it on sale")).to_be_in_viewport()
    sizes = """() => ["#name", "#lot-photos", "#lot-panel", "#lot-box"]
        .map(one => document.querySelector(one).getBoundingClientRect())
        .map(box => [Math.round(box.x), Math.round(box.width)])"""
    expected = page.evaluate(sizes)
    gid = publish(page)
    bidder = enter(sqlite_house.newcomer(), viewport={"width": width, "height": 650}).page
    bidder.goto(f"/lots/{gid}")
    assert expected == bidder.evaluate(sizes)


def test_photos_are_dropped(browse: Browse, seller: User) -> None:
    """Dropped files are uploaded like chosen ones, several at once, in their order."""
    page = browse()
    fill_in(page)
    drop(page, picture("red", (300, 200)), picture("blue", (200, 300)))
    expect(thumbs(page)).to_have_count(2)
    widths = [one.get_attribute("width") for one in page.locator(".thumb img").all()]
    assert ["300", "200"] == widths
    go_on(page)
    assert 2 == len(photos_of(seller, publish(page)))


def test_a_bad_file_is_refused_by_name_and_the_others_stay(browse: Browse, files: list[Path]) -> None:
    """A file that is not a picture is refused at once by its name, and the pictures stay. The message can be dismissed."""
    page = browse()
    fill_in(page)
    page.get_by_label("Add photos").set_input_files(files)
    expect(page.get_by_role("alert")).to_contain_text("notes.jpg: This is not a picture.")
    expect(thumbs(page)).to_have_count(2)
    expect(page.locator(".photos .status")).to_have_text("2 of 12 photos")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".refused")).to_have_count(0)
    go_on(page)
    expect(page.locator("#lot-photos .views img")).to_have_count(2)


def test_no_more_than_twelve_go_up(browse: Browse) -> None:
    """The thirteenth photo is refused before it is sent."""
    page = browse()
    drop(page, *[picture(size=(40, 30))] * 13)
    expect(page.locator(".refused")).to_contain_text("dropped-12.jpg: A lot has at most 12 photos.")
    expect(thumbs(page)).to_have_count(12)


def test_photos_are_moved_by_the_keyboard(browse: Browse, files: list[Path]) -> None:
    """Photos are moved and removed by keyboard, and the focus stays at a photo."""
    page = browse()
    page.get_by_label("Add photos").set_input_files(files[:2])
    expect(thumbs(page)).to_have_count(2)
    first, second = sources(page)
    page.get_by_role("button", name="Move this photo later").first.focus()
    page.keyboard.press("Enter")
    assert [second, first] == sources(page)
    expect(page.get_by_role("button", name="Remove this photo").last).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert [first, second] == sources(page)
    page.get_by_role("button", name="Remove this photo").first.focus()
    page.keyboard.press("Enter")
    assert [second] == sources(page)
    expect(page.get_by_role("button", name="Remove this photo")).to_be_focused()
    page.keyboard.press("Enter")
    assert [] == sources(page)
    expect(page.get_by_label("Add photos")).to_be_focused()


def test_the_form_works_without_scripts(browse: Browse, seller: User, files: list[Path]) -> None:
    """Files are sent with the form and appear in the preview. Times are in UTC and say so. The lot is on sale."""
    page = browse(java_script_enabled=False)
    fill_in(page)
    page.get_by_label("Add photos").set_input_files(files[:2])
    expect(page.get_by_text("In UTC.").first).to_be_visible()
    go_on(page)
    expect(page.locator("#lot-photos .views img")).to_have_count(2)
    assert 2 == len(photos_of(seller, publish(page)))


def test_the_end_is_in_the_zone_of_the_reader(browse: Browse, seller: User) -> None:
    """Eight in the evening means the reader's own time zone. The form to change the lot shows the same hour again."""
    page = browse(timezone_id="America/New_York")
    fill_in(page)
    expect(page.locator("#endsAt-zone")).to_have_text("In your time zone, America/New_York.")
    page.locator("#endsAt").fill("2031-07-01T20:00")
    go_on(page)
    gid = publish(page)
    assert "2031-07-02T00:00:00.000000Z" == seller.json("GET", f"/auctions/{gid}")["endsAt"]
    page.goto(f"/sell/{gid}")
    expect(page.locator("#endsAt")).to_have_value("2031-07-01T20:00")


def test_a_form_sent_by_enter_asks_for_the_preview(browse: Browse, files: list[Path]) -> None:
    """Enter in a field opens the preview, even if photos with their own buttons precede it."""
    page = browse()
    page.get_by_label("Add photos").set_input_files(files[:1])
    expect(thumbs(page)).to_have_count(1)
    fill_in(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your terms in plain words")).to_be_visible()
    expect(page.locator("#lot-photos .views img")).to_have_count(1)


def test_faults_are_told_and_reached_by_the_keyboard(browse: Browse) -> None:
    """The summary gets the focus. Its links lead to the fields, which are described by their faults."""
    page = browse()
    fill_in(page, "", "a lot")
    go_on(page)
    expect(page.locator("#summary")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#startingPrice$"))
    price = page.get_by_label("Starting price")
    expect(price).to_have_value("a lot")
    expect(price).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Tab")


def test_hostile_text_runs_nothing(browse: Browse) -> None:
    """Markup in a name and a description stays text in form, preview and lot."""
    page = browse()
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    fill_in(page, HOSTILE)
    page.get_by_label("Description").fill(HOSTILE)
    go_on(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    publish(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)


def test_a_lot_is_cancelled_with_a_confirmation(browse: Browse, seller: User) -> None:
    """A lot is cancelled only after the confirmation was opened and confirmed."""
    gid = seller.auction()
    page = browse(f"/sell/{gid}")
    expect(page.get_by_role("button", name="Yes, cancel it")).not_to_be_visible()
    page.get_by_text("Cancel the lot").click()
    page.get_by_role("button", name="Yes, cancel it").click()
    page.wait_for_url(f"**/lots/{gid}")
    assert "cancelled" == seller.json("GET", f"/auctions/{gid}")["status"]


def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(
    browse: Browse, sqlite_house: House, seller: User, files: list[Path]
) -> None:
    """On a phone, in both schemes: the full form, its faults, the preview, and a lot that can no longer change."""
    page = browse(viewport=PHONE)

    def judge() -> None:
        page.wait_for_load_state("load")
        assert {} == broken_rules(page), page.url
        assert 360 == page.evaluate("document.documentElement.scrollWidth"), page.url

    page.locator(".more > summary").click()
    page.get_by_label("Steps of your own").check()
    page.get_by_label("Add photos").set_input_files(files)
    expect(page.locator(".refused")).to_have_count(1)
    expect(thumbs(page)).to_have_count(2)
    judge()
    fill_in(page, "W" * 200, "99999999999999999.999")
    page.get_by_label("Reserve price").fill("1")
    go_on(page)
    expect(page.locator("#summary")).to_be_visible()
    judge()
    page.get_by_label("Reserve price").fill("")
    go_on(page)
    expect(page.locator(".preview-bar")).to_be_visible()
    judge()
    page.goto(f"/sell/{seller.auction()}")
    judge()
    gid = seller.auction(name="W" * 200, endsAt=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    sqlite_house.user("grace").bid(gid, amount="20")
    page.goto(f"/sell/{gid}")
    judge()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browse: Browse) -> None:
    """Tab goes through the form in order, and each field and button shows that it has the focus."""
    page = browse()
    page.locator(".more > summary").click()
    wanted = "main :is(a[href], button, input, textarea, summary):not([type=hidden], [tabindex='-1'])"
    expected = page.evaluate(
        """wanted => [...document.querySelectorAll(wanted)].filter(one => one.offsetParent !== null
            && (one.type !== "radio" || one.checked)).map(one => one.outerHTML)""",
        wanted,
    )
    page.locator("main").focus()
    reached: list[str] = []
    while len(reached) < len(expected):
        page.keyboard.press("Tab")
        html = str(page.evaluate("document.activeElement.outerHTML"))
        # A date field has several tab stops.
        if not reached or html != reached[-1]:
            reached.append(html)
        assert page.evaluate(SHOWS_FOCUS), html
    assert expected == reached


SHOWS_FOCUS = """() => {
    const around = [];
    for (let e = document.activeElement; e; e = e.parentElement) around.push(getComputedStyle(e));
    return around.some(style => (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2));
}"""
