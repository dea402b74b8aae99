"""A seller's lot after publishing: amended, cancelled, its end announced, closed; and only by its seller."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.bidding.web.seller import HOSTILE, Come, later, sold
from tests.fixtures_house import House, User
from tests.site.markup import Page
from tests.site.visitor import picture

pytestmark = pytest.mark.databases("sqlite")


def test_a_lot_is_amended_by_the_form_that_made_it(come: Come, seller: User) -> None:
    """The form shows the lot as it is; changes are in the preview and, once saved, in the lot; photos too."""
    visitor = come()
    files = [(f"{name}.jpg", picture()) for name in "ab"]
    lot = sold(visitor, seller, files=files, reservePrice="150", description="Oak")
    path = f"/sell/{lot['gid']}"
    form = visitor.page(path)
    first, second = (e["value"] for e in form.all("input", name="photo"))
    form = visitor.sent(form, path, f"later {first}", startingPrice="120")
    shown = visitor.sent(form, path, "preview", description="Oak, about 1780", buyNowPrice="900")
    assert "Until the first bid, anybody can buy it at once for €900.00." in shown.main
    assert lot == seller.json("GET", f"/auctions/{lot['gid']}"), "a preview has changed the lot"
    answer = visitor.send(shown, path, "publish")
    assert (303, f"/lots/{lot['gid']}") == (answer.status_code, answer.headers["location"])
    amended = seller.json("GET", f"/auctions/{lot['gid']}")
    changed = {"description": "Oak, about 1780", "startingPrice": "120.000", "buyNowPrice": "900.000"}
    assert lot | changed | {"minimumBid": "120.000", "version": amended["version"], "head": amended["head"]} == amended
    photos = seller.json("GET", f"/auctions/{lot['gid']}/photos")["photos"]
    assert [second, first] == [one["id"] for one in photos]


def test_values_that_a_form_cannot_show_stay(come: Come, seller: User) -> None:
    """Saving without a change keeps fractions of seconds, a past start, and the steps exactly."""
    cap = (later(days=3) + timedelta(microseconds=7)).isoformat()
    gid = seller.auction(
        startsAt=(later(hours=-1) + timedelta(microseconds=123456)).isoformat(),
        endsAt=(later(days=2) + timedelta(microseconds=654321)).isoformat(),
        softClose={"window": 100, "extension": 86_399, "cap": cap},
        reservePrice="10.125",
    )
    before = seller.json("GET", f"/auctions/{gid}")
    visitor = come()
    shown = visitor.sent(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview")
    assert 303 == visitor.send(shown, f"/sell/{gid}", "publish").status_code
    assert before == seller.json("GET", f"/auctions/{gid}")


def test_after_the_first_bid_the_page_says_why_not(come: Come, seller: User, house: House) -> None:
    """After a bid there is no form; an open form is refused with 409 and the reason, and so is cancelling."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    form = visitor.page(f"/sell/{gid}")
    shown = visitor.sent(form, f"/sell/{gid}", "preview", name="Other")
    house.user("grace").bid(gid, amount="100")
    why = "There are bids on this lot, so it can no longer be changed or cancelled."
    for answer in (
        visitor.send(shown, f"/sell/{gid}", "publish"),
        visitor.send(form, f"/sell/{gid}", "preview"),
        visitor.send(form, f"/sell/{gid}/cancel"),
    ):
        assert 409 == answer.status_code
        assert why in Page(answer).main
    fixed = visitor.page(f"/sell/{gid}")
    assert (200, True) == (fixed.status, why in fixed.main)
    forms = {e["action"] for e in fixed.all("form")}
    assert {f"/sell/{gid}/remark"} == {action for action in forms if action.startswith("/sell")}
    assert "Clock" == seller.json("GET", f"/auctions/{gid}")["name"]


def test_only_the_seller_may_change_a_lot(come: Come, seller: User, house: House) -> None:
    """A stranger is asked to log in, another user is refused, and an unknown lot is not found."""
    gid = sold(come(), seller)["gid"]
    answer = come(None).http.get(f"/sell/{gid}")
    assert (303, f"/login?next=/sell/{gid}") == (answer.status_code, answer.headers["location"])
    other = come(house.user("grace"))
    assert 403 == other.page(f"/sell/{gid}").status
    form = come().page(f"/sell/{gid}")
    for path in (f"/sell/{gid}", f"/sell/{gid}/cancel"):
        token = other.page("/sell").all("input", name="csrfToken")[0]["value"]
        assert 403 == other.send(form, path, csrfToken=token).status_code
    assert 404 == other.page("/sell/none").status
    assert "open" == seller.json("GET", f"/auctions/{gid}")["status"]


def test_cancel(come: Come, seller: User) -> None:
    """Until the first bid a seller can cancel a lot with a confirmation, and the lot's page then says so."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    answer = visitor.send(visitor.page(f"/sell/{gid}"), f"/sell/{gid}/cancel")
    assert (303, f"/lots/{gid}") == (answer.status_code, answer.headers["location"])
    assert "cancelled" == seller.json("GET", f"/auctions/{gid}")["status"]
    assert "The auction is over" in visitor.page(f"/sell/{gid}").main


def test_a_lot_without_end_is_closed_by_its_seller(come: Come, seller: User, house: House) -> None:
    """The seller can close it even with a bid on it; the confirmation names the buyer and the price."""
    visitor = come()
    gid = sold(visitor, seller, ending="open")["gid"]
    house.user("grace").bid(gid, amount="105")
    page = visitor.page(f"/sell/{gid}")
    assert "It is sold to grace for €105.00" in page.main
    assert 303 == visitor.send(page, f"/sell/{gid}/close", "now").status_code
    assert "sold" == seller.json("GET", f"/auctions/{gid}")["outcome"]


def test_an_end_is_announced(come: Come, seller: User) -> None:
    """The end is in the seller's time zone. A past or malformed end is a fault at the field, which keeps its text.

    What a browser's own field can send is not told the form of another one.
    """
    visitor = come()
    gid = sold(visitor, seller, ending="open")["gid"]
    page = visitor.page(f"/sell/{gid}")
    faults = {
        "2020-01-01T10:00": "",
        "": "Enter a date and a time.",
        "12031-07-01T20:00": "Enter a year of four digits.",
        HOSTILE: "Enter a date and a time, such as 2026-11-28 20:00.",
    }
    for wrong, says in faults.items():
        refused = visitor.sent(page, f"/sell/{gid}/close", "announce", endsAt=wrong)
        assert 400 == refused.status
        assert says in (refused.one("small", id="announced-fault").text or "-")
        assert wrong == refused.one("input", id="announced")["value"]
    written = {"endsAt": "2031-07-01T20:00", "zone": "Europe/Berlin"}
    assert 303 == visitor.send(page, f"/sell/{gid}/close", "announce", **written).status_code
    assert "2031-07-01T18:00:00.000000Z" == seller.json("GET", f"/auctions/{gid}")["endsAt"]


def test_a_logout_while_amending_loses_nothing(come: Come, seller: User) -> None:
    """The form comes back with 401 and all that was written, and the lot has not changed."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    form = visitor.page(f"/sell/{gid}")
    visitor.http.cookies.delete("saleroom_session")
    back = visitor.sent(form, f"/sell/{gid}", "preview", name="Other", files=[("a.jpg", picture())])
    assert (401, "Other") == (back.status, back.one("input", name="name")["value"])
    assert "Clock" == seller.json("GET", f"/auctions/{gid}")["name"]
