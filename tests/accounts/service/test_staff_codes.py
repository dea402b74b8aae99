"""A house that asks its staff for one-time codes."""

from __future__ import annotations

from saleroom.accounts.domain.rights import RIGHTS, STAFF_RIGHTS, Right, Role
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.codes import STAFF_NEEDS_CODES
from saleroom.accounts.storage import accounts, second_factors
from saleroom.kernel.errors import MissingRight
from saleroom.storage.database import Database
from tests.accounts.api.test_security import set_up
from tests.bidding.api.answers import refusal
from tests.bidding.service.people import Person, person
from tests.fixtures_database import T0
from tests.fixtures_house import ServeHouse
from tests.site.visitor import Visitor


async def rights_of(database: Database, who: Person, role: Role) -> set[Right]:
    """Return the rights that somebody in this role has; each refusal names the codes if they are what is missing."""
    found = set()
    for right in Right:
        try:
            await database.read(authenticate, who.token, right)
            found.add(right)
        except MissingRight as missing:
            told = missing.facts.get("needs") == "one_time_codes"
            assert told == (role is not Role.MEMBER and right in STAFF_RIGHTS and bool(database._switches))
    return found


async def test_staff_without_codes_are_members(database: Database) -> None:
    """Without codes each role has the rights of a member alone; with codes, and in other houses, those of its own."""
    people = {role: await person(database) for role in Role}
    for role, ada in people.items():
        await database.write(accounts.set_role, ada.account.id, role)
        assert RIGHTS[role] == await rights_of(database, ada, role)
    database.switch_on(STAFF_NEEDS_CODES)
    for role, ada in people.items():
        assert RIGHTS[Role.MEMBER] == await rights_of(database, ada, role)
        await database.write(second_factors.begin, ada.account.id, b"sealed", T0)
        assert RIGHTS[Role.MEMBER] == await rights_of(database, ada, role)
        await database.write(second_factors.confirm, ada.account.id, T0)
        for right in RIGHTS[role]:
            await database.read(authenticate, ada.token, right)
        await database.write(second_factors.remove, ada.account.id)
        assert RIGHTS[Role.MEMBER] == await rights_of(database, ada, role)


def test_staff_is_told(serve_house: ServeHouse) -> None:
    """Staff without codes is told by the API and on the pages what is missing, and has its rights once codes are on."""
    house = serve_house(staff_one_time_codes=True)
    ada = house.user()
    user_id = house.read(lambda tx: authenticate(tx, ada.token, Right.READ).id)
    house.write(accounts.set_role, user_id, Role.OWNER)
    answer = ada.get("/staff/users")
    assert (403, "missing_right") == refusal(answer)
    assert "one_time_codes" == answer.json()["needs"]
    visitor = Visitor(house, ada)
    assert "Until then, you can do" in visitor.page("/mine/security").main
    assert "/mine/security" in visitor.page("/").links
    assert "asks its staff for one-time codes" in visitor.http.get("/admin/people").text
    set_up(ada)
    assert 200 == ada.get("/staff/users").status_code
    assert 200 == visitor.http.get("/admin/people").status_code
    assert "Until then, you can do" not in visitor.page("/mine/security").main
