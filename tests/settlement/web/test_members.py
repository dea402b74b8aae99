"""Members on pages, without scripts: marked by paddle, by username and by code, and ended."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, ServeHouse
from tests.settlement.api.test_members import Clubhouse
from tests.settlement.api.test_merging import Guest
from tests.settlement.web.test_rates import card_named
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")
PATH = "/admin/members"


def test_a_clerk_marks_a_paddle_and_ends_it(house: House) -> None:
    """By the paddle in a sale; what cannot be is said beside its field, and the desk says who is a member."""
    club = Clubhouse(house)
    guest, user = Guest(club), house.staff(Role.CLERK)
    clerk = Visitor(house, user)
    page = clerk.page(PATH)
    assert "Code of the consignor" not in page.main, "clerks do not mark consignors"
    page = clerk.sent(page, PATH, sale=club.gid, who="#12", lastDay="2099-12-31")
    assert "Eva Guest" in page.main and "until" in page.main
    assert "2100-01-01T00:00:00.000000Z" == club.manager.json("GET", f"/members/{guest.username}")["memberUntil"]
    for day in ("2020-01-01", "9999-12-31", "soon"):
        assert "fault" in str(
            clerk.sent(page, PATH, sale=club.gid, who="12", lastDay=day).one("small", id="last-day-help")
        )
    assert "You cannot mark yourself" in clerk.sent(page, PATH, sale="", who=user.name).main
    for sale, who in ((club.gid, "77"), ("", "nobody"), ("x" * 99, "12"), (club.gid, "\x00"), ("", "")):
        assert "Done." not in clerk.sent(page, PATH, sale=sale, who=who).main
    unknown = clerk.sent(page, PATH, sale="", who="nobody").one("input", id="who")
    assert ("nobody", "true", "who-help") == tuple(
        unknown[name] for name in ("value", "aria-invalid", "aria-describedby")
    )
    club.sell(guest.paddle)
    desk = Visitor(house, club.cashier).page(f"/admin/desk/{club.gid}?buyer=12")
    assert "(for members)" in desk.main and "Member" in desk.main
    page = clerk.sent(page, PATH, who=guest.username, do="end")
    assert "The membership has ended" in page.main
    assert not club.manager.json("GET", f"/members/{guest.username}")["isMember"]


def test_a_manager_marks_a_consignor_and_tries_the_rates(house: House) -> None:
    """By the code; the card has the scales of members, and its preview shows both."""
    club = Clubhouse(house)
    manager = Visitor(house, club.manager)
    page = manager.sent(manager.page(PATH), PATH, consignor=club.code, lastDay="")
    assert "Erben" in page.main
    assert club.manager.json("GET", f"/consignors/{club.code}/membership")["isMember"]
    path = f"/admin/rates/{card_named(club.manager, club.gid)}"
    page = manager.page(f"{path}?price=100")
    assert "A member pays" in page.main and "A consignor who is a member gets" in page.main
    assert "0.00: 10 %" == page.one("textarea", id="memberPremium").text
    terms = {"premium": "0: 25", "memberPremium": "0: 5", "memberPremium-own": "on", "memberCommission": ""}
    dropped = manager.sent(page, f"{path}/terms", **terms | {"memberCommission": "0: 1"})
    assert "Tick that members have a scale of their own, or empty this field." in dropped.main
    assert "0: 1" == dropped.one("textarea", id="memberCommission").text
    page = manager.sent(page, f"{path}/terms", **terms)
    assert "0.00: 5 %" == page.one("textarea", id="memberPremium").text
    assert "" == page.one("textarea", id="memberCommission").text
    wrong = manager.sent(page, f"{path}/terms", **terms | {"memberPremium": "a lot"})
    assert "true" == wrong.one("textarea", id="memberPremium")["aria-invalid"]


def test_the_last_day_ends_by_the_clock_of_the_house(serve_house: ServeHouse) -> None:
    """In Berlin a day is over an hour before it is in UTC, and two hours in summer; the page says which clock it is."""
    club = Clubhouse(serve_house(time_zone="Europe/Berlin"))
    guest, manager = Guest(club), Visitor(club.house, club.manager)
    page = manager.page(PATH)
    assert "By the clock of the house (Europe/Berlin)." in page.main
    for day, end in (("2099-12-31", "2099-12-31T23:00:00.000000Z"), ("2099-06-30", "2099-06-30T22:00:00.000000Z")):
        manager.sent(page, PATH, sale="", who=guest.username, lastDay=day)
        assert end == club.manager.json("GET", f"/members/{guest.username}")["memberUntil"]
