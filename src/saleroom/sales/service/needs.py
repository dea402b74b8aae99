"""Fund-a-need in a live sale: levels and pledges, by the clerk and by bidders online; and what each has come to.

Pledges are written under the lock of the sale, so those of two clerks come one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain.events import Channel
from saleroom.bidding.domain.paddles import name_of
from saleroom.bidding.storage import bidder_names
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.parties import Party
from saleroom.sales.domain import block, events, needs
from saleroom.sales.domain.block import Act, BlockAct
from saleroom.sales.domain.errors import NoLotOnBlock, OfAuctions, TooManyPledges, UnknownPaddle, UnknownPledge
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.lots import Lot, refuse_if_withdrawn
from saleroom.sales.domain.needs import PLEDGES_MAX, Need, Pledge, Stage
from saleroom.sales.domain.paper import BUYERS_NEED
from saleroom.sales.domain.participants import Exposure, Participant, refuse_pledge_beyond, refuse_to_bid
from saleroom.sales.domain.sale import Names, Sale
from saleroom.sales.domain.views import NeedProgress, PledgeView, pledge_view
from saleroom.sales.service.access import get_lot, get_one, lock_one
from saleroom.sales.service.people.paddles import of_a_paddle
from saleroom.sales.storage import lots, participants, pledges, sales
from saleroom.storage.database import Transaction

NEWEST, NEWEST_STAFF = 8, 40
"""How many of the last pledges are shown beside the total."""
_encode = msgspec.json.Encoder().encode
ON_NEED = frozenset({Act.LEVEL, Act.PLEDGE, Act.UNDO_PLEDGE})
"""The acts that only a fund-a-need takes."""


class GivenPledge(NamedTuple):
    """A pledge with the name of its giver in the sale, and with their name as staff have noted it."""

    pledge: Pledge
    bidder: str
    person_name: str


def given(tx: Transaction, some: Sequence[Lot], *, staff: bool) -> dict[int, NeedProgress]:
    """Return what each fund-a-need among lots of one sale has come to, by number; the givers as far as they are shown."""
    asked = [lot for lot in some if lot.need is not None]
    if not asked:
        return {}
    sale, numbers = sales.by_id(tx, asked[0].sale_id), [lot.id for lot in asked]
    tallies = pledges.tallies(tx, numbers)
    last = pledges.newest(tx, numbers, NEWEST_STAFF if staff else NEWEST)
    shown = {number: [one for one in some if staff or one.stands] for number, some in last.items()}
    names = _names(tx, sale, [one for some in shown.values() for one in some], staff=staff)
    return {number: NeedProgress(tallies[number], shown[number], names) for number in numbers}


def listed(tx: Transaction, token: str | None, gid: str, label: str) -> list[GivenPledge]:
    """Return all pledges of a fund-a-need with their givers.

    Raises Unauthenticated, MissingRight, UnknownSale, UnknownLot or OfNeeds.
    """
    authenticate(tx, token, Right.READ).refuse_without(BUYERS_NEED)
    sale = get_one(tx, gid, staff=True)
    lot = get_lot(tx, sale, label)
    assert lot.asked is not None
    return of_lots(tx, sale, [lot.id])[lot.id]


def of_lots(tx: Transaction, sale: Sale, lot_ids: Collection[int]) -> dict[int, list[GivenPledge]]:
    """Return all pledges of each of these lots of a sale with their givers, by the number of the lot."""
    found = pledges.of_lots(tx, lot_ids)
    users = {(sale.id, one.user.id) for some in found.values() for one in some}
    people = {user: one for (_, user), one in participants.of_pairs(tx, users, locked=False).items()}
    return {number: [_given_by(one, people.get(one.user.id)) for one in some] for number, some in found.items()}


def _given_by(pledge: Pledge, giver: Participant | None) -> GivenPledge:
    username = pledge.user.name
    if giver is None:
        return GivenPledge(pledge, username, username)
    return GivenPledge(pledge, _for_staff(giver), giver.name or ("" if giver.is_guest else username))


def call(tx: Transaction, sale: Sale, lot: Lot, told: Sequence[SaleEvent]) -> Sale:
    """Put a fund-a-need on the block; `told` is what its call means for the sale. Raises NeedClosed."""
    after = needs.call(lot.asked)
    lots.save(tx, [structs.replace(lot, need=after)])
    return sales.record(tx, sale, [*told, _level_set(tx, lot, after)])


def reopen(tx: Transaction, sale: Sale, lot: Lot, reason: str) -> Sale:
    """Take the hammer back after another lot was called. Raises WithdrawnAlready or NotClosed."""
    refuse_if_withdrawn(lot)
    lots.save(tx, [structs.replace(lot, need=needs.reopen(lot.asked))])
    return sales.record(tx, sale, [events.LotReopened(at=tx.now(), reason=reason, **_which(lot))])


def end(tx: Transaction, some: Sequence[Lot]) -> list[SaleEvent]:
    """Close what is left of fund-a-needs at the end of a sale, and return what is told of that."""
    lots.save(tx, [structs.replace(lot, need=needs.end(lot.asked)) for lot in some])
    return [_closed(tx, lot) for lot in some]


def act(tx: Transaction, sale: Sale, lot: Lot, asked: BlockAct) -> Sale:
    """Do what a clerk asks for on a fund-a-need.

    Raises BlockChanged, WithdrawnAlready, OfAuctions, and as `domain.needs` and `_pledge`.
    """
    if asked.act is Act.PLEDGE:
        found = participants.with_paddle(tx, sale.id, asked.paddle or 0)
        if found is None:
            raise UnknownPaddle(paddle=asked.paddle)
        with of_a_paddle():
            said = _pledge(tx, sale, lot, found.user, asked.amount, asked.channel, again=asked.again)[1]
        return sales.record(tx, sale, [said])
    if asked.act is Act.UNDO_PLEDGE:
        return sales.record(tx, sale, [_undo_pledge(tx, lot, asked.pledge or 0)])
    if asked.act not in _ACTS:
        raise OfAuctions
    block.refuse_unless_seen(lot, asked.seen)
    refuse_if_withdrawn(lot)
    need = lot.asked
    after = _ACTS[asked.act](tx, lot, asked)
    lots.save(tx, [structs.replace(lot, need=after)])
    return sales.record(tx, sale, _told(tx, lot, need, after))


def give(
    tx: Transaction, token: str, gid: str, amount: Decimal, asked: IdempotencyKey | None = None, *, again: bool = False
) -> bytes:
    """Note a pledge of the caller, who is online, at the present level; return its JSON.

    Raises Unauthenticated, MissingRight, MailRequired, IdempotencyMismatch, UnknownSale, NotLive, SaleOver, NotPublished,
    StandsStill, NoLotOnBlock, OfNeeds, and as `domain.needs.refuse_pledge` and the sale's admission do.
    """
    giver = authenticate(tx, token, Right.BID)
    get_one(tx, gid, staff=False)
    sale = lock_one(tx, gid)

    def do() -> bytes:
        block.refuse_unless_live(sale)
        lot = None if sale.block is None else lots.by_gid(tx, sale.id, sale.block)
        if lot is None:
            raise NoLotOnBlock
        made, said = _pledge(tx, sale, lot, giver.party, amount, Channel.ONLINE, again=again)
        sales.record(tx, sale, [said])
        return _encode(pledge_view(made, _names(tx, sale, [made], staff=True)[giver.id]))

    return once(tx, giver, asked, do)


def view_of(made: bytes) -> PledgeView:
    """Return the pledge that `give` has answered."""
    return msgspec.json.decode(made, type=PledgeView)


def _pledge(
    tx: Transaction, sale: Sale, lot: Lot, giver: Party, amount: Decimal | None, channel: Channel, *, again: bool
) -> tuple[Pledge, SaleEvent]:
    """Note a pledge. Raises as `refuse_to_bid` and `refuse_pledge`, TooManyPledges or BeyondLimit."""
    asked = lot.asked.level if amount is None else amount
    one = participants.of_pairs(tx, [(sale.id, giver.id)], locked=True).get((sale.id, giver.id))
    refuse_to_bid(sale, one)
    needs.refuse_off_block(lot.asked)
    assert asked is not None, "a level is set on the block"
    needs.refuse_pledge(lot.asked, asked, pledges.of_user(tx, lot.id, giver.id), again=again)
    number = pledges.last_number(tx, lot.id) + 1
    if number > PLEDGES_MAX:
        raise TooManyPledges(limit=PLEDGES_MAX)
    if one is not None and one.limit is not None:
        # Read once they are locked, as for a bid: no pledge and bid count as the first.
        held = participants.commitments(tx, [sale.id], [giver.id]).get((sale.id, giver.id), {})
        refuse_pledge_beyond(one.limit, Exposure(held), asked)
    made = Pledge(number=number, user=giver, amount=asked, channel=channel, at=tx.now())
    pledges.add(tx, lot.id, made)
    return made, events.PledgeMade(at=made.at, **_which(lot), **_standing(tx, lot, made))


def _undo_pledge(tx: Transaction, lot: Lot, number: int) -> SaleEvent:
    need = lot.asked
    found = pledges.find(tx, lot.id, number)
    if found is None:
        raise UnknownPledge
    undone = needs.undo_pledge(need, found, tx.now())
    pledges.save_undone(tx, lot.id, undone)
    return events.PledgeUndone(at=tx.now(), **_which(lot), **_standing(tx, lot, undone))


def _told(tx: Transaction, lot: Lot, before: Need, after: Need) -> list[SaleEvent]:
    """Return what an act on a fund-a-need means for the sale."""
    now = tx.now()
    if after.stage is Stage.CLOSED:
        return [_closed(tx, lot)]
    if before.on_block and not after.on_block:
        return [events.LotSkipped(at=now, **_which(lot))]
    called = [] if before.on_block else [events.LotCalled(at=now, **_which(lot))]
    return [*called, _level_set(tx, lot, after)]


def _level_set(tx: Transaction, lot: Lot, need: Need) -> SaleEvent:
    return events.LevelSet(at=tx.now(), amount=str(need.level), **_which(lot))


def _closed(tx: Transaction, lot: Lot) -> SaleEvent:
    total = pledges.tallies(tx, [lot.id])[lot.id].total
    return events.LotClosed(at=tx.now(), outcome=needs.OUTCOME, price=str(total), **_which(lot))


def _standing(tx: Transaction, lot: Lot, one: Pledge) -> dict[str, Any]:
    tally = pledges.tallies(tx, [lot.id])[lot.id]
    return {"pledge": one.number, "amount": str(one.amount), "total": str(tally.total), "pledges": tally.count}


def _which(lot: Lot) -> dict[str, Any]:
    return {"lot": lot.gid, "label": lot.label}


def _names(tx: Transaction, sale: Sale, some: Sequence[Pledge], *, staff: bool) -> Mapping[int, str]:
    """Return the names of givers, by number: for staff the paddle or the username, for others what the sale shows of bidders.

    A sale of usernames shows nobody: who gives what is not to be read by everybody.
    """
    users = {(sale.id, one.user.id) for one in some}
    if not users:
        return {}
    if not staff:
        shown = bidder_names.of_pairs(tx, users) if sale.terms.names is Names.PADDLES else {}
        return {user: name for (_, user), name in shown.items()}
    people = participants.of_pairs(tx, users, locked=False)
    paddles = {user: _for_staff(one) for (_, user), one in people.items()}
    return {one.user.id: paddles.get(one.user.id, one.user.name) for one in some}


def _for_staff(giver: Participant) -> str:
    """Return the paddle of a giver, otherwise their username."""
    return giver.user.name if giver.paddle is None else name_of(giver.paddle)


_ACTS = {
    Act.LEVEL: lambda tx, lot, asked: needs.set_level(lot.asked, asked.amount),
    Act.SELL: lambda tx, lot, asked: needs.close(lot.asked),
    Act.SKIP: lambda tx, lot, asked: needs.skip(lot.asked),
    Act.UNDO: lambda tx, lot, asked: needs.undo(lot.asked, pledges.tallies(tx, [lot.id])[lot.id]),
}
"""What the acts of a clerk do to a fund-a-need."""
