"""Rights at the desk: bids that are decided together are refused one by one, without a further statement."""

import pytest

from saleroom.accounts.domain import rights
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service.bidding import buy_now, earlier_answer, place_bids, refusals_at_door
from saleroom.kernel.errors import MissingRight
from saleroom.storage.database import Database
from tests.bidding.service.people import bid, once_of, person, sells


@pytest.fixture
def clerks_do_not_bid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A house in which clerks may not bid."""
    monkeypatch.setitem(rights.RIGHTS, Role.CLERK, rights.RIGHTS[Role.CLERK] - {Right.BID})


@pytest.mark.usefixtures("clerks_do_not_bid")
async def test_a_bid_without_the_right_is_refused_alone(database: Database) -> None:
    """Of bids in one transaction, and at the door, only those without the right are refused, and with its name."""
    ada, bob, cyd = [await person(database) for _ in range(3)]
    await database.write(accounts.set_role, bob.account.id, Role.CLERK)
    gid = await sells(database, ada, buy_now_price="500")
    commands = [bob.bids(gid, "110"), cyd.bids(gid, "100")]
    [refused, other] = await database.read(refusals_at_door, commands)
    assert isinstance(refused, MissingRight) and other is None
    assert ["missing_right", "accepted"] == await bid(database, *commands)
    [again] = await database.write(place_bids, commands[:1])
    assert isinstance(again, MissingRight) and {"right": "bid", "needs": None} == again.facts
    with pytest.raises(MissingRight):
        await database.write(buy_now, bob.token, gid, None)


@pytest.mark.usefixtures("clerks_do_not_bid")
async def test_a_right_counts_from_the_next_transaction_on(database: Database) -> None:
    """A role that was given is that of the next bid with a token that is older; an earlier bid gets no second answer."""
    ada, bob = await person(database), await person(database)
    gid = await sells(database, ada)
    assert ["accepted"] == await bid(database, bob.bids(gid, "100", key="k"))
    await database.write(accounts.set_role, bob.account.id, Role.CLERK)
    assert ["missing_right"] == await bid(database, bob.bids(gid, "100", key="k"))
    key = once_of("k", "100")
    assert key is not None
    with pytest.raises(MissingRight):
        await database.read(earlier_answer, bob.token, key)
    await database.write(accounts.set_role, bob.account.id, Role.MEMBER)
    assert ["accepted"] == await bid(database, bob.bids(gid, "100", key="k"))
