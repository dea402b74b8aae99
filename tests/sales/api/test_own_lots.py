"""Nobody becomes the consignor of a lot on which they have bid, through whichever door."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import refusal
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots
from tests.sales.api.test_block import act
from tests.sales.api.test_importing import send

_numbers = count(1)


class Evening:
    """A published live sale of two lots; bob leads on the first one, eve was outbid. The consignor is nobody's account."""

    def __init__(self, house: House) -> None:
        self.staff = house.staff(Role.AUCTIONEER)
        self.manager = house.staff(Role.MANAGER)
        self.bob, self.eve = house.user("bob"), house.user("eve")
        self.gid = with_lots(self.staff, 2, kind="live")
        for lot in self.staff.json("GET", f"/sales/{self.gid}/lots")["lots"]:
            self.staff.json("PATCH", f"/sales/{self.gid}/lots/{lot['label']}", json={"reservePrice": None})
        self.staff.json("POST", f"/sales/{self.gid}/publish")
        self.lots = self.staff.json("GET", f"/sales/{self.gid}/lots")["lots"]
        first = self.lots[0]["gid"]
        assert self.eve.bid(first, amount=10).is_success
        assert self.bob.bid(first, amount=20).is_success
        self.code = f"OWN{next(_numbers)}"
        self.staff.json("POST", "/consignors", json={"code": self.code, "name": "Erben"})

    def consign(self, label: str, code: str | None) -> Any:
        """Give a lot a consignor."""
        return self.staff.patch(f"/sales/{self.gid}/lots/{label}", json={"consignor": code})

    def link(self, username: str | None) -> Any:
        """Say who the consignor is."""
        return self.manager.patch(f"/consignors/{self.code}", json={"username": username, "contact": "0171 1"})

    def bring_in(self, *rows: str, dry: bool = False) -> Any:
        """Import a catalogue."""
        sheet = "\n".join(["Lot;Consignor", *rows]).encode()
        return send(self.staff, self.gid, to="import?dry_run=true" if dry else "import", catalogue=sheet)

    def consignor(self, label: str) -> str | None:
        """The consignor of a lot."""
        code: str | None = self.staff.json("GET", f"/sales/{self.gid}/lots/{label}")["consignor"]
        return code


@pytest.fixture
def evening(house: House) -> Evening:
    """An evening on each database."""
    return Evening(house)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("name", ["bob", "eve"])
def test_no_lot_goes_to_a_consignor_who_has_bid_on_it(evening: Evening, name: str) -> None:
    """Neither to the leader nor to somebody who was outbid; another lot does, and nobody's account may get any."""
    assert evening.link(name).is_success
    refused = evening.consign("1", evening.code)
    assert (409, "consignor_bids", "1") == (*refusal(refused), refused.json()["lots"])
    assert evening.consignor("1") is None
    assert evening.consign("2", evening.code).is_success
    assert (403, "own_auction") == refusal(getattr(evening, name).bid(evening.lots[1]["gid"], amount=10))
    assert evening.link(None).is_success
    assert evening.consign("1", evening.code).is_success


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("name", ["bob", "eve"])
def test_no_bidder_becomes_the_account_of_the_consignor(evening: Evening, name: str) -> None:
    """The account of a consignor is refused with the lots, and nothing of the change is written; another user is taken."""
    assert evening.consign("1", evening.code).is_success
    refused = evening.link(name)
    assert (409, "consignor_bids", "1") == (*refusal(refused), refused.json()["lots"])
    found = {one["code"]: one["contact"] for one in evening.staff.json("GET", "/consignors")["consignors"]}
    assert "" == found[evening.code]
    assert evening.link(evening.staff.name).is_success
    assert evening.link(evening.staff.name).is_success  # what stays as it is, is no change


@pytest.mark.databases("sqlite")
def test_no_cataloguer_becomes_a_consignor_who_is_owed_money(evening: Evening) -> None:
    """A user says where the money goes: only staff that pays it out takes a consignor from one, or gives one late."""

    def link(username: str | None) -> Any:
        return evening.staff.patch(f"/consignors/{evening.code}", json={"username": username, "contact": "changed"})

    assert evening.consign("1", evening.code).is_success
    assert link(evening.manager.name).is_success  # the first one, while the lot runs
    assert link(evening.manager.name).is_success  # what stays as it is, is no change
    assert [(403, "missing_right")] * 2 == [refusal(link(name)) for name in (evening.staff.name, None)]
    assert evening.link(None).is_success
    evening.staff.json("POST", f"/sales/{evening.gid}/lots/1/withdraw", json={"reason": "broken"})
    assert (403, "missing_right") == refusal(link(evening.staff.name))
    assert evening.link(evening.manager.name).is_success


@pytest.mark.databases("sqlite")
def test_only_staff_that_pays_out_gives_a_lot_that_is_over_another_consignor(evening: Evening) -> None:
    """Its price is owed to the consignor. No import does that, and what stays as it is, is no change."""
    assert evening.consign("1", evening.code).is_success
    other = f"{evening.code}B"
    evening.staff.json("POST", "/consignors", json={"code": other, "name": "Nobody"})
    for what in ("call", "sell"):
        act(evening.staff, evening.gid, what)
    assert (403, "missing_right") == refusal(evening.consign("1", other))
    assert (400, "validation") == refusal(evening.bring_in(f"1;{other}"))
    assert evening.code == evening.consignor("1")
    assert evening.consign("1", evening.code).is_success
    lot = f"/sales/{evening.gid}/lots/1"
    assert other == evening.manager.json("PATCH", lot, json={"consignor": other})["consignor"]


def test_an_import_gives_no_lot_to_its_bidder(evening: Evening) -> None:
    """The dry run names the cell, and the import changes nothing at all."""
    assert evening.link("bob").is_success
    looked = evening.bring_in(f"1;{evening.code}", f"2;{evening.code}", dry=True).json()
    assert (1, 1) == (looked["faulty"], looked["changed"])
    refused = evening.bring_in(f"1;{evening.code}", f"2;{evening.code}")
    assert (400, "validation") == refusal(refused)
    assert [None, None] == [evening.consignor("1"), evening.consignor("2")]
    assert evening.bring_in(f"2;{evening.code}").is_success
    assert evening.code == evening.consignor("2")


@pytest.mark.databases("sqlite")
def test_a_bid_that_was_taken_back_stands_in_no_way(evening: Evening) -> None:
    """Only bids that stand count."""
    for what in ("call", "retract"):
        tag = evening.staff.json("GET", f"/sales/{evening.gid}/block")["tag"]
        if what == "retract":
            assert evening.eve.bid(evening.lots[1]["gid"], amount=10).is_success
            tag = evening.staff.json("GET", f"/sales/{evening.gid}/block")["tag"]
        evening.staff.json("POST", f"/sales/{evening.gid}/block", json={"act": what, "label": "2", "seen": tag})
    assert evening.link("eve").is_success
    assert evening.consign("2", evening.code).is_success


@pytest.mark.databases("sqlite")
def test_a_bid_of_the_hall_is_its_bidders_from_when_it_is_named(house: House) -> None:
    """Also once it is outbid: its row stays the floor's, and the log says whose it is. Without the name it is nobody's."""
    live = Evening(house)
    paul, mary = house.newcomer(), house.newcomer()

    def act(what: str, **said: Any) -> None:
        seen = live.staff.json("GET", f"/sales/{live.gid}/block")["tag"]
        live.staff.json("POST", f"/sales/{live.gid}/block", json={"act": what, "seen": seen, **said})

    for number, user in ((71, paul), (72, mary)):
        found = live.staff.json(
            "POST", f"/sales/{live.gid}/participants", json={"username": user.name, "paddle": number}
        )
        assert number == found["paddle"]
    act("call", label="2")
    act("bid", amount="10")
    act("name", paddle=71)
    act("bid", amount="11", paddle=72)
    assert live.link(paul.name).is_success
    refused = live.consign("2", live.code)
    assert (409, "consignor_bids", "2") == (*refusal(refused), refused.json()["lots"])
    looked = live.bring_in(f"2;{live.code}", dry=True).json()
    assert (1, 0) == (looked["faulty"], looked["changed"])
    act("undo")
    act("undo")  # the name: the bid is nobody's again
    assert live.consign("2", live.code).is_success
