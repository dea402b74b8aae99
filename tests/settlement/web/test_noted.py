"""The audit log in the back office, of acts of all areas: in words, with the titles of what they are about."""

from __future__ import annotations

from typing import Any

import pytest

from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service.audit import note
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


@each_of(
    {"language": "en", "said": "step: fair warning or final call amount: €310.00 lot 7: sold for €120.00 to the user"},
    {
        "language": "de",
        "said": "Schritt: zum Ersten oder zum Zweiten Betrag: 310,00 € Los 7: für 120,00 € an den Nutzer",
    },
)
@pytest.mark.databases("sqlite")
def test_facts_are_said_in_words(house: House, language: str, said: str) -> None:
    """Codes, amounts and results of lots are what people write in their language."""
    after = {"act": "warn", "amount": "310.000", "lot 7": "sold 120.000, user 3"}
    noted(house, Act.BLOCK_ACTED, "nowhere", {}, after)
    shown = Visitor(house, house.staff(Role.OWNER), **{"Accept-Language": language}).page("/admin/audit").main
    assert said in shown.replace("\xa0", " ")


def test_every_fact_and_code_has_german_words() -> None:
    """A name or a code without words would be English, or raw, on a German page."""
    nothing: Any = None
    site, german = Site(page_areas(), nothing, nothing, "/login"), Languages("EUR").negotiate("de")
    codes = [words for said in site.codes.values() for words in said.values()]
    same = {"Limit", "IBAN", "Name", "live", "Status"}
    left = [words for words in (*NAMES.values(), *codes) if german.gettext(words) == words]
    assert [] == [words for words in left if words.lower() not in {one.lower() for one in same}]
