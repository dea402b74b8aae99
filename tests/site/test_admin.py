"""The frame of the back office: each user sees the sections that their role has, and nobody else sees it."""

from collections.abc import Iterator

import pytest

from saleroom.accounts.domain.rights import RIGHTS, STAFF_RIGHTS, Role
from saleroom.accounts.storage.tables import users
from saleroom.site.site import Section
from saleroom.storage.database import Transaction
from tests.fixtures_house import House
from tests.page_routes import page_areas
from tests.site.visitor import PRESENT, Visitor

SECTIONS = [section for area in page_areas() for section in area.sections]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the clients of the visitors."""
    yield
    while PRESENT:
        PRESENT.pop().close()


def test_every_section_needs_a_right_of_staff() -> None:
    """No member can have a section, and each stands below the address of the back office."""
    assert SECTIONS
    assert {section.right for section in SECTIONS} <= set(STAFF_RIGHTS)
    assert all(section.path.startswith("/admin/") for section in SECTIONS)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.path)
def test_a_section_is_for_those_who_have_its_right(sqlite_house: House, section: Section, role: Role) -> None:
    """Anyone who has the right sees the section and the way to it; others get 403, and nothing leads them there."""
    visitor = Visitor(sqlite_house, sqlite_house.staff(role))
    allowed = section.right in RIGHTS[role]
    assert (200 if allowed else 403) == visitor.http.get(section.path).status_code
    assert ("/admin" in visitor.page("/").links) == bool(RIGHTS[role] & {one.right for one in SECTIONS})
    if allowed:
        assert section.path in visitor.page("/admin").links


def test_without_a_section_there_is_no_back_office(sqlite_house: House) -> None:
    """A member gets the page of an unknown address, a stranger the form to log in, which leads back."""
    member = Visitor(sqlite_house, sqlite_house.staff(Role.MEMBER))
    assert 404 == member.http.get("/admin").status_code
    stranger = Visitor(sqlite_house)
    for path in ("/admin", *(section.path for section in SECTIONS)):
        answer = stranger.http.get(path)
        assert (303, f"/login?next={path}") == (answer.status_code, answer.headers["location"])
    assert "/admin" not in stranger.page("/").links


def test_a_role_that_is_taken_away_takes_the_back_office_with_it(sqlite_house: House) -> None:
    """The session of somebody who was staff goes on, without the sections, from the next request on."""
    user = sqlite_house.newcomer()
    visitor = Visitor(sqlite_house, user)

    def become(tx: Transaction, role: Role) -> None:
        tx.execute(users.update().where(users.c.username == user.name).values(role=role.value))

    sqlite_house.write(become, Role.OWNER)
    assert 200 == visitor.http.get(SECTIONS[0].path).status_code
    sqlite_house.write(become, Role.MEMBER)
    assert 403 == visitor.http.get(SECTIONS[0].path).status_code
    assert 404 == visitor.http.get("/admin").status_code


def test_people_are_found_by_name_and_role(sqlite_house: House) -> None:
    """The list takes a part of a name, whatever its case, and a role; nonsense in the address finds nobody or everybody."""
    visitor = Visitor(sqlite_house, sqlite_house.staff(Role.OWNER))
    clerk = sqlite_house.staff(Role.CLERK)
    shown = visitor.page(f"/admin/people?q={clerk.name.upper()}&role=clerk")
    assert clerk.name in [one.text for one in shown.all("a", class_="name")]
    for nobody in (f"q={clerk.name}&role=owner", "q=%25new", "q=_new", "q=%F0%9F%92%A9", "q=%00"):
        assert [] == visitor.page(f"/admin/people?{nobody}").all("a", class_="name"), nobody
    assert 200 == visitor.http.get("/admin/people?role=emperor&after=%00&q=" + "x" * 500).status_code


def test_people_come_page_by_page(sqlite_house: House) -> None:
    """Following the next page shows everybody once, in order."""
    for number in range(60):
        sqlite_house.user(f"paged.{number:02}")
    visitor = Visitor(sqlite_house, sqlite_house.staff(Role.MANAGER))
    seen: list[str] = []
    path: str | None = "/admin/people?q=paged"
    while path is not None:
        page = visitor.page(path)
        seen += [one.text for one in page.all("a", class_="name")]
        path = next((link["href"] for link in page.all("a", rel="next")), None)
    assert [f"paged.{number:02}" for number in range(60)] == seen
