"""Offering an unsold lot again: its terms and photos are in a new form, and it stays as it is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.bidding.web.seller import publish
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User
from tests.site.markup import Page
from tests.site.visitor import Visitor, picture

pytestmark = pytest.mark.databases("sqlite")

TERMS = {
    "name": 'Clock "<b>&amp;',
    "description": "Oak.\n\nRuns well.",
    "startingPrice": "100",
    "reservePrice": "1250.5",
    "buyNowPrice": "2000",
    "softClose": {"window": 90, "extension": 60},
    "increment": [{"from": "0", "step": "5"}, {"from": "100", "step": "25"}],
}


def photo(who: User, color: str) -> str:
    """Send a photo, and return its id."""
    answer = who.post("/photos", content=picture(color), headers={"Content-Type": "image/jpeg"})
    return str(answer.json()["id"])


def texts(form: Page) -> dict[str, str]:
    """The values of a form's fields."""
    return {
        e["name"]: e.attributes.get("value", "")
        for e in form.all("input")
        if "name" in e.attributes and (e.attributes.get("type") != "radio" or "checked" in e.attributes)
    }


def photos_of(house: House, gid: str) -> list[list[str]]:
    """The bytes of all files of a lot's photos, by photo."""
    found = house.anyone.json("GET", f"/auctions/{gid}/photos")["photos"]
    return [[house.stranger.get(file["url"]).content.hex() for file in one["files"]] for one in found]


def unsold(house: House, clock: FakeClock, how: str) -> str:
    """A lot of ada's with two photos that ended without a sale, in one of three ways."""
    ada = house.user("ada")
    ends = (clock.now + timedelta(hours=2)).isoformat()
    starts = (clock.now + timedelta(hours=1)).isoformat()
    cap = (clock.now + timedelta(hours=3)).isoformat()
    rule = {"window": 90, "extension": 60, "cap": cap}
    gid = ada.auction(**TERMS | {"startsAt": starts, "endsAt": ends, "softClose": rule})
    ada.json("PUT", f"/auctions/{gid}/photos", json={"photos": [photo(ada, "red"), photo(ada, "blue")]})
    if how == "cancelled":
        ada.json("DELETE", f"/auctions/{gid}")
    else:
        house.advance(3600)
        if how == "reserve_not_met":
            assert 201 == house.user("grace").bid(gid, amount="100").status_code
        house.advance(3600)
    found = ada.json("GET", f"/auctions/{gid}")
    assert how == (found["outcome"] or found["status"])
    return gid


@pytest.mark.parametrize("how", ["no_bids", "reserve_not_met", "cancelled"])
def test_an_unsold_lot_is_offered_again(clocked_house: House, clock: FakeClock, how: str) -> None:
    """From its page, or from My lots, a form with all its terms but the dates leads to a second lot; the first one stays."""
    house, visitor = clocked_house, Visitor(clocked_house, clocked_house.user("ada"))
    gid = unsold(house, clock, how)
    ledger, files = house.anyone.get(f"/auctions/{gid}/ledger").content, photos_of(house, gid)
    links = [
        next(e["href"] for e in visitor.page(path).all("a", class_="button") if e.text == "Offer it again")
        for path in (f"/lots/{gid}", "/mine/selling", f"/sell/{gid}")
    ]
    assert 1 == len(set(links))
    form = visitor.page(links[0])
    found = texts(form)
    assert f"/lots/{gid}" in [e["href"] for e in form.all("a")]
    assert (TERMS["name"], TERMS["description"]) == (
        found["name"],
        form.one("textarea").raw.removeprefix("\n"),
    )
    assert ("100.00", "1250.50", "2000.00", "1.5", "1", "ladder") == tuple(
        found[name] for name in ("startingPrice", "reservePrice", "buyNowPrice", "window", "extension", "increment")
    )
    assert ["0.00", "100.00", "", ""] == [e["value"] for e in form.all("input", name="tierFrom")]
    assert ("", "") == (found["startsAt"], found["cap"])
    assert clock.now + timedelta(days=6) < datetime.fromisoformat(f"{found['endsAt']}+00:00")
    shown = visitor.sent(form, "/sell", "preview", startingPrice="80")
    again = publish(visitor, shown)
    terms = house.user("ada").json("GET", f"/auctions/{again}")
    increment = [{"from": "0.000", "step": "5.000"}, {"from": "100.000", "step": "25.000"}]
    assert (again, "80.000", "1250.500", increment, "open") == (
        terms["gid"],
        terms["startingPrice"],
        terms["reservePrice"],
        terms["increment"],
        terms["status"],
    )
    assert gid != again
    assert files == photos_of(house, again) == photos_of(house, gid)
    assert ledger == house.anyone.get(f"/auctions/{gid}/ledger").content
    assert gid not in house.plain.get(f"/lots/{again}").text, "a link would tell the reserve of the first lot"


def test_a_form_for_an_unsold_lot_is_a_draft(clocked_house: House, clock: FakeClock) -> None:
    """Changes to the form are kept as a draft, which the same link opens; two windows have one draft."""
    visitor = Visitor(clocked_house, clocked_house.user("ada"))
    address = f"/sell/drafts/{unsold(clocked_house, clock, 'no_bids')}"
    forms = [visitor.page(address) for _ in range(2)]
    for form, name in zip(forms, ("Clock, once more", "Clock, at last"), strict=True):
        visitor.sent(form, "/sell", "preview", name=name)
    kept = visitor.page(address)
    assert "Clock, at last" == texts(kept)["name"]
    assert 2 == len(kept.all("input", name="photo"))
    assert 1 == visitor.page("/mine/selling").main.count("saved on")
    visitor.send(visitor.page("/mine/selling"), f"{address}/delete")
    assert TERMS["name"] == texts(visitor.page(address))["name"]


def test_changes_that_were_never_saved_do_not_stand_in_the_way(clocked_house: House, clock: FakeClock) -> None:
    """A draft of changes leads to the lot while it runs, and gives way to the lot's own terms when it is over."""
    house, visitor = clocked_house, Visitor(clocked_house, clocked_house.user("ada"))
    gid = house.user("ada").auction()
    visitor.sent(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview", name="Better clock")
    assert f"/sell/{gid}" == visitor.http.get(f"/sell/drafts/{gid}").headers["location"]
    house.user("ada").json("DELETE", f"/auctions/{gid}")
    assert "Longcase clock" == texts(visitor.page(f"/sell/drafts/{gid}"))["name"]


def test_only_its_seller_offers_an_unsold_lot_again(clocked_house: House, clock: FakeClock) -> None:
    """A lot that runs or is sold leads to what its seller can do; one of somebody else is refused; a stranger logs in first."""
    house, visitor = clocked_house, Visitor(clocked_house, clocked_house.user("ada"))
    over, running = unsold(house, clock, "no_bids"), house.user("ada").auction()
    sold = house.user("ada").auction(endsAt=(clock.now + timedelta(hours=1)).isoformat())
    house.user("grace").bid(sold, amount="10")
    house.advance(3600)
    other = Visitor(house, house.user("grace"))
    for who, gid, status, words in (
        (visitor, running, 200, "Change your lot"),
        (visitor, sold, 200, "The auction is over"),
        (other, over, 403, "Only the seller of a lot may do this."),
    ):
        page = who.page(f"/sell/drafts/{gid}")
        assert status == page.status
        assert words in page.main
        assert "Offer it again" not in page.main + who.page(f"/lots/{gid}").main
    answer = Visitor(house).http.get(f"/sell/drafts/{over}")
    assert (303, f"/login?next=/sell/drafts/{over}") == (answer.status_code, answer.headers["location"])


def test_a_fixed_step_and_the_usual_steps_come_along(clocked_house: House) -> None:
    """A lot with one step gives the form that step; one with the usual ladder gives the usual one."""
    ada = clocked_house.user("ada")
    visitor = Visitor(clocked_house, ada)
    usual = ada.json("POST", "/auctions", json={"name": "Clock", "startingPrice": "1"})["gid"]
    for gid, increment, step in ((ada.auction(increment="12.5"), "fixed", "12.50"), (usual, "default", "")):
        ada.json("DELETE", f"/auctions/{gid}")
        form = texts(visitor.page(f"/sell/drafts/{gid}"))
        assert (increment, step) == (form["increment"], form["step"])
