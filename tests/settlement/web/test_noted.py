"""The audit log in the back office, of acts of all areas: in words, with the titles of what they are about."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage.tables import users
from saleroom.accounts.web.facts import NAMES
from saleroom.site.language import Languages
from saleroom.site.site import Site, Thing
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.page_routes import page_areas
from tests.rows import each_of
from tests.sales.api.evening import with_lots
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor
from tests.statements import counted

NOTHING: Any = None


def noted(house: House, act: Act, on: int | str, before: Facts, after: Facts) -> None:
    """Note an act of the command line."""
    house.write(note, None, act, on, before, after)


def test_the_page_names_things_by_their_titles(house: House) -> None:
    """Sales, lots, documents, rate cards and consignors have their names and lead to their pages; others stay as they are."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    sent = {"documentKind": "invoice", "paddle": paddle}
    invoice = settling.cashier.json("POST", f"/sales/{settling.gid}/documents", json=sent)["document"]
    [lot] = settling.cashier.json("GET", f"/sales/{settling.gid}/lots")["lots"]
    title = settling.cashier.json("GET", f"/sales/{settling.gid}")["title"]
    number = settling.cashier.json("GET", f"/documents/{invoice}")["documentNumber"]
    draft = with_lots(settling.manager, 1, title="A draft")
    [waiting] = settling.manager.json("GET", f"/sales/{draft}/lots")["lots"]
    keys = {
        settling.gid: Thing(title, f"/admin/sales/{settling.gid}"),
        lot["gid"]: Thing(lot["name"], f"/lots/{lot['gid']}"),
        waiting["gid"]: Thing(f"A draft, {waiting['label']}", f"/admin/sales/{draft}/lots/{waiting['label']}"),
        invoice: Thing(number, f"/admin/documents/{invoice}"),
        f"consignor {settling.code}": Thing("Erben", "/admin/consignors"),
        settling.card: Thing(settling.gid, f"/admin/rates/{settling.card}"),
    }
    visitor = Visitor(house, house.staff(Role.OWNER))
    for key, thing in keys.items():
        noted(house, Act.LOT_HIDDEN, key, {}, {"sale": key})
        page = visitor.page(f"/admin/audit?act={Act.LOT_HIDDEN}")
        links = [one for one in page.all("a", href=thing.path or "") if one.text == thing.name]
        assert 2 == len(links), "what it is on, and the fact"
        assert key not in page.all("ol", class_="acts")[0].text
    noted(house, Act.LOT_HIDDEN, "neverwas", {}, {"sale": "gone"})
    assert "neverwas sale: gone" in visitor.page("/admin/audit").main


def test_the_page_names_users_and_offers(house: House) -> None:
    """A user of a fact stands by name and leads to the acts on them, and an offer by its lot; who is gone keeps the number."""
    settling = Settling(house, 1)
    settling.sale.act("call")
    settling.sale.act("pass")
    name = settling.sale.bidder().name
    user = house.write(lambda tx: tx.execute(select(users.c.id).where(users.c.username == name)).scalar_one())
    until = (datetime.now().astimezone() + timedelta(days=3)).isoformat()
    order = {"toAll": True, "offerPrice": "9", "until": until}
    made = settling.manager.json("POST", f"/sales/{settling.gid}/lots/1/offers", json=order)
    offer = next(one["offer"] for one in made["offers"])
    [lot] = settling.manager.json("GET", f"/sales/{settling.gid}/lots")["lots"]
    facts: Facts = {"offer": offer, "user": user, "leader": user, "lot 7": f"sold 12.000, user {user}"}
    noted(house, Act.OFFER_WITHDRAWN, settling.gid, facts, {"from": 999_999_999})
    page = Visitor(house, house.staff(Role.OWNER)).page(f"/admin/audit?act={Act.OFFER_WITHDRAWN}")
    assert 2 == len([one for one in page.all("a", href=f"/admin/audit?user={name}") if one.text == name])
    [link] = page.all("a", href=f"/admin/desk/{settling.gid}/offers")
    assert f"1: {lot['name']}" == link.text
    shown = page.main.replace("\xa0", " ")
    assert f"lot 7: sold for €12.00 to {name}" in shown
    assert "the user who was merged: 999999999" in shown
    assert offer not in shown


def test_a_page_of_acts_takes_as_many_queries_as_one_act(house: House) -> None:
    """The names of all users and things of a page are read together, one query for each area."""
    settling = Settling(house, 1)
    site = Site(page_areas(), NOTHING, NOTHING, "/login")
    keys = {settling.gid, settling.card, "user 1"}
    many = keys | {f"user {number}" for number in range(2, 50)} | {f"gone{number}" for number in range(50)}
    few = house.write(lambda tx: counted(tx, site.things, keys)[1])
    all_ = house.write(lambda tx: counted(tx, site.things, many)[1])
    assert few == [one for one in few if one.lstrip().upper().startswith("SELECT")]
    assert len(few) == len(all_) == 4, "accounts, bidding, sales, settlement"


@each_of(
    {"language": "en", "said": "step: fair warning or final call amount: €310.00 lot 7: sold for €120.00 to 999999999"},
    {
        "language": "de",
        "said": "Schritt: zum Ersten oder zum Zweiten Betrag: 310,00 € Los 7: für 120,00 € an 999999999 verkauft",
    },
)
@pytest.mark.databases("sqlite")
def test_facts_are_said_in_words(house: House, language: str, said: str) -> None:
    """Codes, amounts and results of lots are what people write in their language."""
    after = {"act": "warn", "amount": "310.000", "lot 7": "sold 120.000, user 999999999"}
    noted(house, Act.BLOCK_ACTED, "nowhere", {}, after)
    shown = Visitor(house, house.staff(Role.OWNER), **{"Accept-Language": language}).page("/admin/audit").main
    assert said in shown.replace("\xa0", " ")


def test_every_fact_and_code_has_german_words() -> None:
    """A name or a code without words would be English, or raw, on a German page."""
    site, german = Site(page_areas(), NOTHING, NOTHING, "/login"), Languages("EUR").negotiate("de")
    codes = [words for said in site.codes.values() for words in said.values()]
    same = {"Limit", "IBAN", "Name", "live", "Status"}
    left = [words for words in (*NAMES.values(), *codes) if german.gettext(words) == words]
    assert [] == [words for words in left if words.lower() not in {one.lower() for one in same}]
