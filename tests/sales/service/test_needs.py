"""Fund-a-need through the services: levels and pledges, two clerks at once, limits, and people who are one or erased."""

import asyncio
from functools import partial
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete, select, update

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import erasures
from saleroom.accounts.storage import accounts
from saleroom.admin.ledger_check import faults_of
from saleroom.areas import forget
from saleroom.bidding.domain.errors import BeyondLimit, NotOnBlock, RegistrationDeclined
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.errors import (
    BidsStay,
    BlockChanged,
    LevelChanged,
    OfAuctions,
    OfNeeds,
    PledgedAlready,
    UnknownPaddle,
)
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.domain.needs import Need
from saleroom.sales.domain.paper import PaperKind
from saleroom.sales.domain.participants import Standing
from saleroom.sales.service import lots, needs
from saleroom.sales.service.files import exporting
from saleroom.sales.service.live import block
from saleroom.sales.service.lots import NewLot
from saleroom.sales.service.paper import papers
from saleroom.sales.service.paper.papers import Letterhead, PaperOrder
from saleroom.sales.service.people import merging, participants
from saleroom.sales.storage import lots as lot_rows
from saleroom.sales.storage import pledges as pledge_rows
from saleroom.sales.storage.tables import pledges, sale_events
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, person
from tests.sales.service.evenings import Evening, evening
from tests.sales.service.live.test_block import do, offers, paddle, play, tag
from tests.statements import counted

LEVELS = ("5000", "1000", "500", "100")


async def gala(database: Database, count: int = 1, **terms: Any) -> Evening:
    """A live sale of a few lots and a fund-a-need after them, labelled with the next number; it is on the block."""
    on = await evening(database, count, **terms)
    manager = await person(database)
    await database.write(accounts.set_role, manager.account.id, Role.MANAGER)
    need = Need(levels=tuple(eur(one) for one in LEVELS), goal=eur("20000"))
    new = NewLot(terms=LotTerms(name="A roof", starting_price=eur("100")), need=need)
    await database.write(lots.add, manager.token, on.sale.gid, new)
    await do(on, Act.CALL, label=str(count + 1))
    return on


async def pledge(on: Evening, number: int, amount: str = "5000", **said: Any) -> Any:
    """Note a pledge, and return what the fund-a-need has come to."""
    shown = await do(on, Act.PLEDGE, paddle=number, amount=amount, **said)
    return (shown["onBlock"] or shown["lastLot"])["need"]


async def refused(kind: type[Refusal], on: Evening, act: Act, **said: Any) -> Refusal:
    """Act, and return the refusal, which must be of this kind; nothing was noted."""
    before = await on.database.read(stored_pledges)
    with pytest.raises(kind) as caught:
        await do(on, act, **said)
    assert before == await on.database.read(stored_pledges)
    return caught.value


def stored_pledges(tx: Transaction) -> list[tuple[int, int, Any]]:
    """The pledges that stand: their number, their giver and their amount."""
    found = select(pledges.c.number, pledges.c.user_id, pledges.c.amount).where(pledges.c.undone_at.is_(None))
    return [tuple(row) for row in tx.execute(found.order_by(pledges.c.number))]


def told(tx: Transaction) -> list[tuple[str, dict[str, Any]]]:
    """The types and data of the sale's events."""
    rows = tx.execute(select(sale_events.c.type, sale_events.c.payload).order_by(sale_events.c.position))
    return [(row.type, msgspec.json.decode(row.payload)["data"]) for row in rows]


@pytest.mark.databases("sqlite")
async def test_levels_are_called_and_paddles_noted(database: Database) -> None:
    """Paddles are noted at each level; any row is undone; the hammer closes it with the total; the log tells no giver."""
    on = await gala(database)
    for number in (101, 102, 103):
        await paddle(on, number)
    await pledge(on, 101)
    await play(on, (Act.LEVEL, {}), (Act.LEVEL, {"amount": "750"}))
    await pledge(on, 101, "750")
    found = await pledge(on, 102, "750")
    assert ("6500.000", 3, "750.000") == (found["total"], found["pledges"], found["level"])
    assert ["#102", "#101", "#101"] == [one["bidder"] for one in found["lastPledges"]], "for the clerk"
    shown = await do(on, Act.UNDO_PLEDGE, pledge=1)
    assert [{"amount": "750.000", "pledges": 2}] == shown["onBlock"]["need"]["byLevel"]
    shown = await do(on, Act.SELL)
    assert ("closed", "1500.000") == ((need := shown["lastLot"]["need"])["stage"], need["total"])
    public = await database.read(block.shown, None, on.sale.gid)
    assert public.last_lot is not None and public.last_lot.need is not None
    assert [None, None] == [one.bidder for one in public.last_lot.need.last_pledges], "usernames are not shown"
    log = [(kind, data) for kind, data in await database.read(told) if data.get("label") == "2"]
    assert [
        ("lot.added", None),
        ("lot.called", None),
        ("level.set", "5000.000"),
        ("pledge.made", "5000.000"),
        ("level.set", "1000.000"),
        ("level.set", "750.000"),
        ("pledge.made", "750.000"),
        ("pledge.made", "750.000"),
        ("pledge.undone", "5000.000"),
        ("lot.closed", None),
    ] == [(kind, data.get("amount")) for kind, data in log]
    assert ("funded", "1500.000") == (log[-1][1]["outcome"], log[-1][1]["price"])
    assert [] == await database.read(faults_of)


async def test_two_clerks_type_at_once(database: Database) -> None:
    """Forty paddles typed by two clerks at the same time are noted once each, also where an answer was lost and sent again."""
    on = await gala(database)
    second = await person(database)
    await database.write(accounts.set_role, second.account.id, Role.CLERK)
    numbers = list(range(201, 241))
    for number in numbers:
        await paddle(on, number)
    seen = await tag(on)

    async def types(by: Person, some: list[int]) -> None:
        for number in some:
            for _ in range(2 if number % 5 == 0 else 1):  # the answer was lost: the same act is sent again
                await do(on, Act.PLEDGE, by=by, key=f"p{number}", paddle=number, amount="5000", seen=seen)

    await asyncio.gather(types(on.clerk, numbers[::2]), types(second, numbers[1::2]))
    rows = await database.read(stored_pledges)
    assert list(range(1, 41)) == [number for number, _, _ in rows]
    assert 40 == len({giver for _, giver, _ in rows})
    events = [data for kind, data in await database.read(told) if kind == "pledge.made"]
    assert [(n, f"{5000 * n}.000") for n in range(1, 41)] == [(one["pledges"], one["total"]) for one in events]
    assert seen == await tag(on), "pledges leave the tag as it is"
    await asyncio.gather(
        *(do(on, Act.UNDO_PLEDGE, by=by, key=f"u{n}", pledge=n) for by, n in ((on.clerk, 3), (second, 4), (second, 40)))
    )
    assert 37 == len(await database.read(stored_pledges))


async def test_of_two_clerks_one_sets_the_level(database: Database) -> None:
    """Two clerks who go to the next level from the same state go one level down, not two."""
    on = await gala(database)
    seen = await tag(on)
    answers = await asyncio.gather(*(do(on, Act.LEVEL, seen=seen) for _ in range(2)), return_exceptions=True)
    assert [BlockChanged] == [type(one) for one in answers if isinstance(one, Exception)]
    shown = await database.read(block.shown, None, on.sale.gid)
    assert shown.on_block is not None and shown.on_block.need is not None
    assert "1000.000" == shown.on_block.need.level


@pytest.mark.databases("sqlite")
async def test_slips_and_strangers_are_refused(database: Database) -> None:
    """A repeated paddle, an old level, an unknown or declined paddle: nothing is noted; `again` takes it."""
    on = await gala(database)
    await paddle(on, 101)
    declined = await paddle(on, 102)
    changes = {"standing": Standing.DECLINED, "reason": "Left early."}
    await database.write(participants.change, on.clerk.token, on.sale.gid, declined, changes)
    await pledge(on, 101)
    assert {"amount": eur("5000")} == (await refused(PledgedAlready, on, Act.PLEDGE, paddle=101, amount="5000")).facts
    assert 2 == (await pledge(on, 101, again=True))["pledges"]
    await refused(LevelChanged, on, Act.PLEDGE, paddle=101, amount="1000")
    await refused(UnknownPaddle, on, Act.PLEDGE, paddle=999, amount="5000")
    await refused(RegistrationDeclined, on, Act.PLEDGE, paddle=102, amount="5000")
    for act in (Act.WARN, Act.PASS, Act.RETRACT):
        await refused(OfAuctions, on, act)
    await refused(OfAuctions, on, Act.BID, amount="5000", paddle=101)
    await do(on, Act.SKIP)
    await refused(NotOnBlock, on, Act.PLEDGE, paddle=101, amount="5000")
    await do(on, Act.CALL, label="1")
    await refused(OfNeeds, on, Act.PLEDGE, paddle=101, amount="5000")
    await refused(OfNeeds, on, Act.LEVEL)
    assert 1 == (await do(on, Act.UNDO_PLEDGE, pledge=2, label="2"))["nextLots"][0]["need"]["pledges"], "a skipped one"


@pytest.mark.databases("sqlite")
async def test_pledges_and_bids_share_the_limit(database: Database) -> None:
    """A pledge counts for the limit like a lead: what is pledged cannot be bid, and what leads cannot be pledged."""
    on = await gala(database)
    giver = await person(database)
    known = await database.write(participants.register, giver.token, on.sale.gid)
    who = known.participant.gid
    await database.write(participants.change, on.clerk.token, on.sale.gid, who, {"limit": eur("5600")})
    await database.write(needs.give, giver.token, on.sale.gid, eur("5000"))
    beyond = await offers(database, giver, on.lots[0], maximum="601")
    assert isinstance(beyond, BeyondLimit)
    assert not isinstance(await offers(database, giver, on.lots[0], maximum="550"), Refusal)
    await play(on, (Act.LEVEL, {"amount": "100"}))
    with pytest.raises(BeyondLimit) as refusal:
        await database.write(needs.give, giver.token, on.sale.gid, eur("100"))
    assert (eur("5550"), eur("50")) == (refusal.value.facts["exposure"], refusal.value.facts["left"])
    await do(on, Act.UNDO_PLEDGE, pledge=1)
    await database.write(needs.give, giver.token, on.sale.gid, eur("100"))
    own = await database.read(participants.own, giver.token, on.sale.gid)
    assert own is not None
    assert eur("650") == own.exposure.total


async def test_a_pledge_online_is_noted_once_for_its_key(database: Database) -> None:
    """A request that is sent again with its key is answered as before; the pledge is there once."""
    on = await gala(database)
    giver = await person(database)
    await database.write(participants.register, giver.token, on.sale.gid)
    key = IdempotencyKey("k", b"same")
    first = await database.write(needs.give, giver.token, on.sale.gid, eur("5000"), key)
    assert first == await database.write(needs.give, giver.token, on.sale.gid, eur("5000"), key)
    assert [(1, giver.account.id, eur("5000"))] == await database.read(stored_pledges)
    assert Channel.ONLINE == needs.view_of(first).channel


@pytest.mark.databases("sqlite")
async def test_a_guest_who_is_merged_takes_the_pledges_along(database: Database) -> None:
    """The pledges of a guest become those of the other one; two who have both pledged stay two."""
    on = await gala(database)
    guest, other, third = [await paddle(on, number) for number in (101, 102, 103)]
    await pledge(on, 101)
    await database.write(merging.merge, on.clerk.token, on.sale.gid, guest, other)
    [(_, giver, _)] = await database.read(stored_pledges)
    known = await database.read(participants.listed, on.clerk.token, on.sale.gid, "", 10, None)
    assert {giver: eur("5000")} == {
        one.participant.user.id: one.exposure.total for one in known.people.rows if one.exposure.by_lot
    }
    await do(on, Act.PLEDGE, paddle=103, amount="5000")
    with pytest.raises(BidsStay):
        await database.write(merging.merge, on.clerk.token, on.sale.gid, third, other)


@pytest.mark.databases("sqlite")
async def test_an_erased_giver_leaves_the_total(database: Database) -> None:
    """Who is erased is no longer named anywhere; what they gave still counts, and the log says the same as before."""
    on = await gala(database)
    giver = await person(database)
    await database.write(participants.register, giver.token, on.sale.gid)
    await database.write(needs.give, giver.token, on.sale.gid, eur("5000"))
    await do(on, Act.SELL)
    await do(on, Act.END)
    before = await database.read(told)
    assert giver.account.username not in str(before)
    await database.write(erasures.erase_by_house, giver.account.username, "", forget)
    assert before == await database.read(told)
    [(pledge_, name, noted)] = await database.read(needs.listed, on.clerk.token, on.sale.gid, "2")
    assert eur("5000") == pledge_.amount
    assert giver.account.username not in (name, noted)
    assert [] == await database.read(faults_of)


async def test_verify_compares_pledges_with_the_log(database: Database) -> None:
    """`verify --database` names a pledge that was changed, deleted or added behind the log."""
    on = await gala(database)
    for number in (101, 102):
        await paddle(on, number)
        await pledge(on, number)
    await do(on, Act.UNDO_PLEDGE, pledge=2)
    assert [] == await database.read(faults_of)
    changed = update(pledges).where(pledges.c.number == 1).values(amount=eur("5001"))
    await database.write(lambda tx: tx.execute(changed))
    [fault] = await database.read(faults_of)
    assert "the pledges that stand are not those of the log" in fault
    await database.write(lambda tx: tx.execute(delete(pledges).where(pledges.c.number == 2)))
    assert 2 == len(await database.read(faults_of))


@pytest.mark.databases("sqlite")
async def test_hammer_undo_reopen_and_the_end_of_the_sale(database: Database) -> None:
    """The hammer is undone before the next call, reopened with a reason after it; the end of the sale closes what is left."""
    on = await gala(database, 2)
    await paddle(on, 101)
    await pledge(on, 101)
    shown = await play(on, (Act.SELL, {}), (Act.UNDO, {}))
    assert "on_block" == shown["onBlock"]["need"]["stage"]
    await play(on, (Act.SELL, {}), (Act.CALL, {"label": "1"}))
    boss = await person(database)
    await database.write(accounts.set_role, boss.account.id, Role.AUCTIONEER)
    await do(on, Act.REOPEN, by=boss, label="3", reason="One paddle was left out.")
    shown = await play(on, (Act.PASS, {}), (Act.CALL, {"label": "3"}))
    assert ("5000.000", "5000.000") == (shown["onBlock"]["need"]["total"], shown["onBlock"]["need"]["level"])
    shown = await play(on, (Act.SKIP, {}), (Act.END, {}))
    assert ("closed", 0) == (shown["status"], shown["lotsLeft"])
    assert ["lot.closed", "sale.closed"] == [kind for kind, _ in (await database.read(told))[-2:]]


async def test_many_needs_are_read_at_once(database: Database) -> None:
    """Neither lists of lots nor exports and papers ask for the pledges of each fund-a-need, or for their givers."""
    on, heard = await gala(database), []
    for number in (11, 12):
        await paddle(on, number)
    manager = await person(database)
    await database.write(accounts.set_role, manager.account.id, Role.MANAGER)
    order = PaperOrder(kind=PaperKind.RESULTS, buyers=True)
    head, read = Letterhead(house="House", currency="EUR", origin=""), list[Any]()
    for more in (0, 3):
        for place in range(more):
            new = NewLot(terms=LotTerms(name="A door", starting_price=eur("100")), need=Need(levels=(eur("5000"),)))
            await database.write(lots.add, manager.token, on.sale.gid, new)
            await do(on, Act.SELL)
            await do(on, Act.CALL, label=str(3 + place))
        for number in (11, 12):
            await pledge(on, number)
        some = await database.read(lot_rows.needs, on.sale.id)
        read = [await database.read(counted, partial(needs.given, staff=staff), some) for staff in (False, True)] + [
            await database.read(counted, exporting.given, manager.token, on.sale.gid, "en"),
            await database.read(counted, papers.read, manager.token, on.sale.gid, order, head),
        ]
        heard.append([statements for _, statements in read])
    told_of = read[1][0]
    assert 4 == len(told_of)
    assert [["#12", "#11"], [], [], ["#12", "#11"]] == [
        [one.names[pledge.user.id] for pledge in one.newest] for one in told_of.values()
    ]
    assert heard[0] == heard[1]


@pytest.mark.databases("sqlite")
async def test_the_last_pledges_of_each_need_are_shown(database: Database) -> None:
    """The newest first, and no more than the limit of each, however many the others have."""
    on = await gala(database)
    for number in (11, 12, 13):
        await paddle(on, number)
        await pledge(on, number)
    [lot] = await database.read(lot_rows.needs, on.sale.id)
    found = await database.read(pledge_rows.newest, [lot.id], 2)
    assert [3, 2] == [one.number for one in found[lot.id]]
