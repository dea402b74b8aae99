"""Placing bids: from the token to the log, many bids in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, holder_with, token_digest
from saleroom.accounts.service.idempotency import once, recall, refuse_another
from saleroom.accounts.storage import accounts, idempotency
from saleroom.accounts.storage.idempotency import AcceptedRequest
from saleroom.bidding.domain import bidding
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import PURCHASE, BidRequest
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.receipts import Receipt, receipt_of
from saleroom.bidding.domain.views import AuctionView, BidAnswer, BidView, auction_view, view_after_bid
from saleroom.bidding.service.admission import Bidders, Pair, at_door
from saleroom.bidding.service.lookup import known, lock_one
from saleroom.bidding.service.recording import Step, record, steps
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage import auctions
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction, brief, ranked
from saleroom.storage.turns import Rank

_encode = msgspec.json.Encoder().encode


class BidCommand(Struct, frozen=True):
    """One bid as it arrived, over HTTP, MQTT or a page."""

    token: str
    gid: str
    request: BidRequest
    once: IdempotencyKey | None = None


@ranked(Rank.HOUSE)
@brief
def place_bids(tx: Transaction, commands: Sequence[BidCommand], key: SigningKey | None = None) -> list[bytes | Refusal]:
    """Decide `commands` in order of arrival and return the answer to each: JSON of a `BidAnswer`, or the refusal.

    Receipts are signed with `key`, all at once; without it the key is read from the database. The number of statements
    does not depend on the number of bids. A refused bid changes nothing, and does not affect the others.
    """
    digests = [token_digest(command.token) for command in commands]
    locked = auctions.lock(tx, (command.gid for command in commands))
    now = tx.now()
    bidders = accounts.holders_by_token(tx, digests, now)
    earlier: dict[tuple[int, str], AcceptedRequest | _AcceptedBid] = {
        **idempotency.find(
            tx, ((bidders[d].id, c.once.key) for d, c in zip(digests, commands, strict=True) if c.once and d in bidders)
        )
    }
    of_lots = Bidders(tx, locked.values(), lambda: _pairs(digests, commands, bidders, locked))
    outcomes: list[AcceptedRequest | _AcceptedBid | Refusal] = []
    taken: list[Step] = []
    accepted: list[_AcceptedBid] = []
    right = Right.BID  # to look up a member of an enumeration takes a thousand instructions
    for digest, command in zip(digests, commands, strict=True):
        try:
            bidder = holder_with(bidders.get(digest), right).party
            asked = command.once
            before = None if asked is None else earlier.get((bidder.id, asked.key))
            if asked is not None and before is not None:
                refuse_another(before.request, asked)
                outcomes.append(before)
                continue
            auction = known(locked.get(command.gid))
            request = _received(command.request, now)
            bidder = of_lots.known_as(auction, bidder)
            made = steps(auction, bidding.place_bid(auction, bidder, request, now))
            of_lots.take(auction, bidder, request.limit, made[-1][0])
        except Refusal as refusal:
            outcomes.append(refusal)
            continue
        taken += made
        locked[command.gid] = made[-1][0]
        bid = _accepted(bidder, request, made, asked)
        accepted.append(bid)
        outcomes.append(bid)
        if asked is not None:
            earlier[bidder.id, asked.key] = bid
    record(tx, taken)
    _answer(tx, key, accepted)
    kept = [AcceptedRequest(bid.bidder.id, bid.key, bid.request, bid.answer) for bid in accepted if bid.key is not None]
    idempotency.add(tx, kept, now)
    return [outcome if isinstance(outcome, Refusal) else outcome.answer for outcome in outcomes]


@ranked(Rank.HOUSE)
@brief
def refusals_at_door(tx: Transaction, commands: Sequence[BidCommand]) -> list[Refusal | None]:
    """Return the refusal of each bid that its token does not allow, on an unknown auction or that its sale does not admit.

    It is None for others. Two statements, however many bids; those of the area of sales come on top if there are lots of one.
    """
    digests = [token_digest(command.token) for command in commands]
    bidders = accounts.holders_by_token(tx, digests, tx.now())
    found = auctions.get_many(tx, (command.gid for command in commands))
    admission = at_door(tx, _pairs(digests, commands, bidders, found))
    refusals: list[Refusal | None] = []
    for digest, command in zip(digests, commands, strict=True):
        try:
            bidder = holder_with(bidders.get(digest), Right.BID).party
            auction = known(found.get(command.gid))
            if admission is not None and auction.sale_id is not None:
                admission.admit(auction, bidder)
        except Refusal as refusal:
            refusals.append(refusal)
        else:
            refusals.append(None)
    return refusals


def buy_now(
    tx: Transaction,
    token: str,
    gid: str,
    asked: IdempotencyKey | None,
    request: BidRequest = PURCHASE,
    key: SigningKey | None = None,
) -> bytes:
    """Sell the auction to the caller at its buy-now price and close it; return JSON of a `BidAnswer`.

    Raises Unauthenticated, MissingRight, UnknownAuction, IdempotencyMismatch, as `domain.bidding.buy_now` does, and what the
    area of sales says against it.
    """
    authenticate(tx, token, Right.BID)
    auction = lock_one(tx, gid)
    buyer = authenticate(tx, token, Right.BID)  # they may have been banned while others held the lock

    def buy() -> bytes:
        now = tx.now()
        received = _received(request, now)
        of_lot = Bidders(tx, [auction], lambda: [(auction, buyer.party)])
        party = of_lot.known_as(auction, buyer.party)
        made = steps(auction, bidding.buy_now(auction, party, now, received))
        after = made[-1][0]
        of_lot.take(auction, party, after.current_bid or ZERO, after)
        record(tx, made)
        bought = _accepted(party, received, made)
        _answer(tx, key, [bought])
        return bought.answer

    return once(tx, buyer, asked, buy)


def _pairs(
    digests: Sequence[str],
    commands: Sequence[BidCommand],
    bidders: Mapping[str, Holder],
    lots: Mapping[str, Auction],
) -> list[Pair]:
    """Return the lots and the users of bids, as far as both are known; those of lots outside sales are left out."""
    found = ((lots.get(command.gid), bidders.get(digest)) for digest, command in zip(digests, commands, strict=True))
    return [(lot, who.party) for lot, who in found if lot is not None and lot.sale_id is not None and who is not None]


def earlier_answer(tx: Transaction, token: str, asked: IdempotencyKey) -> bytes | None:
    """Return the answer to the caller's bid with this key, None if none was accepted.

    Raises Unauthenticated, MissingRight or IdempotencyMismatch.
    """
    return recall(tx, authenticate(tx, token, Right.BID), asked)


def _received(request: BidRequest, now: datetime) -> BidRequest:
    """Return `request`, received at the latest at `now`: the clock of the process may be ahead of the database's."""
    if request.received_at is None or request.received_at <= now:
        return request
    return structs.replace(request, received_at=now)


class _AcceptedBid(Struct):
    """A bid that was accepted, with its Idempotency-Key and the digest that came with the key.

    `version` is the auction's after `placed`. `is_all` says that `placed`, if there is one, is all that happened. `answer`
    is empty until the receipts of the whole transaction are signed.
    """

    bidder: Party
    receipt: Receipt
    placed: BidPlaced | None
    version: int
    auction: Auction
    key: str | None
    request: bytes
    is_all: bool
    answer: bytes = b""


def _accepted(
    bidder: Party, request: BidRequest, made: Sequence[Step], asked: IdempotencyKey | None = None
) -> _AcceptedBid:
    """Return the bid that led to the steps `made`."""
    auction, last, _ = made[-1]
    placed, version = None, 0
    for after, event, _ in made:
        if isinstance(event, BidPlaced) and event.bidder_id == bidder.id:
            placed, version = event, after.version
    receipt = receipt_of(auction, bidder, request, placed, last.at)
    key, digest = (None, b"") if asked is None else (asked.key, asked.request)
    return _AcceptedBid(bidder, receipt, placed, version, auction, key, digest, is_all=len(made) == 1)


def _answer(tx: Transaction, key: SigningKey | None, accepted: Sequence[_AcceptedBid]) -> None:
    """Give each bid its answer: its own row of the history, the auction, and the receipt."""
    if not accepted:
        return
    signer = (key or SigningKey()).signer(tx)
    shown: dict[int, AuctionView] = {}
    for one, signed in zip(accepted, signer.sign_batch([one.receipt for one in accepted]), strict=True):
        placed = one.placed
        bid = (
            None
            if placed is None
            else BidView(
                amount=str(placed.amount),
                bidder=placed.bidder,
                received_at=maybe_instant(placed.received_at),
                placed_at=instant(placed.at),
                automatic=placed.automatic,
                sequence=one.version,
            )
        )
        before = shown.get(one.auction.id)
        if before is None or placed is None or not one.is_all:
            view = auction_view(one.auction)
        else:
            view = view_after_bid(before, one.auction)
        shown[one.auction.id] = view
        one.answer = _encode(BidAnswer(bid=bid, auction=view, leading=one.receipt.leading, receipt=signed))
