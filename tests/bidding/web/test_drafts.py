"""Drafts of lots, without scripts: found again after the preview, listed, deleted, and nobody else's."""

from __future__ import annotations

import pytest

from tests.bidding.web.seller import Come, preview, publish, sold
from tests.fixtures_house import House, User
from tests.site.visitor import Visitor, picture

pytestmark = pytest.mark.databases("sqlite")

WRITTEN = {
    "name": "Longcase clock",
    "description": "Oak.\n\nRuns well.",
    "startingPrice": "1,250.50",
    "increment": "ladder",
    "tierFrom": ["0", "100"],
    "tierStep": ["5", "25"],
}


def new_form(visitor: Visitor) -> str:
    """Open a new form, and return its address."""
    return str(visitor.http.get("/sell").headers["location"])


def test_back_from_the_preview_everything_is_there(come: Come) -> None:
    """The address of the form shows everything that was written, photos in their order, also in another browser."""
    visitor = come()
    address = new_form(visitor)
    files = [("a.jpg", picture("red")), ("b.jpg", picture("blue"))]
    answer = visitor.send(visitor.page(address), "/sell", "preview", files, **WRITTEN)
    assert (303, f"{address}/preview") == (answer.status_code, answer.headers["location"])
    for one in (visitor, come()):
        form = one.page(address)
        found = {e["name"]: e.attributes.get("value", "") for e in form.all("input") if "name" in e.attributes}
        assert ("Longcase clock", "1,250.50") == (found["name"], found["startingPrice"])
        assert "Oak.\n\nRuns well." == form.one("textarea").raw.removeprefix("\n")
        assert ["0", "100", "", ""] == [e["value"] for e in form.all("input", name="tierFrom")]
        photos = [e["value"] for e in form.all("input", name="photo")]
        assert 2 == len(photos)
        shown = one.page(f"{address}/preview")
        assert ("Longcase clock", photos) == (shown.heading, [e["value"] for e in shown.all("input", name="photo")])


def test_a_faulty_form_is_a_draft_too(come: Come) -> None:
    """What cannot be put on sale yet is saved all the same. Its preview shows the faults."""
    visitor = come()
    address = new_form(visitor)
    assert 400 == visitor.sent(visitor.page(address), "/sell", "preview", name="Half a lot").status
    assert "Half a lot" == visitor.page(address).one("input", name="name")["value"]
    assert 400 == visitor.page(f"{address}/preview").status


def test_a_draft_is_gone_when_it_is_on_sale(come: Come, seller: User) -> None:
    """Publishing deletes the draft, and its addresses lead to an empty form. A refused lot keeps its draft."""
    visitor = come()
    address = new_form(visitor)
    shown = visitor.sent(visitor.page(address), "/sell", "preview", **WRITTEN)
    differs = visitor.sent(shown, "/sell", "publish", name="Another clock")
    assert "Check it again" in differs.main
    assert "Longcase clock" in visitor.page("/mine/selling").main
    publish(visitor, shown)
    assert [] == visitor.page("/mine/selling").all("ul", class_="draft-rows")
    assert (303, address) == (
        (gone := visitor.http.get(f"{address}/preview")).status_code,
        gone.headers["location"],
    )
    assert "" == visitor.page(address).one("input", name="name")["value"]
    assert 1 == len(seller.json("GET", "/me/auctions")["auctions"])


def test_drafts_are_listed_and_deleted(come: Come) -> None:
    """My saleroom and a new form list the drafts, which are continued or deleted there."""
    visitor = come()
    for name in ("First", ""):
        visitor.send(visitor.page("/sell"), "/sell", "rows", name=name)
    mine = visitor.page("/mine/selling")
    assert ["Draft without a name", "First"] == [e.text for e in mine.all("a", class_="name")]
    first = mine.all("a", class_="name")[1]["href"]
    assert "First" == visitor.page(first).one("input", name="name")["value"]
    assert "You have 2 other drafts" in visitor.page("/sell").main
    answer = visitor.send(visitor.page("/mine/selling"), f"{first}/delete")
    assert (303, "/mine/selling") == (answer.status_code, answer.headers["location"])
    assert "First" not in visitor.page("/mine/selling").main
    assert 303 == visitor.send(mine, f"{first}/delete").status_code, "a second click is no error"


def test_no_more_drafts_than_ten(come: Come) -> None:
    """The eleventh form goes on to its preview and on sale as before; it says that it is no draft and what to do."""
    visitor = come()
    forms = [visitor.page(new_form(visitor)) for _ in range(11)]
    for number, form in enumerate(forms):
        page = visitor.sent(form, "/sell", "rows", name=f"Lot {number}")
        assert (number == 10) == ("You have too many drafts" in page.main)
    assert 10 == len(visitor.page("/mine/selling").all("a", class_="name"))
    shown = visitor.send(forms[10], "/sell", "preview", name="Lot 10", startingPrice="5")
    assert 200 == shown.status_code
    publish(visitor, visitor.sent(forms[10], "/sell", "preview", name="Lot 10", startingPrice="5"))
    again = visitor.sent(forms[3], "/sell", "rows", name="Lot 3, changed")
    assert "You have too many drafts" not in again.main


def test_changes_to_a_lot_are_a_draft(come: Come, seller: User) -> None:
    """Changes that are not saved yet are in the form of the lot again, until they are saved or dropped."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    shown = visitor.page(f"/sell/{gid}")
    for _ in range(2):
        shown = visitor.sent(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview", name="Better clock")
        again = visitor.page(f"/sell/{gid}")
        assert "Better clock" == again.one("input", name="name")["value"]
        assert "have not saved them yet" in again.main
        visitor.send(again, f"/sell/drafts/{gid}/delete")
        assert "Clock" == visitor.page(f"/sell/{gid}").one("input", name="name")["value"]
    visitor.send(shown, f"/sell/{gid}", "publish")
    assert "Better clock" == seller.json("GET", f"/auctions/{gid}")["name"]
    assert "have not saved them yet" not in visitor.page(f"/sell/{gid}").main
    assert f"/sell/{gid}" == visitor.http.get(f"/sell/{gid}/preview").headers["location"]


def test_a_draft_is_hidden_from_other_users(come: Come, house: House) -> None:
    """At the address of another user's draft there is an empty form; a stranger is asked to log in, and comes back."""
    visitor = come()
    address = new_form(visitor)
    visitor.send(visitor.page(address), "/sell", "preview", **WRITTEN)
    other = come(house.newcomer())
    assert "" == other.page(address).one("input", name="name")["value"]
    other.send(other.page(address), "/sell", "rows", name="Theirs")
    other.send(other.page("/mine/selling"), f"{address}/delete")
    assert "Longcase clock" == visitor.page(address).one("input", name="name")["value"]
    for path in (address, f"{address}/preview"):
        answer = come(None).http.get(path)
        assert (303, f"/login?next={path}") == (answer.status_code, answer.headers["location"])
    assert 404 == visitor.http.get("/sell/drafts/" + "x" * 65).status_code


def test_a_script_saves_the_form_as_it_is(come: Come) -> None:
    """What a script sends while the seller writes is in the form later. A dead session and a forged request save nothing."""
    visitor = come()
    address = new_form(visitor)
    token = visitor.page(address).all("input", name="csrfToken")[0]["value"]

    def save(one: Visitor, **texts: str) -> int:
        parts = [(name, (None, text)) for name, text in {"csrfToken": token, **texts}.items()]
        return one.http.post(address, files=parts).status_code

    assert 204 == save(visitor, name="Half a lo", increment="fixed")
    assert 403 == save(come(), name="Forged")
    assert "Half a lo" == visitor.page(address).one("input", name="name")["value"]
    visitor.http.cookies.delete("saleroom_session")
    assert save(visitor, name="Logged out") in (401, 403)
    assert "Half a lo" == come().page(address).one("input", name="name")["value"]


def test_the_preview_is_what_bidders_see(come: Come, seller: User, house: House) -> None:
    """Photos, price, text, bid box and rule are in the preview as for a bidder on the published lot; its box is inert."""
    visitor = come()
    form = visitor.page("/sell")
    shown = visitor.sent(form, "/sell", "preview", [("a.jpg", picture())], **WRITTEN)
    gid = publish(visitor, shown)
    lot = come(house.newcomer()).page(f"/lots/{gid}")
    for part in ("lot-photos", "lot-panel", "lot-about", "lot-box", "lot-rule"):
        here, there = (next(e for e in page.elements if e.attributes.get("id") == part).text for page in (shown, lot))
        assert here == there, part
    assert "1250.50" == shown.one("input", id="amount")["value"]
    inert = next(e for e in shown.elements if "inert" in e.attributes)
    assert inert.text == next(e for e in shown.elements if e.attributes.get("id") == "lot-box").text


def test_a_preview_of_changes_shows_its_faults(come: Come, seller: User) -> None:
    """If the lot has changed since the draft was made, its preview leads to the form, which names the changes."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    visitor.send(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview", name="Better clock")
    seller.json("PATCH", f"/auctions/{gid}", json={"name": "Best clock"})
    stale = visitor.page(f"/sell/{gid}/preview")
    assert (409, "Better clock") == (stale.status, stale.one("input", name="name")["value"])
    assert "now called “Best clock”" in stale.main
    preview(visitor)
