"""Invitations over the API."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.accounts.service.mailed import sent_by
from tests.bidding.api.answers import refusal
from tests.fixtures_database import unique
from tests.fixtures_house import PASSWORD, House, ServeHouse, User


@pytest.fixture(scope="module")
def house(mail_house: House) -> House:
    """A house that sends mails; nobody fetches them here."""
    return mail_house


@pytest.fixture(scope="module")
def manager(house: House) -> User:
    """Somebody who may invite."""
    return house.staff(Role.MANAGER)


def test_a_link_to_hand_on_is_taken_once(house: House, manager: User) -> None:
    """The answer has the link, which the list does not; anyone who takes it has the role from the next request on."""
    user, late = house.newcomer(), house.newcomer()
    made = manager.json("POST", "/staff/invitations", json={"role": "clerk"})
    code = made["link"].partition("/join#")[2]
    taken = user.json("POST", "/me/invitations", json={"code": code})
    assert ("clerk", True) == (taken["role"], "read_people" in taken["rights"])
    assert 200 == user.http.get("/staff/users").status_code
    assert (422, "invalid_invitation") == refusal(late.http.post("/me/invitations", json={"code": code}))
    listed = manager.json("GET", "/staff/invitations")["invitations"][0]
    assert (user.name, manager.name, "clerk", None) == tuple(
        listed[name] for name in ("takenBy", "by", "role", "sentTo")
    )
    assert code.partition(".")[2] not in str(listed)


def test_a_mail_brings_the_link_to_somebody_without_an_account(house: House, manager: User) -> None:
    """The answer is the same for every address, and has no link; who has the mail registers with the role."""
    known, name = f"{unique('eva')}@example.org", unique("eva")
    answers = [
        manager.json("POST", "/staff/invitations", json={"role": "cashier", "mailAddress": address})
        for address in (known, "nobody@example.org")
    ]
    assert [None, None] == [one["link"] for one in answers]
    [mail] = [one for one in sent_by(house) if one["to"] == known]
    sent = {"code": mail["code"], "username": name, "password": PASSWORD}
    assert name == house.anyone.post("/invited-users", json=sent).json()["username"]
    again = house.anyone.post("/invited-users", json=sent | {"username": unique("late")})
    assert (422, "invalid_invitation") == refusal(again)
    token = house.anyone.post("/login", json={"username": name, "password": PASSWORD}).json()["token"]
    rights = house.anyone.get("/me/rights", headers={"Authorization": f"Bearer {token}"}).json()
    assert "cashier" == rights["role"]


def test_what_is_refused(house: House, manager: User, serve_house: ServeHouse) -> None:
    """A role above one's own, an address that is none, an invitation that was revoked, and mail where there is none."""
    assert (403, "role_above_own") == refusal(manager.http.post("/staff/invitations", json={"role": "owner"}))
    wrong = manager.http.post("/staff/invitations", json={"role": "clerk", "mailAddress": "eva"})
    assert (400, "validation") == refusal(wrong)
    made = manager.json("POST", "/staff/invitations", json={"role": "clerk"})
    path = f"/staff/invitations/{made['invitation']['id']}"
    assert 204 == manager.http.delete(path).status_code
    assert (404, "unknown_invitation") == refusal(manager.http.delete(path))
    user, code = house.newcomer(), made["link"].partition("#")[2]
    assert (422, "invalid_invitation") == refusal(user.http.post("/me/invitations", json={"code": code}))
    quiet = serve_house()
    sent = {"role": "clerk", "mailAddress": "eva@example.org"}
    assert (403, "mail_off") == refusal(quiet.staff(Role.OWNER).http.post("/staff/invitations", json=sent))
    assert (403, "missing_right") == refusal(quiet.newcomer().http.post("/staff/invitations", json=sent))
