"""The page on which staff void bids, take a lot down and cancel its sale; and what others then see."""

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.bidding.web import photos
from saleroom.site.assets import FOREVER
from tests.bidding.api.test_photos import add_photos, arrange
from tests.bidding.web.seller import HOSTILE, Come
from tests.fixtures_house import House, User

SLIP = "A slip of the hand."


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_staff_void_a_bid(come: Come, house: House, seller: User, staff: User) -> None:
    """From the page of the lot staff go to the bids and void one; its bidder reads why, and who leads."""
    gid, bob = seller.auction(), house.newcomer()
    house.user("cyd").bid(gid, amount=20)
    bob.bid(gid, amount=9000)
    visitor = come(staff)
    assert f'href="/lots/{gid}/moderate"' in visitor.http.get(f"/lots/{gid}").text
    form = visitor.page(f"/lots/{gid}/moderate")
    answer = visitor.send(form, f"/lots/{gid}/void", bid="3", reason=SLIP)
    assert (303, f"/lots/{gid}/moderate") == (answer.status_code, answer.headers["location"])
    page = come(bob).http.get(f"/lots/{gid}").text
    assert "The house has voided your bid." in page
    assert SLIP in page
    assert "cyd" in page
    assert "Your bid was voided" in come(bob).http.get("/mine").text
    assert "<s>" in come(house.user("cyd")).http.get(f"/lots/{gid}/bids").text


def test_a_reason_is_asked_for_and_shown_as_text(come: Come, house: House, seller: User, staff: User) -> None:
    """Without a reason the form comes back with the fault; a hostile reason stays text."""
    gid = seller.auction()
    house.user("cyd").bid(gid, amount=20)
    visitor = come(staff)
    form = visitor.page(f"/lots/{gid}/moderate")
    refused = visitor.send(form, f"/lots/{gid}/void", bid="2", reason=" ")
    assert 400 == refused.status_code
    assert 'id="void-2-fault"' in refused.text
    assert 303 == visitor.send(form, f"/lots/{gid}/void", bid="2", reason=HOSTILE).status_code
    shown = come(house.user("cyd")).http.get(f"/lots/{gid}").text
    assert "<script>alert(1)" not in shown
    again = visitor.send(form, f"/lots/{gid}/void", bid="2", reason=SLIP)
    assert 409 == again.status_code
    assert "This bid has been voided already." in again.text


def test_staff_take_a_lot_down_and_show_it_again(come: Come, house: House, seller: User, staff: User) -> None:
    """Taken down, its page is 410 for others and says so; its seller reads the reason; then it is there again."""
    gid = seller.auction(name="Stolen clock")
    visitor = come(staff)
    form = visitor.page(f"/lots/{gid}/moderate")
    assert 303 == visitor.send(form, f"/lots/{gid}/hide", reason="It may be stolen.").status_code
    for path in ("", "/screen", "/bids", "/box"):
        gone = come(house.user("cyd")).http.get(f"/lots/{gid}{path}", headers={"Accept": "text/html"})
        assert 410 == gone.status_code, path
        assert "Stolen clock" not in gone.text
    assert "This lot was taken down" in come(house.user("cyd")).http.get(f"/lots/{gid}").text
    assert "Stolen clock" not in come(house.user("cyd")).http.get("/?q=stolen").text
    assert "It may be stolen." in come(seller).http.get(f"/lots/{gid}").text
    assert "It may be stolen." in come(seller).http.get("/mine/selling").text
    assert 303 == visitor.send(visitor.page(f"/lots/{gid}/moderate"), f"/lots/{gid}/show").status_code
    assert "Stolen clock" in come(house.user("cyd")).http.get(f"/lots/{gid}").text


def test_staff_take_a_lot_down_that_is_over(come: Come, house: House, seller: User, staff: User) -> None:
    """Its page is 410 for others, its photos are gone, and feeds and results have it no more; its winner still reads it."""
    gid, bob, cyd = seller.auction(name="Forged teapot"), house.newcomer(), house.newcomer()
    bob.bid(gid, amount=20)
    assert 200 == seller.post(f"/auctions/{gid}/close", json={}).status_code
    visitor = come(staff)
    form = visitor.page(f"/lots/{gid}/moderate")
    assert [f"/lots/{gid}/hide"] == [one["action"] for one in form.all("form") if "/lots/" in one["action"]]
    assert 303 == visitor.send(form, f"/lots/{gid}/hide", reason="It may be stolen.").status_code
    for path in ("", "/screen", "/bids", "/box"):
        gone = come(cyd).http.get(f"/lots/{gid}{path}", headers={"Accept": "text/html"})
        assert (410, False) == (gone.status_code, "Forged teapot" in gone.text), path
    for path in ("/?status=over&q=forged", "/results.csv", "/lots.atom", "/lots.ics"):
        assert "Forged teapot" not in come(cyd).http.get(path).text, path
    won = come(bob)
    for path in (f"/lots/{gid}", "/mine", f"/lots/{gid}/receipts"):
        assert "Forged teapot" in won.http.get(path).text, path
    assert "It may be stolen." not in won.http.get(f"/lots/{gid}").text
    assert "It may be stolen." in come(seller).http.get(f"/lots/{gid}").text
    assert [410, 200] == [one.get(f"/auctions/{gid}").status_code for one in (cyd, bob)]
    assert 303 == visitor.send(visitor.page(f"/lots/{gid}/moderate"), f"/lots/{gid}/show").status_code
    assert "Forged teapot" in come(cyd).http.get(f"/lots/{gid}").text


def test_the_photos_of_a_lot_that_was_taken_down(
    come: Come, house: House, seller: User, staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers get 404, also if they ask whether the file that they have is good; its seller and staff see it."""
    monkeypatch.setattr(photos, "KEPT_SECONDS", 0.0)
    gid, [photo] = seller.auction(), add_photos(house, seller, 1)
    assert 200 == arrange(seller, gid, [photo]).status_code
    path = f"/photos/{photo}/16.webp"
    before = house.anyone.get(path)
    assert (200, FOREVER) == (before.status_code, before.headers["cache-control"])
    assert 200 == staff.request("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."}).status_code
    stranger = come(house.user("cyd")).http
    for answer in (
        stranger.get(path),
        stranger.head(path),
        stranger.get(path, headers={"If-None-Match": before.headers["etag"]}),
        stranger.get(path, headers={"If-None-Match": "*"}),
        stranger.get(path, headers={"Cookie": "saleroom_session=dead"}),
        house.anyone.get(path),
    ):
        assert 404 == answer.status_code
    for seen in (come(seller).http.get(path), come(staff).http.get(path), seller.get(path)):
        assert (200, "no-store") == (seen.status_code, seen.headers["cache-control"])
    assert 200 == staff.delete(f"/auctions/{gid}/hiding").status_code
    assert FOREVER == stranger.get(path).headers["cache-control"]


def test_staff_cancel_a_sale(come: Come, house: House, seller: User, staff: User) -> None:
    """A cancelled lot says that the house did it, and why."""
    gid, bob = seller.auction(), house.newcomer()
    bob.bid(gid, amount=20)
    visitor = come(staff)
    form = visitor.page(f"/lots/{gid}/moderate")
    assert 303 == visitor.send(form, f"/lots/{gid}/cancel", reason="The seller has withdrawn it.").status_code
    page = come(bob).http.get(f"/lots/{gid}").text
    assert "The house has cancelled this lot." in page
    assert "The seller has withdrawn it." in page
    assert "The seller has withdrawn it." in come(bob).http.get("/mine").text
    assert "This lot is over." in visitor.http.get(f"/lots/{gid}/moderate").text


def test_others_have_no_such_page(come: Come, house: House, seller: User) -> None:
    """Neither a bidder nor the seller opens it or sends its forms, and no page leads them there."""
    gid, bob = seller.auction(), house.newcomer()
    bob.bid(gid, amount=20)
    for user in (bob, seller):
        visitor = come(user)
        lot = visitor.http.get(f"/lots/{gid}").text
        assert "moderate" not in lot
        assert 403 == visitor.http.get(f"/lots/{gid}/moderate").status_code
        token = lot.partition('name="csrfToken" value="')[2].partition('"')[0]
        sent = visitor.http.post(f"/lots/{gid}/cancel", data={"csrfToken": token, "reason": "No."})
        assert 403 == sent.status_code
    assert "open" == house.anyone.json("GET", f"/auctions/{gid}")["status"]
