"""Lots of sales over HTTP: added, changed, ordered, numbered, withdrawn; and those who bring them."""

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.pictures import plain
from tests.sales.api.evening import made, with_lots


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def labels(user: User, gid: str) -> list[str]:
    """The numbers of a sale's lots in the order of calling."""
    return [lot["label"] for lot in user.json("GET", f"/sales/{gid}/lots")["lots"]]


def photo_of(user: User) -> str:
    """Send a photo, and return its id."""
    answer = user.post("/photos", content=plain(), headers={"Content-Type": "image/png"})
    assert 201 == answer.status_code
    return str(answer.json()["id"])


def test_a_lot_is_added_and_changed(house: House, staff: User) -> None:
    """A lot has what its form says; a number is read as people type it, and each is there once."""
    gid = made(staff)
    staff.json("POST", "/consignors", json={"code": "k7", "name": "Erben"})
    said = {
        "label": "012a", "name": "A clock", "startingPrice": "10", "reservePrice": "15", "consignor": "K7",
        "estimateFrom": "20", "estimateTo": "30", "taxScheme": "margin", "description": "Walnut.",
    }  # fmt: skip
    lot = staff.json("POST", f"/sales/{gid}/lots", json=said)
    shown = ("label", "consignor", "estimateTo", "taxScheme", "reservePrice", "auction", "rank")
    assert ["12A", "K7", "30.000", "margin", "15.000", None, 1] == [lot[name] for name in shown]
    assert (409, "label_taken") == refusal(staff.post(f"/sales/{gid}/lots", json=said))
    assert "13" == staff.json("POST", f"/sales/{gid}/lots", json={"name": "Next", "startingPrice": "1"})["label"]
    changed = staff.json("PATCH", f"/sales/{gid}/lots/12A", json={"label": "7", "consignor": None, "estimateTo": None})
    assert ["7", None, None, "20.000"] == [
        changed[name] for name in ("label", "consignor", "estimateTo", "estimateFrom")
    ]
    assert (404, "unknown_lot") == refusal(staff.get(f"/sales/{gid}/lots/12A"))
    assert (404, "unknown_lot") == refusal(staff.get(f"/sales/{gid}/lots/no"))
    assert (404, "unknown_consignor") == refusal(staff.patch(f"/sales/{gid}/lots/7", json={"consignor": "NOBODY"}))


def test_all_faults_of_a_lot_come_at_once(staff: User) -> None:
    """What cannot be read is named by its field, and so is an estimate that is no range."""
    gid = with_lots(staff, 1)
    wrong = {"label": "A", "name": "", "startingPrice": "-1", "taxScheme": "half", "photos": "x"}
    found = faults(staff.post(f"/sales/{gid}/lots", json=wrong))
    assert {"label", "name", "startingPrice", "taxScheme", "photos"} == found.keys()
    assert {"estimateTo"} == faults(
        staff.patch(f"/sales/{gid}/lots/1", json={"estimateFrom": "9", "estimateTo": "8"})
    ).keys()
    assert {"reservePrice"} == faults(staff.patch(f"/sales/{gid}/lots/1", json={"reservePrice": "1"})).keys()
    assert {"category"} == faults(staff.patch(f"/sales/{gid}/lots/1", json={"category": "Nothing"})).keys()


def test_lots_change_places_and_numbers(staff: User) -> None:
    """PUT /sales/{gid}/order: the order is set as a whole, and numbers follow it if asked, also where they swap."""
    gid = with_lots(staff, 3)
    names = [lot["name"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    assert ["2", "3", "1"] == staff.json("PUT", f"/sales/{gid}/order", json={"labels": ["2", "3", "1"]})["labels"]
    assert ["2", "3", "1"] == labels(staff, gid)
    staff.json("PUT", f"/sales/{gid}/order", json={"renumberFrom": 1})
    lots = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [("1", names[1]), ("2", names[2]), ("3", names[0])] == [(lot["label"], lot["name"]) for lot in lots]
    wrong = staff.request("PUT", f"/sales/{gid}/order", json={"labels": ["1", "1", "9"]})
    assert ["repeated_lots", "unknown_lots", "missing_lots"] == faults(wrong)["labels"]


def test_a_new_order_deals_out_the_ends(house: House, staff: User) -> None:
    """In a published sale the ends stay at their places; where somebody has bid, the order is refused, and says why."""
    gid = with_lots(staff, 3)
    staff.json("POST", f"/sales/{gid}/publish")
    before = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    staff.json("PUT", f"/sales/{gid}/order", json={"labels": ["3", "1", "2"]})
    after = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    assert ["3", "1", "2"] == [lot["label"] for lot in after]
    assert [lot["auction"]["endsAt"] for lot in before] == [lot["auction"]["endsAt"] for lot in after]
    house.user("bob").bid(after[0]["gid"], amount=20)
    answer = staff.request("PUT", f"/sales/{gid}/order", json={"labels": ["1", "3", "2"]})
    assert (409, "bid_on_lots", "3") == (*refusal(answer), answer.json()["lots"])
    assert ["3", "2", "1"] == staff.json("PUT", f"/sales/{gid}/order", json={"labels": ["3", "2", "1"]})["labels"]
    assert (409, "sale_running") == refusal(staff.request("PUT", f"/sales/{gid}/order", json={"renumberFrom": 1}))


def test_a_lot_of_a_published_sale_is_changed_before_the_first_bid(house: House, staff: User) -> None:
    """Its terms are those of its auction; a lot that comes later ends after the others; estimates change at any time."""
    gid = with_lots(staff, 1)
    staff.json("POST", f"/sales/{gid}/publish")
    late = staff.json("POST", f"/sales/{gid}/lots", json={"name": "Late", "startingPrice": "10"})
    assert "2099-05-01T12:01:00.000000Z" == late["auction"]["endsAt"]
    changed = staff.json("PATCH", f"/sales/{gid}/lots/2", json={"name": "Very late", "startingPrice": "20"})
    assert ("Very late", "20.000") == (changed["auction"]["name"], changed["auction"]["minimumBid"])
    house.user("bob").bid(late["gid"], amount=20)
    assert (409, "has_bids") == refusal(staff.patch(f"/sales/{gid}/lots/2", json={"name": "Too late"}))
    assert "50.000" == staff.json("PATCH", f"/sales/{gid}/lots/2", json={"estimateFrom": "50"})["estimateFrom"]


def test_the_author_changes_a_lot_of_a_sale_in_the_sale_alone(house: House, staff: User) -> None:
    """The endpoints of authors refuse a lot of a sale: its end and its number belong together."""
    gid = with_lots(staff, 1)
    staff.json("POST", f"/sales/{gid}/publish")
    [lot] = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    path = f"/auctions/{lot['gid']}"
    for answer in (
        staff.patch(path, json={"name": "Mine"}),
        staff.delete(path),
        staff.post(f"{path}/close"),
        staff.request("PUT", f"{path}/photos", json={"photos": []}),
    ):
        assert (409, "lot_of_a_sale") == refusal(answer)


def test_a_lot_is_withdrawn_for_good(house: House, staff: User) -> None:
    """Its auction is cancelled with the reason, also with bids; the others keep their ends."""
    gid = with_lots(staff, 3)
    staff.json("POST", f"/sales/{gid}/lots/2/withdraw", json={"reason": "Before."})
    staff.json("POST", f"/sales/{gid}/publish")
    shown = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert ["1", "3"] == [lot["label"] for lot in shown], "what was never offered is not shown"
    assert (404, "unknown_lot") == refusal(house.anyone.get(f"/sales/{gid}/lots/2"))
    house.user("bob").bid(shown[0]["gid"], amount=20)
    gone = staff.json("POST", f"/sales/{gid}/lots/1/withdraw", json={"reason": "Broken."})
    assert ("Broken.", "cancelled") == (gone["withdrawnFor"], gone["auction"]["status"])
    assert shown[1] == house.anyone.json("GET", f"/sales/{gid}/lots/3")
    assert (409, "lot_withdrawn") == refusal(staff.post(f"/sales/{gid}/lots/1/withdraw", json={"reason": "Twice."}))
    assert (409, "lot_withdrawn") == refusal(staff.patch(f"/sales/{gid}/lots/1", json={"name": "Back"}))


def test_photos_go_with_a_lot_into_its_auction(house: House, staff: User) -> None:
    """A cataloguer's photos are on the lot of a draft, and on its auction after publication; each is on one lot alone."""
    gid = with_lots(staff, 2)
    cataloguer = house.staff(Role.CATALOGUER)
    first, second = photo_of(cataloguer), photo_of(cataloguer)
    cataloguer.json("PATCH", f"/sales/{gid}/lots/1", json={"photos": [second, first]})
    cataloguer.json("PATCH", f"/sales/{gid}/lots/1", json={"photos": [second]})
    taken = cataloguer.patch(f"/sales/{gid}/lots/2", json={"photos": [second]})
    assert ["photo_in_use"] == faults(taken)["photos"]
    staff.json("POST", f"/sales/{gid}/publish")
    lots = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    shown = [house.anyone.json("GET", f"/auctions/{lot['gid']}/photos")["photos"] for lot in lots]
    assert [[second], []] == [[one["id"] for one in photos] for photos in shown]
    third = photo_of(cataloguer)
    cataloguer.json("PATCH", f"/sales/{gid}/lots/1", json={"photos": [third]})
    assert [third] == [one["id"] for one in house.anyone.json("GET", f"/auctions/{lots[0]['gid']}/photos")["photos"]]


def test_lots_come_by_pages(staff: User) -> None:
    """GET /sales/{gid}/lots goes on where the page before ended."""
    gid = with_lots(staff, 3)
    first = staff.json("GET", f"/sales/{gid}/lots?limit=2")
    rest = staff.json("GET", f"/sales/{gid}/lots?limit=2&cursor={first['next']}")
    assert (["1", "2"], ["3"], None) == (
        [lot["label"] for lot in first["lots"]], [lot["label"] for lot in rest["lots"]], rest["next"],
    )  # fmt: skip


def test_consignors_have_codes(house: House, staff: User) -> None:
    """A code is there once; a consignor may be a user of the house; all faults come at once."""
    house.user("bob")
    staff.json("POST", "/consignors", json={"code": "c9", "name": "Erben"})
    assert (409, "code_taken") == refusal(staff.post("/consignors", json={"code": "C9", "name": "Andere"}))
    changed = staff.json("PATCH", "/consignors/C9", json={"username": "bob", "contact": "0171\n123"})
    assert ("bob", "0171\n123", "Erben") == (changed["username"], changed["contact"], changed["name"])
    assert (404, "unknown_user") == refusal(staff.patch("/consignors/C9", json={"username": "no-such-user"}))
    assert (404, "unknown_consignor") == refusal(staff.patch("/consignors/X9", json={"name": "X"}))
    answer: httpx.Response = staff.post("/consignors", json={"code": "a b", "name": ""})
    assert {"code", "name"} == faults(answer).keys()
    assert "C9" in [one["code"] for one in staff.json("GET", "/consignors")["consignors"]]
