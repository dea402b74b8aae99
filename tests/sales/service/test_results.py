"""Results of lots sold by outcry through the services: what each line does, its refusals, and what the ledgers say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import audit as audit_table
from saleroom.bidding.domain.errors import BeyondLimit, NothingToUndo, OwnAuction, RegistrationDeclined
from saleroom.kernel.errors import Invalid, MissingRight, Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.errors import (
    AbsenteeBidStands,
    AlreadyDecided,
    LotOnBlock,
    NotLive,
    PriceBelowReserve,
    ResultChanged,
    SaleOver,
    UnknownLot,
    UnknownPaddle,
    UnusualPrice,
    WithdrawnAlready,
)
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.results import NO_LOT, Below
from saleroom.sales.domain.sale import Kind, Names
from saleroom.sales.service import lots as sale_lots
from saleroom.sales.service import reading, results
from saleroom.sales.service.people import participants
from saleroom.sales.service.results import ResultLine
from saleroom.sales.storage import sales
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, person, stored
from tests.sales.service.evenings import Evening, evening
from tests.sales.service.live.test_block import do, offers, paddle, play, sound

WHY = "The clerk misheard the paddle."


def line(*labels: str, price: str | None = None, **said: Any) -> ResultLine:
    """A line for these lots."""
    return ResultLine(labels=labels, price=None if price is None else eur(price), **said)


async def enter(on: Evening, said: ResultLine, *, by: Person | None = None, key: str | None = None) -> Any:
    """Enter a line, and return the lots after it."""
    once = None if key is None else IdempotencyKey(key, msgspec.json.encode(said, enc_hook=str))
    answer = await on.database.write(results.enter, (by or on.clerk).token, on.sale.gid, said, once)
    return msgspec.json.decode(answer)


async def back(on: Evening, *labels: str, seen: Sequence[str], by: Person | None = None, reason: str = "") -> Any:
    """Take results back."""
    said = ResultLine(labels=labels, seen=seen, reason=reason)
    return msgspec.json.decode(await on.database.write(results.take_back, (by or on.clerk).token, on.sale.gid, said))


async def refused(kind: type[Refusal], on: Evening, said: ResultLine, **more: Any) -> Refusal:
    """Enter a line, and return the refusal, which must be of this kind; nothing has changed by it."""
    before = [await stored(on.database, gid) for gid in on.lots]
    told = await on.database.read(sales.get, on.sale.gid)
    with pytest.raises(kind) as caught:
        await enter(on, said, **more)
    assert before == [await stored(on.database, gid) for gid in on.lots]
    assert told == await on.database.read(sales.get, on.sale.gid)
    return caught.value


async def auctioneer(database: Database) -> Person:
    """Somebody who may reopen lots."""
    one = await person(database)
    await database.write(accounts.set_role, one.account.id, Role.AUCTIONEER)
    return one


async def hall(database: Database, count: int = 3, **terms: Any) -> Evening:
    """A sale of paddles with the paddles 57 and 58."""
    on = await evening(database, count, **{"names": Names.PADDLES, **terms})
    for number in (57, 58):
        await paddle(on, number)
    return on


async def shown(on: Evening, lot: int = 0) -> tuple[str | None, str | None, str | None]:
    """How a lot ended: outcome, leader and price."""
    one = await stored(on.database, on.lots[lot])
    leader = None if one.leader is None else one.leader.name
    return one.outcome, leader, None if one.current_bid is None else str(one.current_bid)


async def test_lots_are_sold_and_passed(database: Database) -> None:
    """The first result begins the sale; the price may be any, also below the starting price; ledgers and rows agree."""
    on = await hall(database)
    answer = await enter(on, line("1", price="340", paddle=57))
    assert ("running", 2) == (answer["status"], answer["lotsLeft"])
    [lot] = answer["lots"]
    assert ("1", "sold", "340.000", "#57") == (lot["label"], lot["state"], lot["price"], lot["bidder"])
    await enter(on, line("2", price="20", paddle=58))
    assert "passed" == (await enter(on, line("3")))["lots"][0]["state"]
    assert ("sold", "#57", "340.000") == await shown(on)
    assert ("sold", "#58", "20.000") == await shown(on, 1)
    assert ("no_bids", None, None) == await shown(on, 2)
    sheet = await database.read(results.sheet, on.clerk.token, on.sale.gid)
    assert ["sold", "sold", "passed"] == [one.state for one in sheet.lots]
    assert ([(57, "approved"), (58, "approved")], "3", False) == (sheet.paddles, sheet.called, sheet.may_reopen)
    await sound(on)


async def test_a_line_may_name_several_lots(database: Database) -> None:
    """Each is sold at the price; if one of them cannot be, none is, and nothing of the others is kept."""
    on = await hall(database)
    await enter(on, line("2"))
    fault = await refused(AlreadyDecided, on, line("1", "2", "3", price="20", paddle=57))
    assert ("2", "no_bids", None, None) == tuple(fault.facts[name] for name in ("label", "outcome", "price", "bidder"))
    answer = await enter(on, line("3", "1", price="20", paddle=57))
    assert ([("3", "20.000"), ("1", "20.000")], 0) == (
        [(lot["label"], lot["price"]) for lot in answer["lots"]],
        answer["lotsLeft"],
    )
    await sound(on)


async def test_a_lot_is_made_on_the_spot(database: Database) -> None:
    """It gets the next free number, is public, and is sold at once."""
    on = await hall(database)
    [lot] = (await enter(on, ResultLine(name="A jar of honey", price=eur("25"), paddle=57)))["lots"]
    assert ("4", "A jar of honey", "sold", "25.000", "#57") == tuple(
        lot[name] for name in ("label", "name", "state", "price", "bidder")
    )
    with pytest.raises(UnknownPaddle):
        await enter(on, ResultLine(name="Nobody's", price=eur("25"), paddle=99))
    sheet = await database.read(results.sheet, on.clerk.token, on.sale.gid)
    assert ["1", "2", "3", "4"] == [one.label for one in sheet.lots]
    await sound(on)


async def test_undoing_a_lot_that_was_made_on_the_spot_withdraws_it(database: Database) -> None:
    """Nobody can bid on it then: there was no lot before its result. A result that is replaced keeps it."""
    on = await hall(database)
    made = ResultLine(name="A jar of honey", price=eur("25"), paddle=57)
    [lot] = (await enter(on, made))["lots"]
    other = line("4", price="26", paddle=58, seen=(lot["tag"],))
    [lot] = (await enter(on, other))["lots"]
    assert ("sold", "26.000") == (lot["state"], lot["price"])
    [lot] = (await back(on, "4", seen=(lot["tag"],)))["lots"]
    assert "withdrawn" == lot["state"]
    shown = await database.read(reading.lot_of, None, on.sale.gid, "4")
    assert shown.auction is not None
    assert ("cancelled", NO_LOT) == (shown.auction.status, shown.withdrawn_for)
    await sound(on)


async def test_a_refusal_of_several_lots_names_the_lot(database: Database) -> None:
    """Also one that the rules of bids have: people see which of the lots it is about."""
    on = await hall(database)
    said = participants.Newcomer(name="Ines", paddle=63, limit=eur("30"))
    await database.write(participants.admit, on.clerk.token, on.sale.gid, said)
    assert "2" == (await refused(BeyondLimit, on, line("1", "2", "3", price="20", paddle=63))).facts["label"]
    assert "9" == (await refused(UnknownLot, on, line("1", "9", price="20", paddle=63))).facts["label"]


async def test_a_result_twice_is_once(database: Database) -> None:
    """The same key gets the first answer, and the same result by another key changes nothing: two people had the same sheet."""
    on = await hall(database)
    said = line("1", price="340", paddle=57)
    first = await enter(on, said, key="one")
    assert first == await enter(on, said, key="one")
    version = (await stored(database, on.lots[0])).version
    assert first["lots"] == (await enter(on, said, by=await auctioneer(database), key="two"))["lots"]
    assert version == (await stored(database, on.lots[0])).version
    new = ResultLine(name="Honey", price=eur("25"), paddle=57)
    assert await enter(on, new, key="three") == await enter(on, new, key="three")
    assert 4 == len((await database.read(results.sheet, on.clerk.token, on.sale.gid)).lots)
    await enter(on, line("2"))
    assert "passed" == (await enter(on, line("2")))["lots"][0]["state"]


async def test_the_bidder_is_admitted_as_for_any_bid(database: Database) -> None:
    """Unknown and declined paddles, and a limit that all lots of a line go beyond together, are refused."""
    on = await hall(database)
    declined = await paddle(on, 60)
    changes = {"standing": Standing.DECLINED, "reason": "No"}
    await database.write(participants.change, on.clerk.token, on.sale.gid, declined, changes)
    await paddle(on, 61, limit=eur("50"))
    assert {"paddle": 99} == (await refused(UnknownPaddle, on, line("1", price="20", paddle=99))).facts
    await refused(RegistrationDeclined, on, line("1", price="20", paddle=60))
    fault = await refused(BeyondLimit, on, line("1", "2", "3", price="20", paddle=61))
    assert (eur("50"), eur("40"), eur("10")) == tuple(fault.facts[name] for name in ("limit", "exposure", "left"))
    await enter(on, line("1", "2", price="20", paddle=61))
    await refused(BeyondLimit, on, line("3", price="11", paddle=61))
    await enter(on, line("3", price="10", paddle=61))


async def test_doubts_are_asked(database: Database) -> None:
    """Ten times the estimate, or the starting price without one, and a price below the reserve need a second word."""
    on = await hall(database)
    assert eur("1000") == (await refused(UnusualPrice, on, line("1", price="1000", paddle=57))).facts["limit"]
    await enter(on, line("1", price="1000", paddle=57, is_sure=True))
    await enter(on, line("2", price="999.999", paddle=57))
    await enter(on, ResultLine(name="Cheap", price=eur("5"), paddle=57))
    await sound(on)


@pytest.mark.parametrize(("below", "outcome"), [(Below.CONDITIONAL, "conditional"), (Below.PASSED, "reserve_not_met")])
async def test_below_the_reserve_people_decide(database: Database, below: Below, outcome: str) -> None:
    """The lot is sold conditionally or passed with its highest bid; at the reserve nobody is asked."""
    on = await hall(database, reserve="150")
    fault = await refused(PriceBelowReserve, on, line("1", "2", price="149", paddle=57))
    assert {"label": "1", "reserve_price": eur("150")} == fault.facts
    await enter(on, line("1", "2", price="149", paddle=57, below=below))
    assert (outcome, "#57", "149.000") == await shown(on, 1)
    await enter(on, line("3", price="150", paddle=57))
    assert "sold" == (await shown(on, 2))[0]
    await enter(on, line("1", price="149", paddle=57, below=below))
    await sound(on)


async def test_an_absentee_maximum_may_stand_against_a_result(database: Database) -> None:
    """It is shown; people confirm what they have seen, and then it is taken back; a higher one that came is shown again."""
    on = await hall(database)
    absent = await person(database)
    await database.write(participants.register, absent.token, on.sale.gid)
    await offers(database, absent, on.lots[0], maximum="500")
    said = line("1", price="340", paddle=57)
    facts = (await refused(AbsenteeBidStands, on, said)).facts
    assert ("1", "#100", eur("100"), eur("500")) == tuple(
        facts[name] for name in ("label", "bidder", "current_bid", "maximum")
    )
    assert eur("500") == (await refused(AbsenteeBidStands, on, line("1"))).facts["maximum"]
    await refused(AbsenteeBidStands, on, line("1", price="500", paddle=57))
    await offers(database, absent, on.lots[0], maximum="600")
    await refused(AbsenteeBidStands, on, line("1", price="340", paddle=57, against=eur("500")))
    await enter(on, line("1", price="340", paddle=57, against=eur("600")))
    assert ("sold", "#57", "340.000") == await shown(on)
    await offers(database, absent, on.lots[1], maximum="300")
    await enter(on, line("2", price="301", paddle=57))
    assert ("sold", "#57", "301.000") == await shown(on, 1)
    await offers(database, absent, on.lots[2], maximum="300")
    await enter(on, line("3", against=eur("300")))
    assert ("no_bids", None, None) == await shown(on, 2)
    await sound(on)


@pytest.mark.parametrize("price", ["100", "101", "500", "700"])
async def test_an_absentee_bidder_buys_in_the_hall(database: Database, price: str) -> None:
    """Their bid in the hall takes the place of their own from before, below its maximum, at it and above."""
    on = await hall(database)
    absent = await person(database)
    await database.write(participants.register, absent.token, on.sale.gid)
    await offers(database, absent, on.lots[0], maximum="500")
    await enter(on, line("1", price=price, paddle=100))
    assert ("sold", "#100", f"{price}.000") == await shown(on)
    await sound(on)


async def test_a_result_is_taken_back(database: Database) -> None:
    """The clerk takes back that of the lot that was called last; the bids of before stand, and it can be entered again."""
    on = await hall(database)
    absent = await person(database)
    await database.write(participants.register, absent.token, on.sale.gid)
    await offers(database, absent, on.lots[0], maximum="500")
    before = await stored(database, on.lots[0])
    [lot] = (await enter(on, line("1", price="600", paddle=57)))["lots"]
    answer = await back(on, "1", seen=[lot["tag"]])
    assert ("open", 3) == (answer["lots"][0]["state"], answer["lotsLeft"])
    after = await stored(database, on.lots[0])
    assert (before.leader, before.maximum, before.current_bid) == (after.leader, after.maximum, after.current_bid)
    assert after.block is None
    with pytest.raises(ResultChanged):
        await back(on, "1", seen=[lot["tag"]])
    await enter(on, line("1", price="610", paddle=58))
    assert ("sold", "#58", "610.000") == await shown(on)
    await sound(on)


async def test_other_results_are_taken_back_with_a_reason(database: Database) -> None:
    """It needs the right to reopen lots; all lots of a line or none; the audit log has the reason."""
    on = await hall(database)
    chief = await auctioneer(database)
    entered = (await enter(on, line("1", "2", price="20", paddle=57)))["lots"]
    await enter(on, line("3"))
    tags = [lot["tag"] for lot in entered]
    with pytest.raises(MissingRight):
        await back(on, "1", "2", seen=tags, reason=WHY)
    with pytest.raises(Invalid):
        await back(on, "1", "2", seen=tags, by=chief)
    with pytest.raises(ResultChanged):
        await back(on, "1", "2", seen=[tags[0], tags[0]], by=chief, reason=WHY)
    assert "sold" == (await shown(on))[0]
    await back(on, "1", "2", seen=tags, by=chief, reason=WHY)
    assert [(None, None, None)] * 2 == [await shown(on), await shown(on, 1)]
    noted = await database.read(lambda tx: tx.execute(select(audit_table).order_by(audit_table.c.id)).all()[-1])
    assert ("result.taken_back", WHY) == (noted.act, noted.reason)
    await sound(on)


async def test_a_result_is_replaced(database: Database) -> None:
    """The refusal names the result that is there; with its tag, a reason and the right another one takes its place."""
    on = await hall(database)
    chief = await auctioneer(database)
    await enter(on, line("1", price="340", paddle=57))
    await enter(on, line("2"))
    said = line("1", price="350", paddle=58)
    facts = (await refused(AlreadyDecided, on, said)).facts
    assert ("1", "sold", eur("340"), "#57") == tuple(facts[name] for name in ("label", "outcome", "price", "bidder"))
    sure = line("1", price="350", paddle=58, seen=[facts["tag"]], reason=WHY)
    await refused(MissingRight, on, sure)
    await refused(Invalid, on, line("1", price="350", paddle=58, seen=[facts["tag"]]), by=chief)
    await enter(on, sure, by=chief)
    assert ("sold", "#58", "350.000") == await shown(on)
    await refused(AlreadyDecided, on, line("1", seen=[facts["tag"]], reason=WHY), by=chief)
    await sound(on)


async def test_a_replaced_result_counts_no_more(database: Database) -> None:
    """The exposure of a limited bidder is read without the result that is replaced."""
    on = await hall(database)
    await paddle(on, 61, limit=eur("50"))
    [lot] = (await enter(on, line("1", price="40", paddle=61)))["lots"]
    await enter(on, line("1", price="50", paddle=61, seen=[lot["tag"]]))
    assert ("sold", "#61", "50.000") == await shown(on)


async def test_a_lot_of_the_console_is_replaced(database: Database) -> None:
    """The hall's bids that led to its hammer are taken back; what was bid online while it was on the block stands."""
    on = await hall(database)
    online = await person(database)
    await database.write(participants.register, online.token, on.sale.gid)
    await play(on, (Act.CALL, {}), (Act.BID, {"amount": "100", "paddle": 57}))
    await offers(database, online, on.lots[0], amount="110")
    await play(on, (Act.BID, {"amount": "120", "paddle": 57}), (Act.SELL, {}))
    tag = (await stored(database, on.lots[0])).tag
    await enter(on, line("1", price="130", paddle=58, seen=[tag]))
    assert ("sold", "#58", "130.000") == await shown(on)
    await sound(on)


async def test_a_decision_of_a_seller_stays(database: Database) -> None:
    """What the seller has decided on is not taken back here."""
    on = await hall(database, reserve="150")
    chief = await auctioneer(database)
    await enter(on, line("1", price="149", paddle=57, below=Below.CONDITIONAL))
    [lot] = json_lots(await do(on, Act.DECIDE, by=chief, label="1", accepted=True))
    assert "1" == lot
    tag = (await stored(database, on.lots[0])).tag
    await refused(NothingToUndo, on, line("1", price="160", paddle=57, seen=[tag], reason=WHY), by=chief)


def json_lots(block: Any) -> list[str]:
    """The label of the lot that was called last."""
    return [block["lastLot"]["label"]]


async def test_the_block_of_another_clerk_is_left_alone(database: Database) -> None:
    """While a clerk sells a lot by the console, no result is entered or taken back, of this lot or of another one."""
    on = await hall(database)
    [lot] = (await enter(on, line("1")))["lots"]
    await do(on, Act.CALL)
    await refused(LotOnBlock, on, line("2", price="20", paddle=57))
    await refused(LotOnBlock, on, line("3", price="20", paddle=57))
    await refused(LotOnBlock, on, ResultLine(name="New", price=eur("20"), paddle=57))
    with pytest.raises(LotOnBlock):
        await back(on, "1", seen=[lot["tag"]])
    sheet = await database.read(results.sheet, on.clerk.token, on.sale.gid)
    assert ["passed", "on_block", "open"] == [one.state for one in sheet.lots]
    await do(on, Act.PASS)
    await enter(on, line("3", price="20", paddle=57))
    await sound(on)


async def test_the_sale_must_take_results(database: Database) -> None:
    """A draft, a timed sale, one that is over, unknown and withdrawn lots are refused, and so is who has no right."""
    on = await hall(database)
    await refused(UnknownLot, on, line("1", "9", price="20", paddle=57))
    await refused(MissingRight, on, line("1"), by=await person(database))
    chief = await auctioneer(database)
    await database.write(sale_lots.withdraw, chief.token, on.sale.gid, "3", "Broken")
    await refused(WithdrawnAlready, on, line("3", price="20", paddle=57))
    await enter(on, line("1"))
    await do(on, Act.END)
    await refused(SaleOver, on, line("2"))
    await refused(NotLive, await evening(database, kind=Kind.TIMED), line("1"))
    consigned = await hall(database)
    await refused(OwnAuction, consigned, line("1", price="20", paddle=await owner_paddle(consigned)))


async def owner_paddle(on: Evening) -> int:
    """Admit the owner of the sale with the paddle 70."""
    newcomer = participants.Newcomer(username=on.sale.owner.name, paddle=70)
    await on.database.write(participants.admit, on.clerk.token, on.sale.gid, newcomer)
    return 70
