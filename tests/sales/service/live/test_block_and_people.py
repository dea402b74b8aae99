"""The block through the services: its clerk pauses the sale, and a bidder who was named in the hall is merged or erased."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from saleroom.accounts.domain.errors import LotsRunning
from saleroom.accounts.service import erasures
from saleroom.accounts.storage.tables import audit as audit_table
from saleroom.areas import forget
from saleroom.bidding.storage.tables import events as events_table
from saleroom.kernel.parties import Party
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.errors import BidsStay, BlockChanged, PaddleFixed, SaleNotPaused, SaleNotRunning, StandsStill
from saleroom.sales.domain.sale import Registration
from saleroom.sales.service.people import merging, participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import person
from tests.sales.service.evenings import evening
from tests.sales.service.live.test_block import do, lots, paddle, play, refused, sound, tag


async def test_a_clerk_pauses_the_sale_at_the_block(database: Database) -> None:
    """The lot on the block keeps its bid and takes none until the sale goes on; both acts count once and are noted."""
    on = await evening(database)
    await paddle(on, 112)
    await refused(SaleNotRunning, on, Act.PAUSE)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 112}))
    # A bid that comes at the same moment does not keep the sale from standing still: `seen` is of before it.
    shown = await do(on, Act.PAUSE, key="stop", seen="another")
    assert ("paused", 1) == (shown["status"], shown["onBlock"]["auction"]["bidCount"])
    assert shown == await do(on, Act.PAUSE, key="stop", seen="another")
    for what, said in ((Act.BID, {"amount": "110"}), (Act.SELL, {}), (Act.UNDO, {}), (Act.END, {}), (Act.PAUSE, {})):
        await refused(SaleNotRunning if what is Act.PAUSE else StandsStill, on, what, **said)
    await refused(BlockChanged, on, Act.RESUME, seen="another")
    shown = await do(on, Act.RESUME, key="go on", seen=await tag(on))
    assert "running" == shown["status"]
    await refused(SaleNotPaused, on, Act.RESUME)
    # Undo takes back the last act on the lot, which the pause is none of.
    shown = await play(on, (Act.UNDO, {}))
    assert None is shown["onBlock"]["auction"]["currentBid"]
    await play(on, (Act.BID, {"amount": "100", "paddle": 112}), (Act.SELL, {}))
    await sound(on)
    acts = select(audit_table.c.act).where(audit_table.c.subject == on.sale.gid).order_by(audit_table.c.id)
    noted = await database.read(lambda tx: [one.act for one in tx.execute(acts)])
    assert ["sale.paused", "sale.resumed"] == [one for one in noted if one != "block.acted"]


async def test_a_guest_who_was_named_becomes_an_account(database: Database) -> None:
    """A bid of the floor that was named is the guest's: its paddle stays, and a merger gives lead and exposure on.

    For a clerk who has seen the block before it, the merger is no act.
    """
    on = await evening(database)
    guest, other = await paddle(on, 112), await paddle(on, 113)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100"}), (Act.NAME, {"paddle": 112}))
    await play(on, (Act.BID, {"amount": "110", "paddle": 113}), (Act.UNDO, {}))
    with pytest.raises(PaddleFixed):
        await database.write(participants.change, on.clerk.token, on.sale.gid, guest, {"paddle": 114})
    bob = await person(database)
    known = await database.write(participants.register, bob.token, on.sale.gid)
    seen = await tag(on)
    await database.write(merging.merge, on.clerk.token, on.sale.gid, guest, known.participant.gid)
    assert seen != await tag(on), "what processes and browsers remember of the lot is no longer true"
    lot = (await lots(on))[0]
    assert Party(bob.account.id, "#112") == lot.leader
    owed = await database.read(participants.own, bob.token, on.sale.gid)
    assert owed is not None and eur("100") == owed.exposure.total
    with pytest.raises(BidsStay):
        await database.write(merging.merge, on.clerk.token, on.sale.gid, known.participant.gid, other)
    await do(on, Act.SELL, seen=seen)
    await refused(BlockChanged, on, Act.UNDO, seen=seen)
    await refused(BlockChanged, on, Act.UNDO, seen=None)
    await sound(on)


async def test_who_was_named_in_the_hall_is_erased_after_the_lot_alone(database: Database) -> None:
    """A bid of the floor that was named binds its bidder also once it is outbid; after the sale the logs lose the name."""
    on = await evening(database, registration=Registration.NONE)
    await paddle(on, 112)
    bob = await person(database)
    name = bob.account.username
    newcomer = Newcomer(username=name, paddle=114)
    await database.write(participants.admit, on.clerk.token, on.sale.gid, newcomer)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100"}), (Act.NAME, {"paddle": 114}))
    await play(on, (Act.BID, {"amount": "110", "paddle": 112}))
    with pytest.raises(LotsRunning):
        await database.write(erasures.erase_by_house, name, "Asked for it.", forget)
    await play(on, (Act.SELL, {}))
    logged = select(events_table.c.payload)
    assert any(name.encode() in one for one in await database.read(lambda tx: tx.execute(logged).scalars().all()))
    await database.write(erasures.erase_by_house, name, "Asked for it.", forget)
    assert not any(name.encode() in one for one in await database.read(lambda tx: tx.execute(logged).scalars().all()))
    await sound(on)
