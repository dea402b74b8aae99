"""The block of a live sale through the services: a lot from its call to the hammer, and the acts of clerks at once."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from sqlalchemy import select, text

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import audit, sanctions
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import audit as audit_table
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import (
    AskChanged,
    AuctionOver,
    BeyondLimit,
    NeedsPaddle,
    NothingToUndo,
    RegistrationDeclined,
)
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.kernel.errors import MissingRight, Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act, BlockAct
from saleroom.sales.domain.errors import (
    BidsUncalled,
    BlockChanged,
    LotOnBlock,
    NoLotLeft,
    UnknownPaddle,
)
from saleroom.sales.domain.participants import Standing
from saleroom.sales.service import lots as lot_cases
from saleroom.sales.service.live import block
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.sales.storage import sales
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, person, stored
from tests.fixtures_database import OpenDatabase
from tests.sales.service.evenings import Evening, evening


async def tag(on: Evening) -> str:
    """The tag of the block."""
    return (await on.database.read(block.shown, None, on.sale.gid)).tag


async def do(on: Evening, act: Act, *, by: Person | None = None, key: str | None = None, **said: Any) -> Any:
    """Act as the clerk, who has just looked at the block."""
    if "amount" in said:
        said["amount"] = eur(said["amount"])
    said.setdefault("seen", await tag(on))
    once = None if key is None else IdempotencyKey(key, msgspec.json.encode([act, said], enc_hook=str))
    token = (by or on.clerk).token
    return msgspec.json.decode(await on.database.write(block.act, token, on.sale.gid, BlockAct(act=act, **said), once))


async def play(on: Evening, *acts: tuple[Act, dict[str, Any]]) -> Any:
    """Do one act after the other, and return the block after the last."""
    shown = None
    for act, said in acts:
        shown = await do(on, act, **said)
    return shown


async def paddle(on: Evening, number: int, **said: Any) -> str:
    """Admit somebody with this paddle at the door."""
    newcomer = Newcomer(name=f"Guest {number}", paddle=number, **said)
    known = await on.database.write(participants.admit, on.clerk.token, on.sale.gid, newcomer)
    return str(msgspec.json.decode(known)["participant"]) if isinstance(known, bytes) else known.participant.gid


async def offers(
    database: Database, bidder: Person, gid: str, amount: str | None = None, maximum: str | None = None
) -> bytes | Refusal:
    """Bid online."""
    request = BidRequest(*(None if text is None else eur(text) for text in (amount, maximum)))
    [answer] = await database.write(place_bids, [BidCommand(bidder.token, gid, request)])
    return answer


async def refused(kind: type[Refusal], on: Evening, act: Act, **said: Any) -> Refusal:
    """Act, and return the refusal, which must be of this kind; the lots are as they were."""
    before = [await stored(on.database, gid) for gid in on.lots]
    with pytest.raises(kind) as caught:
        await do(on, act, **said)
    assert before == [await stored(on.database, gid) for gid in on.lots]
    return caught.value


async def lots(on: Evening) -> Sequence[Auction]:
    """The auctions of the sale."""
    return [await stored(on.database, gid) for gid in on.lots]


async def sound(on: Evening) -> None:
    """The database is as its ledgers say, and the rules decide every event again."""
    assert [] == await on.database.read(faults_of)


async def test_a_lot_goes_from_its_call_to_the_hammer(database: Database) -> None:
    """Absentee bids set the first ask; the floor, the telephone and bidders online bid on; the hammer sells to a paddle."""
    on = await evening(database)
    await paddle(on, 112)
    absent, online = await person(database), await person(database)
    for one in (absent, online):
        await database.write(participants.register, one.token, on.sale.gid)
    await offers(database, absent, on.lots[0], maximum="130")
    shown = await do(on, Act.CALL)
    assert ("running", "1", "called", "110.000") == (
        shown["status"],
        shown["onBlock"]["label"],
        shown["onBlock"]["auction"]["stage"],
        shown["onBlock"]["auction"]["minimumBid"],
    )
    assert (["2", "3"], 2) == ([lot["label"] for lot in shown["nextLots"]], shown["lotsLeft"])
    shown = await play(on, (Act.BID, {"amount": "110"}), (Act.BID, {"amount": "130", "channel": Channel.PHONE}))
    assert absent.account.username == shown["onBlock"]["auction"]["currentBidder"], "at a tie the earlier one leads"
    await offers(database, online, on.lots[0], amount="140")
    shown = await play(on, (Act.WARN, {}), (Act.WARN, {}), (Act.BID, {"amount": "150"}))
    assert ("called", "#floor") == (
        shown["onBlock"]["auction"]["stage"],
        shown["onBlock"]["auction"]["currentBidder"],
    )
    await refused(NeedsPaddle, on, Act.SELL)
    shown = await play(on, (Act.NAME, {"paddle": 112}), (Act.SELL, {}))
    last = shown["lastLot"]["auction"]
    assert (None, "sold", "#112", "150.000") == (
        shown["onBlock"],
        last["outcome"],
        last["currentBidder"],
        last["currentBid"],
    )
    shown = await do(on, Act.CALL)
    assert "2" == shown["onBlock"]["label"]
    await sound(on)


async def test_everything_is_undone_step_by_step(database: Database) -> None:
    """Each undo takes the last act back, from the hammer to the call; what stood before stands again."""
    on = await evening(database)
    await paddle(on, 112)
    acts: list[tuple[Act, dict[str, Any]]] = [
        (Act.CALL, {}),
        (Act.ASK, {"amount": "200"}),
        (Act.BID, {"amount": "200"}),
        (Act.WARN, {}),
        (Act.NAME, {"paddle": 112}),
        (Act.RETRACT, {"paddle": 112}),
        (Act.ASK, {"amount": "150"}),
        (Act.BID, {"amount": "150", "paddle": 112}),
        (Act.SELL, {}),
    ]
    states = [_standing((await lots(on))[0])]
    for act, said in acts:
        await do(on, act, **said)
        states.append(_standing((await lots(on))[0]))
    for state in reversed(states[:-1]):
        await do(on, Act.UNDO)
        assert state == _standing((await lots(on))[0])
    await refused(NothingToUndo, on, Act.UNDO)
    await sound(on)


def _standing(lot: Auction) -> Any:
    return lot.status, lot.outcome, lot.stage, lot.ask, lot.current_bid, lot.leader, lot.maximum


async def test_of_two_clerks_the_second_is_told(open_database: OpenDatabase) -> None:
    """Two hammers on one state: one falls; the other is refused with the present tag, and nothing happens twice."""
    first, second = open_database(), open_database()
    on = await evening(first)
    await paddle(on, 112)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 112}))
    seen = await tag(on)
    other = Evening(second, on.sale, on.lots, on.clerk)
    results = await asyncio.gather(do(on, Act.SELL, seen=seen), do(other, Act.WARN, seen=seen), return_exceptions=True)
    [refusal] = [one for one in results if isinstance(one, Exception)]
    assert isinstance(refusal, BlockChanged)
    assert {"tag": await tag(on)} == refusal.facts
    await sound(on)


async def test_a_repeated_act_happens_once(database: Database) -> None:
    """A console that was cut off sends its act again with the key, and gets the first answer."""
    on = await evening(database)
    await do(on, Act.CALL)
    seen = await tag(on)
    said: dict[str, Any] = {"amount": "100", "seen": seen}
    first = await do(on, Act.BID, key="one", **said)
    assert first == await do(on, Act.BID, key="one", **said)
    assert 1 == (await lots(on))[0].bid_count


async def test_a_bid_as_the_hammer_falls(database: Database) -> None:
    """The clerk's hammer rests on what the clerk saw: a bid that came before it refuses it; one after it comes too late."""
    on = await evening(database)
    await paddle(on, 112)
    online = await person(database)
    await database.write(participants.register, online.token, on.sale.gid)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 112}))
    seen = await tag(on)
    await offers(database, online, on.lots[0], amount="110")
    await refused(BlockChanged, on, Act.SELL, seen=seen)
    await refused(AskChanged, on, Act.BID, amount="110")
    await do(on, Act.SELL)
    late = await offers(database, online, on.lots[0], amount="120")
    assert isinstance(late, Refusal)
    assert "auction_closed" == late.code
    assert None is not late.facts["closed_at"]
    await sound(on)


async def test_paddles_are_admitted_as_bidders_are(database: Database) -> None:
    """An unknown, declined or too poor paddle takes no ask, and nobody names it; who was declined while leading stays."""
    on = await evening(database)
    await paddle(on, 112, limit=eur("120"))
    leads = await paddle(on, 113)
    await do(on, Act.CALL)
    await refused(UnknownPaddle, on, Act.BID, amount="100", paddle=7)
    await play(on, (Act.ASK, {"amount": "150"}))
    await refused(BeyondLimit, on, Act.BID, amount="150", paddle=112)
    await do(on, Act.BID, amount="150")
    await refused(BeyondLimit, on, Act.NAME, paddle=112)
    await refused(UnknownPaddle, on, Act.NAME, paddle=7)
    await do(on, Act.NAME, paddle=113)
    no = {"standing": Standing.DECLINED, "reason": "No deposit."}
    await database.write(participants.change, on.clerk.token, on.sale.gid, leads, no)
    await refused(RegistrationDeclined, on, Act.BID, amount="160", paddle=113)
    await do(on, Act.SELL)
    assert "#113" == getattr((await lots(on))[0].leader, "name", None)
    await sound(on)


async def test_nobody_bids_by_a_clerk_who_is_banned(database: Database) -> None:
    """A ban of the house holds at the paddle too: for bids, for the name of the floor's bid, and until it is lifted."""
    on = await evening(database)
    owner, bob = await person(database), await person(database, "bob")
    await database.write(accounts.set_role, owner.account.id, Role.OWNER)
    await paddle(on, 112, username="bob")
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100"}))
    await database.write(sanctions.impose, "bob", Sanction.BAN, "Unpaid.")
    for act, said in ((Act.NAME, {"paddle": 112}), (Act.BID, {"amount": "110", "paddle": 112})):
        refusal = await refused(RegistrationDeclined, on, act, **said)
        assert "Unpaid." == refusal.facts["reason"]
    await database.write(sanctions.lift, owner.token, "bob", "")
    await do(on, Act.BID, amount="110", paddle=112)
    assert bob.account.id == (await lots(on))[0].leader.id  # type: ignore[union-attr]  # somebody leads


async def test_lots_are_skipped_passed_and_decided_later(database: Database) -> None:
    """A skipped lot comes back at the end; below the reserve the seller decides; the sale ends when all are called."""
    on = await evening(database)
    boss = await person(database)
    await database.write(accounts.set_role, boss.account.id, Role.AUCTIONEER)
    await paddle(on, 112)
    shown = await play(on, (Act.CALL, {}), (Act.SKIP, {}), (Act.CALL, {}), (Act.PASS, {}), (Act.CALL, {}))
    assert ("3", ["1"]) == (shown["onBlock"]["label"], [lot["label"] for lot in shown["nextLots"]])
    await refused(LotOnBlock, on, Act.CALL)
    await refused(LotOnBlock, on, Act.END)
    shown = await play(on, (Act.BID, {"amount": "100", "paddle": 112}), (Act.SELL, {}), (Act.CALL, {}))
    assert "1" == shown["onBlock"]["label"]
    await play(on, (Act.BID, {"amount": "100", "paddle": 112}), (Act.SKIP, {}))
    await refused(BidsUncalled, on, Act.END)
    await play(on, (Act.CALL, {}), (Act.SELL, {}))
    await refused(NoLotLeft, on, Act.CALL)
    with pytest.raises(MissingRight):
        await do(on, Act.REOPEN, label="2", reason="Somebody called.")
    await do(on, Act.REOPEN, by=boss, label="2", reason="Somebody called.")
    assert Status.OPEN is (await lots(on))[1].status
    shown = await play(on, (Act.CALL, {}), (Act.PASS, {}), (Act.END, {}))
    assert "closed" == shown["status"]
    assert [Outcome.SOLD, Outcome.NO_BIDS, Outcome.SOLD] == [lot.outcome for lot in await lots(on)]
    types = [event["type"] for event in await database.read(sale_events, on.sale.gid)]
    assert ["sale.published", "sale.running", "lot.called", "lot.skipped", "lot.called", "lot.closed"] == types[:6]
    assert ["lot.reopened", "lot.called", "lot.closed", "sale.closed"] == types[-4:]
    await sound(on)


def sale_events(tx: Any, gid: str) -> list[Any]:
    """The events of a sale."""
    [page] = sales.LOG.backlogs(tx, [(gid, 0)])
    assert not isinstance(page, Exception)
    return [msgspec.json.decode(event.payload) for event in page.events]


async def test_the_database_restarts_on_final_call(open_database: OpenDatabase) -> None:
    """Every connection breaks between the final call and the hammer: another process goes on from what was committed."""
    first = open_database()
    on = await evening(first)
    await paddle(on, 112)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 112}), (Act.WARN, {}), (Act.WARN, {}))
    seen = await tag(on)
    with suppress(DatabaseUnavailable):
        await first.write(_end_connections)
    other = Evening(open_database(), on.sale, on.lots, on.clerk)
    assert "final_call" == (await stored(other.database, on.lots[0])).stage
    shown = await patiently(other, Act.SELL, seen)
    assert "sold" == shown["lastLot"]["auction"]["outcome"]
    await sound(other)


async def patiently(on: Evening, act: Act, seen: str) -> Any:
    """Act with one key until the database answers, as a console does."""
    for _ in range(20):
        with suppress(DatabaseUnavailable):
            return await do(on, act, key="patient", seen=seen)
        await asyncio.sleep(0.1)
    raise AssertionError("the database does not come back")


def _end_connections(tx: Transaction) -> None:
    if tx.dialect == "sqlite":
        return  # it has no server
    tx.execute(
        text(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    )


async def test_an_act_that_is_cut_off_leaves_nothing(database: Database) -> None:
    """The process dies within the hammer's transaction: the lot is still on the block, and the act can be sent again."""
    on = await evening(database)
    await paddle(on, 112)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 112}))
    before, seen = await lots(on), await tag(on)
    with patch.object(audit, "note", side_effect=KeyError("killed")), pytest.raises(KeyError):
        await do(on, Act.SELL, key="again", seen=seen)
    assert before == await lots(on)
    shown = await do(on, Act.SELL, key="again", seen=seen)
    assert shown == await do(on, Act.SELL, key="again", seen=seen)
    await sound(on)


async def test_who_may_not_act_does_nothing(database: Database) -> None:
    """A clerk undoes and does not reopen, a member does nothing; the audit log has what was done, by whom."""
    on = await evening(database)
    member = await person(database)
    for one, said in ((Act.CALL, {}), (Act.REOPEN, {"label": "1", "reason": "Why."}), (Act.END, {})):
        with pytest.raises(MissingRight):
            await do(on, one, by=member, **said)
    await do(on, Act.CALL)
    acts = select(audit_table.c.by_id, audit_table.c.after).where(audit_table.c.subject == on.sale.gid)
    [noted] = await database.read(lambda tx: tx.execute(acts).all())
    assert (on.clerk.account.id, {"act": "call"}) == (noted.by_id, msgspec.json.decode(noted.after))


async def test_a_withdrawn_lot_does_not_come_back(database: Database) -> None:
    """An undo after a withdrawal does not open the lot again."""
    on = await evening(database)
    staff = await person(database)
    await database.write(accounts.set_role, staff.account.id, Role.AUCTIONEER)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100"}))
    await database.write(lot_cases.withdraw, staff.token, on.sale.gid, "1", "Broken.")
    await refused(AuctionOver, on, Act.UNDO)
    await do(on, Act.CALL)
    await sound(on)
