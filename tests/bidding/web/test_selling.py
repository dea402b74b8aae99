"""Selling by the forms, without scripts: the form, its preview, the lot; faults, times, money."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.bidding.web.seller import HOSTILE, Come, faults, later, preview, publish, sold
from tests.fixtures_house import House, User
from tests.site.markup import Page
from tests.site.visitor import picture

pytestmark = pytest.mark.databases("sqlite")

TEXT_FIELDS = (
    *("name", "description", "startingPrice", "reservePrice", "buyNowPrice", "startsAt", "endsAt", "cap"),
    *(
        "step",
        "window",
        "extension",
        "zone",
        "ending",
        "increment",
        "softClose",
        "key",
        "tierFrom",
        "tierStep",
        "photo",
    ),
)


def test_a_login_leads_back_to_the_page(come: Come) -> None:
    """The form needs a login, which leads back to the form."""
    answer = come(None).http.get("/sell")
    assert (303, "/login?next=/sell") == (answer.status_code, answer.headers["location"])


def test_a_name_and_a_price_are_enough(come: Come, seller: User) -> None:
    """Form, preview, publish: the lot is on sale, and ends in a week at eight in the evening, with a soft close."""
    visitor = come()
    shown = preview(visitor)
    assert "Clock" == shown.heading
    for sentence in (
        "The first bid is €100.00 or more.",
        "There is no reserve: the highest bid wins.",
        "Bidding opens as soon as you put it on sale.",
        "A bid in the last 2 minutes moves the end to 2 minutes after that bid.",
    ):
        assert sentence in shown.main
    assert [] == seller.json("GET", "/me/auctions")["auctions"], "a preview has put something on sale"
    lot = seller.json("GET", f"/auctions/{publish(visitor, shown)}")
    assert ("Clock", "100.000", "open") == (lot["name"], lot["startingPrice"], lot["status"])
    assert f"{later(days=7):%Y-%m-%d}T20:00:00.000000Z" == lot["endsAt"]


def test_a_double_click_publishes_one_lot(come: Come, seller: User) -> None:
    """A preview sent twice leads to the same lot both times, and only one lot is created."""
    visitor = come()
    shown = preview(visitor)
    assert publish(visitor, shown) == publish(visitor, shown)
    assert 1 == len(seller.json("GET", "/me/auctions")["auctions"])
    publish(visitor, preview(visitor))
    assert 2 == len(seller.json("GET", "/me/auctions")["auctions"])


def test_every_term_arrives(come: Come, seller: User) -> None:
    """The fields under More are in the lot: reserve, buy now, start, end, step, soft close with its cap."""
    starts, ends, cap = later(hours=1), later(hours=5), later(hours=6)
    lot = sold(
        come(),
        seller,
        description="Oak.\r\n\r\nRuns well.",
        reservePrice="250.125",
        buyNowPrice="1,500",
        startsAt=f"{starts:%Y-%m-%dT%H:%M:%S}",
        endsAt=f"{ends:%Y-%m-%dT%H:%M:%S}",
        increment="fixed",
        step="12.50",
        window="1.5",
        extension="1.6667",
        cap=f"{cap:%Y-%m-%dT%H:%M}",
    )
    assert "Oak.\n\nRuns well." == lot["description"]
    assert ("250.125", "1500.000", "scheduled") == (lot["reservePrice"], lot["buyNowPrice"], lot["status"])
    assert [starts, ends] == [datetime.fromisoformat(lot[name]) for name in ("startsAt", "endsAt")]
    form = come().page(f"/sell/{lot['gid']}")
    written = {e["name"]: e["value"] for e in form.all("input") if "value" in e.attributes}
    assert ("1.5", "1.6667") == (written["window"], written["extension"])
    assert f"{cap:%Y-%m-%dT%H:%M}" == written["cap"]


def test_a_step_of_ones_own_counts(come: Come, house: House, seller: User) -> None:
    """A fixed step, or a ladder written as rows, decides the minimum bid; empty rows do not count."""
    rows = {"tierFrom": ["0", "", "100"], "tierStep": ["7", "", "33"]}
    fixed = sold(come(), seller, increment="fixed", step="12.50")
    ladder = sold(come(), seller, increment="ladder", **rows)
    least = []
    for lot in (fixed, ladder):
        house.user("grace").bid(lot["gid"], amount="100")
        least.append(seller.json("GET", f"/auctions/{lot['gid']}")["minimumBid"])
    assert ["112.500", "133.000"] == least


@pytest.mark.parametrize(
    ("language", "text", "says"),
    [
        ("de", "12,500", "12,500 wird als 12,50 € gelesen. Wenn Sie 12.500,00 € meinen, schreiben Sie 12500,00."),
        ("en", "1.234", "1.234 is read as €1.234. If you mean €1,234.00, write 1234.00."),
        ("de", "12.500", None),
        ("en", "12,500", None),
        ("de", "0,125", None),
    ],
)
def test_a_price_that_may_mean_thousands_is_told(come: Come, language: str, text: str, says: str | None) -> None:
    """The preview says how it was read, and how to write the other amount; a price without such a doubt has no note."""
    shown = preview(come(**{"Accept-Language": language}), startingPrice=text)
    notes = [note.text.replace("\u00a0", " ") for note in shown.all("p", class_="note-alert")]
    assert ([] if says is None else [says]) == notes


def test_more_rows_keep_all_other_fields(come: Come) -> None:
    """Without scripts, a button adds rows to a ladder, and all other fields stay as they are."""
    visitor = come()
    form = visitor.page("/sell")
    rows = {"tierFrom": ["0", "50"], "tierStep": ["1", "5"]}
    again = visitor.sent(form, "/sell", "rows", name="Half a lot", increment="ladder", **rows)
    assert ["0", "50", "", ""] == [e["value"] for e in again.all("input", name="tierFrom")]
    assert ("Half a lot", "") == tuple(again.one("input", name=name)["value"] for name in ("name", "startingPrice"))


def test_a_lot_without_an_end_and_without_a_soft_close(come: Come, seller: User) -> None:
    """The preview tells that the lot stays open until its seller ends the auction, and nothing of an end that it has not."""
    visitor = come()
    shown = preview(visitor, ending="open", softClose="off")
    assert "It stays open until you end the auction. You can also announce an end." in shown.main
    assert "The end is fixed" not in shown.main
    late = preview(visitor, ending="open").main
    assert "Once you have announced an end: A bid in the last 2 minutes" in late
    assert 1 == late.count("in the last 2 minutes")
    lot = seller.json("GET", f"/auctions/{publish(visitor, shown)}")
    assert (None, "open") == (lot["endsAt"], lot["status"])


def test_all_faults_come_at_once_and_nothing_is_lost(come: Come) -> None:
    """Each fault is shown at its field and in the summary, which links the field; all that was written is kept."""
    written = {
        "name": " ",
        "description": "x" * 10_001,
        "startingPrice": "12..5",
        "reservePrice": "-1",
        "endsAt": "",
        "startsAt": "tomorrow",
        "increment": "ladder",
        "tierFrom": ["0", "abc", "30"],
        "tierStep": ["1", "2", ""],
        "window": "0",
        "extension": "soon",
    }
    visitor = come()
    answer = visitor.send(visitor.page("/sell"), "/sell", "preview", **written)
    form = Page(answer)
    assert 400 == form.status
    expected = {"name", "description", "startingPrice", "reservePrice", "endsAt", "startsAt", "window", "extension"}
    assert expected | {"tier-2", "tier-3"} == faults(form).keys()
    summary = [e["href"].removeprefix("#") for e in form.all("a") if e["href"].startswith("#") and e["href"] != "#main"]
    assert expected | {"tier-2", "tier-3"} == set(summary)
    assert set(summary) <= {e.attributes.get("id") for e in form.elements}
    assert "open" in form.one("details", class_="more").attributes
    for name in ("startingPrice", "reservePrice", "startsAt", "window", "extension"):
        assert written[name] == form.one("input", name=name)["value"]
    assert written["description"] == form.one("textarea", name="description").raw.removeprefix("\n")
    assert ["0", "abc", "30", "", ""] == [e["value"] for e in form.all("input", name="tierFrom")]


@pytest.mark.parametrize(
    ("written", "field", "sentence"),
    [
        ({"reservePrice": "99"}, "reservePrice", "This must be at least the starting price."),
        ({"buyNowPrice": "50"}, "buyNowPrice", "This must be at least the starting price."),
        ({"reservePrice": "300", "buyNowPrice": "200"}, "buyNowPrice", "This must be at least the reserve price."),
        ({"endsAt": "2020-01-01T00:00"}, "endsAt", "This time has passed."),
        ({"endsAt": "1969-01-01T00:00"}, "endsAt", "This is before 1970."),
        ({"endsAt": "2031-02-30T00:00"}, "endsAt", "Enter a date and a time"),
        ({"startsAt": "2031-01-01T00:00", "endsAt": "2030-01-01T00:00"}, "endsAt", "The end must be after the start."),
        ({"cap": "2025-01-01T00:00"}, "softClose", "The latest end cannot be before the end."),
        ({"increment": "fixed", "step": "0"}, "increment", "Every step must be above zero."),
        ({"increment": "fixed", "step": " "}, "step", "Say by how much the next bid must be higher."),
        ({"increment": "ladder", "tierFrom": ["5"], "tierStep": ["1"]}, "increment", "for prices from zero"),
        ({"increment": "ladder", "tierFrom": [""], "tierStep": [""]}, "increment", "Enter at least one step."),
        ({"name": "W" * 201}, "name", "Enter 1 to 200 characters."),
        ({"name": "a\u202eb"}, "name", "hidden control characters"),
        ({"window": "1441"}, "window", "at most 1440"),
        ({"startingPrice": "100000000000000000"}, "startingPrice", "seventeen digits"),
    ],
)
def test_a_contradiction_is_told_before_anything_is_published(
    come: Come, written: dict[str, Any], field: str, sentence: str
) -> None:
    """The preview shows what the rules forbid, at the field and in words for people."""
    form = preview(come(), **written)
    assert 400 == form.status
    assert sentence in faults(form)[field]


def test_money_is_read_as_the_reader_writes_it(come: Come, seller: User) -> None:
    """In German, 1.234,50 is a starting price of 1234.50; 12.50 is a fault, and is never taken as 1250."""
    german = come(**{"Accept-Language": "de"})
    assert "1234.500" == sold(german, seller, startingPrice="1.234,50")["startingPrice"]
    refused = preview(german, startingPrice="12.50")
    assert 400 == refused.status
    assert "startingPrice" in faults(refused)


@pytest.mark.parametrize(
    ("local", "zone", "instant"),
    [
        ("2031-07-01T20:00", "Europe/Berlin", "2031-07-01T18:00:00.000000Z"),
        ("2031-07-01T20:00:30", "America/New_York", "2031-07-02T00:00:30.000000Z"),
        ("2031-07-01T20:00", "UTC", "2031-07-01T20:00:00.000000Z"),
    ],
)
def test_a_time_is_in_the_zone_of_the_reader(come: Come, seller: User, local: str, zone: str, instant: str) -> None:
    """A time is in the reader's time zone."""
    assert instant == sold(come(), seller, endsAt=local, zone=zone)["endsAt"]


@pytest.mark.parametrize(
    ("ends", "zone", "shown"),
    [
        ("2031-10-26T01:30:00.000000Z", "Europe/Berlin", "2031-10-26T02:30"),
        ("2031-10-26T00:30:00.000000Z", "Europe/Berlin", "2031-10-26T02:30"),
        ("2031-04-05T15:15:30.250000Z", "Australia/Lord_Howe", "2031-04-06T01:45:30"),
    ],
)
def test_an_end_that_nobody_changes_stays(come: Come, seller: User, ends: str, zone: str, shown: str) -> None:
    """A form that changes the name moves no end to the other hour of the two, and cuts off no part of a second."""
    visitor, gid = come(), seller.auction(endsAt=ends)
    path = f"/sell/{gid}"
    before = visitor.sent(visitor.page(path), path, "preview", name="Sundial", endsAt=shown, zone=zone)
    assert 303 == visitor.send(before, path, "publish").status_code
    lot = seller.json("GET", f"/auctions/{gid}")
    assert ("Sundial", ends) == (lot["name"], lot["endsAt"])
    later = visitor.sent(visitor.page(path), path, "preview", endsAt="2031-10-27T02:30", zone=zone)
    assert 303 == visitor.send(later, path, "publish").status_code
    assert ends != seller.json("GET", f"/auctions/{gid}")["endsAt"]


def test_the_hour_that_comes_twice_is_the_first_and_is_told(come: Come, seller: User) -> None:
    """A time that comes twice, as clocks go back, is taken as the first of the two, with a note in the preview."""
    visitor = come()
    shown = preview(visitor, endsAt="2031-10-26T02:30", zone="Europe/Berlin")
    assert "This time occurs twice" in shown.one("p", class_="note-alert").text
    assert "2031-10-26T00:30:00.000000Z" == seller.json("GET", f"/auctions/{publish(visitor, shown)}")["endsAt"]


def test_the_hour_that_never_comes_is_refused(come: Come) -> None:
    """A time that is skipped, as clocks go forward, is a fault at its field."""
    form = preview(come(), endsAt="2031-03-30T02:30", zone="Europe/Berlin")
    assert "This time does not exist" in faults(form)["endsAt"]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "", "\0", "Europe", "x" * 5000])
def test_a_zone_that_the_house_does_not_know_is_told(come: Come, zone: str) -> None:
    """With an unknown zone, times are read as UTC, and the preview says so."""
    shown = preview(come(), endsAt="2031-07-01T20:00", zone=zone)
    assert 200 == shown.status
    assert "your times are read as UTC" in shown.main
    assert "2031-07-01T20:00:00.000000Z" in [e.attributes.get("datetime") for e in shown.all("time")]


def test_hostile_text_in_every_field_stays_text(come: Come) -> None:
    """All input is shown as text, in the form and in the preview."""
    visitor = come()
    form = visitor.page("/sell")
    for field in TEXT_FIELDS:
        page = visitor.sent(form, "/sell", "preview", **{"name": "Clock", "startingPrice": "1"} | {field: HOSTILE})
        assert all("src" in e.attributes for e in page.all("script"))
        assert [] == [e for e in page.all("img") if "onerror" in e.attributes]
        assert "1522756" not in page.main


def test_hostile_text_is_published_as_text(come: Come, seller: User) -> None:
    """Name and description pass through preview and lot unchanged."""
    lot = sold(come(), seller, name=HOSTILE, description=HOSTILE)
    assert (HOSTILE, HOSTILE) == (lot["name"], lot["description"])
    assert HOSTILE == come().page(f"/sell/{lot['gid']}").one("input", name="name")["value"]


@pytest.mark.databases("sqlite", "postgresql")
def test_a_session_that_ends_meanwhile_loses_nothing(come: Come, seller: User, house: House) -> None:
    """A user who is logged out while writing gets the form back with everything, photos too, and a way to log in again."""
    visitor = come(house.log_in(seller.name))
    form = visitor.sent(visitor.page("/sell"), "/sell", "rows", files=[("a.jpg", picture())], name="Half done")
    ids = [e["value"] for e in form.all("input", name="photo")]
    ended = visitor.http.cookies["saleroom_session"]
    house.anyone.delete("/logout", headers={"Authorization": f"Bearer {ended}"})
    back = visitor.sent(form, "/sell", "preview", startingPrice="100")
    assert 401 == back.status
    assert "Nothing is lost" in back.one("p", role="alert").text
    assert ids == [e["value"] for e in back.all("input", name="photo")]
    visitor.http.cookies.delete("saleroom_session")
    visitor.http.cookies["saleroom_session"] = seller.token
    shown = visitor.sent(back, "/sell", "preview")
    assert ids == [one["id"] for one in seller.json("GET", f"/auctions/{publish(visitor, shown)}/photos")["photos"]]


def test_a_form_of_another_session_changes_nothing(come: Come, seller: User, house: House) -> None:
    """After another login, an earlier preview is previewed once more; files and other forms are refused."""
    visitor = come(house.log_in(seller.name))
    shown = preview(visitor)
    visitor.http.cookies.delete("saleroom_session")
    visitor.http.cookies["saleroom_session"] = seller.token
    before = seller.json("GET", "/me/auctions")["auctions"]
    again = visitor.sent(shown, "/sell", "publish")
    assert 200 == again.status and before == seller.json("GET", "/me/auctions")["auctions"]
    assert publish(visitor, again) == seller.json("GET", "/me/auctions")["auctions"][0]["gid"]
    form = visitor.page("/sell")
    visitor.http.cookies.delete("saleroom_session")
    visitor.http.cookies["saleroom_session"] = house.log_in(seller.name).token
    assert 403 == visitor.send(form, "/sell", "rows", files=[("a.jpg", picture())]).status_code
    assert 403 == visitor.send(form, "/session/end").status_code


def test_a_form_without_its_token_is_refused(come: Come) -> None:
    """A form from elsewhere is 403 and changes nothing."""
    visitor = come()
    form = visitor.page("/sell")
    assert 403 == visitor.send(form, "/sell", "preview", csrfToken=None).status_code
    assert 403 == visitor.http.post("/sell", data={"name": "x"}).status_code


def test_preview_leads_back_to_the_form_as_it_was(come: Come) -> None:
    """The button to change something leads back to the form, with every field as it was written."""
    visitor = come()
    shown = preview(visitor, reservePrice="120", description="Oak\n\nand brass", ending="open", window="7")
    form = visitor.sent(shown, "/sell", "edit")
    assert "Oak\n\nand brass" == form.one("textarea").raw.removeprefix("\n")
    assert ["120", "7"] == [form.one("input", name=name)["value"] for name in ("reservePrice", "window")]
    assert "checked" in form.one("input", name="ending", value="open").attributes
