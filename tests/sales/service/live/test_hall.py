"""The hall: how the leading bid came, as all who follow the block see it."""

from __future__ import annotations

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.block import Act
from saleroom.sales.service.live import hall
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.storage.database import Database
from tests.bidding.service.people import person
from tests.sales.service.evenings import evening
from tests.sales.service.live.test_block import do, offers, paddle


async def test_the_hall_says_how_the_leading_bid_came(database: Database) -> None:
    """Somebody who was checked in at the door still leads online if they bid online, and by telephone if a clerk takes that."""
    on = await evening(database)
    await paddle(on, 11)
    bidder = await person(database)
    await on.database.write(
        participants.admit, on.clerk.token, on.sale.gid, Newcomer(username=bidder.account.username, paddle=12)
    )
    await do(on, Act.CALL)
    assert isinstance(await offers(database, bidder, on.lots[0], "100"), bytes)
    shown = await database.read(hall.shown, on.sale.gid)
    assert "online" == shown.leads_by
    ask = shown.lot.auction.minimum_bid if shown.lot and shown.lot.auction else None
    await do(on, Act.BID, amount=str(ask), paddle=11, channel=Channel.PHONE)
    assert "phone" == (await database.read(hall.shown, on.sale.gid)).leads_by
