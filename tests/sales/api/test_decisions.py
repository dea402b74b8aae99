"""Sellers decide on bids below the reserve by API, as on the page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounts.api.test_access_tokens import robot
from tests.fixtures_house import House
from tests.sales.web.test_decisions import ConditionalSale

pytestmark = pytest.mark.databases("sqlite")


def asked_of(asked: ConditionalSale) -> list[dict[str, Any]]:
    """Return what waits for the consignor."""
    found: list[dict[str, Any]] = asked.kay.json("GET", "/me/decisions")["asked"]
    return found


@pytest.mark.parametrize(("accepted", "outcome"), [(True, "sold"), (False, "reserve_not_met")])
def test_a_consignor_decides(house: House, accepted: bool, outcome: str) -> None:  # a case of the table
    """The list has the lot, the sale and the price; the answer has the lot as it is now; a second decision is refused."""
    asked = ConditionalSale(house)
    [one] = asked_of(asked)
    assert (asked.gid, "1", asked.sale.gid, "10.000") == tuple(
        one[name] for name in ("gid", "label", "sale", "currentBid")
    )
    said = {"accepted": accepted, "seen": one["tag"]}
    lot = asked.kay.json("POST", f"/me/decisions/{asked.gid}", json=said)
    assert (outcome, "1") == (lot["auction"]["outcome"], lot["label"])
    again = asked.kay.post(f"/me/decisions/{asked.gid}", json=said)
    assert (409, "not_conditional") == (again.status_code, again.json()["code"])
    assert [] == asked_of(asked)


def test_a_decision_is_on_the_price_that_was_seen(house: House) -> None:
    """A lot that was sold conditionally for more meanwhile is not sold by the answer to the price before."""
    asked = ConditionalSale(house)
    [before] = asked_of(asked)
    asked.sale.staff.json(
        "POST", f"/sales/{asked.sale.gid}/block", json={"act": "reopen", "label": "1", "reason": "A late bid."}
    )
    asked.sell("11")
    refused = asked.kay.post(f"/me/decisions/{asked.gid}", json={"accepted": True, "seen": before["tag"]})
    [now] = asked_of(asked)
    assert (409, "block_changed", now["tag"]) == (refused.status_code, refused.json()["code"], refused.json()["tag"])
    assert ("conditional", "11.000") == (asked.lot()["outcome"], now["currentBid"])


def test_nobody_decides_for_another(house: House) -> None:
    """For others the lot is unknown; a token that may only read or bid may not decide; faults of the body are told."""
    asked = ConditionalSale(house)
    path, said = f"/me/decisions/{asked.gid}", {"accepted": True, "seen": asked_of(asked)[0]["tag"]}
    for other in (asked.bidder, house.newcomer(), asked.sale.staff):
        assert [] == other.json("GET", "/me/decisions")["asked"]
        assert 404 == other.post(path, json=said).status_code
    for scopes in (["read"], ["bid"], ["staff"]):
        program = robot(house, asked.kay, *scopes)
        assert 403 == program.post(path, json=said).status_code
    assert 401 == house.client().post(path, json=said).status_code
    for body in ({}, {"accepted": "yes", "seen": "x"}, {"accepted": True, "seen": "x" * 1000}, {"accepted": True}):
        assert 400 == asked.kay.post(path, json=body).status_code
    assert 404 == asked.kay.post("/me/decisions/a%0d%0ab", json=said).status_code
    assert "conditional" == asked.lot()["outcome"]
