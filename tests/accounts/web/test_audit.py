"""The audit log in the back office."""

from __future__ import annotations

import json

import pytest

from saleroom.accounts.domain.audit import ACTS, Act
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.roles_of_users import set_role
from saleroom.accounts.web.acts import ACTS_SAID
from saleroom.accounts.web.audit import PAGE
from saleroom.site.language import Languages
from tests.bidding.web.seller import HOSTILE, Come
from tests.fixtures_house import House, ServeHouse, User
from tests.site.markup import Page
from tests.site.visitor import Visitor

UNTIL = "2026-11-30T00:00:00.000000Z"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


@pytest.fixture
def owner(house: House) -> User:
    """A new owner."""
    return house.staff(Role.OWNER)


def acts(page: Page) -> list[str]:
    """Return the texts of the entries on a page, by the users and things that they are on."""
    return [e.text for e in page.elements if "subject" == e.attributes.get("class")]


def test_pages_use_the_same_words() -> None:
    """Each act has words on the pages, those of the command line in English, and others in German."""
    assert ACTS == ACTS_SAID
    german = Languages("EUR").negotiate("de")
    assert [] == [words for words in ACTS_SAID.values() if german.gettext(words) == words]


def test_an_act_is_shown_with_who_what_and_why(come: Come, house: House, owner: User) -> None:
    """The page says who did what on whom, from what to what, why and when, in the language of the reader."""
    bob = house.newcomer()
    path = f"/staff/users/{bob.name}/role"
    owner.json("PUT", path, json={"role": "clerk", "reason": HOSTILE.replace("\n", " ")})
    house.write(set_role, bob.name, Role.MEMBER)
    shown = come(owner).page(f"/admin/audit?user={bob.name.upper()}").main
    assert f"{owner.name} gave a user another role: {bob.name} role: member, then clerk {HOSTILE}" in shown
    assert "command line gave a user another role" in shown
    german = come(owner, **{"Accept-Language": "de"}).page(f"/admin/audit?user={bob.name}").main
    assert "hat einem Nutzer eine andere Rolle gegeben" in german
    assert "Rolle: Mitglied, dann" in german


def test_amounts_and_instants_are_shown_as_the_reader_writes_them(come: Come, house: House, owner: User) -> None:
    """The price that a void changed is money, and the end of a ban is a date; each has a name that people know."""
    subject = f"{owner.name} voids"

    def noted(tx: object) -> None:
        note(tx, None, Act.BID_VOIDED, subject, {"price": "14500.000"}, {"price": "280.000", "until": UNTIL})  # type: ignore[arg-type]  # a transaction

    house.write(noted)
    shown = come(owner, **{"Accept-Language": "de"}).page("/admin/audit?act=bid.voided").main
    assert "Preis: 14.500,00 €, dann 280,00 €" in shown
    assert "bis: 30.11.2026" in shown


def test_the_log_comes_page_by_page(come: Come, house: House, owner: User) -> None:
    """Following the next page shows every entry once, the latest first; a filter is kept; nonsense is borne."""
    name = owner.name

    def many(tx: object) -> None:
        for number in range(PAGE + 5):
            note(tx, None, Act.SELLER_APPROVED, f"{name} {number:03}", {}, {})  # type: ignore[arg-type]  # a transaction

    house.write(many)
    visitor = come(owner)
    seen: list[str] = []
    path: str | None = "/admin/audit?act=seller.approved"
    while path is not None and len(seen) < PAGE + 5:
        page = visitor.page(path)
        assert len(acts(page)) <= PAGE
        seen += acts(page)
        path = next((link["href"] for link in page.all("a", rel="next")), None)
        assert path is None or "act=seller.approved" in path
    assert [f"{name} {number:03}" for number in range(PAGE + 4, -1, -1)] == seen[: PAGE + 5]
    assert "No act is like this." in visitor.page("/admin/audit?user=nobody.at.all").main
    assert "No act is like this." in visitor.page("/admin/audit?before=0").main
    for nonsense in (
        "user=%00",
        "user=" + "x" * 400,
        "user=%F0%9F%92%A9",
        "act=nonsense",
        "before=-1",
        "before=" + "9" * 99,
    ):
        assert 200 == visitor.http.get(f"/admin/audit?{nonsense}").status_code, nonsense


def test_the_log_is_saved_as_a_file(come: Come, house: House, owner: User) -> None:
    """The file is that of the API; a manager gets neither page nor file, a stranger the form to log in."""
    house.write(note, None, Act.SELLER_APPROVED, "a lot", {}, {})
    answer = come(owner).http.get("/admin/audit.ndjson")
    assert owner.get("/staff/audit.ndjson").content == answer.content
    assert 'attachment; filename="audit.ndjson"' == answer.headers["content-disposition"]
    assert "a lot" in [json.loads(line)["subject"] for line in answer.text.splitlines()]
    manager = come(house.staff(Role.MANAGER))
    for path in ("/admin/audit", "/admin/audit.ndjson"):
        assert 403 == manager.http.get(path).status_code
        assert "/login?next=/admin/audit" == Visitor(house).http.get(path).headers["location"]


def test_an_empty_log_says_so(serve_house: ServeHouse) -> None:
    """In a new house staff has done nothing yet."""
    house = serve_house()
    assert "Staff has done nothing yet." in Visitor(house, house.staff(Role.OWNER)).page("/admin/audit").main
