"""Feeds and calendars of lots, read by the programs that their users have."""

from typing import Any

import feedparser  # type: ignore[import-untyped]  # it has none
import httpx
import pytest
from icalendar import Calendar

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User

SOON, LATER = "2126-01-01T12:00:00Z", "2126-01-02T12:00:00Z"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


def feed(house: House, path: str) -> dict[str, Any]:
    """The entries of a feed, by title."""
    answer = house.plain.get(path)
    assert "application/atom+xml; charset=utf-8" == answer.headers["content-type"]
    found = feedparser.parse(answer.content)
    assert not found.bozo
    return {entry.title: entry for entry in found.entries}


def dates(answer: httpx.Response) -> dict[str, Any]:
    """The dates of a calendar, by UID; no line is longer than calendars take."""
    assert "text/calendar; charset=utf-8" == answer.headers["content-type"]
    assert max(len(line) for line in answer.content.split(b"\r\n")) <= 75
    return {str(one["uid"]): one for one in Calendar.from_ical(answer.content).walk("VEVENT")}


def lot(seller: User, name: str, **terms: Any) -> str:
    """A lot of a seller with this name."""
    return seller.auction(name=name, **terms)


def test_lots_are_a_feed(house: House) -> None:
    """Each lot is an entry with the address of its page as its id, which stays; a bid makes it newer."""
    seller, bidder = house.newcomer(), house.newcomer()
    gid = lot(seller, "Clock <b>& Söhne</b>", description="Line one\n\tline two \U0001f570")
    path = f"/lots.atom?author={seller.name}"
    [entry] = feed(house, path).values()
    assert entry.id.endswith(f"/lots/{gid}") and entry.id == entry.link
    assert (seller.name, "open") == (entry.author, entry.tags[0].term)
    assert "Line one" in entry.summary
    bidder.bid(gid, "20")
    [after] = feed(house, path).values()
    assert (entry.id, entry.published) == (after.id, after.published)
    assert entry.updated < after.updated
    known = house.plain.get(path).headers["etag"]
    assert 304 == house.plain.get(path, headers={"If-None-Match": known}).status_code
    house.newcomer().bid(gid, "50")
    assert 200 == house.plain.get(path, headers={"If-None-Match": known}).status_code


def test_a_raise_that_nobody_sees_makes_nothing_newer(house: House) -> None:
    """The maximum of the leader is secret, and so is when it was raised."""
    seller, bidder = house.newcomer(), house.newcomer()
    gid = lot(seller, "Clock")
    bidder.bid(gid, maximum="20")
    path = f"/lots.atom?author={seller.name}"
    before = house.plain.get(path).content
    bidder.bid(gid, maximum="500")
    assert before == house.plain.get(path).content


def test_feeds_have_no_hidden_lot_and_mark_cancelled_ones(house: House) -> None:
    """A hidden lot is in no feed and no calendar; a cancelled one is said to be cancelled in both."""
    seller = house.newcomer()
    hidden, cancelled = (lot(seller, name, endsAt=SOON) for name in ("Hidden", "Gone"))
    house.staff(Role.MANAGER).request("PUT", f"/auctions/{hidden}/hiding", json={"reason": "It may be stolen."})
    seller.request("DELETE", f"/auctions/{cancelled}")
    assert {"Cancelled: Gone": "cancelled"} == {
        title: one.tags[0].term for title, one in feed(house, f"/lots.atom?author={seller.name}").items()
    }
    found = dates(house.plain.get(f"/lots.ics?author={seller.name}"))
    assert {f"{cancelled}.end@saleroom": "CANCELLED"} == {uid: str(one["status"]) for uid, one in found.items()}
    assert 410 == house.plain.get(f"/lots/{hidden}/dates.ics").status_code


def test_dates_are_a_calendar(house: House) -> None:
    """A lot has a date for its start and one for its end, with UIDs that stay and a sequence that grows."""
    seller = house.newcomer()
    name = "Ä" * 60 + "; with, signs\\"
    gid = lot(seller, name, startsAt=SOON, endsAt=LATER)
    found = dates(house.plain.get(f"/lots/{gid}/dates.ics"))
    assert found.keys() == {f"{gid}.start@saleroom", f"{gid}.end@saleroom"}
    end = found[f"{gid}.end@saleroom"]
    assert (f"{name}: ends", LATER, "CONFIRMED") == (
        str(end["summary"]),
        end["dtstart"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        str(end["status"]),
    )
    seller.json("PATCH", f"/auctions/{gid}", json={"name": "Chair"})
    later = dates(house.plain.get(f"/lots.ics?author={seller.name}&status=scheduled"))[f"{gid}.end@saleroom"]
    assert "Chair: ends" == str(later["summary"])
    assert end["sequence"] < later["sequence"]


def test_a_calendar_without_dates_is_one(house: House) -> None:
    """A calendar has at least one component (RFC 5545, 3.6), also if no lot has a date."""
    answer = house.plain.get(f"/lots.ics?author={house.newcomer().name}")
    assert {} == dates(answer)
    assert ["VTIMEZONE"] == [one.name for one in Calendar.from_ical(answer.content).subcomponents]


def test_the_home_page_leads_to_its_feeds(house: House) -> None:
    """The head of the list names the feeds with the search of the page; a wrong search is refused."""
    page = house.plain.get("/?author=ada&q=clock").text
    assert (
        '<link rel="alternate" type="application/atom+xml" title="Lots" href="/lots.atom?q=clock&amp;author=ada">'
        in page
    )
    assert 'href="/lots.ics?q=clock&amp;author=ada"' in page
    assert 400 == house.plain.get("/lots.atom?status=lost").status_code
