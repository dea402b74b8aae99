"""The owner link: in a house without an owner it makes one owner, once, and only until its end."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from saleroom.accounts.domain.errors import InvalidOwnerLink
from saleroom.accounts.domain.owner_link import LIFETIME, owner_code
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import owner_link
from saleroom.accounts.storage import people
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.admin.users import new_owner_code
from saleroom.storage.database import Database
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock
from tests.fixtures_house import ServeHouse
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def sign(text: str) -> str:
    """Return what stands for a signature."""
    return str(abs(hash(text))).zfill(22)[:22]


@pytest.mark.databases("sqlite", "postgresql")
async def test_of_many_who_open_it_at_once_one_becomes_the_owner(database: Database) -> None:
    """Each waits for the one before, and finds that there is an owner."""
    everyone = [await person(database) for _ in range(6)]
    code = await database.read(owner_link.make, sign)
    assert code is not None
    tries = [database.write(owner_link.take, one.token, code, sign) for one in everyone]
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert 5 == sum(isinstance(one, InvalidOwnerLink) for one in done)
    owners, _ = await database.read(people.page, PeopleFilter(role=Role.OWNER), 9)
    assert 1 == len(owners)
    assert None is await database.read(owner_link.make, sign)


async def test_it_ends_and_cannot_be_made_up(clocked_database: Database, clock: FakeClock) -> None:
    """From its end on, with another end, from another house, or cut off, it makes nobody the owner."""
    database = clocked_database
    ada = await person(database)
    code = await database.read(owner_link.make, sign)
    assert code is not None
    ends, _, signature = code.partition(".")
    other = owner_code(clock() - LIFETIME + timedelta(hours=1), lambda text: sign(f"another {text}"))
    for wrong in (
        "",
        "x",
        code[:-1],
        f"{int(ends) + 1}.{signature}",
        f"{'9' * 11}.{signature}",
        other,
        "\0",
        "1" * 4000,
    ):
        with pytest.raises(InvalidOwnerLink):
            await database.write(owner_link.take, ada.token, wrong, sign)
    clock.advance(LIFETIME.total_seconds() + 1)
    with pytest.raises(InvalidOwnerLink):
        await database.write(owner_link.take, ada.token, code, sign)


@pytest.mark.usefixtures("leave")
def test_it_leads_through_the_login_to_the_back_office(serve_house: ServeHouse) -> None:
    """A stranger is asked to log in first; then the form makes them the owner, and the next one is refused."""
    house = serve_house()
    code = house.write(new_owner_code)
    assert code is not None
    stranger, ada = Visitor(house), Visitor(house, house.user("ada"))
    assert "Log in or register first." in stranger.page("/owner").main
    page = ada.page("/owner")
    refused = ada.send(page, "/owner", code="1790000000." + "x" * 22)
    assert (422, True) == (refused.status_code, "saleroom users owner-link" in refused.text)
    typed = Page(refused).one("input", id="code")
    assert ("1790000000." + "x" * 22, "true") == (typed["value"], typed["aria-invalid"])
    assert "saleroom users owner-link" in Page(refused).one("small", id=typed["aria-describedby"]).text
    answer = ada.send(page, "/owner", code=code)
    assert (303, "/admin") == (answer.status_code, answer.headers["location"])
    assert "/admin/people" in ada.page("/admin").links
    assert 422 == ada.send(page, "/owner", code=code).status_code
    assert "has an owner already" in Visitor(house, house.user("bob")).page("/owner").main
