"""Sanctions on the pages: staff imposes and lifts them, and the person sees them, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.seller import HOSTILE, Come
from tests.fixtures_house import House, User
from tests.site.markup import Page
from tests.site.visitor import Visitor


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


@pytest.fixture
def manager(come: Come, house: House) -> Visitor:
    """A manager with a browser."""
    return come(house.staff(Role.MANAGER))


def address(person: User) -> str:
    """Return the address of a person's page."""
    return f"/admin/people/{person.name}"


def done(visitor: Visitor, person: User, act: str, **sent: Any) -> Page:
    """Send a form of a person's page, and return the page that it shows or leads to."""
    return visitor.sent(visitor.page(address(person)), f"{address(person)}/{act}", **sent)


@pytest.mark.parametrize(
    ("language", "banner", "refusal"),
    [
        ("en", "You are banned here.", "You are banned here. The reason: “Unpaid lots”."),
        ("de", "Sie sind hier ausgeschlossen.", "Sie sind hier ausgeschlossen. Der Grund: „Unpaid lots“."),
    ],
)
def test_a_banned_person_reads_why_and_keeps_their_pages(
    come: Come, house: House, manager: Visitor, language: str, banner: str, refusal: str
) -> None:
    """Every page says so, a bid is refused with the reason, and what is their own can still be read."""
    person, seller = house.newcomer(), house.newcomer()
    gid, own = seller.auction(), person.auction()
    visitor = come(person, **{"Accept-Language": language})
    lot = visitor.sent(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", maximum="20", amount="")
    shown = done(manager, person, "sanctions", kind="ban", days="", reason="Unpaid lots")
    assert "Done." in shown.main
    answer = visitor.send(lot, f"/lots/{gid}/bid")
    assert (403, True) == (answer.status_code, refusal in answer.text)
    for path in ("/", "/mine", "/mine/selling", f"/lots/{own}", "/mine/standing", f"/lots/{gid}/receipts"):
        page = visitor.http.get(path)
        assert (200, True) == (page.status_code, banner in page.text), path
    done(manager, person, "lift", reason="Paid")
    assert banner not in visitor.http.get("/").text


def test_a_warning_stands_on_every_page_until_it_is_read(come: Come, house: House, manager: Visitor) -> None:
    """The words of staff are shown as text, whatever they hold, and the button takes them away and leads back."""
    person = house.newcomer()
    done(manager, person, "sanctions", kind="warning", reason=HOSTILE)
    visitor = come(person)
    page = visitor.page("/mine/password")
    assert HOSTILE in page.one("aside", class_="banner").text
    assert person.bid(house.newcomer().auction(), "10").is_success
    answer = visitor.http.post(
        "/mine/standing/read",
        data={"csrfToken": page.all("input", name="csrfToken")[0]["value"]},
        headers={"Referer": f"{house.base}/mine/password"},
    )
    assert (303, "/mine/password") == (answer.status_code, answer.headers["location"])
    assert "The house has warned you." not in visitor.http.get("/").text
    assert "Warning" in visitor.page("/mine/standing").main


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"kind": "suspension", "days": "", "reason": "x"}, "A suspension has an end."),
        ({"kind": "ban", "days": "", "reason": " "}, "Please fill this in."),
        ({"kind": "ban", "days": "3", "reason": "x"}, "Choose one of those that are offered."),
        ({"kind": "exile", "days": "1", "reason": "x"}, "Choose one of those that are offered."),
        ({"kind": "ban", "days": "1", "reason": "x" * 501}, "Enter at most 500 characters."),
    ],
)
def test_a_faulty_form_is_shown_again(house: House, manager: Visitor, sent: dict[str, str], said: str) -> None:
    """The page says what would be right, keeps the reason, and changes nothing."""
    person = house.newcomer()
    page = done(manager, person, "sanctions", **sent)
    assert (400, True) == (page.status, said in page.main)
    assert [sent["reason"].strip()] == [e["value"].strip() for e in page.all("input", id="sanction")]
    assert [] == person.json("GET", "/me/sanctions")["sanctions"]


def test_a_role_an_approval_and_the_end_of_sessions(come: Come, house: House) -> None:
    """Staff gives a role, approves a seller and logs a person out, each noted in the audit log with its reason."""
    owner, person = house.staff(Role.OWNER), house.newcomer()
    visitor, again = come(owner), house.log_in(person.name)
    assert "clerk" in done(visitor, person, "role", role="clerk", reason="At the desk").facts["Role"]
    assert "no" != done(visitor, person, "seller", approved="1", reason="Known").facts["Approved as a seller"]
    done(visitor, person, "sessions", reason="Lost phone")
    assert [401, 401] == [one.get("/me").status_code for one in (person, again)]
    entries = owner.json("GET", f"/staff/audit?user={person.name}")["entries"]
    assert [
        ("sessions.ended", "Lost phone"),
        ("seller.approved", "Known"),
        ("role.changed", "At the desk"),
    ] == [(one["act"], one["reason"]) for one in entries]


@pytest.mark.parametrize(
    ("language", "unsure", "running"),
    [
        ("en", "Type the name of the person whom you mean to erase.", "This person offers a lot that runs"),
        (
            "de",
            "Geben Sie den Namen der Person ein, die Sie löschen wollen.",
            "Diese Person bietet ein laufendes Los an",
        ),
    ],
)
def test_staff_erases_a_person_whose_name_they_type(
    come: Come, house: House, language: str, unsure: str, running: str
) -> None:
    """Another name erases nobody; a lot that runs is named; then a pseudonym is left, with no form, and the act is noted."""
    owner, person = house.staff(Role.OWNER), house.newcomer()
    gid, visitor = person.auction(), come(owner, **{"Accept-Language": language})
    for name in ("", owner.name):
        assert unsure in done(visitor, person, "erasure", name=name).main
    refused = done(visitor, person, "erasure", name=person.name)
    assert running in refused.main and f"/lots/{gid}" in refused.links
    assert 200 == person.get("/me").status_code
    assert 204 == person.delete(f"/auctions/{gid}").status_code
    erased = done(visitor, person, "erasure", name=f" {person.name.upper()}", reason="Asked by letter")
    name = erased.one("h2", id="person").text
    assert name.startswith("erased.") and person.name not in erased.main
    assert [] == [one for one in erased.all("form") if one["action"].startswith("/admin/people/")]
    assert 401 == person.get("/me").status_code
    assert 404 == visitor.http.get(address(person)).status_code
    [entry] = owner.json("GET", f"/staff/audit?user={name}&act=user.erased")["entries"]
    assert (owner.name, "Asked by letter") == (entry["by"], entry["reason"])


def test_nobody_erases_themselves_or_those_above(come: Come, house: House) -> None:
    """The page offers no form for it, and one that is sent all the same is refused in words."""
    owner, manager = house.staff(Role.OWNER), house.staff(Role.MANAGER)
    visitor = come(manager)
    for one in (owner, manager):
        page = visitor.page(address(one))
        assert f"{address(one)}/erasure" not in [form["action"] for form in page.all("form")]
        token = page.all("input", name="csrfToken")[0]["value"]
        sent = visitor.http.post(f"{address(one)}/erasure", data={"csrfToken": token, "name": one.name})
        assert 403 == sent.status_code
        assert 200 == one.get("/me").status_code


def test_each_reader_gets_the_forms_that_they_may_use(come: Come, house: House) -> None:
    """A manager gets none for the owner, a clerk only that of sellers; what is sent all the same is refused."""
    owner, person = house.staff(Role.OWNER), house.newcomer()
    for role, on, forms in (
        (Role.MANAGER, owner, {"seller"}),
        (Role.MANAGER, person, {"sanctions", "role", "seller", "sessions", "erasure"}),
        (Role.CLERK, person, {"seller"}),
        (Role.CASHIER, person, set()),
    ):
        visitor = come(house.staff(role))
        page = visitor.page(address(on))
        own = {e["action"] for e in page.all("form") if e["action"].startswith("/admin/people/")}
        assert {f"{address(on)}/{form}" for form in forms} == own
        if "sanctions" not in forms:
            token = page.all("input", name="csrfToken")[0]["value"]
            sent = {"csrfToken": token, "kind": "ban", "days": "", "reason": "x"}
            assert 403 == visitor.http.post(f"{address(on)}/sanctions", data=sent).status_code
    assert None is owner.json("GET", f"/staff/users/{person.name}")["barred"]


def test_an_unknown_person_is_an_unknown_page(manager: Visitor) -> None:
    """A name that nobody has, or that cannot be one, is 404."""
    for name in ("nobody.at.all", "%00", "x" * 300, "%F0%9F%92%A9", "-1"):
        assert 404 == manager.http.get(f"/admin/people/{name}").status_code
