"""Merging: two participants of a sale who are the same person become one, with their bids, their money and their strikes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import sanctions
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage import audit
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import OwnAuction
from saleroom.bidding.domain.paddles import name_of
from saleroom.bidding.storage import auctions, bidder_names, moving
from saleroom.kernel.errors import Contradiction
from saleroom.sales.domain.errors import MergedAlready, UnknownParticipant
from saleroom.sales.domain.participants import Participant, merged, second_name
from saleroom.sales.domain.sale import Sale, refuse_if_cancelled
from saleroom.sales.service.people.participants import (
    ParticipantProfile,
    facts_of,
    has_bid,
    known_of,
    locked_sale,
    sale_of,
)
from saleroom.sales.storage import consignors, mergers, participants, pledges, sales
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain


class _Pair(Struct, frozen=True, kw_only=True):
    """Two participants, locked, with the locked lots on which the first has bid or which they brought, by gid."""

    source: Participant
    target: Participant
    lots: dict[str, Auction]
    bid_on: list[str]

    @property
    def moved(self) -> list[Auction]:
        """The lots on which the first one has bid."""
        return [self.lots[gid] for gid in self.bid_on]


def merge(tx: Transaction, token: str, gid: str, participant: str, into: str) -> ParticipantProfile:
    """Make one of two participants who are the same person; what a guest has bid goes on as the other one's.

    What the first one owes, has paid and has papers about is the other one's from then on. Once the sale is closed, a guest
    goes also if both have bid: then the bids stay under both paddles.

    Raises Unauthenticated, MissingRight, UnknownSale, UnknownParticipant, SaleOver for a cancelled sale, MergedAlready,
    BidsStay, OwnAuction if one of them brought a lot on which the other has bid, or Contradiction for a participant and
    themselves.
    """
    if participant == into:
        raise Contradiction.one("into", "another_participant", "must be another participant")
    by = authenticate(tx, token, Right.ADMIT_BIDDERS)
    sale = locked_sale(tx, gid)
    refuse_if_cancelled(sale)
    pair = _locked(tx, sale, participant, into)
    source, target = pair.source, pair.target
    person = mergers.person(tx, sale.id, target.user.id)
    if mergers.person(tx, sale.id, source.user.id) != source.user.id or person == source.user.id:
        raise MergedAlready
    _refuse_own(tx, sale, pair)
    paddle = source.paddle
    one = _joined(tx, sale, pair)
    mergers.add(tx, sale.id, source.user.id, person)
    if source.is_guest:
        if consignors.of_user(tx, source.user.id):
            by.refuse_without(Right.SETTLE)  # as for any other user in the place of a consignor
        consignors.give(tx, source.user.id, person)
        sanctions.take_over_strikes(tx, source.user.id, person, by)
    before = {"from": source.user.id, "paddle": paddle, "lots": len(pair.bid_on)}
    note(tx, by, Act.BIDDERS_MERGED, one.user.id, before, facts_of(sale, one))
    return known_of(tx, one)


def merge_found(tx: Transaction, token: str, gid: str, participant: str, text: str) -> ParticipantProfile:
    """Do the same with the one other participant whom the `text` finds, as a page asks for it. Raises UnknownParticipant."""
    authenticate(tx, token, Right.ADMIT_BIDDERS)
    sale = sale_of(tx, gid)
    found = [one.gid for one in participants.page(tx, sale.id, text, 3) if one.gid != participant] if text else []
    if len(found) != 1:
        raise UnknownParticipant
    return merge(tx, token, gid, participant, found[0])


def faults(tx: Transaction) -> Iterator[str]:
    """Yield the mergers that are not those of the audit log: a row that was added or changed would make debts another's.

    A merger that the log has and whose row is gone is one, unless its user is a participant again, as before there were rows.
    """
    noted: dict[str, dict[int, int]] = {}
    for target, before, after in audit.of_act(tx, Act.BIDDERS_MERGED):
        source, of_sale = before.get("from"), noted.setdefault(str(after.get("sale")), {})
        if target is None or not isinstance(source, int):
            continue
        end = of_sale.get(target, target)
        of_sale |= {one: end for one, into in of_sale.items() if into == source}
        of_sale[source] = end
    rows = {(row.gid, row.source_id): row.target_id for row in mergers.all_rows(tx)}
    known = {(gid, source): target for gid, of_sale in noted.items() for source, target in of_sale.items()}
    for key in sorted({*rows, *known}):
        if rows.get(key) != known.get(key) and (key in rows or not _takes_part(tx, *key)):
            yield f"merger of user {key[1]} in sale {key[0]}: it is not that of the audit log"


def _takes_part(tx: Transaction, gid: str, user_id: int) -> bool:
    sale = sales.get(tx, gid)
    return sale is None or participants.find(tx, sale.id, user_id) is not None


def _joined(tx: Transaction, sale: Sale, pair: _Pair) -> Participant:
    """Make one participant of two, or leave both under their paddles where only their money is one; return who is left.

    Raises BidsStay.
    """
    source, target = pair.source, pair.target
    target_has_bid = has_bid(tx, sale, target)
    source_has_bid = bool(pair.bid_on) or pledges.has_pledged(tx, sale.id, source.user.id)
    if sale.over and source.is_guest and source_has_bid and target_has_bid:
        return target  # nobody bids any more, and others have seen both paddles
    one = merged(source, target, source_has_bid=source_has_bid, target_has_bid=target_has_bid)
    participants.remove(tx, source)
    bidder_names.put(tx, sale.id, source.user.id, None)
    if pair.bid_on:
        moving.move(tx, [lot.id for lot in pair.moved], source.user.id, target.user.id)
    pledges.move(tx, sale.id, source.user.id, target.user.id)
    if not target_has_bid:
        name = name_of(one.paddle) if pair.bid_on and one.paddle is not None else second_name(sale, one)
        bidder_names.put(tx, sale.id, one.user.id, name)
    participants.save(tx, one)
    return one


def _refuse_own(tx: Transaction, sale: Sale, pair: _Pair) -> None:
    """Raise OwnAuction if one of two brought a lot on which the other has bid."""
    target = pair.target.user.id
    consigned = participants.consigned(tx, [lot.id for lot in pair.lots.values()])
    if any(lot.author.id == target or (lot.id, target) in consigned for lot in pair.moved):
        raise OwnAuction
    bid_on = moving.lots_with_bids(tx, sale.id, target)
    brought = {lot.gid for lot in pair.lots.values() if (lot.id, pair.source.user.id) in consigned}
    if brought & {*bid_on}:
        raise OwnAuction


def _locked(tx: Transaction, sale: Sale, source: str, target: str) -> _Pair:
    """Lock two participants of a locked sale, and before them the lots of the first one, as bids do it."""
    found = _both(participants.by_gids(tx, sale.id, [source, target]), source, target)
    user_id = found[0].user.id
    bid_on = moving.lots_with_bids(tx, sale.id, user_id)
    brought = participants.brought(tx, sale.id, user_id)
    lots = auctions.lock(tx, sorted({*bid_on, *brought}))
    one, other = _both(participants.lock(tx, sale.id, [source, target]), source, target)
    if bid_on != moving.lots_with_bids(tx, sale.id, user_id):
        raise TryAgain("a bid came in between")
    return _Pair(source=one, target=other, lots=lots, bid_on=bid_on)


def _both(found: dict[str, Participant], source: str, target: str) -> tuple[Participant, Participant]:
    if source not in found or target not in found:
        raise UnknownParticipant
    return found[source], found[target]
