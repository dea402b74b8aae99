"""A bid whose session has ended, and forms from before another login: nothing is done, and nothing typed is lost."""

from __future__ import annotations

import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, User
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

FRAGMENT = {"HX-Request": "true"}


def log_in_again(visitor: Visitor, house: House, user: User) -> None:
    """Give the browser another session of the same user, as a login in another tab does."""
    visitor.http.cookies.delete("saleroom_session")
    visitor.http.cookies["saleroom_session"] = house.log_in(user.name).token


@pytest.mark.parametrize(("language", "typed"), [("en", ["130.50", "170.00"]), ("de", ["130,50", "170,00"])])
@pytest.mark.parametrize("step", ["first", "confirmation"])
def test_the_amounts_outlive_a_login(
    come: Come, seller: User, house: House, language: str, typed: list[str], step: str
) -> None:
    """After the login the lot's page has the amounts as they were typed, once; no address has them."""
    gid, user = seller.auction(startingPrice="100"), house.newcomer()
    visitor = come(user, **{"Accept-Language": language})
    written = dict(zip(("amount", "maximum"), typed, strict=True))
    page = visitor.page(f"/lots/{gid}")
    if step == "confirmation":
        page, written = visitor.sent(page, f"/lots/{gid}/bid", **written), {}
    user.json("DELETE", "/logout")
    answer = visitor.send(page, f"/lots/{gid}/bid", **written)
    assert (303, f"/login?next=/lots/{gid}") == (answer.status_code, answer.headers["location"])
    assert "httponly" in answer.headers["set-cookie"].lower()
    login = visitor.page(answer.headers["location"])
    back = visitor.sent(login, "/session", username=user.name, password=PASSWORD)
    assert typed == [back.one("input", name=name)["value"] for name in written or ("amount", "maximum")]
    assert "" == visitor.page(f"/lots/{gid}").one("input", name="maximum")["value"]
    visitor.send(visitor.sent(back, f"/lots/{gid}/bid"), f"/lots/{gid}/bid")
    assert "130.500" == seller.json("GET", f"/auctions/{gid}")["currentBid"]


@pytest.mark.parametrize("value", [":", "%22%3E%3Cscript%3Ea()%3C%2Fscript%3E:%00%0A", "%", "7" * 3000])
def test_amounts_that_nobody_typed_are_text(house: House, seller: User, value: str) -> None:
    """A cookie that the house has not made is shown as a short text at most."""
    gid = seller.auction()
    cookies = f"saleroom_bid={value}; saleroom_session={house.newcomer().token}"
    answer = house.stranger.get(f"/lots/{gid}", headers={"Cookie": cookies})
    assert 200 == answer.status_code
    assert "<script>a" not in answer.text and "7" * 65 not in answer.text


@pytest.mark.parametrize("scripts", [True, False])
def test_a_bid_from_before_another_login_is_shown_and_not_placed(
    come: Come, seller: User, house: House, scripts: bool
) -> None:
    """The first step goes on. A confirmed bid is to be confirmed once more, with its amount."""
    gid, user = seller.auction(), house.newcomer()
    visitor = come(user)
    page = visitor.page(f"/lots/{gid}")
    check = visitor.sent(page, f"/lots/{gid}/bid", amount="12", maximum="50")
    log_in_again(visitor, house, user)
    visitor.http.headers.update(FRAGMENT if scripts else {})
    first = visitor.sent(page, f"/lots/{gid}/bid", amount="12", maximum="50")
    assert (200, "50.000") == (first.status, first.one("input", name="exactMaximum")["value"])
    again = visitor.sent(check, f"/lots/{gid}/bid")
    assert 409 == again.status
    assert "You have logged in since this page was opened." in again.one("p", class_="alert").text
    assert 0 == seller.json("GET", f"/auctions/{gid}")["bidCount"]
    assert again.one("input", name="key")["value"] != check.one("input", name="key")["value"]
    visitor.send(again, f"/lots/{gid}/bid")
    assert user.name == seller.json("GET", f"/auctions/{gid}")["currentBidder"]


def test_a_purchase_from_before_another_login_is_shown_and_not_made(come: Come, seller: User, house: House) -> None:
    """A confirmed purchase is to be confirmed once more."""
    gid, user = seller.auction(buyNowPrice="50"), house.newcomer()
    visitor = come(user)
    check = visitor.sent(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/buy")
    log_in_again(visitor, house, user)
    again = visitor.sent(check, f"/lots/{gid}/buy")
    assert (409, "open") == (again.status, seller.json("GET", f"/auctions/{gid}")["status"])
    visitor.send(again, f"/lots/{gid}/buy")
    assert "sold" == seller.json("GET", f"/auctions/{gid}")["outcome"]


def test_other_forms_from_before_another_login_say_what_to_do(come: Come, seller: User, house: House) -> None:
    """A star is not set; the answer says why, and leads back to the page with one click, in its place or as a page."""
    gid, user = seller.auction(), house.newcomer()
    visitor = come(user, Referer=f"{house.base}/lots/{gid}")
    page = visitor.page(f"/lots/{gid}")
    log_in_again(visitor, house, user)
    whole = visitor.sent(page, f"/lots/{gid}/watch")
    assert (403, "You have logged in since this page was opened") == (whole.status, whole.heading)
    visitor.http.headers.update(FRAGMENT)
    part = visitor.sent(page, f"/lots/{gid}/watch")
    assert "This page is from before your last login, so nothing was changed." in part.one("p").text
    for shown in (whole, part):
        assert "Open the page again" == next(e.text for e in shown.all("a", href=f"/lots/{gid}"))
    assert [] == user.json("GET", "/me/watching")["auctions"]
    visitor.http.headers.pop("HX-Request")
    visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/watch")
    assert 1 == len(user.json("GET", "/me/watching")["auctions"])


def test_another_browsers_form_is_no_old_form(come: Come, seller: User, house: House) -> None:
    """A bid with the token of another browser is refused: it is not even shown."""
    gid, user = seller.auction(), house.newcomer()
    foreign = come(user).page(f"/lots/{gid}")
    visitor = come(user)
    visitor.page(f"/lots/{gid}")
    answer = visitor.sent(foreign, f"/lots/{gid}/bid", amount="12")
    assert (403, "This form is out of date") == (answer.status, answer.heading)
