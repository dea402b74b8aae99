"""What buying costs, for everybody: it is what is owed at the desk once the lot is sold."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.bidding.api.answers import faults, refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def test_the_costs_of_a_lot_are_what_its_buyer_owes(house: House) -> None:
    """Strangers see the premium, and each line at a price; tax that is inside an amount is in no answer."""
    settling = Settling(house, 2)
    stranger, sale = house.client(), f"/sales/{settling.gid}"
    shown = stranger.json("GET", f"{sale}/costs")
    assert ("25.000", None, []) == (shown["premium"]["tiers"][0]["percent"], shown["due"], shown["buyerLines"])
    assert stranger.json("GET", f"{sale}/costs", params={"price": "0"})["due"] is None
    asked = {"price": "1000.10", "channel": "floor"}
    found = stranger.json("GET", f"{sale}/lots/1/costs", params=asked)
    assert not [line for line in found["buyerLines"] if "hiddenTax" in line]
    paddle = settling.bidder()
    settling.sell(paddle, "1000.10")
    assert found["due"] == settling.desk(paddle)["owed"]
    assert sum(Decimal(line["lineAmount"]) + Decimal(line["lineTax"]) for line in found["buyerLines"]) == Decimal(
        found["due"]
    )


def test_a_lot_and_members_can_have_rates_of_their_own(house: House) -> None:
    """The card of a lot goes before that of the sale; a member's total stands beside that of all."""
    settling = Settling(house, 2)
    stranger, sale = house.client(), f"/sales/{settling.gid}"
    terms = {"name": f"own {settling.gid}", "premium": {"tiers": [{"above": "0", "percent": "10"}], "minimum": "3"}}
    terms |= {"memberPremium": {"tiers": []}}
    card = settling.manager.json("POST", "/rate-cards", json=terms)["card"]
    settling.manager.json("PUT", f"{sale}/lots/2/rates", json={"card": card})
    found = stranger.json("GET", f"{sale}/lots/2/costs", params={"price": "20"})
    assert ("23.000", "20.000") == (found["due"], found["memberDue"])
    assert "23.000" != stranger.json("GET", f"{sale}/lots/1/costs", params={"price": "20"})["due"]


def test_a_sale_without_a_card_costs_the_hammer_price(house: House) -> None:
    """The page says so in words."""
    settling = Settling(house, 1, is_rated=False)
    assert "20.000" == house.client().json("GET", f"/sales/{settling.gid}/costs", params={"price": "20"})["due"]
    page = Visitor(house).page(f"/catalogues/{settling.gid}/costs")
    assert "There is no premium" in page.main


def test_the_page_tries_a_price(house: House) -> None:
    """The catalogue and the page of a lot lead to it; a fault stands beside its field; drafts are nobody's business."""
    settling = Settling(house, 1)
    path, visitor = f"/catalogues/{settling.gid}/costs", Visitor(house)
    assert path in visitor.page(f"/catalogues/{settling.gid}").links
    lot = settling.manager.json("GET", f"/sales/{settling.gid}/lots/1")["gid"]
    assert f"{path}?lot=1" in visitor.page(f"/lots/{lot}").links
    page = visitor.page(f"{path}?lot=1&price=10&channel=floor")
    assert "€14.88" in page.main
    assert "true" == visitor.page(f"{path}?price=much").one("input", id="price")["aria-invalid"]
    for wrong in ("?lot=99", "?lot=%27"):
        assert 404 == visitor.http.get(f"{path}{wrong}").status_code
    stranger = house.client()
    assert {"price"} == faults(stranger.get(f"/sales/{settling.gid}/costs", params={"price": "-1"})).keys()
    draft = settling.manager.json("POST", "/sales", json={"title": "Secret", "kind": "live"})["gid"]
    assert (404, "unknown_sale") == refusal(stranger.get(f"/sales/{draft}/costs"))
    assert 404 == visitor.http.get(f"/catalogues/{draft}/costs").status_code
    assert 200 == settling.manager.get(f"/sales/{draft}/costs").status_code
