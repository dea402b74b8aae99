"""Links with a code, opened by readers who are not logged in yet, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import expect

from saleroom.accounts.domain.rights import Role
from saleroom.admin.users import new_owner_code
from tests.browser.people import BrowserVisitor
from tests.fixtures_house import PASSWORD, House, ServeHouse

Enter = Callable[..., BrowserVisitor]


PLACES = pytest.mark.parametrize("place", ["main", "banner"])
"""The link of the page itself, and that of the header, which comes first by keyboard."""


@PLACES
def test_the_owner_link_leads_through_the_registration(
    enter: Enter, serve_house: ServeHouse, place: Literal["main", "banner"]
) -> None:
    """A newcomer who registers is led back to the page with its code, also after a reload; the code leaves address and tab."""
    house = serve_house()
    page = enter(base=house.base).page
    page.goto(f"/owner#{house.write(new_owner_code)}")
    expect(page).to_have_url(f"{house.base}/owner")
    page.reload()
    page.get_by_role(place).get_by_role("link", name="Register").click()
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Register").click()
    expect(page).to_have_url(f"{house.base}/owner")
    assert {} == page.evaluate("({ ...sessionStorage })")
    page.get_by_role("button", name="Make ada the owner").click()
    expect(page).to_have_url(f"{house.base}/admin/people")


@PLACES
def test_an_invitation_waits_for_the_login(enter: Enter, sqlite_house: House, place: Literal["main", "banner"]) -> None:
    """Who has an account logs in from the page of the invitation, comes back, and takes it with one press."""
    owner, user = sqlite_house.staff(Role.OWNER), sqlite_house.newcomer()
    made = owner.json("POST", "/staff/invitations", json={"role": "clerk"})
    page = enter().page
    page.goto(f"/join#{made['link'].partition('#')[2]}")
    page.get_by_role(place).get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill(user.name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").first.click()
    page.get_by_role("button", name=f"Take it as {user.name}").click()
    expect(page).to_have_url(f"{sqlite_house.base}/admin/people")
