"""Lots that were not sold over HTTP and on pages: the next sale, linked and without fees again, or back to the consignor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.bidding.api.answers import faults, refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.sales.live_sale import LiveSale
from tests.settlement.api.test_desk import Settling
from tests.settlement.api.test_offers import Offering
from tests.site.visitor import Visitor


class Unsold(Offering):
    """A sale that has ended with an unsold lot, and the next one, which runs with the same rate card."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self.next = LiveSale(house, 1)
        cards = self.settling.manager.json("GET", "/rate-cards")["rateCards"]
        [card] = [one["card"] for one in cards if one["cardName"] == self.gid]
        self.settling.manager.json("PUT", f"/sales/{self.next.gid}/rates", json={"card": card})

    def put(self, label: str = "1", into: str = "", **headers: str) -> Any:
        """Put a lot into the next sale, and return the answer."""
        path = f"/sales/{self.gid}/lots/{label}/next-sale"
        return self.settling.manager.post(path, json={"sale": into or self.next.gid}, headers=headers)

    def act(self, what: str) -> Any:
        """Do something with the first lot, and return the answer."""
        return self.settling.manager.post(f"/sales/{self.gid}/lots/1/{what}")

    def fees(self, gid: str) -> list[str]:
        """Return the items of what the consignor bears of the lots of a sale, but for the price and the commission."""
        found = self.settling.cashier.json("GET", f"/sales/{gid}/statements/{self.settling.code}")
        lines = [line["item"] for lot in found["settledLots"] for line in lot["bill"]["consignorLines"]]
        return sorted(item for item in lines if item not in ("hammer", "commission"))


@pytest.fixture
def unsold(house: House) -> Unsold:
    """A sale with an unsold lot."""
    return Unsold(house)


@pytest.mark.databases("sqlite")
def test_a_lot_goes_into_the_next_sale_without_fees_again(unsold: Unsold) -> None:
    """It is the same thing there, linked, and sent twice it is one; its consignor has borne the fees of entry already."""
    manager, key = unsold.settling.manager, {"Idempotency-Key": "into-the-next-sale"}
    first = unsold.put(**key)
    assert 201 == first.status_code, first.text
    assert first.json() == unsold.put(**key).json()
    [gone] = first.json()["goneLots"]
    assert ("1", unsold.next.gid, "2") == (gone["label"], gone["nextSale"], gone["nextLabel"])
    assert [] == first.json()["lotsToOffer"]
    old, new = (
        manager.json("GET", f"/sales/{gid}/lots/{label}") for gid, label in ((unsold.gid, "1"), (unsold.next.gid, "2"))
    )
    same = ("name", "description", "startingPrice", "reservePrice", "consignor", "estimateFrom", "taxScheme")
    assert {name: old[name] for name in same} == {name: new[name] for name in same}
    assert (409, "lot_gone") == refusal(unsold.put())
    assert (409, "lot_gone") == refusal(unsold.offer())
    assert (409, "lot_gone") == refusal(unsold.act("return"))
    assert ["entry", "entry"] == unsold.fees(unsold.gid), "one for each of the two lots"
    paddle = unsold.next.bidder().json("GET", f"/sales/{unsold.next.gid}/registration")["paddle"]
    for _ in range(2):
        unsold.next.act("call")
        unsold.next.act("ask", amount="50")
        unsold.next.act("bid", amount="50", paddle=paddle)
        unsold.next.act("sell")
    assert [] == unsold.fees(unsold.next.gid)
    owed = manager.json("GET", f"/sales/{unsold.next.gid}/statements/{unsold.settling.code}")["toPayOut"]
    statement = {"documentKind": "statement", "consignor": unsold.settling.code}
    issued = unsold.settling.cashier.json("POST", f"/sales/{unsold.next.gid}/documents", json=statement)
    assert owed == issued["total"], "the journal and the paper agree"
    assert [] == unsold.settling.faults()


def test_the_next_sale_charges_what_the_first_has_not(unsold: Unsold) -> None:
    """The first sale's card has a fee of entry, that of the next one also fees of photo and of an unsold lot.

    Each is charged once: also if the first one is credited, if another card is chosen there later, and if the lot goes on to
    a third sale.
    """
    manager, cashier = unsold.settling.manager, unsold.settling.cashier
    terms = {"entryFee": "1", "photoFee": "3", "unsoldFee": "2"}
    card = manager.json("POST", "/rate-cards", json={"name": f"Next {unsold.gid}", **terms})["card"]
    for gid in (unsold.next.gid, (third := LiveSale(unsold.settling.house, 1)).gid):
        manager.json("PUT", f"/sales/{gid}/rates", json={"card": card})
    assert unsold.put().is_success
    assert (["entry", "entry"], []) == (unsold.fees(unsold.gid), unsold.fees(unsold.next.gid))
    statement = {"documentKind": "statement", "consignor": unsold.settling.code}
    first = cashier.json("POST", f"/sales/{unsold.gid}/documents", json=statement)
    lines = [
        at for at, one in enumerate(first["documentLines"]) if (one["lotLabel"], one["lineText"]) == ("1", "Entry fee")
    ]
    body = {"lines": lines, "reason": "A courtesy."}
    assert cashier.post(f"/documents/{first['document']}/credit", json=body).is_success
    manager.json("PUT", f"/sales/{unsold.gid}/lots/1/rates", json={"card": card})
    for _ in range(2):
        unsold.next.act("call")
        unsold.next.act("pass")
    assert ["photo", "unsold"] == unsold.fees(unsold.next.gid)
    assert cashier.json("POST", f"/sales/{unsold.next.gid}/documents", json=statement)["total"] == "-5.000"
    path = f"/sales/{unsold.next.gid}/lots/2/next-sale"
    assert manager.post(path, json={"sale": third.gid}).is_success
    for _ in range(2):
        third.act("call")
        third.act("pass")
    assert [] == unsold.fees(third.gid)
    assert [] == unsold.settling.faults()


@pytest.mark.databases("sqlite")
def test_a_withdrawn_lot_of_the_next_sale_frees_the_first(unsold: Unsold) -> None:
    """Then the lot is for sale nowhere, and can be offered or put into a sale again."""
    assert unsold.put().is_success
    path = f"/sales/{unsold.next.gid}/lots/2/withdraw"
    assert unsold.settling.manager.post(path, json={"reason": "Too early."}).is_success
    assert ["1"] == [
        one["label"] for one in unsold.settling.manager.json("GET", f"/sales/{unsold.gid}/offers")["lotsToOffer"]
    ]
    assert "3" == unsold.put().json()["goneLots"][0]["nextLabel"]


@pytest.mark.parametrize("place", ["another sale", "its consignor"])
def test_a_lot_that_is_gone_is_not_sold_in_its_sale(house: House, place: str) -> None:
    """Reopened, undone on the block, by a result, or with a result taken back: each is refused until the lot is back."""
    settling, following = Settling(house), LiveSale(house, 1)
    manager, paddle = settling.manager, settling.bidder()
    settling.sale.act("call")
    settling.sale.act("pass")
    lot, seen = f"/sales/{settling.gid}/lots/1", settling.sale.block()["tag"]
    body = {"sale": following.gid} if place == "another sale" else None
    path = f"{lot}/next-sale" if body else f"{lot}/return"
    assert manager.post(path, json=body).is_success
    block, results = f"/sales/{settling.gid}/block", f"/sales/{settling.gid}/results"
    sold = {"labels": ["1"], "price": "50", "paddle": paddle, "isSure": True}
    tag = manager.post(results, json=sold).json()["tag"]  # it has a result, whose tag the next request names
    entry = {"labels": ["1"], "seen": [tag], "reason": "It was overlooked."}
    reopen = {"act": "reopen", "label": "1", "reason": "It was overlooked."}
    asked: list[tuple[str, dict[str, Any]]] = [
        (block, reopen),
        (block, {"act": "undo", "seen": seen}),
        (results, {**entry, **sold}),
        (f"{results}/undo", entry),
    ]
    for path, sent in asked:
        assert (409, "lot_gone") == refusal(manager.post(path, json=sent)), sent
    assert settling.sale.block()["tag"] == seen, "nothing has happened"
    if place == "another sale":
        gone = {"reason": "It is sold after all."}
        assert manager.post(f"/sales/{following.gid}/lots/2/withdraw", json=gone).is_success
    else:
        assert manager.post(f"{lot}/return/undo").is_success
    assert manager.post(block, json=reopen).is_success
    assert (409, "lot_sold") == refusal(manager.post(f"{lot}/return")), "it runs again"


@pytest.mark.databases("sqlite")
def test_a_lot_goes_back_to_its_consignor(unsold: Unsold) -> None:
    """It is not offered any more, until that is undone."""
    assert (409, "not_returned") == refusal(unsold.act("return/undo"))
    [gone] = unsold.act("return").json()["goneLots"]
    assert ("1", None) == (gone["label"], gone["nextSale"])
    assert (409, "lot_gone") == refusal(unsold.offer())
    assert (409, "lot_gone") == refusal(unsold.put())
    assert [] == unsold.act("return/undo").json()["goneLots"]
    assert unsold.offer().is_success
    assert (409, "lot_offered") == refusal(unsold.act("return"))
    assert (409, "lot_offered") == refusal(unsold.put())


@pytest.mark.databases("sqlite")
def test_what_cannot_go_is_refused(unsold: Unsold) -> None:
    """A sold lot, the same sale, one that is over or unknown, and cashiers."""
    assert (409, "lot_sold") == refusal(unsold.put("2"))
    assert {"sale"} == faults(unsold.put(into=unsold.gid)).keys()
    assert (404, "unknown_sale") == refusal(unsold.put(into="nothing"))
    over = Offering(unsold.settling.house)
    assert (409, "sale_over") == refusal(unsold.put(into=over.gid))
    path = f"/sales/{unsold.gid}/lots/1/next-sale"
    assert (403, "missing_right") == refusal(unsold.settling.cashier.post(path, json={"sale": unsold.next.gid}))
    assert ["1"] == [
        one["label"] for one in unsold.settling.manager.json("GET", f"/sales/{unsold.gid}/offers")["lotsToOffer"]
    ]


def test_a_lot_goes_once(unsold: Unsold) -> None:
    """Eight at a time, to the next sale and to the consignor: one of them is done."""
    with ThreadPoolExecutor(8) as pool:
        asked = [lambda: unsold.put().status_code, lambda: unsold.act("return").status_code] * 4
        answers = [*pool.map(lambda ask: ask(), asked)]
    assert 1 == sum(status < 300 for status in answers) and {409} == {*answers} - {200, 201}
    assert 1 == len(unsold.settling.manager.json("GET", f"/sales/{unsold.gid}/offers")["goneLots"])


@pytest.mark.databases("sqlite")
def test_the_page_of_unsold_lots(house: House) -> None:
    """Without scripts: back to the consignor, undone, and into the next sale."""
    unsold = Unsold(house)
    path = f"/admin/desk/{unsold.gid}/offers"
    manager = Visitor(house, unsold.settling.manager)
    back = manager.sent(manager.page(path), f"{path}/return")
    assert "Went back to the consignor" in back.main
    undone = manager.sent(back, f"{path}/return")
    assert "Went back to the consignor" not in undone.main
    done = manager.sent(undone, f"{path}/next-sale", sale=unsold.next.gid)
    assert "Lot 2 of the sale" in done.main
