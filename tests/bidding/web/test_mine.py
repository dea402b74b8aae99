"""My saleroom over HTTP: the lots that a user bids on, sells and watches, and the star on a lot."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from saleroom.bidding.service import mine
from saleroom.bidding.web import mine as mine_pages
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

HOSTILE = """</h3><script>alert(1)</script><img src=x onerror="alert(1)">'{{ 7*7 }}&amp;"""


def rows(page: Page) -> list[str]:
    """Return the lots of a page's lists, in order: each gid and the lot's state for the reader."""
    kinds = [e["class"].removeprefix("my-lot ") for e in page.all("li", class_="my-lot")]
    names = [e["href"].removeprefix("/lots/") for e in page.all("a", class_="name") if e["href"].startswith("/lots/")]
    return [f"{kind} {name}" for kind, name in zip(kinds, names, strict=True)]


def until(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


@pytest.mark.parametrize("path", ["/mine", "/mine/selling", "/mine/watching", "/mine/sessions"])
def test_a_login_leads_back_to_the_page(house: House, path: str) -> None:
    """My saleroom needs a login, which leads back."""
    answer = Visitor(house).http.get(path)
    assert (303, f"/login?next={path}") == (answer.status_code, answer.headers["location"])


def test_an_empty_saleroom_says_how_to_begin(house: House) -> None:
    """Each page tells a user without lots what to do."""
    visitor = Visitor(house, house.newcomer())
    for path, words, link in [
        ("/mine", "You have not bid yet", "/"),
        ("/mine/selling", "You have not sold anything yet", "/sell"),
        ("/mine/watching", "You are not watching anything yet", "/"),
    ]:
        page = visitor.page(path)
        assert words in page.main
        assert link in [e["href"] for e in page.all("a", class_="button")]


@pytest.mark.databases("sqlite", "postgresql")
def test_lots_that_need_attention_come_first(clocked_house: House, clock: FakeClock) -> None:
    """Outbid before leading, each by the soonest end; then what is over, the latest end first."""
    ada, grace, hedy = (clocked_house.user(name) for name in ("ada", "grace", "hedy"))
    lots = {
        name: ada.auction(name=name, endsAt=until(clock, hours=hours))
        for name, hours in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 0.1), ("f", 0.2)]
    }
    for gid in lots.values():
        grace.bid(gid, amount="20")
    for name in ("b", "d", "f"):
        hedy.bid(lots[name], amount="30")
    clocked_house.advance(1000)
    page = Visitor(clocked_house, grace).page("/mine")
    expected = ["outbid b", "outbid d", "leading a", "leading c", "lost f", "won e"]
    assert [f"{kind} {lots[name]}" for kind, name in map(str.split, expected)] == rows(page)
    assert "Others lead on 2 lots." == page.one("p", class_="attention").text


def test_each_standing_says_what_to_do_next(clocked_house: House) -> None:
    """Outbid: the leader and the minimum bid; leading: the user's limit, and an unmet reserve; won and lost: prices."""
    ada, grace, hedy = (clocked_house.user(name) for name in ("ada", "grace", "hedy"))
    outbid, leading, won, lost, unmet = (
        ada.auction(**terms) for terms in ({}, {"reservePrice": "500"}, {}, {}, {"reservePrice": "500"})
    )
    for gid in (outbid, won, lost, unmet):
        grace.bid(gid, amount="20")
    grace.bid(leading, maximum="77")
    for gid in (outbid, lost):
        hedy.bid(gid, amount="30")
    for gid in (won, lost, unmet):
        ada.json("POST", f"/auctions/{gid}/close", json={})
    shown = {e.text for e in Visitor(clocked_house, grace).page("/mine").all("div", class_="my-lot-story")}
    assert {
        "Longcase clock Outbid hedy leads. Bid €31.00 or more Your receipts",
        "Longcase clock You lead Your limit is €77.00. The reserve is not met yet. Your receipts",
        "Longcase clock Won You owe ada €20.00. Your receipts",
        "Longcase clock Lost Sold to hedy for €30.00. Your receipts",
        "Longcase clock Not sold The reserve was not met. Your receipts",
    } == shown
    assert "77" not in Visitor(clocked_house, hedy).page("/mine").main


def test_the_limit_of_another_never_leaves_the_use_case(house: House) -> None:
    """A row has the reader's limit if the reader leads, otherwise none."""
    grace, hedy = house.newcomer(), house.newcomer()
    gid = house.user("ada").auction()
    grace.bid(gid, maximum="20")
    hedy.bid(gid, maximum="77")
    limits = [
        [row.limit for row in house.read(mine.bidding, user.token, mine.LIVE, 20, None).rows] for user in (grace, hedy)
    ]
    assert [[None], [Decimal(77)]] == limits


def test_each_lot_of_the_seller_shows_its_result(clocked_house: House, clock: FakeClock) -> None:
    """Open, scheduled, sold, unsold without bids or below the reserve, cancelled: each lot shows its result."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    fresh, bid_on, coming, sold, unbid, unmet, cancelled = (
        ada.auction(name=f"lot {number}", **terms)
        for number, terms in enumerate(
            ({}, {}, {"startsAt": until(clock, hours=1)}, {}, {}, {"reservePrice": "500"}, {}), 1
        )
    )
    for gid in (bid_on, sold, unmet):
        grace.bid(gid, amount="20")
    for gid in (sold, unbid, unmet):
        ada.json("POST", f"/auctions/{gid}/close", json={})
    ada.delete(f"/auctions/{cancelled}")
    page = Visitor(clocked_house, ada).page("/mine/selling")
    assert {
        f"open {fresh}",
        f"open {bid_on}",
        f"scheduled {coming}",
        f"sold {sold}",
        f"no_bids {unbid}",
        f"reserve_not_met {unmet}",
        f"cancelled {cancelled}",
    } == set(rows(page))
    assert {
        "lot 1 On sale The first bid is €10.00 or more. Change or cancel",
        "lot 2 On sale grace leads. End the sale",
        "lot 3 Coming up Change or cancel",
        "lot 4 Sold to grace for €20.00",
        "lot 5 Not sold Nobody has bid. Offer it again",
        "lot 6 Not sold The highest bid was below your reserve of €500.00. Offer it again",
        "lot 7 Cancelled You cancelled it before the first bid. Offer it again",
    } == {e.text for e in page.all("div", class_="my-lot-story")}
    assert [] == rows(Visitor(clocked_house, grace).page("/mine/selling"))


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("path", ["/mine", "/mine/selling", "/mine/watching"])
def test_lists_turn_their_pages(house: House, path: str, monkeypatch: pytest.MonkeyPatch, *, over: bool) -> None:
    """More rows than a page has, running and over, are shown by page, each once; the next page links the first."""
    monkeypatch.setattr(mine_pages, "ROWS", 4)
    seller, bidder = house.newcomer(), house.newcomer()
    gids = [seller.auction() for _ in range(5)]
    reader = seller if path == "/mine/selling" else bidder
    visitor = Visitor(house, reader)
    for gid in gids:
        bidder.bid(gid, amount="20")
        if path == "/mine/watching":
            reader.json("PUT", f"/auctions/{gid}/watch")
        if over:
            seller.json("POST", f"/auctions/{gid}/close", json={})
    first = visitor.page(path)
    second = visitor.page(first.one("a", rel="next")["href"])
    shown = [row.split()[1] for page in (first, second) for row in rows(page)]
    assert sorted(gids) == sorted(shown)
    assert [] == second.all("a", rel="next")
    assert "First page" in second.main


@pytest.mark.parametrize("path", ["/mine", "/mine/selling", "/mine/watching"])
@pytest.mark.parametrize(
    "cursor", ["rubbish", "", "%00", "WzEsMl0", "Wy0xLDAsMF0", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk"]
)
def test_a_cursor_that_is_none_is_refused(house: House, path: str, cursor: str) -> None:
    """A mistyped place in a list is 400, with a page that says so."""
    refused = Visitor(house, house.user("ada")).page(f"{path}?now={cursor}")
    assert 400 == refused.status
    assert "There is no such page of this list." in refused.main


def test_the_star(house: House) -> None:
    """Its aria-pressed says whether the user watches the lot; it leads back to the page; the list has the latest first."""
    gids = [house.user("ada").auction(name=name) for name in ("Clock", HOSTILE)]
    visitor = Visitor(house, house.newcomer())
    for gid in gids:
        page = visitor.page(f"/lots/{gid}")
        assert "false" == star(page)["aria-pressed"]
        answer = visitor.send(page, f"/lots/{gid}/watch")
        assert (303, f"/lots/{gid}") == (answer.status_code, answer.headers["location"])
        assert "true" == star(visitor.page(f"/lots/{gid}"))["aria-pressed"]
    watched = visitor.page("/mine/watching")
    assert [f"open {gid}" for gid in reversed(gids)] == rows(watched)
    answer = visitor.send(watched, f"/lots/{gids[0]}/unwatch")
    assert (303, "/mine/watching") == (answer.status_code, answer.headers["location"])
    assert [f"open {gids[1]}"] == rows(visitor.page("/mine/watching"))


def star(page: Page) -> dict[str, str]:
    """Return the attributes of a page's one star."""
    [button] = [e for e in page.all("button") if "aria-pressed" in e.attributes]
    return button.attributes


def test_the_star_by_itself(house: House) -> None:
    """For htmx the star comes back alone, switched, or a sentence to log in; without htmx the form leads back to the lot."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.newcomer())
    page = visitor.page(f"/lots/{gid}")
    visitor.http.headers["HX-Request"] = "true"
    turned = visitor.sent(page, f"/lots/{gid}/watch")
    assert ("true", f"/lots/{gid}/unwatch") == (star(turned)["aria-pressed"], turned.one("form")["action"])
    assert f"/lots/{gid}" == turned.one("input", name="next")["value"]
    visitor.http.cookies.delete("saleroom_session")
    visitor.http.headers["Referer"] = f"{house.base}/lots/{gid}"
    refused = Page(visitor.send(page, f"/lots/{gid}/watch"))
    assert 401 == refused.status
    assert f"/login?next=/lots/{gid}" == refused.one("a")["href"]
    assert "no longer logged in" in refused.one("div", role="alert").text
    del visitor.http.headers["HX-Request"]
    assert f"/login?next=/lots/{gid}" == visitor.send(page, f"/lots/{gid}/watch").headers["location"]


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_the_star_never_leads_to_another_host(house: House, back: str) -> None:
    """An address that is not of this house leads to the lot instead."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    answer = visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/watch", next=back)
    assert f"/lots/{gid}" == answer.headers["location"]
    visitor.http.post(f"/lots/{gid}/unwatch", headers={"X-Requested-With": "tests"})


def test_an_unknown_lot_has_no_star(house: House) -> None:
    """The star of an unknown lot is 404, as a page."""
    visitor = Visitor(house, house.user("grace"), **{"X-Requested-With": "tests"})
    for gid in ("none", "%00", "a" * 100):
        assert 404 == Page(visitor.http.post(f"/lots/{gid}/watch")).status


def test_hostile_names_stay_text(house: House) -> None:
    """A name with markup is text on all pages."""
    seller, bidder = house.newcomer(), house.newcomer()
    gid = seller.auction(name=HOSTILE)
    bidder.bid(gid, amount="20")
    bidder.json("PUT", f"/auctions/{gid}/watch")
    for reader, path in ((bidder, "/mine"), (seller, "/mine/selling"), (bidder, "/mine/watching")):
        page = Visitor(house, reader).page(path)
        assert HOSTILE in page.main
        assert all("src" in e.attributes for e in page.all("script"))
