"""The people of a sale on pages, without scripts: register, admit at the door, check in, decline, merge."""

from __future__ import annotations

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.sales.api.test_participants import published
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


@pytest.fixture
def clerk(house: House) -> User:
    """Somebody at the door."""
    return house.staff(Role.CLERK)


def sale(house: House, **terms: object) -> tuple[str, list[str]]:
    """A published sale, by its gid and those of its lots."""
    return published(house.staff(Role.AUCTIONEER), **terms)  # type: ignore[arg-type]  # terms are those of the API


def test_a_reader_registers_and_sees_their_standing(house: House) -> None:
    """The page has the button, then the paddle, the limit and what is left of it; a stranger is sent to log in."""
    gid, (lot, _) = sale(house, names="paddles", limitDefault="500")
    path, bob = f"/mine/sales/{gid}", house.newcomer()
    assert f"/login?next={path}" == Visitor(house).http.get(path).headers["location"]
    visitor = Visitor(house, bob)
    page = visitor.sent(visitor.page(path), path)
    assert "You can bid in this sale." in page.main and "#100" in page.main
    bob.bid(lot, maximum="300")
    shown = visitor.page(path).main
    assert all(amount in shown for amount in ("€500.00", "€300.00", "€200.00"))
    assert (
        "private" in visitor.http.get(path).headers["cache-control"]
        or "no-store" in (visitor.http.get(path).headers["cache-control"])
    )
    assert 404 == visitor.http.get("/mine/sales/nowhere").status_code
    anybody, _ = sale(house, registration="none")
    assert "need not register" in visitor.page(f"/mine/sales/{anybody}").main


def test_a_clerk_admits_people_at_the_door(house: House, clerk: User) -> None:
    """A name and Enter give the next paddle; a taken one is refused beside its field, and what was typed stays."""
    gid, _ = sale(house)
    path, visitor = f"/admin/sales/{gid}/people", Visitor(house, clerk)
    page = visitor.sent(visitor.page(path), path, personName="Zoë <b>", contact="0171", bidLimit="1,500")
    assert "Zoë <b> has the paddle 100." in page.main and "limit €1,500.00" in page.main
    assert "checked in" in page.main
    page = visitor.sent(visitor.page(path), path, personName="Eva", paddle="100")
    assert "Somebody else has the paddle 100. The paddle 101 is free." in page.main
    assert "Eva" == page.one("input", id="personName")["value"]
    page = visitor.sent(page, path, personName="Eva", paddle="hundred", bidLimit="much")
    assert ["true", "true"] == [page.one("input", id=name)["aria-invalid"] for name in ("paddle", "bidLimit")]
    page = visitor.sent(page, path, personName="Eva", bidLimit="1.500")
    assert "1.500 may mean €1.50 or €1,500.00." in page.main
    page = visitor.sent(page, path, personName="", paddle="7", bidLimit="")
    assert "true" == page.one("input", id="personName")["aria-invalid"]
    assert "Zoë" in visitor.page(f"{path}?q=zo").main and "Zoë" in visitor.page(f"{path}?q=%23100").main
    assert "Nobody is like this." in visitor.page(f"{path}?q=nobody").main


def test_a_clerk_checks_in_declines_and_merges(house: House, clerk: User) -> None:
    """Who registered online is checked in with a paddle; a refusal says why to its reader; two become one."""
    gid, (lot, _) = sale(house, registration="approval")
    path, visitor, bob = f"/admin/sales/{gid}/people", Visitor(house, clerk), house.newcomer()
    one = f"{path}/{bob.json('PUT', f'/sales/{gid}/registration')['participant']}"
    page = visitor.page(path)
    assert "waits for approval" in page.main
    page = visitor.sent(page, f"{one}/check-in", paddle="12")
    assert f"{bob.name} has the paddle 12." in page.main
    assert 201 == bob.bid(lot, amount="10").status_code
    page = visitor.sent(page, f"{one}/decision", admission="declined", reason="Owes us.")
    assert "Declined: Owes us." in page.main
    assert "Owes us." in Visitor(house, bob).page(f"/mine/sales/{gid}").main
    page = visitor.sent(page, f"{one}/decision", admission="approved", bidLimit="900")
    assert "approved up to a limit" in page.main and "owes and leads by €10.00" in page.main
    visitor.sent(page, path, personName="Bob")
    guest = visitor.page(f"{path}?q=Bob")
    action = next(e["action"] for e in guest.all("form") if e["action"].endswith("/merger"))
    assert "There is no such bidder" in visitor.sent(guest, action, into="nobody").main
    page = visitor.sent(guest, action, into="12")
    assert "Bob has the paddle 12." in page.main and bob.name in page.main


def test_a_fault_of_a_form_that_is_gone_is_said_above(house: House, clerk: User) -> None:
    """Two clerks check the same person in: the second one is told what is wrong, although the field is not there any more."""
    gid, _ = sale(house)
    path, bob = f"/admin/sales/{gid}/people", house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    visitor, other = Visitor(house, clerk), Visitor(house, clerk)
    late = visitor.page(path)
    [check_in] = [e["action"] for e in late.all("form") if e.attributes.get("action", "").endswith("/check-in")]
    assert 303 == other.send(other.page(path), check_in).status_code
    refused = visitor.sent(late, check_in, paddle="hundred")
    assert (400, 1) == (refused.status, len(refused.all("p", role="alert")))


def test_a_limit_that_was_cleared_stays_cleared(house: House, clerk: User) -> None:
    """A refused decision shows what was typed, also that nothing was; one that sent no limit shows that of the bidder."""
    gid, _ = sale(house, limitDefault="500")
    path, visitor = f"/admin/sales/{gid}/people", Visitor(house, clerk)
    one = f"{path}/{house.newcomer().json('PUT', f'/sales/{gid}/registration')['participant']}"
    for sent, shown in (("", ""), ("much", "much"), (None, "500.00")):
        page = visitor.sent(visitor.page(path), f"{one}/decision", admission="nonsense", bidLimit=sent)
        assert (400, shown) == (page.status, page.one("input", id=f"decision-{one.rpartition('/')[2]}-limit")["value"])


@pytest.mark.parametrize(("form", "field"), [("", "username"), ("merger", "into")])
def test_nobody_of_this_name_is_said_at_the_field(house: House, clerk: User, form: str, field: str) -> None:
    """A name that nobody has is wrong in its field, not only in the page."""
    gid, _ = sale(house)
    path, bob = f"/admin/sales/{gid}/people", house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    visitor = Visitor(house, clerk)
    page = visitor.page(path)
    [action] = [e["action"] for e in page.all("form", method="post") if e["action"].endswith(form or path)]
    refused = visitor.sent(page, action, **{field: "nobody.at.all"})
    typed = refused.one("input", name=field)
    assert (404, "nobody.at.all", "true") == (refused.status, typed["value"], typed["aria-invalid"])
    assert [] == refused.all("p", role="alert")
