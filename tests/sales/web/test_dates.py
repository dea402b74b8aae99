"""When sales are, for calendars, read by the program that its users have."""

from typing import Any

import pytest
from icalendar import Calendar

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots
from tests.sales.live_sale import LiveSale

pytestmark = pytest.mark.databases("sqlite")
STARTS = "2099-05-01T18:30:00Z"


def dates(house: House, path: str, **headers: str) -> dict[str, Any]:
    """The dates of a calendar, by UID."""
    answer = house.plain.get(path, headers=headers)
    assert "text/calendar; charset=utf-8" == answer.headers["content-type"]
    return {str(one["uid"]): one for one in Calendar.from_ical(answer.content).walk("VEVENT")}


def test_a_live_sale_is_a_date_with_its_place(house: House) -> None:
    """It has its venue, its start and an address. If its venue changes, it is a newer version of the same date."""
    sale = LiveSale(house, startsAt=STARTS, venue="Alte Halle; Tor 2")
    uid, path = f"{sale.gid}.start@saleroom", f"/catalogues/{sale.gid}/dates.ics"
    before = dates(house, path)[uid]
    assert ("Alte Halle; Tor 2", "CONFIRMED") == (str(before["location"]), str(before["status"]))
    assert STARTS == before["dtstart"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert str(before["url"]).endswith(f"/catalogues/{sale.gid}")
    sale.staff.json("PATCH", f"/sales/{sale.gid}", json={"venue": "Neue Halle"})
    after = dates(house, "/catalogues.ics")[uid]
    assert "Neue Halle" == str(after["location"])
    assert before["sequence"] < after["sequence"]


def test_a_timed_sale_opens_and_its_first_lot_ends(house: House) -> None:
    """Each is a date of its own, in the reader's language. A draft has none, and a cancelled sale says so."""
    staff = house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 1, title="Im Mai", kind="timed", opensAt="2099-04-20T08:00:00Z", startsAt=STARTS)
    path = f"/catalogues/{gid}/dates.ics"
    assert 404 == house.plain.get(path).status_code
    assert not [uid for uid in dates(house, "/catalogues.ics") if gid in uid]
    staff.json("POST", f"/sales/{gid}/publish")
    found = dates(house, path, **{"Accept-Language": "de"})
    assert {
        f"{gid}.opening@saleroom": "Im Mai: Das Bieten beginnt",
        f"{gid}.start@saleroom": "Im Mai: Das erste Los endet",
    } == {uid: str(one["summary"]) for uid, one in found.items()}
    staff.json("POST", f"/sales/{gid}/cancel", json={"reason": "The hall is closed."})
    assert {"CANCELLED"} == {str(one["status"]) for one in dates(house, path).values()}


def test_the_catalogue_leads_to_its_calendar(house: House) -> None:
    """Until a sale is over its page has a link, whose answer is not sent again while nothing has changed."""
    sale = LiveSale(house, startsAt=STARTS)
    path = f"/catalogues/{sale.gid}/dates.ics"
    assert f'href="{path}"' in house.plain.get(f"/catalogues/{sale.gid}").text
    assert 'href="/catalogues.ics"' in house.plain.get("/catalogues").text
    known = house.plain.get(path).headers["etag"]
    assert 304 == house.plain.get(path, headers={"If-None-Match": known}).status_code
    assert 404 == house.plain.get("/catalogues/AAAAAAAAAAAA/dates.ics").status_code
    sale.act("call")
    sale.act("pass")
    sale.act("end")
    assert path not in house.plain.get(f"/catalogues/{sale.gid}").text
