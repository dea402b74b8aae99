"""Only what was confirmed is done: if the lot has changed, the page shows the changes and asks again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.bidding.web.seller import Come, preview, publish, sold
from tests.fixtures_house import House, User
from tests.rows import each_of
from tests.site.markup import Page
from tests.site.visitor import Visitor, picture

pytestmark = pytest.mark.databases("sqlite")

FRAGMENT = {"HX-Request": "true"}


def confirmation(visitor: Visitor, gid: str, kind: str, **written: str) -> Page:
    """Ask for a bid or a purchase, and return the page that asks for its confirmation."""
    return visitor.sent(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/{kind}", **written)


def told(page: Page) -> list[str]:
    """The changes that a page tells."""
    start = next((n for n, e in enumerate(page.elements) if "changes" == e.attributes.get("class")), None)
    return (
        [] if start is None else [e.text for e in page.elements[start + 1 :] if e.tag == "li" and "dir" in e.attributes]
    )


@pytest.fixture
def buyer(come: Come, house: House) -> Visitor:
    """A user who wants to buy."""
    return come(house.user("grace"))


def test_a_price_that_nobody_saw_is_not_paid(buyer: Visitor, seller: User) -> None:
    """If the price is amended before the click, nothing is bought, and the page shows both prices and asks again."""
    gid = seller.auction(buyNowPrice="50", startingPrice="10")
    question = confirmation(buyer, gid, "buy")
    assert "Buy for €50.00" in question.main
    seller.patch(f"/auctions/{gid}", json={"buyNowPrice": "99999"})
    answer = buyer.send(question, f"/lots/{gid}/buy")
    again = Page(answer)
    assert 409 == answer.status_code
    assert "This lot was changed after you saw it. Nothing was bought." in again.main
    assert ["The buy-now price was €50.00 and is now €99,999.00."] == told(again)
    assert "Buy for €99,999.00" in again.main
    assert "open" == seller.json("GET", f"/auctions/{gid}")["status"]
    assert 303 == buyer.send(again, f"/lots/{gid}/buy").status_code
    assert "99999.000" == seller.json("GET", f"/auctions/{gid}")["currentBid"]


def test_a_limit_is_not_for_another_lot(buyer: Visitor, seller: User, come: Come) -> None:
    """A confirmed limit is not placed on a lot with another name, start and photos; the page shows the lot as it is now."""
    visitor = come()
    gid = sold(visitor, seller, description="Oak", startingPrice="10")["gid"]
    asked = confirmation(buyer, gid, "bid", maximum="1000", amount="")
    form = visitor.page(f"/sell/{gid}")
    bait = {"name": "Empty <box>", "startingPrice": "900", "files": [("a.jpg", picture())]}
    assert (
        303
        == visitor.send(visitor.sent(form, f"/sell/{gid}", "preview", **bait), f"/sell/{gid}", "publish").status_code
    )
    again = buyer.sent(asked, f"/lots/{gid}/bid")
    assert 409 == again.status
    assert "This lot was changed after you saw it. No bid was placed." in again.main
    assert [
        "The lot was called “Clock” and is now called “Empty <box>”.",
        "The starting price was €10.00 and is now €900.00.",
        "The photos or their order have changed.",
    ] == told(again)
    assert ("Empty <box>", 1) == (again.heading, len(again.all("img", class_="photo")))
    assert 0 == seller.json("GET", f"/auctions/{gid}")["bidCount"]
    assert 303 == buyer.send(again, f"/lots/{gid}/bid").status_code
    assert "900.000" == seller.json("GET", f"/auctions/{gid}")["currentBid"]


def test_somebody_elses_bid_is_no_change(buyer: Visitor, seller: User, house: House) -> None:
    """On a busy lot a confirmed limit is accepted, even if others have bid since the confirmation was shown."""
    gid = seller.auction(startingPrice="10")
    asked = confirmation(buyer, gid, "bid", maximum="90", amount="")
    house.user("hedy").bid(gid, maximum="50")
    assert 303 == buyer.send(asked, f"/lots/{gid}/bid").status_code
    assert "grace" == seller.json("GET", f"/auctions/{gid}")["currentBidder"]


@pytest.mark.parametrize("kind", ["bid", "buy"])
def test_the_first_step_tells_what_has_changed_since_the_page(buyer: Visitor, seller: User, kind: str) -> None:
    """A page opened before a change shows the change with the confirmation, and a fragment brings the lot with it."""
    gid = seller.auction(buyNowPrice="50", startingPrice="10")
    page = buyer.page(f"/lots/{gid}")
    seller.patch(f"/auctions/{gid}", json={"buyNowPrice": "60", "name": "Other", "description": "New"})
    expected = [
        "The lot was called “Longcase clock” and is now called “Other”.",
        "The description has changed.",
        "The buy-now price was €50.00 and is now €60.00.",
    ]
    question = buyer.sent(page, f"/lots/{gid}/{kind}")
    assert (200, expected) == (question.status, told(question))
    assert "Read what is new before you go on." in question.main
    buyer.http.headers.update(FRAGMENT)
    part = buyer.send(page, f"/lots/{gid}/{kind}")
    assert expected == told(Page(part))
    for place in ("name", "lot-photos", "lot-about", "lot-rule"):
        assert "outerMorph" == next(e for e in Page(part).elements if e.attributes.get("id") == place)["hx-swap-oob"]
    assert [] == told(Page(buyer.http.get(f"/lots/{gid}/box")))
    del buyer.http.headers["HX-Request"]
    assert 303 == buyer.send(question, f"/lots/{gid}/{kind}").status_code


def test_a_confirmation_is_its_bidders_own(buyer: Visitor, seller: User, house: House) -> None:
    """After a login as another user in another tab, nothing that the first user confirmed is bid or sold.

    A bid is to be confirmed once more, by its new bidder. A lot to be sold is previewed once more, and is not published.
    """
    gid = seller.auction(buyNowPrice="50", startingPrice="10")
    questions = {f"/lots/{gid}/{kind}": confirmation(buyer, gid, kind) for kind in ("buy", "bid")}
    shown = preview(buyer)
    hedy = house.user("hedy")
    before = hedy.json("GET", "/me/auctions")["auctions"]
    buyer.http.cookies.set("saleroom_session", hedy.token)
    for path, page in questions.items():
        assert 409 == buyer.send(page, path).status_code
    assert 200 == buyer.sent(shown, "/sell", "publish").status
    assert before == hedy.json("GET", "/me/auctions")["auctions"]
    assert 0 == seller.json("GET", f"/auctions/{gid}")["bidCount"]


def test_a_form_that_does_not_say_what_it_confirms_is_none(buyer: Visitor, seller: User) -> None:
    """A confirmation without a version, without a price to buy at, or with a malformed number is 400 and does nothing."""
    gid = seller.auction(buyNowPrice="50", startingPrice="10")
    for kind, missing in (("buy", {"price": None}), ("buy", {"version": None}), ("bid", {"version": "x"})):
        answer = buyer.send(confirmation(buyer, gid, kind), f"/lots/{gid}/{kind}", **missing)
        assert 400 == answer.status_code
    assert 0 == seller.json("GET", f"/auctions/{gid}")["bidCount"]


def test_a_lot_that_cannot_be_bought_any_more_says_so_at_once(buyer: Visitor, seller: User, house: House) -> None:
    """The first step to buy is 409 if the price is gone or there is a bid; it says so and leads to bidding."""
    spoils: list[Callable[[str], object]] = [
        lambda gid: seller.patch(f"/auctions/{gid}", json={"buyNowPrice": None}),
        lambda gid: house.user("hedy").bid(gid, amount="12"),
    ]
    for spoil in spoils:
        gid = seller.auction(buyNowPrice="50", startingPrice="10")
        page, question = buyer.page(f"/lots/{gid}"), confirmation(buyer, gid, "buy")
        spoil(gid)
        for answer in (buyer.send(page, f"/lots/{gid}/buy"), buyer.send(question, f"/lots/{gid}/buy")):
            assert 409 == answer.status_code
            assert "This lot can no longer be bought at a fixed price." in Page(answer).main
            assert [] == [e for e in Page(answer).all("form") if e["action"].endswith("/buy")]


def test_two_tabs_of_a_seller(come: Come, seller: User) -> None:
    """The second tab to save is shown the first tab's changes and asked again; no text is lost."""
    visitor = come()
    gid = sold(visitor, seller)["gid"]
    path, form = f"/sell/{gid}", visitor.page(f"/sell/{gid}")
    shown = visitor.sent(form, path, "preview", description="second")
    seller.patch(f"/auctions/{gid}", json={"startingPrice": "77", "buyNowPrice": "500"})
    for answer in (visitor.send(shown, path, "publish"), visitor.send(form, path, "preview", description="second")):
        back = Page(answer)
        assert 409 == back.status
        assert "This lot was changed after you saw it, so nothing was done." in back.main
        assert [
            "The starting price was €100.00 and is now €77.00.",
            "The lot can now be bought at once for €500.00.",
        ] == told(back)
        assert "second" == back.one("textarea", name="description").text
    assert "" == seller.json("GET", f"/auctions/{gid}")["description"]
    back = visitor.sent(form, path, "preview", description="second")
    again = visitor.sent(back, path, "preview")
    assert 303 == visitor.send(again, path, "publish").status_code
    saved = seller.json("GET", f"/auctions/{gid}")
    assert ("second", "100.000", None) == (saved["description"], saved["startingPrice"], saved["buyNowPrice"])


Spoil = Callable[[House, User, str], Any]


def renamed(_: House, seller: User, gid: str) -> Any:
    """Give the lot another name."""
    return seller.patch(f"/auctions/{gid}", json={"name": "Other"})


def bid_on(house: House, _: User, gid: str) -> Any:
    """Place a bid on the lot."""
    return house.user("hedy").bid(gid, amount="200")


@each_of(
    {"act": "cancel", "do": "", "written": {}, "spoil": renamed},
    {"act": "close", "do": "announce", "written": {"endsAt": "2031-07-01T20:00"}, "spoil": renamed},
    {"act": "close", "do": "now", "written": {}, "spoil": bid_on},
)
def test_a_confirmation_does_not_hold_for_a_changed_lot(
    come: Come, seller: User, house: House, act: str, do: str, written: dict[str, str], spoil: Spoil
) -> None:
    """Cancelling or ending a changed lot asks again, so a seller who reads `nobody has bid` sells to no unseen bidder."""
    visitor = come()
    gid = sold(visitor, seller, ending="open")["gid"]
    page = visitor.page(f"/sell/{gid}")
    assert "Nobody has bid, so it ends unsold." in page.main
    spoil(house, seller, gid)
    back = visitor.sent(page, f"/sell/{gid}/{act}", do, **written)
    assert ("open", None) == tuple(seller.json("GET", f"/auctions/{gid}")[name] for name in ("status", "endsAt"))
    if do == "now":
        assert (412, True) == (back.status, "Something has happened on this lot after you saw it" in back.main)
        assert "It is sold to hedy for €200.00." in back.main
    else:
        assert (409, ["The lot was called “Clock” and is now called “Other”."]) == (back.status, told(back))
    assert 303 == visitor.send(back, f"/sell/{gid}/{act}", do, **written).status_code


def test_a_preview_in_one_language_is_not_published_in_another(come: Come, seller: User) -> None:
    """`1.500` is fifteen hundred in German and one and a half in English, so it is previewed once more."""
    visitor = come()
    visitor.http.headers["Accept-Language"] = "de"
    shown = preview(visitor, startingPrice="1.500")
    assert "1.500,00" in shown.main
    visitor.http.headers["Accept-Language"] = "en"
    again = visitor.sent(shown, "/sell", "publish")
    assert 409 == again.status
    assert "What you sent differs from the preview. Check it again." in again.main
    assert "The first bid is €1.50 or more." in again.main
    assert [] == seller.json("GET", "/auctions?limit=100&author=" + seller.name)["auctions"]
    assert "1.500" == seller.json("GET", f"/auctions/{publish(visitor, again)}")["startingPrice"]


@pytest.mark.databases("sqlite", "postgresql")
def test_changes_are_told_in_german(seller: User, come: Come, house: House) -> None:
    """Changes are told in German, with amounts in the German form."""
    buyer = come(house.user("grace"), **{"Accept-Language": "de"})
    gid = seller.auction(buyNowPrice="50", startingPrice="10")
    question = confirmation(buyer, gid, "buy")
    seller.patch(f"/auctions/{gid}", json={"buyNowPrice": "99999"})
    again = buyer.sent(question, f"/lots/{gid}/buy")
    assert "Es wurde nichts gekauft." in again.main
    assert ["Der Sofortkaufpreis war 50,00 € und ist jetzt 99.999,00 €."] == [
        t.replace("\u00a0", " ") for t in told(again)
    ]


@pytest.mark.parametrize(
    ("language", "field", "text", "says"),
    [
        ("de", "amount", "12,500", "12,500 wird als 12,50 € gelesen. Wenn Sie 12.500,00 €"),
        ("en", "maximum", "12.345", "12.345 is read as €12.345. If you"),
        ("de-CH", "amount", "12.500", "12.500 wird als EUR 12.50 gelesen. Wenn Sie EUR 12’500.00"),
        ("de", "amount", "12.500", None),
        ("en", "amount", "12.50", None),
    ],
)
def test_a_bid_that_may_mean_thousands_is_told(
    house: House, language: str, field: str, text: str, says: str | None
) -> None:
    """The step before the bid says how it was read, also when it is shown once more, and the bid is the one shown."""
    ada = house.user("ada")
    gid = ada.auction()
    visitor, form = Visitor(house, house.user("grace"), **{"Accept-Language": language}), f"/lots/{gid}/bid"
    asked = Page(visitor.send(visitor.page(f"/lots/{gid}"), form, **{"amount": "", field: text}))
    house.user("linus").bid(gid, "10")
    for shown in (asked, Page(visitor.send(asked, form, stale="1"))):
        notes = [one.text.replace("\u00a0", " ") for one in shown.all("p", class_="note-alert")]
        assert ([] if says is None else [says]) == [one.split(" meinen")[0].split(" mean")[0] for one in notes]
