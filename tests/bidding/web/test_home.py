"""Home: lots on sale, coming up and over, with search, order and pages, all by the address alone."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from typing import Any

import pytest

from saleroom.bidding.service import catalogue
from saleroom.bidding.web import home as home_pages
from saleroom.storage.database import Transaction
from tests.fixtures_database import FakeClock
from tests.fixtures_house import PASSWORD, House, ServeHouse
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.site.markup import Page
from tests.storage.rows import add_auction, add_author

pytestmark = pytest.mark.databases("sqlite")

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 7*7 }}&amp;"""


def page(house: House, path: str, **headers: str) -> Page:
    """Return a page as a visitor without a session sees it."""
    return Page(house.stranger.get(path, headers=headers))


def at(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


def lots(home: Page) -> list[str]:
    """Return the gids of the lots that a home page lists."""
    return [link.removeprefix("/lots/") for link in home.links if link.startswith("/lots/")]


def card(home: Page) -> str:
    """Return the text of the page's only card."""
    return home.one("article").text


def order_of(home: Page) -> str:
    """Return the order that is chosen."""
    [chosen] = [element for element in home.all("option") if "selected" in element.attributes]
    return chosen["value"]


def shell(command: str, token: str = "") -> Any:
    """Run a command of a page in a shell, with TOKEN set, and return the JSON that it prints."""
    shown = subprocess.run(
        [need("bash"), "-c", command],
        env={"PATH": os.environ["PATH"], "TOKEN": token},
        capture_output=True,
        check=True,
        timeout=SECONDS_MAX,
    )
    return json.loads(shown.stdout)


def test_an_empty_house_explains_how_to_begin(clocked_house: House) -> None:
    """If there has never been a lot, home leads to the form, and shows commands that work as they are."""
    need("curl")
    home = page(clocked_house, "/")
    assert "/sell" == home.one("a", class_="button", role="button")["href"]
    log_in, _, create = [block.raw for block in home.all("pre")]
    clocked_house.user("ada")
    token = shell(log_in.replace("your password", PASSWORD))["token"]
    gid = shell(create, token)["gid"]
    assert [gid] == lots(page(clocked_house, "/"))
    assert "/docs" in home.links


def test_home_lists_the_open_auctions_soonest_end_first(clocked_house: House, clock: FakeClock) -> None:
    """Home lists the open lots by their end; scheduled lots and lots that are over have separate lists."""
    ada = clocked_house.user("ada")
    never = ada.auction(name="Never ends")
    late = ada.auction(name="Ends late", endsAt=at(clock, hours=9))
    soon = ada.auction(name="Ends soon", endsAt=at(clock, hours=1))
    scheduled = ada.auction(name="Scheduled", startsAt=at(clock, hours=1))
    cancelled = ada.auction(name="Cancelled", endsAt=at(clock, hours=2))
    ada.delete(f"/auctions/{cancelled}")
    closed = ada.auction(name="Closed")
    ada.post(f"/auctions/{closed}/close", json={})
    assert [soon, late, never] == lots(page(clocked_house, "/"))
    assert [scheduled] == lots(page(clocked_house, "/?status=scheduled"))
    assert [cancelled, closed] == lots(page(clocked_house, "/?status=over"))


def test_a_card_shows_price_bids_and_end(clocked_house: House, clock: FakeClock) -> None:
    """A card has the price in the house's currency, the number of bids, and the end in UTC, for machines too."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    gid = ada.auction(name="Clock", startingPrice="1234.5", endsAt=at(clock, hours=1))
    assert card(page(clocked_house, "/")).startswith("Clock Offered by ada Starting price €1,234.50 no bids yet Ends ")
    grace.bid(gid, amount="1250.125")
    home = page(clocked_house, "/")
    assert "Highest bid €1,250.125 1 bid Ends" in card(home)
    assert "1250.125" == home.one("data")["value"]
    assert "2026-11-21T13:00:00.000000Z" == home.one("time")["datetime"]
    assert "2026-11-21T13:00:00.000000Z" == home.one("span", role="timer")["data-until"]


def test_a_card_says_how_its_lot_ended(clocked_house: House, clock: FakeClock) -> None:
    """A lot that is over shows its result instead of its time: the buyer, why it was not sold, or cancelled."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    sold, unmet, unbid, cancelled = (
        ada.auction(name=name, endsAt=at(clock, hours=n + 1), **terms)
        for n, (name, terms) in enumerate(
            {"Sold": {}, "Unmet": {"reservePrice": "99"}, "Unbid": {}, "Cancelled": {}}.items()
        )
    )
    for gid in (sold, unmet):
        grace.bid(gid, amount="12")
    ada.delete(f"/auctions/{cancelled}")
    clocked_house.advance(5 * 3600)
    home = page(clocked_house, "/?status=over")
    said = dict(zip(lots(home), [element.text for element in home.all("article")], strict=True))
    assert [cancelled, unbid, unmet, sold] == list(said)
    assert said[sold].endswith("Sold for €12.00 1 bid Sold to grace")
    assert said[unmet].endswith("Highest bid €12.00 1 bid Closed, reserve not met")
    assert said[unbid].endswith("Starting price €10.00 no bids Closed without bids")
    assert said[cancelled].endswith("Cancelled")
    assert [] == home.all("span", role="timer")


def test_a_lot_to_come_says_when_it_starts(clocked_house: House, clock: FakeClock) -> None:
    """Before its start a card shows the start, not the end."""
    clocked_house.user("ada").auction(startsAt=at(clock, hours=1), endsAt=at(clock, hours=5))
    home = page(clocked_house, "/?status=scheduled")
    assert "Coming up Starts" in card(home)
    assert ["2026-11-21T13:00:00.000000Z"] == [time["datetime"] for time in home.all("time")]


@pytest.mark.databases("sqlite", "postgresql")
def test_a_search_looks_into_name_and_description(clocked_house: House) -> None:
    """A search finds words in both, without case, keeps its words in the field, and tells the number of lots found."""
    ada = clocked_house.user("ada")
    clock, stool = ada.auction(name="Longcase CLOCK"), ada.auction(name="Stool", description="Beside a clock.")
    ada.auction(name="Vase")
    found = page(clocked_house, "/?q=+clock+&sort=newest")
    assert [stool, clock] == lots(found)
    assert ("clock", "newest") == (found.one("input", type="search")["value"], order_of(found))
    assert "2 lots" == found.one("p", id="count").text
    assert "/?q=clock&status=over&sort=newest" in found.links
    chair = ada.auction(name="Chair in walnut")
    assert [chair] == lots(page(clocked_house, "/?q=walnut+cha"))
    # Programs put marks of direction around what is copied from them. Nobody sees them.
    pasted = page(clocked_house, "/?q=%E2%80%AAwalnut%E2%80%AC+%E2%81%A8cha%E2%81%A9")
    assert [chair] == lots(pasted)
    assert "walnut cha" == pasted.one("input", name="q")["value"]
    none = page(clocked_house, "/?q=100%25+%3Cb%3E")
    assert [] == lots(none)
    assert "No lot matches “100% <b>”." in none.main
    assert "No lots" == none.one("p", id="count").text
    assert "/" in none.links


@pytest.mark.databases("sqlite", "postgresql")
def test_the_lots_of_one_seller(clocked_house: House) -> None:
    """`author`, in any case, lists one seller's lots only; the page says so, and leads back to all lots."""
    clocked_house.user("ada").auction()
    gid = clocked_house.user("grace").auction()
    home = page(clocked_house, "/?author=Grace&sort=price")
    assert [gid] == lots(home)
    assert "Lots of grace" == home.heading
    assert "/?sort=price" in home.links
    assert "grace" == home.one("input", name="author")["value"]


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize(("sort", "order"), [("", [1, 2, 0]), ("newest", [2, 1, 0]), ("price", [2, 0, 1])])
def test_the_orders(clocked_house: House, clock: FakeClock, sort: str, order: list[int]) -> None:
    """A list is ordered by end, by creation or by price, as its address says."""
    ada = clocked_house.user("ada")
    gids = [
        ada.auction(startingPrice=price, endsAt=at(clock, hours=hours))
        for price, hours in (("20", 9), ("30", 1), ("10", 5))
    ]
    assert [gids[n] for n in order] == lots(page(clocked_house, f"/?sort={sort}"))


@pytest.fixture
def page_length(monkeypatch: pytest.MonkeyPatch) -> int:
    """Few lots on a page, as many take long to make; tests/browser/test_home.py turns a page of the usual length."""
    monkeypatch.setattr(home_pages, "LOTS_PER_PAGE", 4)
    return 4


@pytest.mark.databases("sqlite", "postgresql")
def test_home_turns_its_pages(clocked_house: House, page_length: int) -> None:
    """The links to the next page show every lot once and keep the order; later pages link the first."""
    ada = clocked_house.user("ada")
    expected = [ada.auction() for _ in range(page_length + 1)]
    first = page(clocked_house, "/?sort=newest&q=clock")
    second = page(clocked_house, first.one("a", rel="next")["href"])
    assert (page_length, 1) == (len(lots(first)), len(lots(second)))
    assert expected[::-1] == lots(first) + lots(second)
    assert [] == second.all("a", rel="next")
    assert "/?q=clock&sort=newest" in second.links
    assert f"{page_length + 1} lots" == first.one("p", id="count").text == second.one("p", id="count").text


@pytest.mark.databases("sqlite", "postgresql")
def test_a_page_beyond_the_last_lot_says_so(clocked_house: House, clock: FakeClock, page_length: int) -> None:
    """A visitor who turns to a page whose lots have all closed is led back."""
    ada = clocked_house.user("ada")
    for _ in range(page_length + 1):
        ada.auction(endsAt=at(clock, hours=1))
    further = page(clocked_house, "/").one("a", rel="next")["href"]
    clocked_house.advance(3600)
    beyond = page(clocked_house, further)
    assert "There are no more lots." in beyond.main
    assert "First page" in beyond.main


def test_a_house_between_two_sales_says_so(clocked_house: House) -> None:
    """If there have been lots but none is open, home says that, and does not explain how to begin."""
    ada = clocked_house.user("ada")
    ada.post(f"/auctions/{ada.auction()}/close", json={})
    home = page(clocked_house, "/")
    assert "Nothing is on sale just now." in home.main
    assert [] == home.all("pre")
    assert "/sell" in home.links


def test_a_long_list_is_not_counted_to_its_end(clocked_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """For very many lots the page says only that, because an exact count costs too much."""
    for module in (catalogue, home_pages):
        monkeypatch.setattr(module, "COUNT_MAX", 30)

    def sell(tx: Transaction) -> None:
        author = add_author(tx)
        for _ in range(31):
            add_auction(tx, author)

    clocked_house.write(sell)
    assert "More than 30 lots" == page(clocked_house, "/").one("p", id="count").text


@pytest.mark.parametrize(
    "query",
    [
        "after=rubbish",
        "after=WyIxIiwx",
        "after=%00",
        "after=WyI5OTk5OTk5OTk5OTk5OTk5OTk5IiwxLCI1Il0",
        "sort=price&after=WyIxIiwxLCIxIl0",
        "status=closed",
        "sort=random",
        "author=a%20b",
        "author=%00",
        "q=%00",
        f"q={'x' * 201}",
        "q=%ED%A0%80%00",
    ],
)
def test_an_address_that_is_no_list_leads_out(house: House, query: str) -> None:
    """An old or mistyped address is 400, with a page that says so and leads to the lots on sale."""
    refused = page(house, f"/?{query}")
    assert 400 == refused.status
    assert "This page of the list no longer exists" in refused.main
    assert "/" == refused.one("a", role="button")["href"]


def test_a_form_as_it_is_sent_asks_for_home(clocked_house: House) -> None:
    """Empty fields and unknown parameters of a link have no effect."""
    gid = clocked_house.user("ada").auction()
    for path in ("/?status=open&author=&q=&sort=ending", "/?utm_source=letter", "/?after=&q=+"):
        assert [gid] == lots(page(clocked_house, path))
        assert "/" == page(clocked_house, path).one("div", id="catalogue")["data-address"]


def test_home_follows_the_lots_that_it_shows(clocked_house: House) -> None:
    """The page's stream is for its list and its own lots; of lots that are over only the list is followed."""
    ada = clocked_house.user("ada")
    gid = ada.auction()
    [stream] = [e for e in page(clocked_house, "/").elements if "hx-sse:connect" in e.attributes]
    assert f"/live?list=1&lots={gid}" == stream["hx-sse:connect"]
    ada.post(f"/auctions/{gid}/close", json={})
    over = page(clocked_house, "/?status=over")
    assert [gid] == lots(over)
    [stream] = [e for e in over.elements if "hx-sse:connect" in e.attributes]
    assert "/live?list=1&lots=" == stream["hx-sse:connect"]


@pytest.mark.databases("sqlite", "postgresql")
def test_markup_in_texts_makes_no_element(clocked_house: House) -> None:
    """Markup in a name or an address is shown as it was written and makes no element."""
    clocked_house.user("ada").auction(name=HOSTILE)
    home = Page(clocked_house.stranger.get("/", params={"q": HOSTILE[:20]}))
    assert HOSTILE == home.one("h2").text
    assert HOSTILE[:20] == home.one("input", type="search")["value"]
    none = Page(clocked_house.stranger.get("/", params={"q": f"none {HOSTILE}"}))
    assert HOSTILE in none.main
    for shown in (home, none):
        assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
        assert {"/assets/"} == {image["src"][:8] for image in shown.all("img")}


def test_nobodys_reserve_is_on_home(house: House) -> None:
    """A card is the same for everyone: even the seller sees no reserve price on it."""
    ada = house.newcomer()
    ada.auction(reservePrice="777.777")
    shown = house.stranger.get(f"/?author={ada.name}", headers={"Cookie": f"saleroom_session={ada.token}"}).text
    assert ada.name in shown
    assert "777.777" not in shown


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("example.org", "http://example.org"),
        ("example.org:9000", "http://example.org:9000"),
        ("[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_examples_name_the_host_that_was_asked(clocked_house: House, host: str, shown: str) -> None:
    """A command to copy names the host of the request, which is a name or an address (`test_a_request_names_one_host`)."""
    assert f"curl -X POST {shown}/login" in page(clocked_house, "/", Host=host).main


def test_examples_name_the_public_address(serve_house: ServeHouse) -> None:
    """If the house knows its public address, a command to copy names that address."""
    served = serve_house(public_url="https://sales.example.org/")
    assert "curl -X POST https://sales.example.org/login" in page(served, "/").main
