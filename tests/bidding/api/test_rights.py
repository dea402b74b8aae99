"""Rights over HTTP: a role that lacks one is refused with its name."""

import pytest

from saleroom.accounts.domain import rights
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.storage import accounts
from saleroom.storage.database import Transaction
from tests.fixtures_house import House, User


@pytest.fixture
def clerk(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> User:
    """A clerk of a house in which clerks may not bid."""
    monkeypatch.setitem(rights.RIGHTS, Role.CLERK, rights.RIGHTS[Role.CLERK] - {Right.BID})
    user = sqlite_house.newcomer()

    def hire(tx: Transaction) -> None:
        login = accounts.find_login(tx, user.name)
        assert login is not None
        accounts.set_role(tx, login.account.id, Role.CLERK)

    sqlite_house.write(hire)
    return user


def test_a_missing_right_is_403_and_named(sqlite_house: House, clerk: User) -> None:
    """A bid without the right to bid is 403 with the right's name, and nothing else is refused."""
    gid = sqlite_house.user("ada").auction(buyNowPrice="500")
    for answer in (clerk.bid(gid, "100"), clerk.post(f"/auctions/{gid}/buy")):
        assert (403, "missing_right", "bid") == (answer.status_code, answer.json()["code"], answer.json()["right"])
        assert "You may not bid and buy here; ask those who run the house." == answer.json()["message"]
    assert 200 == clerk.get("/me").status_code
    assert clerk.auction()
