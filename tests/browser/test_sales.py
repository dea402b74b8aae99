"""The catalogue and its editor in a real Chromium: on a phone, by drag and by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from saleroom.accounts.domain.rights import Role
from saleroom.kernel.instants import instant
from tests.browser.people import BrowserVisitor, broken_rules, wait_for_stream
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots

PHONE = {"width": 360, "height": 740}


def labels(page: Page) -> list[str]:
    """The numbers of the lots on the editor's page."""
    found: list[str] = page.eval_on_selector_all(".lot-rows > li", "rows => rows.map(row => row.dataset.label)")
    return found


def test_lots_move_by_drag_and_by_keyboard(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A lot is dragged to another place; Alt with an arrow moves the lot of the focused grip, which keeps the focus."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    page = enter(staff).page
    page.goto(f"/admin/sales/{with_lots(staff, 3)}")
    rows = page.locator(".lot-rows > li")
    rows.nth(2).locator(".grip").drag_to(rows.nth(0))
    expect(rows.nth(0)).to_have_attribute("data-label", "3")
    grip = page.get_by_role("button", name="Move lot 3", exact=True)
    expect(grip).to_be_focused()
    grip.press("Alt+ArrowDown")
    for place, label in enumerate(("1", "3", "2")):  # each look waits, as the page loads itself again after a move
        expect(rows.nth(place)).to_have_attribute("data-label", label)
    expect(grip).to_be_focused()


def test_keys_in_a_row_each_move_the_lot_by_a_place(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """No key is lost, however fast they come; a lot is dragged behind the last one too."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    page = enter(staff).page
    gid = with_lots(staff, 6)

    def stored() -> list[str]:
        return [lot["label"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]

    page.goto(f"/admin/sales/{gid}")
    grip = page.get_by_role("button", name="Move lot 6", exact=True)
    grip.focus()
    for _ in range(4):
        page.keyboard.press("Alt+ArrowUp")
    with page.expect_navigation():
        pass
    expect(grip).to_be_focused()
    assert ["1", "6", "2", "3", "4", "5"] == labels(page) == stored()
    page.keyboard.press("Alt+ArrowUp")
    with page.expect_navigation():
        page.get_by_role(
            "button", name="Move lot 3", exact=True
        ).focus()  # what was moved is sent before another begins
    assert ["6", "1", "2", "3", "4", "5"] == labels(page) == stored()
    rows = page.locator(".lot-rows > li")
    box = rows.nth(5).bounding_box()
    assert box is not None
    with page.expect_navigation():
        rows.nth(0).locator(".grip").drag_to(rows.nth(5), target_position={"x": 20, "y": box["height"] - 4})
    assert ["1", "2", "3", "4", "5", "6"] == labels(page) == stored()


def test_keys_move_a_lot_to_the_end_of_a_page(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """A page has 200 lots: a lot behind the last of them stands before the first of the next page, however it got there."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    page, gid = enter(staff).page, with_lots(staff, 0)
    sheet = "Lot;Title;Starting price\n" + "".join(f"{number};Clock;10\n" for number in range(1, 203))
    files = {"catalogue": ("lots.csv", sheet.encode(), "text/csv")}
    assert 200 == staff.post(f"/sales/{gid}/import", files=files).status_code
    page.goto(f"/admin/sales/{gid}")
    page.get_by_role("button", name="Move lot 198", exact=True).focus()
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Alt+ArrowDown")
    with page.expect_navigation():
        pass
    assert ["199", "200", "198"] == labels(page)[-3:]


def test_a_catalogue_fits_a_phone(enter: Callable[..., BrowserVisitor], sqlite_house: House) -> None:
    """axe finds no fault in the catalogue, its list and its editor, in light and in dark, and none is wider than the screen."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 2, title="An evening of longcase clocks and of other furniture", venue="The town hall")
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"estimateFrom": "12000", "estimateTo": "15000"})
    staff.json("POST", f"/sales/{gid}/publish")
    page = enter(staff, viewport=PHONE, locale="de").page
    for path in (
        "/catalogues",
        f"/catalogues/{gid}",
        f"/catalogues/{gid}?view=list",
        f"/admin/sales/{gid}",
        f"/admin/sales/{gid}/lots/1",
        f"/admin/sales/{gid}/paper",
    ):
        page.goto(path)
        page.wait_for_load_state("load")
        assert {} == broken_rules(page), path
        assert 360 == page.evaluate("document.documentElement.scrollWidth"), path


@pytest.mark.parametrize("view", ["cards", "list"])
def test_the_catalogue_of_a_timed_sale_follows_its_lots(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, view: str
) -> None:
    """Bids, ends that they move, and a pause show without a reload; what the reader leads is marked."""
    staff, bidder = sqlite_house.staff(Role.AUCTIONEER), sqlite_house.newcomer()
    gid = with_lots(staff, 2, startsAt=instant(datetime.now(UTC) + timedelta(seconds=100)))
    staff.json("POST", f"/sales/{gid}/publish")
    page = enter(bidder).page
    page.goto(f"/catalogues/{gid}?view={view}")
    wait_for_stream(page)
    first = page.locator("#lot-1")
    expect(first).to_contain_text("no bids yet")
    end = first.locator("time").last.get_attribute("datetime")
    lot = staff.json("GET", f"/sales/{gid}/lots")["lots"][0]["gid"]
    bidder.json("POST", f"/auctions/{lot}/bids", json={"amount": "20"})
    expect(first).to_contain_text("€20.00")
    expect(first).to_contain_text("You lead")
    expect(first.locator(f'time[datetime="{end}"]')).to_have_count(0)
    staff.json("POST", f"/sales/{gid}/pause")
    expect(first).to_contain_text("Paused")
    assert {} == broken_rules(page)


def test_a_catalogue_is_printed_without_what_is_pressed(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """Paper has the sale and its lots, and no search, no button and no link to other pages."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 2, kind="live", registration="open", description="Viewing on Monday.")
    staff.json("POST", f"/sales/{gid}/publish")
    page = enter(staff).page
    page.goto(f"/catalogues/{gid}?view=paper")
    page.emulate_media(media="print")
    expect(page.locator("main")).to_contain_text("Viewing on Monday.")
    shown = [link for link in page.locator("a, button, input").all() if link.is_visible()]
    assert ["Lot 1", "Lot 2"] == [link.inner_text() for link in shown]
    expect(page.get_by_text("Viewing on Monday.")).to_be_visible()


def test_the_start_of_a_sale_has_seconds_only_if_it_needs_them(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """In the reader's own zone, as without scripts."""
    page = enter(None, locale="de", timezone_id="Europe/Berlin").page
    for starts, shown in (("12:00:00", "14:00 MESZ"), ("12:00:30", "14:00:30 MESZ")):
        staff = sqlite_house.staff(Role.AUCTIONEER)
        gid = with_lots(staff, 1, startsAt=f"2099-05-01T{starts}Z")
        staff.json("POST", f"/sales/{gid}/publish")
        page.goto(f"/catalogues/{gid}")
        expect(page.locator("time[data-planned]").first).to_have_text(f"01.05.2099, {shown}")
