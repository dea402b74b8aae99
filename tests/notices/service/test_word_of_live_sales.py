"""Word of live sales and of registrations: from the block to the mails that say so, over a real mail server."""

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service import watching
from saleroom.notices.domain.webhooks import Scope
from saleroom.notices.service import choosing, webhooks
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.notices.service.hooking import Hooker
from saleroom.outbox import store
from saleroom.outbox.message import WEBHOOK, State
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.sale import Registration
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.sales.service.people.people_mails import DECISION, MAILS
from saleroom.sales.storage import consignors
from saleroom.storage.database import Transaction
from tests.bidding.service.people import Person, bid
from tests.fixtures_database import FakeClock
from tests.notices.equipment import Postman
from tests.sales.service.evenings import Evening, evening, published
from tests.sales.service.live.test_block import do

pytestmark = pytest.mark.databases("sqlite", "postgresql")


async def told(postman: Postman) -> list[tuple[str, str]]:
    """Post and send what is due; return the mails that came since the last time, by receiver and subject."""
    before = len(postman.post.mails)
    await postman.rounds()
    found = zip(postman.post.receivers[before:], postman.post.subjects[before:], strict=True)
    return [(receiver.partition("@")[0], subject.partition(":")[0]) for receiver, subject in found]


async def registered(on: Evening, who: Person) -> str:
    """Register somebody, and return their gid in the sale."""
    known = await on.database.write(participants.register, who.token, on.sale.gid)
    return str(known.participant.gid)


async def consigned(postman: Postman, name: str, count: int, **terms: Any) -> tuple[Evening, Person]:
    """A live sale of lots that somebody with an account has brought."""
    seller, clerk, owner = [await postman.known(one) for one in (name, "clerk", "owner")]
    await postman.database.write(accounts.set_role, clerk.account.id, Role.MANAGER)

    def make(tx: Transaction) -> Any:
        brought = consignors.add(tx, "c1", "K1", "Kay", "", seller.account.id)
        return published(tx, owner.account.party, count, brought, title="An evening", **terms)

    sale, gids = await postman.database.write(make)
    return Evening(postman.database, sale, gids, clerk), seller


async def test_a_lot_is_announced_three_lots_before_and_on_the_block(postman: Postman, clock: FakeClock) -> None:
    """Its bidders and those who watch it hear once that it comes near; by mail of the block only who chose that."""
    on, kay = await consigned(postman, "kay", 6)
    await on.database.write(choosing.choose, kay.token, ChoiceChange(mail={"not_sold": False}))
    ada, ben, cyd = [await postman.known(one) for one in ("ada", "ben", "cyd")]
    await bid(on.database, ada.bids(on.lots[4], "up to 300"))
    await on.database.write(watching.watch, ben.token, on.lots[4])
    await on.database.write(choosing.choose, ben.token, ChoiceChange(mail={"called": True, "near": False}))
    await on.database.write(watching.watch, cyd.token, on.lots[5])
    await told(postman)
    await do(on, Act.CALL)
    assert [("kay", "News of 3 lots")] == await told(postman)
    for expected in (
        [("ada", "Called soon"), ("kay", "Called soon")],
        [("cyd", "Called soon"), ("kay", "Called soon")],
        [],
        [("ben", "On the block")],
    ):
        await do(on, Act.PASS)
        await do(on, Act.CALL)
        assert expected == sorted(await told(postman))
    await do(on, Act.SKIP)
    await do(on, Act.CALL)
    assert [] == await told(postman), "nobody hears twice that a lot is called soon"


async def test_a_lot_that_was_called_meanwhile_does_not_come_near(postman: Postman, clock: FakeClock) -> None:
    """What is no longer so is not sent."""
    on, _ = await consigned(postman, "kay", 2)
    await do(on, Act.CALL)
    await postman.poster.round()
    await do(on, Act.PASS)
    await do(on, Act.CALL)
    await postman.sender.round()
    assert [] == postman.post.mails
    dropped = await on.database.read(store.listed, [State.DROPPED], 10)
    assert {"near", "called"} == {word.kind for word in dropped}


async def test_a_program_gets_the_same_words(postman: Postman, clock: FakeClock) -> None:
    """A webhook of the consignor gets the events of the lots that they brought, and each word about one once."""
    on, kay = await consigned(postman, "kay", 3)
    hooker = Hooker(on.database)
    await hooker.round()
    url, kinds = "https://example.org/hook", ("notice.near", "notice.called", "auction.called")
    await on.database.write(webhooks.make, kay.token, lambda: b"k" * 32, url, kinds, Scope.OWN)
    for act in (Act.CALL, Act.SKIP, Act.CALL):
        await do(on, act)
        await hooker.round()
    found = reversed(await on.database.read(store.listed, [State.WAITING], 20))
    posted = [(word.kind, on.lots.index(word.about or "")) for word in found if word.channel == WEBHOOK]
    first = [("auction.called", 0), ("notice.called", 0), ("notice.near", 1), ("notice.near", 2)]
    assert [*first, ("auction.called", 1), ("notice.called", 1), ("notice.near", 0)] == posted


async def test_the_seller_is_asked_about_a_bid_below_the_reserve(postman: Postman, clock: FakeClock) -> None:
    """The consignor with an account is asked, and hears how it ended; the bidder hears nothing before."""
    on, _ = await consigned(postman, "kay", 1, reserve="200")
    ada = await postman.known("ada")
    await bid(on.database, ada.bids(on.lots[0], "100"))
    await do(on, Act.CALL)
    await told(postman)
    await do(on, Act.SELL_CONDITIONALLY)
    assert [("kay", "Do you accept the bid? A clock")] == await told(postman)
    assert "The highest bid on your lot is €100.00, which is below its reserve price." in postman.text()
    assert f"https://house.example/mine/decisions#{on.lots[0]}" in postman.text()
    await do(on, Act.DECIDE, label="1", accepted=True)
    assert [("ada", "You have won"), ("kay", "Sold")] == sorted(await told(postman))


async def decided(clock: FakeClock, on: Evening, gid: str, standing: Standing, reason: str = "") -> None:
    """Staff decide about a registration."""
    changes = {"standing": standing, "reason": reason}
    clock.advance(seconds=1)
    await on.database.write(participants.change, on.clerk.token, on.sale.gid, gid, changes)


async def test_who_registers_hears_what_staff_decided(postman: Postman, clock: FakeClock) -> None:
    """Approval and decline are told once each, with paddle and reason; a new limit is no news, and neither is a draft."""
    postman.kinds = {one.name: one for one in MAILS}
    postman.__post_init__()
    on = await evening(postman.database, registration=Registration.APPROVAL, title="Silver\r\nBcc: eve@example.org")
    ada = await postman.known("ada")
    gid = await registered(on, ada)
    assert [] == await told(postman)
    await decided(clock, on, gid, Standing.APPROVED)
    assert [("ada", "You can bid in this sale")] == await told(postman)
    assert postman.post.mails[-1]["Bcc"] is None
    assert f"https://house.example/mine/sales/{on.sale.gid}" in postman.text()
    await on.database.write(participants.change, on.clerk.token, on.sale.gid, gid, {"limit": None, "name": "Ada"})
    assert [] == await told(postman)
    await decided(clock, on, gid, Standing.DECLINED, "<b>Unpaid</b> invoices.")
    assert [("ada", "You cannot bid in this sale")] == await told(postman)
    assert "<b>Unpaid</b> invoices." in postman.text() and "&lt;b&gt;Unpaid" in postman.html()


async def test_a_decision_that_was_changed_meanwhile_is_told_as_it_is_now(postman: Postman, clock: FakeClock) -> None:
    """Of a sale that is over, and of people who wait again, nothing is said; at the door one is approved."""
    postman.kinds = {one.name: one for one in MAILS}
    postman.__post_init__()
    on = await evening(postman.database, registration=Registration.APPROVAL)
    ada, _ = [await postman.known(one) for one in ("ada", "ben")]
    gid = await registered(on, ada)
    await decided(clock, on, gid, Standing.APPROVED)
    await decided(clock, on, gid, Standing.PENDING)
    assert [] == await told(postman)
    newcomer = Newcomer(username="ben", paddle=12)
    await on.database.write(participants.admit, on.clerk.token, on.sale.gid, newcomer)
    assert [("ben", "You can bid in this sale")] == await told(postman)
    assert "Your paddle is 12." in postman.text()
    clock.advance(seconds=1)
    await on.database.write(participants.check_in, on.clerk.token, on.sale.gid, gid, None)
    assert [("ada", "You can bid in this sale")] == await told(postman)
    assert DECISION in {word.kind for word in await on.database.read(store.listed, [State.SENT], 10)}
