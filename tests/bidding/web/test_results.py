"""Results as CSV: whole, in order, harmless in a spreadsheet, and with a seller's secrets for the seller alone."""

from __future__ import annotations

import csv
import io

import httpx
import pytest

from saleroom.bidding.service import results
from saleroom.bidding.web.results import COLUMNS, OWN_COLUMNS
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse, User
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "＝1", '=HYPERLINK("http://evil.example","x")')


def table(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the rows of a file by column."""
    assert (200, "text/csv; charset=utf-8; header=present") == (answer.status_code, answer.headers["content-type"])
    assert "attachment" in answer.headers["content-disposition"]
    text = answer.content.decode("utf-8-sig")
    assert answer.content.startswith(b"\xef\xbb\xbf")
    assert text.endswith("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def close(seller: User, gid: str) -> str:
    """End a sale now, and return its lot."""
    seller.json("POST", f"/auctions/{gid}/close", json={})
    return gid


def test_the_results_of_the_house(clocked_house: House, clock: FakeClock) -> None:
    """Anyone gets the lots that are over, the latest first; no price or buyer of an unsold lot, and no reserve."""
    ada, bob = clocked_house.user("ada"), clocked_house.user("bob")
    sold = ada.auction(name='Uhr, "groß"', startingPrice="10")
    bob.bid(sold, amount="1234.5")
    clock.advance(60)
    unmet = ada.auction(name="Vase", reservePrice="7654321")
    bob.bid(unmet, amount="11")
    ada.auction(name="Still open")
    close(ada, sold)
    close(ada, unmet)
    answer = clocked_house.stranger.get("/results.csv")
    rows = table(answer)
    assert [*COLUMNS] == [*rows[0]]
    assert ["Vase", 'Uhr, "groß"'] == [row["name"] for row in rows]
    assert ("reserve_not_met", "", "", "1") == tuple(rows[0][name] for name in ("outcome", "price", "buyer", "bids"))
    assert {
        "outcome": "sold", "price": "1234.50", "currency": "EUR", "bids": "1", "buyer": "bob", "seller": "ada",
        "ended": "2026-11-21T12:01:00.000000Z", "address": f"{clocked_house.base}/lots/{sold}", "name": 'Uhr, "groß"',
        "category": "",
    } == rows[1]  # fmt: skip
    assert "7654321" not in answer.text


def test_a_seller_gets_the_own_lots(house: House) -> None:
    """The seller's file has the reserve and the own lots alone; a stranger is led to the login."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = close(ada, ada.auction(reservePrice="77", startingPrice="12"))
    close(bob, bob.auction())
    visitors = [Visitor(house, user) for user in (ada, None)]
    [row] = table(visitors[0].http.get("/mine/selling/results.csv"))
    assert [*OWN_COLUMNS] == [*row]
    assert (f"{house.base}/lots/{gid}", "77.00", "12.00") == (row["address"], row["reservePrice"], row["startingPrice"])
    answer = visitors[1].http.get("/mine/selling/results.csv")
    assert (303, "/login?next=/mine/selling/results.csv") == (answer.status_code, answer.headers["location"])


def test_no_text_is_a_formula(serve_house: ServeHouse) -> None:
    """A name of a lot or of a user that a spreadsheet would take for a formula has an apostrophe before it."""
    house = serve_house()
    evil = house.user("-evil")
    for name in FORMULAS:
        close(evil, evil.auction(name=name))
    rows = table(house.stranger.get("/results.csv"))
    assert sorted(f"'{name}" for name in FORMULAS) == sorted(row["name"] for row in rows)
    assert {"'-evil"} == {row["seller"] for row in rows}


def test_no_part_of_a_name_is_a_formula(serve_house: ServeHouse) -> None:
    """A spreadsheet that divides cells at semicolons, as in Germany, finds no formula in a name either."""
    house = serve_house()
    ada = house.user("ada")
    close(ada, ada.auction(name="Clock;=1+1;x"))
    assert ["Clock;=1+1;x"] == [row["name"] for row in table(house.stranger.get("/results.csv"))]
    text = house.stranger.get("/results.csv").content.decode("utf-8-sig")
    cells = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=";") for cell in row]
    assert [] == [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_a_long_table_is_whole(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of many pages has each lot once; one without lots has its header alone."""
    house = serve_house()
    assert [] == table(house.stranger.get("/results.csv"))
    monkeypatch.setattr(results, "PAGE", 2)
    ada = house.user("ada")
    gids = [close(ada, ada.auction()) for _ in range(5)]
    found = [row["address"].rpartition("/")[2] for row in table(house.stranger.get("/results.csv"))]
    assert gids[::-1] == found


def test_a_table_for_spreadsheets_in_german(serve_house: ServeHouse) -> None:
    """German pages link one with semicolons between the cells, and decimal commas; another language is refused."""
    house = serve_house()
    ada = house.user("ada")
    gid = ada.auction(name="Uhr; groß, alt", startingPrice="10")
    house.user("bob").bid(gid, amount="1234.5")
    close(ada, gid)
    visitor = Visitor(house, ada)
    visitor.http.headers["Accept-Language"] = "de-AT"
    row: dict[str, str] = {}
    for page, path in (("/?status=over", "/results.csv"), ("/mine/selling", "/mine/selling/results.csv")):
        assert f"{path}?language=de" in visitor.page(page).links
        text = visitor.http.get(f"{path}?language=de").content.decode("utf-8-sig")
        [row] = csv.DictReader(io.StringIO(text, newline=""), delimiter=";", strict=True)
        assert ("Uhr; groß, alt", "1234,50", f"{house.base}/lots/{gid}") == (row["name"], row["price"], row["address"])
        assert 400 == visitor.http.get(f"{path}?language=fr").status_code
    assert "10,00" == row["startingPrice"]


@pytest.mark.databases("sqlite", "postgresql")
def test_the_table_is_linked(house: House) -> None:
    """The list of results and a seller's own list lead to the files."""
    ada = house.newcomer()
    close(ada, ada.auction())
    visitor = Visitor(house, ada)
    assert "/results.csv" in visitor.page("/?status=over").links
    assert "/mine/selling/results.csv" in visitor.page("/mine/selling").links
