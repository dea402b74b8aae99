"""Forms and addresses that no page sends: half-made ones, and texts that no database takes."""

from __future__ import annotations

import re

import pytest

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.page_routes import methods, page_routes
from tests.sales.api.test_needs import gala
from tests.site.visitor import Visitor

NUL = "a\0b"
PLACES = [(method, route.path) for route in page_routes() for method in methods(route) if "{" in route.path]


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_nothing_is_at_an_address_with_a_nul(house: House) -> None:
    """Each page says so, on both databases: PostgreSQL takes no NUL as text."""
    headers = {"X-Requested-With": "a test"}
    for reader in (house.staff(Role.OWNER), None):
        visitor = Visitor(house, reader, **headers)
        for method, path in PLACES:
            answer = visitor.http.request(method, re.sub(r"\{[^}]+\}", "a%00b", path))
            assert 404 == answer.status_code, (method, path, reader)


def test_a_nul_finds_nobody(house: House, staff: User) -> None:
    """In the search for people, and for the one with whom somebody is merged."""
    gid = gala(staff)
    path, visitor = f"/admin/sales/{gid}/people", Visitor(house, staff)
    assert 200 == visitor.http.get(path, params={"q": "Guest 12\0"}).status_code
    one = staff.json("GET", f"/sales/{gid}/participants")["participants"][0]["participant"]
    assert 404 == visitor.send(visitor.page(path), f"{path}/{one}/merger", into=NUL).status_code


def test_a_reason_is_read_as_the_api_reads_it(house: House, staff: User) -> None:
    """Everybody reads the reason of a withdrawal, so it has no control characters, and none that turn its direction."""
    gid = gala(staff)
    path, visitor = f"/admin/sales/{gid}/lots/1", Visitor(house, staff)
    for reason in (NUL, "a\u202eb", " ", "x" * 201):
        assert 400 == visitor.send(visitor.page(path), f"{path}/withdraw", reason=reason).status_code
        assert staff.json("GET", f"/sales/{gid}/lots/1")["withdrawnFor"] is None
    assert 303 == visitor.send(visitor.page(path), f"{path}/withdraw", reason=" It is \r\n broken.").status_code
    assert "It is broken." == staff.json("GET", f"/sales/{gid}/lots/1")["withdrawnFor"]


def test_a_pledge_with_a_key_of_no_page_is_one_pledge(house: House, staff: User) -> None:
    """A key that the page has not made counts for nothing; the pledge is noted, and asked about when it comes again."""
    gid, ada = gala(staff, names="paddles"), house.newcomer()
    ada.json("PUT", f"/sales/{gid}/registration")
    path, visitor = f"/sales/{gid}/live", Visitor(house, ada)
    page = visitor.page(path)
    assert 303 == visitor.send(page, path, key=NUL).status_code
    assert 200 == visitor.send(page, path, key=NUL).status_code
    assert 1 == staff.json("GET", f"/sales/{gid}/block")["onBlock"]["need"]["pledges"]


def test_labels_are_noted_by_a_form_alone(house: House, staff: User) -> None:
    """A body with files, whole or not, notes nothing: the page says that the labels have changed."""
    path, visitor = f"/admin/sales/{gala(staff)}/paper/printed", Visitor(house, staff)
    headers = {"X-Requested-With": "a test", "Content-Type": "multipart/form-data; boundary=x"}
    answer = visitor.http.post(path, content=b"{}", headers=headers)
    assert (303, True) == (answer.status_code, "changed=1" in answer.headers["location"])
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    assert 400 == visitor.http.post(path, content=b"a=\xff", headers=headers).status_code
