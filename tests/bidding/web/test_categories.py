"""Categories on the pages, without scripts."""

from __future__ import annotations

import csv
import io

import pytest

from tests.bidding.web.seller import faults, preview, publish
from tests.fixtures_house import House, ServeHouse
from tests.site.markup import Page
from tests.site.visitor import Visitor

HOSTILE = """<b>"&'Silver"""


@pytest.fixture
def house(serve_house: ServeHouse) -> House:
    """A house with categories, one of which has a name like markup."""
    return serve_house(categories=("Clocks; de=Uhren", HOSTILE))


def options(page: Page) -> dict[str, bool]:
    """The choices of a page's categories, and whether each is chosen."""
    names = ["", "Clocks", HOSTILE, "Given up"]
    return {e["value"]: "selected" in e.attributes for e in page.all("option") if e.attributes["value"] in names}


def lots(page: Page) -> list[str]:
    """The names of the lots on a page, in order."""
    return sorted(e.text for e in page.all("a", class_="name"))


def test_a_house_without_categories_says_nothing_of_them(serve_house: ServeHouse) -> None:
    """No page has the word, nor the field."""
    house = serve_house()
    ada = house.user("ada")
    gid = ada.auction()
    for path in ("/", "/sell", f"/lots/{gid}", f"/sell/{gid}", "/mine/selling"):
        answer = Visitor(house, ada).http.get(path, follow_redirects=True)
        assert 200 == answer.status_code
        assert "ategor" not in answer.text, path


def test_a_seller_chooses_a_category(house: House) -> None:
    """It is chosen in the form, kept in the draft and by changes of other terms, and changed; the lot's page links its list."""
    ada = house.user("ada")
    visitor = Visitor(house, ada)
    assert {"": False, "Clocks": False, HOSTILE: False} == options(visitor.page("/sell"))
    shown = preview(visitor, category="Clocks")
    assert "Category: Clocks" in shown.main
    gid = publish(visitor, shown)
    assert "Clocks" == ada.json("GET", f"/auctions/{gid}")["category"]
    form = visitor.page(f"/sell/{gid}")
    assert {"": False, "Clocks": True, HOSTILE: False} == options(form)
    for category, expected in ((None, "Clocks"), (HOSTILE, HOSTILE)):
        shown = visitor.sent(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview", category=category, name="Watch")
        visitor.send(shown, f"/sell/{gid}", "publish")
        assert expected == ada.json("GET", f"/auctions/{gid}")["category"]
    [link] = [e for e in visitor.page(f"/lots/{gid}").all("a") if e["href"].startswith("/?category=")]
    assert HOSTILE == link.text
    assert ["Watch"] == lots(visitor.page(link["href"]))
    unknown = preview(visitor, category="Stamps")
    assert {"category"} == set(faults(unknown))
    assert 400 == unknown.status
    visitor.sent(visitor.page(f"/sell/{gid}"), f"/sell/{gid}", "preview", category="")
    visitor.send(visitor.page(f"/sell/{gid}/preview"), f"/sell/{gid}", "publish")
    assert None is ada.json("GET", f"/auctions/{gid}")["category"]


def test_an_unsold_lot_is_offered_again_in_its_category(house: House) -> None:
    """The form of a lot that is offered again has the category chosen."""
    ada = house.user("ada")
    gid = ada.auction(category="Clocks")
    ada.json("DELETE", f"/auctions/{gid}")
    assert options(Visitor(house, ada).page(f"/sell/drafts/{gid}"))["Clocks"]


def test_lots_are_found_by_category(house: House) -> None:
    """The list has the category in its address, through states, searches and pages, and cards show it."""
    ada = house.user("ada")
    for number in range(26):
        ada.auction(category="Clocks", name=f"Clock {number}", endsAt="2099-01-01T00:00:00Z")
    ada.auction(category=HOSTILE, name="Spoon")
    ada.auction(name="Clock of no category")
    visitor = Visitor(house)
    assert {"": False, "Clocks": False, HOSTILE: False} == options(visitor.page("/"))
    page = visitor.page("/?category=Clocks")
    assert {"": False, "Clocks": True, HOSTILE: False} == options(page)
    assert "26 lots" in page.main
    assert 24 == page.main.count("Offered by ada · Clocks")
    links = [e["href"] for e in page.all("a") if e["href"].startswith("/?")]
    assert 4 == len(links) and all("category=Clocks" in link for link in links), links
    following = next(e["href"] for e in page.all("a") if e.attributes.get("rel") == "next")
    assert 26 == len({*lots(page), *lots(visitor.page(following))})
    assert ["Clock 25"] == lots(visitor.page("/?category=Clocks&q=clock+25&author=ada&sort=price"))
    none = visitor.page("/?category=Clocks&status=over")
    assert "Nothing in the category “Clocks” here." in none.main
    assert ["Spoon"] == lots(visitor.page("/?category=%3Cb%3E%22%26%27Silver"))
    assert {"": False, "Clocks": False, HOSTILE: False, "Given up": True} == options(
        visitor.page("/?category=Given up")
    )
    german = Visitor(house, None, **{"Accept-Language": "de"}).page("/?category=Clocks")
    assert "· Uhren" in german.main
    assert "Clocks" not in [e.text for e in german.all("option")]


def test_results_have_the_category(house: House) -> None:
    """The tables of results have it in their last column."""
    ada = house.user("ada")
    for category in ("Clocks", None):
        ada.json("DELETE", f"/auctions/{ada.auction(category=category)}")
    for path in ("/results.csv", "/mine/selling/results.csv"):
        answer = Visitor(house, ada).http.get(path)
        header, *rows = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))
        assert "category" == header[-1]
        assert ["", "Clocks"] == sorted(row[-1] for row in rows)
