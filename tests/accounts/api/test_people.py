"""People and the audit log over HTTP."""

import json

import pytest

from saleroom.accounts.domain.rights import RIGHTS, Right, Role
from tests.bidding.api.answers import refusal
from tests.fixtures_house import House, ServeHouse

pytestmark = pytest.mark.databases("sqlite")


def test_a_token_knows_its_rights(house: House) -> None:
    """GET /me/rights shows the role and its rights, in the order of the document."""
    for role in (Role.MEMBER, Role.CLERK):
        shown = house.staff(role).json("GET", "/me/rights")
        assert {"role": role, "rights": [right for right in Right if right in RIGHTS[role]]} == shown


@pytest.mark.databases("sqlite", "postgresql")
def test_users_are_listed_and_shown(house: House) -> None:
    """GET /staff/users lists by page, with filters; one user is shown by any spelling of the name, without anything private."""
    clerk, _ = house.staff(Role.CLERK), house.newcomer()
    page = clerk.get("/staff/users", params={"limit": 1})
    names = [one["username"] for one in page.json()["users"]]
    following = clerk.get(page.links["next"]["url"]).json()["users"]
    assert names < [one["username"] for one in following] or names[0] != following[0]["username"]
    [found] = clerk.json("GET", f"/staff/users?q={clerk.name.upper()}&role=clerk")["users"]
    assert found == clerk.json("GET", f"/staff/users/{clerk.name.upper()}")
    nothing = {"sellerSince": None, "barred": None, "barredUntil": None}
    assert {"username": clerk.name, "role": "clerk", "createdAt": found["createdAt"], **nothing} == found
    assert [] == clerk.json("GET", f"/staff/users?q={clerk.name}&role=owner")["users"]
    assert (404, "unknown_user") == refusal(clerk.get("/staff/users/nobody.at.all"))
    assert (404, "unknown_user") == refusal(clerk.get("/staff/users/x"))
    assert 400 == clerk.get("/staff/users?role=king").status_code
    assert 400 == clerk.get("/staff/users?cursor=AAAA").status_code


def test_a_role_is_given(house: House) -> None:
    """PUT /staff/users/{username}/role gives the role, which counts at once; a role above one's own is 403."""
    manager, bob = house.staff(Role.MANAGER), house.newcomer()
    path = f"/staff/users/{bob.name}/role"
    assert 403 == bob.get("/staff/users").status_code
    assert "clerk" == manager.json("PUT", path, json={"role": "clerk", "reason": "at the desk"})["role"]
    assert 200 == bob.get("/staff/users").status_code
    assert (403, "role_above_own") == refusal(manager.request("PUT", path, json={"role": "owner"}))
    assert (403, "missing_right") == refusal(bob.request("PUT", path, json={"role": "owner"}))
    assert (404, "unknown_user") == refusal(
        manager.request("PUT", "/staff/users/nobody.at.all/role", json={"role": "clerk"})
    )
    for wrong in ({"role": "king"}, {}, {"role": "clerk", "reason": "x" * 501}, {"role": "clerk", "reason": "a\x00"}):
        assert 400 == manager.request("PUT", path, json=wrong).status_code
    assert "clerk" == manager.json("GET", f"/staff/users/{bob.name}")["role"]


def test_the_last_owner_is_409(serve_house: ServeHouse) -> None:
    """The last owner of a house cannot give the role away."""
    house = serve_house()
    owner = house.staff(Role.OWNER)
    answer = owner.request("PUT", f"/staff/users/{owner.name}/role", json={"role": "member"})
    assert (409, "last_owner") == refusal(answer)
    assert 200 == owner.get("/staff/audit").status_code


@pytest.mark.parametrize("sent", [{"approved": 1}, {"approved": "true"}, {"approved": None}, {}])
def test_an_approval_is_true_or_false(sqlite_house: House, sent: dict[str, object]) -> None:
    """Anything but true and false is refused."""
    clerk = sqlite_house.staff(Role.CLERK)
    assert 400 == clerk.request("PUT", f"/staff/users/{clerk.name}/seller", json=sent).status_code


@pytest.mark.databases("sqlite", "postgresql")
def test_the_audit_log_is_read_and_exported(house: House) -> None:
    """The log has each act once, by page with filters, and the same entries as lines; only those with the right read it."""
    owner, clerk, bob = house.staff(Role.OWNER), house.staff(Role.CLERK), house.newcomer()
    for approved in (True, False):
        sent = {"approved": approved, "reason": "seen"}
        shown = clerk.json("PUT", f"/staff/users/{bob.name}/seller", json=sent)
        assert approved == (shown["sellerSince"] is not None)
    [later] = owner.json("GET", f"/staff/audit?user={bob.name}&act=seller.withdrawn")["entries"]
    page = owner.get("/staff/audit", params={"user": bob.name, "limit": 1})
    assert [later] == page.json()["entries"]
    [first] = owner.get(page.links["next"]["url"]).json()["entries"]
    assert (clerk.name, "seller.approved", bob.name, {"seller": False}, {"seller": True}, "seen") == tuple(
        first[name] for name in ("by", "act", "user", "before", "after", "reason")
    )
    answer = owner.get("/staff/audit.ndjson")
    assert "application/x-ndjson" == answer.headers["content-type"]
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [first, later] == [line for line in lines if line["user"] == bob.name]
    assert sorted(line["id"] for line in lines) == [line["id"] for line in lines]
    assert b"" == owner.request("HEAD", "/staff/audit.ndjson").content
    for who in (clerk, bob):
        for path in ("/staff/audit", "/staff/audit.ndjson"):
            assert (403, "missing_right") == refusal(who.get(path))
    assert 401 == house.anyone.get("/staff/audit.ndjson").status_code
