"""Sales as rows: a published one and a draft, with lots, a photo and a consignor."""

from datetime import timedelta
from typing import Any

from msgspec import structs
from sqlalchemy import insert

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.service.audit import note
from saleroom.bidding.domain.bidding import place_bid
from saleroom.bidding.domain.events import Channel
from saleroom.bidding.service.recording import advance, begin_ledger
from saleroom.bidding.storage import photos
from saleroom.kernel.parties import Party
from saleroom.sales.domain.book import BookBid, request
from saleroom.sales.domain.events import LevelSet, PledgeMade
from saleroom.sales.domain.lots import Entry, Lot, LotTerms, TaxScheme
from saleroom.sales.domain.needs import Need, Pledge
from saleroom.sales.domain.participants import Participant, Standing
from saleroom.sales.domain.publication import created, publish
from saleroom.sales.domain.sale import Kind, Names, Registration, Sale, SaleTerms
from saleroom.sales.storage import book, consignors, lots, mergers, participants, pledges, sales
from saleroom.sales.storage.tables import lot_photos, lot_prints
from saleroom.storage.database import Transaction
from tests.bidding.domain.examples import eur


def furnish(tx: Transaction, owner: Party, photo_id: str, said: str, user_id: int | None = None) -> Sale:
    """Store both sales of `owner` and return the published one; texts are `said`, the photo is on a lot of the draft."""
    now = tx.now()
    consignor = consignors.add(tx, "consignor", "K1", said, f"\r\n\t{said}", user_id)
    terms = SaleTerms(
        title=said,
        kind=Kind.LIVE,
        description=f"\r\n\t{said}",
        venue=said,
        starts_at=now + timedelta(hours=1),
        names=Names.PADDLES,
        registration=Registration.APPROVAL,
        limit_default=eur("500"),
    )
    made = [
        sales.add(tx, Sale(id=0, gid=gid, owner=owner, terms=terms, created_at=now)) for gid in ("published", "draft")
    ]
    for sale in made:
        lots.add(tx, [_lot(sale, rank, said, consignor) for rank in (1, 2)])
        lots.add(tx, [_need(_lot(sale, 3, said, consignor), said)])
    sale, draft = made
    events, plan = publish(sale, lots.of_sale(tx, sale.id), now)
    auctions = {
        lot.id: begin_ledger(tx, created(sale, lot, end, now, "p1.seed"), sale_id=sale.id).id for lot, end in plan
    }
    lots.put_up(tx, auctions)
    sale = sales.record(tx, sale, events)
    photo = photos.of_owner(tx, owner.id, [photo_id])[photo_id]
    photos.take_over(tx, [photo.id], owner.id)
    with_photo = {"lot_id": lots.of_sale(tx, draft.id)[0].id, "place": 1, "photo_id": photo.id}
    tx.execute(insert(lot_photos), with_photo)
    need = lots.needs(tx, sale.id)[0]
    given = Pledge(number=1, user=owner, amount=eur("50"), channel=Channel.PHONE, at=now)
    pledges.add(tx, need.id, given)
    which: dict[str, Any] = {"at": now, "lot": need.gid, "label": need.label, "amount": "50.000"}
    sale = sales.record(tx, sale, [LevelSet(**which), PledgeMade(**which, pledge=1, total="50.000", pledges=1)])
    printed = {"lot_id": lots.of_sale(tx, sale.id)[0].id, "digest": "5a" * 16, "printed_at": now}
    tx.execute(insert(lot_prints), printed)
    return sale


def enter_in_book(tx: Transaction, sale: Sale, bidder: Party, clerk: Party) -> None:
    """Let `clerk` enter an absentee bid of `bidder` on the first lot of a published sale."""
    now, maximum = tx.now(), eur("500")
    [auction] = lots.lock_auctions(tx, lots.of_sale(tx, sale.id)[:1]).values()
    advance(tx, auction, place_bid(auction, bidder, request(maximum), now))
    book.add(tx, auction.id, BookBid(1, maximum), clerk.id, now)


def admit(tx: Transaction, sale: Sale, user: Party, said: str) -> None:
    """Store a participant who was declined; texts are `said`."""
    one = Participant(
        id=0,
        gid="participant",
        sale_id=sale.id,
        user=user,
        standing=Standing.DECLINED,
        registered_at=tx.now(),
        paddle=12,
        reason=f"\r\n\t{said}",
        limit=eur("500"),
        name=said,
        contact=f"\r\n\t{said}",
        checked_in_at=tx.now(),
    )
    participants.add(tx, one)


def merge(tx: Transaction, sale: Sale, source: Party, target: Party) -> None:
    """Store that a user is one with another, as staff decided."""
    mergers.add(tx, sale.id, source.id, target.id)
    note(tx, None, Act.BIDDERS_MERGED, target.id, {"from": source.id}, {"sale": sale.gid})


def _need(lot: Lot, said: str) -> Lot:
    terms = LotTerms(name=said, starting_price=eur("50"), description=f"\r\n\t{said}")
    return structs.replace(
        lot, terms=terms, need=Need(levels=(eur("100"), eur("50")), goal=eur("500"), level=eur("50"))
    )


def _lot(sale: Sale, rank: int, said: str, consignor: int) -> Lot:
    entry = Entry(
        label=f"{rank}A",
        consignor_id=consignor,
        estimate_from=eur("10"),
        estimate_to=eur("20"),
        tax_scheme=TaxScheme.RESALE_RIGHT,
    )
    return Lot(
        id=0,
        gid=f"{sale.gid}-{rank}",
        sale_id=sale.id,
        auction_id=None,
        rank=rank,
        entry=entry,
        terms=LotTerms(name=said, starting_price=eur("5"), description=f"\r\n\t{said}", reserve_price=eur("7")),
        withdrawn_for=None,
        created_at=sale.created_at,
    )
