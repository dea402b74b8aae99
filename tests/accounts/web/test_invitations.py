"""The pages of invitations: made and revoked in the back office, taken by newcomers and by users."""

from __future__ import annotations

import re

import pytest

from saleroom.accounts.domain.rights import Role
from tests.accounts.service.mailed import sent_by
from tests.fixtures_house import House, ServeHouse
from tests.site.visitor import Visitor

pytestmark = pytest.mark.usefixtures("leave")
PASSWORD = "correct horse battery"


def invited(boss: Visitor, role: Role) -> str:
    """Invite somebody on the page, and return the code of the link that it shows."""
    answer = boss.send(boss.page("/admin/invitations"), "/admin/invitations", role=role.value)
    found = re.search(r"/join#([^<]+)<", answer.text)
    assert found is not None, answer.text
    return found[1]


def test_a_newcomer_joins_a_house_that_is_closed(serve_house: ServeHouse) -> None:
    """The link makes an account with the role, logs it in, and leads to the back office; then it is used up."""
    house = serve_house(registration="closed")
    boss, newcomer = Visitor(house, house.staff(Role.OWNER)), Visitor(house)
    code = invited(boss, Role.MANAGER)
    page = newcomer.page("/join")
    sent = {"code": code, "username": "eva", "password": PASSWORD}
    assert 422 == newcomer.send(page, "/join", **sent | {"code": code[:-2] + "xx"}).status_code
    assert 400 == newcomer.send(page, "/join", **sent | {"password": "short"}).status_code
    answer = newcomer.send(page, "/join", **sent)
    assert (303, "/admin") == (answer.status_code, answer.headers["location"])
    assert "/admin/invitations" in newcomer.page("/admin/people").links
    late = Visitor(house)
    assert 422 == late.send(late.page("/join"), "/join", **sent | {"username": "bob"}).status_code
    assert "taken by eva" in boss.page("/admin/invitations").main


def test_a_user_takes_it_and_another_is_revoked(house: House) -> None:
    """Who is logged in gets the role; the list revokes what was not taken; a manager is offered no owner's role."""
    boss, bob = Visitor(house, house.staff(Role.MANAGER)), Visitor(house, house.newcomer())
    assert [] == boss.page("/admin/invitations").all("option", value="owner")
    code, other = invited(boss, Role.CLERK), invited(boss, Role.CLERK)
    page = boss.page("/admin/invitations")
    assert 303 == boss.send(page, "/admin/invitations/revoke", id=other.partition(".")[0]).status_code
    assert 404 == boss.send(page, "/admin/invitations/revoke", id="0").status_code
    assert 422 == bob.send(bob.page("/join"), "/join", code=other).status_code
    assert 303 == bob.send(bob.page("/join"), "/join", code=code).status_code
    assert "/admin/outbox" in bob.page("/admin").links


def test_a_mail_brings_the_link(serve_house: ServeHouse) -> None:
    """With an address the mail has the link, and the page does not; without a mail server nobody is offered that."""
    house = serve_house(smtp_url="show")
    boss = Visitor(house, house.staff(Role.OWNER))
    page = boss.page("/admin/invitations")
    answer = boss.send(page, "/admin/invitations", role="clerk", address="eva@example.org")
    assert (200, False, True) == (answer.status_code, "/join#" in answer.text, "eva@example.org" in answer.text)
    assert 400 == boss.send(page, "/admin/invitations", role="clerk", address="eva").status_code
    [mail] = [one for one in sent_by(house) if one["kind"] == "invitation"]
    eva = Visitor(house)
    sent = {"code": mail["code"], "username": "eva", "password": PASSWORD}
    assert 303 == eva.send(eva.page("/join"), "/join", **sent).status_code
    quiet = serve_house()
    boss = Visitor(quiet, quiet.staff(Role.OWNER))
    page = boss.page("/admin/invitations")
    assert [] == page.all("input", name="address")
    assert 403 == boss.send(page, "/admin/invitations", role="clerk", address="eva@example.org").status_code
