"""What bidding does when a person is erased."""

from __future__ import annotations

from sqlalchemy import delete, exists, or_, select, text, update

from saleroom.accounts.domain.errors import LotsRunning
from saleroom.accounts.storage.tables import users
from saleroom.bidding.storage import bidder_names, event_log
from saleroom.bidding.storage.photos import delete_photos
from saleroom.bidding.storage.tables import RUNNING, auctions, bids, photos, questions
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction


def forget(tx: Transaction, user_id: int) -> None:
    """Delete a person's photos on no lot and questions without an answer, and show their lots and bids by pseudonyms.

    Raises LotsRunning while they offer a running lot or have a bid on one.
    """
    _refuse(tx, user_id)
    # A lot of a draft sale keeps its photos: they have no `unplaced_at`.
    delete_photos(tx, photos.c.owner_id == user_id, photos.c.auction_id.is_(None), photos.c.unplaced_at.is_not(None))
    tx.execute(delete(questions).where(questions.c.asker_id == user_id, questions.c.answer.is_(None)))
    if tx.dialect == "postgresql":
        # A bid locks its lot before it reads the token. So those under way commit before this, and are seen; those that come
        # wait for this transaction, and find no token. SQLite has one writer.
        tx.execute(text("LOCK TABLE auctions IN EXCLUSIVE MODE"))
        _refuse(tx, user_id)
    named = or_(auctions.c.author_id == user_id, auctions.c.current_bidder_id == user_id)
    tx.execute(update(auctions).where(named).values(renamed=auctions.c.renamed + 1))
    name = tx.execute(select(users.c.username).where(users.c.id == user_id)).scalar_one()
    in_sales = bidder_names.of_user(tx, user_id)
    has_bid = auctions.c.id.in_(select(bids.c.auction_id).where(bids.c.bidder_id == user_id))
    named_on = among(tx, auctions.c.id, bidder_names.lots_named_on(tx, user_id))
    theirs = or_(auctions.c.author_id == user_id, has_bid, named_on)
    for lot in tx.execute(select(auctions.c.id, auctions.c.sale_id).where(theirs)).all():
        event_log.take_out(tx, lot.id, name)
        if lot.sale_id in in_sales:
            event_log.take_out(tx, lot.id, in_sales[lot.sale_id])
    bidder_names.forget(tx, user_id)


def _refuse(tx: Transaction, user_id: int) -> None:
    # A bid that is outbid stands too: it leads again if staff voids the one above it. So does one of the hall that was named.
    has_bid = exists().where(bids.c.auction_id == auctions.c.id, bids.c.bidder_id == user_id, bids.c.voided.is_(None))
    named_on = among(tx, auctions.c.id, bidder_names.lots_named_on(tx, user_id))
    busy = select(auctions.c.gid).where(RUNNING, or_(auctions.c.author_id == user_id, has_bid, named_on)).limit(1)
    gid = tx.execute(busy).scalar()
    if gid is not None:
        raise LotsRunning(lot=gid)
