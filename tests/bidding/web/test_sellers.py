"""Who may offer lots, by the setting `sellers`: over the API, on the pages, in drafts and previews."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service.drafts import find
from saleroom.storage.database import Transaction
from tests.bidding.web.seller import preview, publish
from tests.fixtures_house import House, ServeHouse, User
from tests.site.markup import Page
from tests.site.visitor import Visitor

DRAFT = {"name": "Clock", "startingPrice": "10"}
REFUSED = {"approved": "seller_not_approved", "staff": "only_staff_sells"}


def change(house: House, user: User, act: Callable[[Transaction, int], None]) -> None:
    """Change the row of a user."""

    def found(tx: Transaction) -> None:
        login = accounts.find_login(tx, user.name)
        assert login is not None
        act(tx, login.account.id)

    house.write(found)


def approved(house: House) -> User:
    """Return a new user whom staff has approved as a seller."""
    user = house.newcomer()
    change(house, user, lambda tx, number: accounts.set_seller(tx, number, tx.now()))
    return user


@pytest.mark.parametrize("sellers", REFUSED)
def test_who_may_not_offer_lots_is_refused_everywhere(serve_house: ServeHouse, sellers: str) -> None:
    """Creating a lot, its form, its draft and its preview are 403 with the setting's own code, and nothing is kept."""
    house = serve_house(sellers=sellers)
    member, staff = house.newcomer(), house.staff(Role.CATALOGUER)
    visitor = Visitor(house, member)
    answer = member.post("/auctions", json=DRAFT)
    assert (403, REFUSED[sellers]) == (answer.status_code, answer.json()["code"])
    for path in ("/sell", "/sell/drafts/AAAAAAAAAAAA"):
        shown = visitor.http.get(path)
        assert 403 == shown.status_code
        assert "You may not sell here" in Page(shown).main
    written = {"name": "Clock", "startingPrice": "10", "draft": "B" * 12}
    for path, do in (("/sell", "preview"), ("/sell", "edit"), (f"/sell/drafts/{'B' * 12}", "")):
        form = {name: (None, value.encode()) for name, value in (written | {"do": do}).items()}
        sent = visitor.http.post(path, files=form, headers={"X-Requested-With": "tests"})
        assert 403 == sent.status_code, (path, do)
    assert 0 == len(member.json("GET", "/me/auctions")["auctions"])
    assert None is house.read(find, member.token, "B" * 12)
    assert 201 == staff.post("/auctions", json=DRAFT).status_code
    visitor = Visitor(house, staff)
    assert publish(visitor, preview(visitor))


def test_an_approved_seller_offers_lots(serve_house: ServeHouse) -> None:
    """A seller whom staff has approved offers lots; without the approval only those that are there can be changed."""
    house = serve_house(sellers="approved")
    seller = approved(house)
    visitor = Visitor(house, seller)
    gid, another = publish(visitor, preview(visitor)), preview(visitor)
    change(house, seller, lambda tx, number: accounts.set_seller(tx, number, None))
    answer = visitor.send(another, "/sell", "publish")
    assert 403 == answer.status_code
    assert "In this house only approved sellers offer lots." in Page(answer).main
    assert 1 == len(seller.json("GET", "/me/auctions")["auctions"])
    assert 403 == seller.post("/auctions", json=DRAFT).status_code
    assert 200 == seller.patch(f"/auctions/{gid}", json={"name": "Old clock"}).status_code
    form = visitor.page(f"/sell/{gid}")
    assert "Older clock" in visitor.sent(form, f"/sell/{gid}", "preview", name="Older clock").main
    assert 204 == seller.delete(f"/auctions/{gid}").status_code


def test_only_staff_is_led_to_the_form_where_staff_alone_sells(serve_house: ServeHouse) -> None:
    """In such a house the menu of members and strangers has no link to sell, and an approval counts for nothing."""
    house = serve_house(sellers="staff")
    assert 403 == approved(house).post("/auctions", json=DRAFT).status_code
    links = [
        Visitor(house, who).page("/").all("a", href="/sell")
        for who in (None, house.newcomer(), house.staff(Role.CATALOGUER))
    ]
    assert [False, False, True] == [bool(found) for found in links]


def test_by_default_everyone_sells(sqlite_house: House) -> None:
    """Without the setting anybody who is registered offers lots."""
    assert 201 == sqlite_house.newcomer().post("/auctions", json=DRAFT).status_code
