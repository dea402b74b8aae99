"""The seller's form in real browsers when its session has ended, or a new one has begun in another tab."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import PASSWORD, User
from tests.patience import SECONDS_MAX
from tests.pictures import written
from tests.site.visitor import picture

Enter = Callable[..., BrowserVisitor]
LARGE = (500, 500)
"""A picture of noise, 750 KB: its upload lasts longer than a refusal without reading it."""


def end_session(page: Page, user: User, how: str) -> None:
    """End the session of an open page: in the house, in another tab of the browser, or by the loss of all cookies."""
    if how == "house":
        user.json("DELETE", "/logout")
    elif how == "cookies":
        page.context.clear_cookies()
    else:
        other = page.context.new_page()
        other.goto("/")
        other.get_by_role("button", name="Log out").click()
        expect(other.get_by_role("link", name="Log in")).to_be_visible()
        other.close()


def log_in(page: Page, user: User) -> None:
    """Fill in the form to log in."""
    page.get_by_label("Username").fill(user.name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")


def wait_for_draft(page: Page, photos: int) -> None:
    """Wait until the form is saved with so many photos."""
    deadline = monotonic() + SECONDS_MAX
    while page.request.get(page.url).text().count('class="thumb"') != photos:
        assert monotonic() < deadline, "the form is not saved"
        page.wait_for_timeout(100)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A large picture that goes up as it is."""
    file = tmp_path / "large.png"
    file.write_bytes(written(Image.frombytes("RGB", LARGE, os.urandom(3 * LARGE[0] * LARGE[1])), "PNG"))
    return file


@pytest.mark.parametrize("how", ["house", "tab", "cookies"])
def test_a_photo_after_the_session_says_so_and_the_form_stays(
    enter: Enter, seller: User, tmp_path: Path, large: Path, how: str
) -> None:
    """The refused photo says that the session has ended. The link to log in leads back to the form with all its content."""
    (tmp_path / "red.jpg").write_bytes(picture("red"))
    page = enter(seller).page
    page.goto("/sell")
    page.get_by_label("Name of the lot").fill("Longcase clock")
    page.get_by_label("Add photos").set_input_files(tmp_path / "red.jpg")
    expect(page.locator(".thumb")).to_have_count(1)
    wait_for_draft(page, photos=1)
    end_session(page, seller, how)
    page.get_by_label("Starting price").fill("250")
    page.locator(".more > summary").click()
    page.get_by_label("Steps of your own").check()
    page.get_by_label("Row 1: from the price").fill("7")
    page.get_by_label("Add photos").set_input_files([large, tmp_path / "red.jpg"])
    expect(page.locator(".refused")).to_have_count(2)
    for row in page.locator(".refused").all():
        expect(row).to_contain_text("was not added: you are logged out.")
    expect(page.locator(".kept-words")).to_contain_text("Not saved as a draft: you are logged out.")
    assert {} == broken_rules(page)
    page.locator(".refused").get_by_role("link", name="Log in").first.click()
    log_in(page, seller)
    page.wait_for_url("**/sell/drafts/*")
    expect(page.get_by_label("Starting price")).to_have_value("250")
    expect(page.get_by_label("Name of the lot")).to_have_value("Longcase clock")
    expect(page.get_by_label("Row 1: from the price")).to_have_value("7")
    expect(page.locator(".thumb")).to_have_count(1)
    page.get_by_label("Add photos").set_input_files(tmp_path / "red.jpg")
    wait_for_draft(page, photos=2)
    page.reload()
    expect(page.get_by_label("Starting price")).to_have_value("250")
    expect(page.locator(".thumb")).to_have_count(2)


def test_after_another_login_in_another_tab_the_form_goes_on(enter: Enter, seller: User, tmp_path: Path) -> None:
    """A form from before a new login takes photos, and is saved, as if nothing had happened."""
    (tmp_path / "red.jpg").write_bytes(picture("red"))
    page = enter(seller).page
    page.goto("/sell")
    end_session(page, seller, "tab")
    other = page.context.new_page()
    other.goto("/login")
    log_in(other, seller)
    other.wait_for_url("**/")
    page.get_by_label("Name of the lot").fill("Longcase clock")
    page.get_by_label("Add photos").set_input_files(tmp_path / "red.jpg")
    expect(page.locator(".thumb")).to_have_count(1)
    expect(page.locator(".refused")).to_have_count(0)
    wait_for_draft(page, photos=1)
    page.reload()
    expect(page.get_by_label("Name of the lot")).to_have_value("Longcase clock")
    expect(page.locator(".thumb")).to_have_count(1)


def test_changes_of_a_lot_outlive_the_session(enter: Enter, seller: User) -> None:
    """Changes of a lot that were typed after the session's end are there after the login."""
    gid = seller.auction()
    page = enter(seller).page
    page.goto(f"/sell/{gid}")
    end_session(page, seller, "tab")
    page.get_by_label("Name of the lot").fill("Bracket clock")
    page.locator(".kept-words").get_by_role("link", name="Log in").click()
    log_in(page, seller)
    page.wait_for_url(f"**/sell/{gid}")
    expect(page.get_by_label("Name of the lot")).to_have_value("Bracket clock")
