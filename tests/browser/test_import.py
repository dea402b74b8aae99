"""The import of a catalogue in a real Chromium: on a phone, in the dark, in German, by its two buttons."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, expect

from saleroom.accounts.domain.rights import Role
from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import House
from tests.sales.api.test_importing import make_sale, picture, sheet, zipped


def a_file(name: str, data: bytes) -> FilePayload:
    """Return a file as somebody chooses it."""
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


@pytest.mark.parametrize("locale", ["en", "de"])
def test_files_are_checked_corrected_and_imported_on_one_page(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, locale: str
) -> None:
    """Faults come first, the filter leaves some rows out, and the files stay chosen from the check to the import."""
    staff = sqlite_house.staff(Role.CATALOGUER)
    gid = sqlite_house.write(make_sale, staff.name)
    page = enter(staff, viewport={"width": 360, "height": 740}, locale=locale).page
    page.goto(f"/admin/sales/{gid}/import")
    check, run = page.locator(".import-acts button").all()
    wrong = sheet("1;Clock;100;;", "2;Vase;1.234;;margin")
    page.locator("#catalogue").set_input_files(a_file("lots.csv", wrong))
    check.press("Enter")
    rows = page.locator(".import-rows tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_have_class("fault")
    page.locator("input[name=show][value=new]").check()
    expect(rows.first).to_be_hidden()
    page.locator("input[name=show][value=all]").check()
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/import-{locale}-light.png", full_page=True)
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(500)
        page.screenshot(path=f"{folder}/import-{locale}-dark.png", full_page=True)
    page.locator("#catalogue").set_input_files(a_file("lots.csv", sheet("1;Clock;100;;", "2;Vase;80;;margin")))
    page.locator("#photos").set_input_files(a_file("photos.zip", zipped({"2.jpg": picture(7)})))
    check.click()
    expect(page.locator("#outcome tbody tr.new")).to_have_count(2)
    run.click()
    expect(page.locator("#outcome h3")).to_have_text("Imported" if locale == "en" else "Importiert")
    assert b"2,Vase" in staff.get(f"/sales/{gid}/catalogue.csv").content


@pytest.mark.parametrize("does", ["check", "import"])
def test_without_a_script_the_page_says_the_same(
    enter: Callable[..., BrowserVisitor], sqlite_house: House, does: str
) -> None:
    """A browser without scripts checks and imports too; faults are named in words."""
    staff = sqlite_house.staff(Role.CATALOGUER)
    gid = sqlite_house.write(make_sale, staff.name)
    page = enter(staff, java_script_enabled=False).page
    page.goto(f"/admin/sales/{gid}/import")
    page.locator("#catalogue").set_input_files(a_file("lots.csv", sheet("1;Clock;1.234;;")))
    page.locator(f".import-acts button >> nth={int(does == 'import')}").click()
    expect(page.locator("#outcome")).to_contain_text("This number can be read in two ways.")


def test_a_session_that_ended_is_not_taken_for_a_lost_line(
    enter: Callable[..., BrowserVisitor], sqlite_house: House
) -> None:
    """Without the cookies of a session the page leads to the form to log in, and says nothing of the connection."""
    staff = sqlite_house.staff(Role.CATALOGUER)
    gid = sqlite_house.write(make_sale, staff.name)
    page = enter(staff).page
    page.goto(f"/admin/sales/{gid}/import")
    page.locator("#catalogue").set_input_files(a_file("lots.csv", sheet("1;Clock;100;;")))
    page.context.clear_cookies()
    page.locator(".import-acts button").first.click()
    expect(page.locator("#outcome").get_by_role("link", name="Log in")).to_be_visible()
    expect(page.locator(".import-progress")).to_be_hidden()
