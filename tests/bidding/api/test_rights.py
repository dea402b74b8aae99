"""Rights over HTTP: a role that lacks one is refused with its name."""

import pytest

from saleroom.accounts.domain import rights
from saleroom.accounts.domain.rights import Right, Role
from tests.fixtures_house import House, User


@pytest.fixture
def clerk(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> User:
    """A clerk of a house in which clerks may not bid."""
    monkeypatch.setitem(rights.RIGHTS, Role.CLERK, rights.RIGHTS[Role.CLERK] - {Right.BID})
    return sqlite_house.staff(Role.CLERK)


def test_a_missing_right_is_403_and_named(sqlite_house: House, clerk: User) -> None:
    """A bid without the right to bid is 403 with the right's name, and nothing else is refused."""
    gid = sqlite_house.user("ada").auction(buyNowPrice="500")
    for answer in (clerk.bid(gid, "100"), clerk.post(f"/auctions/{gid}/buy")):
        assert (403, "missing_right", "bid") == (answer.status_code, answer.json()["code"], answer.json()["right"])
        assert "You may not bid and buy here; ask those who run the house." == answer.json()["message"]
    assert 200 == clerk.get("/me").status_code
    assert clerk.auction()
