"""After a sale: what happens now, and the contact, for the winner and the seller of the lot alone."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from saleroom.accounts.domain.contacts import CONTACT_MAX
from tests.fixtures_house import PASSWORD, House, ServeHouse, User
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

SELLERS, WINNERS = "ada@sellers.example <b>", "Call 0171 grace"


def leave_contact(visitor: Visitor, contact: str) -> str:
    """Save a contact by the form, and return what the page says."""
    answer = visitor.send(visitor.page("/mine/contact"), "/mine/contact", contact=contact)
    assert answer.status_code == 200
    return answer.text


def sale(house: House) -> tuple[User, User, User, str]:
    """Sell a lot, and return its seller, its winner, a bidder who lost, and its gid."""
    seller, winner, loser = house.newcomer(), house.newcomer(), house.newcomer()
    gid = seller.auction()
    loser.bid(gid, amount="10")
    winner.bid(gid, amount="20")
    return seller, winner, loser, gid


@pytest.mark.databases("sqlite", "postgresql")
def test_only_the_two_see_how_to_reach_each_other(house: House) -> None:
    """After the sale the winner sees the seller's contact and the seller the winner's; nobody else sees any, anywhere."""
    seller, winner, loser, gid = sale(house)
    leave_contact(Visitor(house, seller), SELLERS)
    leave_contact(Visitor(house, winner), WINNERS)
    people = [Visitor(house, user) for user in (seller, winner, loser, None)]
    before = "".join(one.http.get(f"/lots/{gid}").text for one in people)
    assert "What happens now" not in before
    seller.json("POST", f"/auctions/{gid}/close", json={})
    sees = [[text in one.page(f"/lots/{gid}").main for text in (SELLERS, WINNERS)] for one in people]
    assert [[False, True], [True, False], [False, False], [False, False]] == sees
    assert ["What happens now" in one.page(f"/lots/{gid}").main for one in people] == [True, True, False, False]
    told = [
        *(house.anyone.get(f"/auctions/{gid}{end}").text for end in ("", "/bids", "/ledger")),
        *(user.get(path).text for user in (seller, winner, loser) for path in ("/me", "/me/bids", "/me/auctions")),
        *(one.http.get(path).text for one in people for path in (f"/lots/{gid}/bids", "/mine", "/mine/selling", "/")),
    ]
    assert not any(contact in text for contact in (SELLERS, WINNERS, escape(SELLERS), escape(WINNERS)) for text in told)


@pytest.mark.databases("sqlite", "postgresql")
def test_a_lot_that_is_not_sold_joins_nobody(house: House) -> None:
    """If the reserve is not met, neither side sees the other's contact."""
    seller, bidder = house.newcomer(), house.newcomer()
    for user in (seller, bidder):
        leave_contact(Visitor(house, user), WINNERS)
    gid = seller.auction(reservePrice="90")
    bidder.bid(gid, amount="10")
    seller.json("POST", f"/auctions/{gid}/close", json={})
    assert not any(WINNERS in Visitor(house, user).page(f"/lots/{gid}").main for user in (seller, bidder))


def test_a_seller_reads_that_the_winner_was_erased(house: House) -> None:
    """Nobody waits for a contact that cannot come, or leaves theirs for nobody."""
    seller, winner, _, gid = sale(house)
    seller.json("POST", f"/auctions/{gid}/close", json={})
    assert 204 == winner.http.post("/me/erasure", json={"password": PASSWORD}).status_code
    page = Visitor(house, seller).page(f"/lots/{gid}")
    assert "was erased. The house has no contact" in page.main
    assert f"/mine/contact?next=/lots/{gid}" not in page.links


def test_a_contact_is_changed_and_taken_back(house: House) -> None:
    """A contact can be replaced, and an empty one takes it away; both show at once on the lots that were sold before."""
    seller, winner, _, gid = sale(house)
    seller.json("POST", f"/auctions/{gid}/close", json={})
    own, other = Visitor(house, seller), Visitor(house, winner)
    assert "has not left a contact yet" in other.page(f"/lots/{gid}").main
    assert f"/mine/contact?next=/lots/{gid}" in own.page(f"/lots/{gid}").links
    leave_contact(own, "First\r\nline")
    assert "First line" in other.page(f"/lots/{gid}").main
    assert "First\nline" in own.page("/mine/contact").one("textarea").raw
    leave_contact(own, "Second")
    assert "First" not in other.page(f"/lots/{gid}").main
    assert "Your contact is deleted." in leave_contact(own, "  ")
    assert "Second" not in other.page(f"/lots/{gid}").main


@pytest.mark.parametrize("contact", ["x" * (CONTACT_MAX + 1), "a\x00b", "a\u202eb", "\u3164"])
def test_a_contact_that_cannot_be_shown_is_refused(house: House, contact: str) -> None:
    """A contact that is too long, or has hidden characters, is refused with a reason; the old one stays."""
    visitor = Visitor(house, house.newcomer())
    leave_contact(visitor, "kept")
    answer = visitor.send(visitor.page("/mine/contact"), "/mine/contact", contact=contact)
    assert answer.status_code == 400
    assert 'aria-invalid="true"' in answer.text
    assert "kept" in visitor.page("/mine/contact").one("textarea").raw


def test_a_contact_asks_for_a_login(house: House) -> None:
    """Without a session the form leads to the login; a form of another site is refused."""
    stranger = Visitor(house)
    answer = stranger.http.get("/mine/contact")
    assert (303, "/login?next=/mine/contact") == (answer.status_code, answer.headers["location"])
    assert 403 == Visitor(house, house.newcomer()).http.post("/mine/contact", data={"contact": "x"}).status_code


def test_the_text_of_the_house(serve_house: ServeHouse, tmp_path: Path) -> None:
    """The house's text says what happens after a sale, in the reader's language, to the winner and the seller alone."""
    (tmp_path / "after-sale.md").write_text("# How to pay\n\nBank *account* 12")
    (tmp_path / "after-sale.de.md").write_text("Konto 12")
    shop = serve_house(house_folder=tmp_path)
    seller, winner, loser, gid = sale(shop)
    seller.json("POST", f"/auctions/{gid}/close", json={})
    page = Visitor(shop, winner).page(f"/lots/{gid}")
    assert "How to pay" in page.main
    assert "account" in [e.text for e in page.all("em")]
    assert "Konto 12" in Visitor(shop, seller, **{"Accept-Language": "de"}).page(f"/lots/{gid}").main
    assert "Bank" not in Visitor(shop, loser).page(f"/lots/{gid}").main + Visitor(shop, None).page(f"/lots/{gid}").main
    assert "Bank" in Visitor(shop, winner).http.get(f"/lots/{gid}/box", headers={"HX-Request": "true"}).text
