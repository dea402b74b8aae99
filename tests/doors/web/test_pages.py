"""The home page, the page of a lot, and what an error looks like below people's paths."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.doors.web.markup import Page
from tests.fixtures_database import FakeClock
from tests.fixtures_house import PASSWORD, House, ServeHouse
from tests.needs import need

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 7*7 }}&amp;"""
PAGES = ("/", "/login", "/register", "/docs", "/lots/none")


def page(house: House, path: str, **headers: str) -> Page:
    """Return a page as a person without a session sees it."""
    return Page(house.stranger.get(path, headers=headers))


def at(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


def lots(home: Page) -> list[str]:
    """Return the addresses of the lots that a home page lists."""
    return [link for link in home.links if link.startswith("/lots/")]


def shell(command: str, token: str = "") -> Any:
    """Run a command of a page in a shell, with TOKEN set, and return the JSON that it prints."""
    shown = subprocess.run(
        [need("bash"), "-c", command],
        env={"PATH": os.environ["PATH"], "TOKEN": token},
        capture_output=True,
        check=True,
        timeout=20,
    )
    return json.loads(shown.stdout)


def test_an_empty_house_explains_how_to_begin(clocked_house: House) -> None:
    """Where nothing is on sale, home shows the commands that put up a first lot, and they work as they stand."""
    need("curl")
    home = page(clocked_house, "/")
    log_in, _, create = [block.raw for block in home.all("pre")]
    clocked_house.user("ada")
    token = shell(log_in.replace("your password", PASSWORD))["token"]
    gid = shell(create, token)["gid"]
    assert [f"/lots/{gid}"] == lots(page(clocked_house, "/"))
    assert "/docs" in home.links


def test_home_lists_the_open_auctions_soonest_end_first(clocked_house: House, clock: FakeClock) -> None:
    """Home lists what is open, by its end, and nothing that is scheduled, over or cancelled."""
    ada = clocked_house.user("ada")
    never = ada.auction(name="Never ends")
    late = ada.auction(name="Ends late", endsAt=at(clock, hours=9))
    soon = ada.auction(name="Ends soon", endsAt=at(clock, hours=1))
    ada.auction(name="Scheduled", startsAt=at(clock, hours=1))
    ada.delete(f"/auctions/{ada.auction(name='Cancelled')}")
    ada.post(f"/auctions/{ada.auction(name='Closed')}/close", json={})
    assert [f"/lots/{gid}" for gid in (soon, late, never)] == lots(page(clocked_house, "/"))


def test_home_shows_price_bids_and_end(clocked_house: House, clock: FakeClock) -> None:
    """A row has the price with its thousands apart, the number of bids, and the end in UTC, for machines too."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    gid = ada.auction(name="Clock", startingPrice="1234.5", endsAt=at(clock, hours=1))
    row = page(clocked_house, "/").one("article").text
    assert "Clock Offered by ada Ends 21 Nov 2026, 13:00:00 UTC Starting price 1,234.50 no bids yet" == row
    grace.bid(gid, amount="1250.125")
    home = page(clocked_house, "/")
    assert home.one("article").text.endswith("Highest bid 1,250.125 1 bid")
    assert "1250.125" == home.one("data")["value"]
    assert "2026-11-21T13:00:00.000000Z" == home.one("time")["datetime"]


def test_home_turns_its_pages(clocked_house: House) -> None:
    """The link to the next page leads past every lot once, and a further page links the first."""
    ada = clocked_house.user("ada")
    expected = [f"/lots/{ada.auction()}" for _ in range(31)]
    first = page(clocked_house, "/")
    second = page(clocked_house, first.one("a", rel="next")["href"])
    assert (30, 1) == (len(lots(first)), len(lots(second)))
    assert sorted(expected) == sorted(lots(first) + lots(second))
    assert [] == second.all("a", rel="next")
    assert "First page" in second.main


def test_a_page_beyond_the_last_lot_says_so(clocked_house: House, clock: FakeClock) -> None:
    """Who turns to a page whose lots have closed meanwhile is led back."""
    ada = clocked_house.user("ada")
    for _ in range(31):
        ada.auction(endsAt=at(clock, hours=1))
    further = page(clocked_house, "/").one("a", rel="next")["href"]
    clocked_house.advance(3600)
    assert "There are no more lots." in page(clocked_house, further).main


@pytest.mark.parametrize(
    "path",
    [
        "/?after=rubbish",
        "/?after=WyIxIiwx",
        "/?after=",
        "/?after=%00",
        "/?after=WyI5OTk5OTk5OTk5OTk5OTk5OTk5IiwxLCI1Il0",
    ],
)
def test_a_cursor_that_is_none_is_refused(house: House, path: str) -> None:
    """A mistyped cursor gets a page that says so, with 400."""
    refused = page(house, path)
    assert 400 == refused.status
    assert "is not a cursor of this list" in refused.main


def test_a_lot_shows_all_that_is_known(clocked_house: House, clock: FakeClock) -> None:
    """A lot's page shows name, description, price, leader, least next bid, reserve, times, soft close and history."""
    ada, grace, hedy = (clocked_house.user(name) for name in ("ada", "grace", "hedy"))
    gid = ada.auction(
        name="Longcase clock",
        description="Eight-day.\n\nRuns well.",
        startingPrice="100",
        increment="5",
        reservePrice="500",
        startsAt=at(clock),
        endsAt=at(clock, hours=1),
        softClose={"window": 90, "extension": 300, "cap": at(clock, hours=2)},
    )
    grace.bid(gid, maximum="200")
    clock.advance(61)
    hedy.bid(gid, maximum="150")
    lot = page(clocked_house, f"/lots/{gid}")
    assert ("Longcase clock", "Open") == (lot.heading, lot.one("span", class_="tag").text)
    assert "Longcase clock · Saleroom" == lot.one("title").text
    assert "Eight-day.\n\nRuns well." == lot.one("p", class_="description").raw
    assert "155.000" == lot.one("data")["value"]
    assert {
        "Leader": "grace",
        "Least next bid": "160.00",
        "Starting price": "100.00",
        "Bids": "3",
        "Reserve": "Not met",
        "Started": "21 Nov 2026, 12:00:00 UTC",
        "Ends": "21 Nov 2026, 13:00:00 UTC",
    } == lot.facts
    soft_close = "A bid in the last 90 seconds moves the end to 5 minutes after that bid, but never past 21 Nov 2026,"
    assert f"{soft_close} 14:00:00 UTC." in lot.main
    assert [
        "grace automatic 21 Nov 2026, 12:01:01 UTC 155.00",
        "hedy 21 Nov 2026, 12:01:01 UTC 150.00",
        "grace 21 Nov 2026, 12:00:00 UTC 100.00",
    ] == [row.text for row in lot.all("tr")[1:]]


def test_a_lot_shows_how_to_bid(house: House) -> None:
    """The command on a lot's page places the least next bid as it stands; the seller sees none."""
    need("curl")
    ada, grace = house.user("ada"), house.user("grace")
    gid = ada.auction(startingPrice="10.5")
    command = page(house, f"/lots/{gid}").one("pre").raw
    answer = shell(command, grace.token)
    assert (True, "10.500") == (answer["leading"], answer["bid"]["amount"])
    own = Page(house.stranger.get(f"/lots/{gid}", headers={"Cookie": f"saleroom_session={ada.token}"}))
    assert [] == own.all("pre")
    assert "This is your own lot" in own.main


def test_each_outcome_is_told(clocked_house: House) -> None:
    """A lot that is over says how it ended: sold to whom at what price, without bids, below its reserve, cancelled."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    sold, unbid, unmet, cancelled, bought = (
        ada.auction(**terms) for terms in ({}, {}, {"reservePrice": "99"}, {}, {"buyNowPrice": "50"})
    )
    for gid in (sold, unmet):
        grace.bid(gid, amount="12")
    for gid in (sold, unbid, unmet):
        ada.json("POST", f"/auctions/{gid}/close", json={})
    ada.delete(f"/auctions/{cancelled}")
    grace.json("POST", f"/auctions/{bought}/buy", json={})
    pages = {gid: page(clocked_house, f"/lots/{gid}") for gid in (sold, unbid, unmet, cancelled, bought)}
    tags = [shown.one("span", class_="tag").text for shown in pages.values()]
    assert ["Sold", "Closed without bids", "Closed, reserve not met", "Cancelled", "Sold"] == tags
    assert "Sold to grace at 12.00" in pages[sold].main
    assert "Sold to grace at 50.00" in pages[bought].main
    assert "Not met" == pages[unmet].facts["Reserve"]
    assert "Nobody has bid." in pages[unbid].main
    assert not any("How to bid" in shown.main for shown in pages.values())


def test_a_lot_bought_before_its_end_does_not_claim_to_have_ended_then(clocked_house: House, clock: FakeClock) -> None:
    """Whoever buys now ends the auction early: its end is shown as the one that was announced."""
    gid = clocked_house.user("ada").auction(buyNowPrice="50", endsAt=at(clock, hours=1))
    clocked_house.user("grace").json("POST", f"/auctions/{gid}/buy", json={})
    facts = page(clocked_house, f"/lots/{gid}").facts
    assert "21 Nov 2026, 13:00:00 UTC" == facts["Announced end"]
    assert "21 Nov 2026, 12:00:00 UTC" == facts["Last bid"]


def test_a_scheduled_lot_says_when_it_starts(clocked_house: House, clock: FakeClock) -> None:
    """Before its start a lot says so, and what buying it now costs."""
    gid = clocked_house.user("ada").auction(startsAt=at(clock, hours=1), buyNowPrice="50")
    lot = page(clocked_house, f"/lots/{gid}")
    assert "Not started yet" == lot.one("span", class_="tag").text
    assert "21 Nov 2026, 13:00:00 UTC" == lot.facts["Starts"]
    assert "50.00" == lot.facts["Buy now, until the first bid"]
    assert "When the seller closes it" == lot.facts["Ends"]


def test_only_its_owner_sees_what_is_private(house: House) -> None:
    """The reserve price is for its author's eyes, a maximum for its bidder's."""
    ada, grace = house.user("ada"), house.user("grace")
    gid = ada.auction(reservePrice="777.777")
    grace.bid(gid, maximum="555.555")
    seen = {
        user.name: house.stranger.get(f"/lots/{gid}", headers={"Cookie": f"saleroom_session={user.token}"}).text
        for user in (ada, grace, house.user("hedy"))
    }
    assert {"ada": True, "grace": False, "hedy": False} == {name: "777.777" in text for name, text in seen.items()}
    assert {"ada": False, "grace": True, "hedy": False} == {name: "555.555" in text for name, text in seen.items()}


def test_the_history_turns_its_pages(house: House) -> None:
    """More than fifty bids are shown by page, each once, newest first."""
    gid = house.user("ada").auction()
    for amount in range(10, 62):
        house.user("grace" if amount % 2 else "hedy").bid(gid, amount=str(amount))
    first = page(house, f"/lots/{gid}")
    second = page(house, first.one("a", rel="next")["href"])
    amounts = [row.text.split()[-1] for shown in (first, second) for row in shown.all("tr")[1:]]
    assert [f"{amount}.00" for amount in range(61, 9, -1)] == amounts
    assert [] == second.all("a", rel="next")
    assert "There are no older bids." in page(house, f"/lots/{gid}?before=1").main


@pytest.mark.parametrize("before", ["x", "", "-1", "1.5", "٣", "9" * 30, "%00"])
def test_a_bid_number_that_is_none_is_refused(house: House, before: str) -> None:
    """A mistyped place in the history gets a page that says so, with 400."""
    gid = house.user("ada").auction()
    assert 400 == page(house, f"/lots/{gid}?before={before}").status


@pytest.mark.parametrize("gid", ["none", "%00", "..%2fsecret", "a" * 300, "%F0%9F%92%A9", "%0a", "a%0a", "';--", "%ff"])
def test_an_unknown_lot_is_a_page_of_its_own(house: House, gid: str) -> None:
    """No lot of this address: 404, as a page that leads home."""
    missing = Page(httpx.get(f"{house.base}/lots/{gid}"))
    assert 404 == missing.status
    assert "/" in missing.links


def test_what_people_write_is_text(clocked_house: House) -> None:
    """Markup in a name or a description is shown as it was written and makes no element, on home and on the lot."""
    gid = clocked_house.user("ada").auction(name=HOSTILE, description=HOSTILE)
    lot, home = page(clocked_house, f"/lots/{gid}"), page(clocked_house, "/")
    assert (HOSTILE, HOSTILE) == (lot.heading, lot.one("p", class_="description").raw)
    assert HOSTILE == home.one("h2").text
    for shown in (lot, home):
        assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
        assert {"/assets/"} == {image["src"][:8] for image in shown.all("img")}


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_inline_script_or_style(house: House, path: str) -> None:
    """Each page keeps to the strict policy: no inline script, style or handler, nothing from another host."""
    shown = page(house, path)
    assert [] == shown.all("style")
    for element in shown.elements:
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]
        assert element.tag != "script" or ("" == element.text and element["src"])
        for name in ("src", "href", "action"):
            assert element.attributes.get(name, "/")[:1] in "/#" and element.attributes.get(name, "/")[:2] != "//"


@pytest.mark.parametrize("path", PAGES)
def test_every_asset_of_a_page_is_there_for_good(house: House, path: str) -> None:
    """Pages link their assets by hashed names, and each is there and may be kept forever."""
    shown = page(house, path)
    linked = [e.attributes.get("src") or e["href"] for e in shown.elements if e.tag in ("script", "img", "link")]
    assert linked
    for url in linked:
        response = house.stranger.get(url)
        assert (200, "public, max-age=31536000, immutable") == (response.status_code, response.headers["cache-control"])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_its_landmarks(house: House, path: str) -> None:
    """Each page says its language, has a title, one main part that the skip link leads to, and says that times are UTC."""
    shown = page(house, path)
    assert "en" == shown.one("html")["lang"]
    assert shown.one("title").text.endswith(" · Saleroom")
    assert "#main" == shown.all("a")[0]["href"]
    assert ["div" if path == "/docs" else "main"] == [e.tag for e in shown.elements if e.attributes.get("id") == "main"]
    assert "All times are in UTC." in shown.one("footer").text


def test_pages_are_for_one_pair_of_eyes(house: House) -> None:
    """A page shows who is logged in, so no shared cache may keep it."""
    response = house.stranger.get("/")
    assert ("private, no-cache", "Cookie") == (response.headers["cache-control"], response.headers["vary"])


def test_head_is_get_without_the_body(house: House) -> None:
    """HEAD on a page has GET's status and type."""
    head = house.stranger.head("/")
    assert (200, "text/html; charset=utf-8", b"") == (head.status_code, head.headers["content-type"], head.content)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/", "GET, HEAD"),
        ("DELETE", "/lots/none", "GET, HEAD"),
        ("GET", "/session", "POST"),
        ("GET", "/session/end", "POST"),
        ("PUT", "/register", "GET, HEAD, POST"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
def test_other_methods_get_a_page(house: House, method: str, path: str, allow: str) -> None:
    """Below people's paths, 405 is a page and says which methods there are."""
    response = house.anyone.request(method, path)
    assert (405, allow) == (response.status_code, response.headers["allow"])
    assert "This is not the way in" == Page(response).heading


def test_the_login_of_the_api_stays_the_apis(house: House) -> None:
    """GET /login is the form; every other method there speaks JSON."""
    assert 200 == page(house, "/login").status
    response = house.anyone.post("/login", json={})
    assert (400, "application/json") == (response.status_code, response.headers["content-type"])
    assert "application/json" == house.anyone.request("PUT", "/login").headers["content-type"]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("example.org", "http://example.org"),
        ("example.org:9000", "http://example.org:9000"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("a'$(reboot)", "http://127.0.0.1:9000"),
        ("a b", "http://127.0.0.1:9000"),
        ("", "http://127.0.0.1:9000"),
    ],
)
def test_examples_name_the_host_that_was_asked(clocked_house: House, host: str, shown: str) -> None:
    """A command to copy names the host of the request, unless that is not the form of a host."""
    assert f"curl -X POST {shown}/login" in page(clocked_house, "/", Host=host).main


def test_examples_name_the_public_address(serve_house: ServeHouse) -> None:
    """Where the house knows its public address, a command to copy names that."""
    served = serve_house(public_url="https://sales.example.org/")
    assert "curl -X POST https://sales.example.org/login" in page(served, "/").main
