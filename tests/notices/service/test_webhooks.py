"""Webhooks: from what happens to a lot to a real server that verifies it, on both databases."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import update
from standardwebhooks import WebhookVerificationError

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import roles_of_users
from saleroom.bidding.service import moderation, questions, watching
from saleroom.bidding.service.closing import settle_due
from saleroom.kernel.errors import MissingRight
from saleroom.notices.domain.errors import TooManyWebhooks, UnknownWebhook
from saleroom.notices.domain.webhooks import Off, Scope
from saleroom.notices.service import hooking, webhooks
from saleroom.notices.service.webhooks import WebhookChange
from saleroom.outbox import store
from saleroom.outbox.message import WEBHOOK, Message, State
from saleroom.outbox.tables import outbox
from saleroom.storage.database import Transaction
from tests.bidding.service.people import bid, person, sells
from tests.fixtures_database import T0, FakeClock
from tests.notices.equipment import ORIGIN, Postman
from tests.notices.hooks import Hooks, people
from tests.notices.receiver import Receiver, receiving

ALL = ("*",)


async def test_an_owner_gets_words_and_events_of_lots_of_theirs(hooks: Hooks, clock: FakeClock) -> None:
    """A bidder gets the events of lots that they bid on and what concerns them, in order, verified; nothing of other lots."""
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada, ends_at=T0 + timedelta(hours=1))
    made = await hooks.made(ben)
    other = await sells(hooks.database, ada, name="Chair")
    await bid(hooks.database, ben.bids(gid, "100"))
    await bid(hooks.database, cyd.bids(gid, "200"), cyd.bids(other, "200"))
    await hooks.rounds()
    clock.advance(hours=2)
    await hooks.database.write(settle_due, reopens=False)
    await hooks.rounds()
    ended = ["auction.closed", "notice.not_won"]
    assert ["bid.placed", "bid.placed", "notice.outbid", *ended] == hooks.receiver.types
    first, outbid, lost = (hooks.receiver.verified(made.secret, number) for number in (0, 2, 4))
    assert ("100.000", "ben", gid, 2) == tuple(first["data"][name] for name in ("amount", "bidder", "gid", "sequence"))
    assert {"gid": gid, "amount": "200.000", "url": f"{ORIGIN}/lots/{gid}"} == outbid["data"]
    assert {"gid": gid, "price": "200.000", "winner": "cyd", "url": f"{ORIGIN}/lots/{gid}"} == lost["data"]
    assert len({headers["webhook-id"] for headers, _ in hooks.receiver.posts}) == len(hooks.receiver.posts)
    assert {State.SENT} == {word.state for word in await hooks.words(ben, made)}


async def test_kinds_choose_and_watching_counts(hooks: Hooks) -> None:
    """A webhook gets its kinds alone; a watcher gets events of the lot and word that it ends, once; a seller of theirs."""
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada, ends_at=T0 + timedelta(minutes=8))
    await hooks.database.write(watching.watch, cyd.token, gid)
    await hooks.made(cyd, "bid.placed", "notice.ending", path="/cyd")
    await hooks.made(ada, "notice.question_asked", path="/ada")
    await bid(hooks.database, ben.bids(gid, "100"))
    asked = await hooks.database.write(questions.ask, ben.token, gid, "Does it run?")
    await hooks.rounds(3)
    assert asked.text not in str(hooks.receiver.bodies)
    assert ["bid.placed", "notice.ending", "notice.question_asked"] == sorted(hooks.receiver.types)


async def test_staff_get_the_events_of_all_lots_while_they_are_staff(hooks: Hooks) -> None:
    """A manager gets the events of the whole house; nobody else may, and a former manager gets their own."""
    ada, ben, cyd = await people(hooks.database)
    with pytest.raises(MissingRight):
        await hooks.made(cyd, scope=Scope.HOUSE)
    await hooks.database.write(roles_of_users.set_role, "cyd", Role.MANAGER, "")
    await hooks.made(cyd, scope=Scope.HOUSE)
    gid = await sells(hooks.database, ada)
    await bid(hooks.database, ben.bids(gid, "100"))
    await hooks.rounds()
    assert ["auction.created", "bid.placed"] == hooks.receiver.types
    await hooks.database.write(roles_of_users.set_role, "cyd", Role.MEMBER, "")
    await bid(hooks.database, ada.bids(gid, "200"), ben.bids(gid, "300"))
    await hooks.rounds()
    assert 2 == len(hooks.receiver.posts)


async def test_what_fails_is_tried_again_in_order(hooks: Hooks, clock: FakeClock) -> None:
    """The same event has the same id and body on each try, later ones wait for it, and the pauses grow as the standard says."""
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada)
    made = await hooks.made(ada, "bid.placed")
    await bid(hooks.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    hooks.receiver.answers = ["500", "302", "cut"]
    await hooks.rounds()
    for seconds, posts in ((3, 1), (3, 2), (200, 2), (101, 3), (1300, 3), (501, 5)):
        clock.advance(seconds=seconds)
        await hooks.rounds()
        assert posts == len(hooks.receiver.posts), seconds
    ids = [headers["webhook-id"] for headers, _ in hooks.receiver.posts]
    assert ids[0] == ids[1] == ids[2] == ids[3] != ids[4]
    assert 1 == len({body for _, body in hooks.receiver.posts[:4]})
    words = await hooks.words(ada, made)
    assert [(State.SENT, 4), (State.SENT, 1)] == [(word.state, word.tries) for word in words]


async def test_a_server_that_is_gone_ends_its_webhook(hooks: Hooks, postman: Postman) -> None:
    """After 410 nothing more is posted until its owner switches it on, and the owner hears of it by mail."""
    ada, (ben, cyd) = await postman.known("ada"), [await person(hooks.database, name) for name in ("ben", "cyd")]
    gid = await sells(hooks.database, ada)
    made = await hooks.made(ada, "bid.placed")
    await bid(hooks.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    hooks.receiver.answers = ["410"]
    await hooks.rounds(2)
    [found] = await hooks.database.read(webhooks.own, ada.token)
    assert Off.GONE is found.off
    assert [State.GIVEN_UP, State.DROPPED] == [word.state for word in await hooks.words(ada, made)]
    mails = await hooks.database.read(store.listed, [State.WAITING], 10)
    assert [("webhook_off", {"host": "127.0.0.1", "why": "gone"})] == [(one.kind, one.facts) for one in mails]
    await bid(hooks.database, ben.bids(gid, "300"))
    await hooks.rounds()
    assert 1 == len(hooks.receiver.posts)
    await hooks.database.write(webhooks.change, ada.token, made.webhook.id, WebhookChange(on=True))
    await bid(hooks.database, cyd.bids(gid, "400"))
    await hooks.rounds()
    assert ["400.000"] == [body["data"]["amount"] for body in hooks.receiver.bodies[1:]]


async def test_a_server_that_fails_for_days_is_switched_off(hooks: Hooks, clock: FakeClock) -> None:
    """After ten tries within 75 hours the webhook is off, and what waits is dropped."""
    ada, ben, _ = await people(hooks.database)
    gid = await sells(hooks.database, ada)
    made = await hooks.made(ada, "bid.placed")
    await bid(hooks.database, ben.bids(gid, "100"))
    hooks.receiver.answers = ["500"] * 20
    await hooks.rounds()
    for _ in range(9):
        clock.advance(hours=24)
        await hooks.deliver()
    assert 10 == len(hooks.receiver.posts)
    [found] = await hooks.database.read(webhooks.own, ada.token)
    assert Off.FAILING is found.off
    [word] = await hooks.words(ada, made)
    assert (State.GIVEN_UP, "the server answered 500") == (word.state, word.last_error)


async def test_a_server_is_given_the_peace_that_it_asks_for(hooks: Hooks, clock: FakeClock) -> None:
    """Retry-After makes the pause longer, never shorter."""
    ada, _, _ = await people(hooks.database)
    made = await hooks.made(ada)
    hooks.receiver.answers = ["429"]
    hooks.receiver.more = "Retry-After: 600\r\n"
    await hooks.database.write(webhooks.test, ada.token, made.webhook.id)
    await hooks.rounds()
    clock.advance(seconds=590)
    await hooks.deliver()
    assert 1 == len(hooks.receiver.posts)
    clock.advance(seconds=11)
    await hooks.deliver()
    assert ["webhook.test"] * 2 == hooks.receiver.types


async def test_two_secrets_sign_while_one_replaces_the_other(hooks: Hooks, clock: FakeClock) -> None:
    """For a day after a rotation both secrets verify, then the new one alone."""
    ada, _, _ = await people(hooks.database)
    made = await hooks.made(ada)
    new = await hooks.database.write(webhooks.rotate, ada.token, made.webhook.id, hooks.key)
    assert made.secret != new.secret
    await hooks.database.write(webhooks.test, ada.token, made.webhook.id)
    await hooks.rounds()
    assert hooks.receiver.verified(made.secret) == hooks.receiver.verified(new.secret)
    clock.advance(hours=25)
    await hooks.database.write(webhooks.test, ada.token, made.webhook.id)
    await hooks.deliver()
    assert "webhook.test" == hooks.receiver.verified(new.secret)["type"]
    with pytest.raises(WebhookVerificationError):
        hooks.receiver.verified(made.secret)


async def test_a_form_that_is_sent_again_changes_nothing(hooks: Hooks, clock: FakeClock) -> None:
    """A double click makes one webhook and rotates once, so that the secret that a server has goes on signing."""
    ada, _, _ = await people(hooks.database)
    url, write = hooks.receiver.url("/hook"), hooks.database.write
    values = (ada.token, hooks.key, url, ALL, Scope.OWN)
    made = await write(webhooks.make, *values, form=True)
    assert made == await write(webhooks.make, *values, form=True)
    number = made.webhook.id
    new = await write(webhooks.rotate, ada.token, number, hooks.key, form=True)
    assert new == await write(webhooks.rotate, ada.token, number, hooks.key, form=True)
    await write(webhooks.test, ada.token, number)
    await hooks.rounds()
    assert hooks.receiver.verified(made.secret) == hooks.receiver.verified(new.secret)
    clock.advance(seconds=61)
    assert new.secret != (await write(webhooks.rotate, ada.token, number, hooks.key, form=True)).secret
    assert number != (await write(webhooks.make, *values, form=True)).webhook.id
    assert 3 == len({one.webhook.id for one in [await write(webhooks.make, *values) for _ in range(3)]})


async def test_a_word_that_nobody_can_read_holds_up_no_other(hooks: Hooks) -> None:
    """A row with other facts than the house writes, such as an import could bring, is dropped; what follows is posted."""
    ada, _, _ = await people(hooks.database)
    address = str((await hooks.made(ada)).webhook.id)

    def post(tx: Transaction) -> None:
        for number, facts in enumerate(("", "[1]", '{"event": "7"}', '{"event": 1e30}', '{"data": 3}', "{}")):
            store.post(
                tx, Message(kind="odd", key=f"{number}", receiver=ada.account.id, address=address, channel=WEBHOOK)
            )
            tx.execute(update(outbox).where(outbox.c.key == f"{number}").values(facts=facts))
        good = {"at": "2026-11-21T12:00:00Z", "data": {}}
        store.post(
            tx,
            Message(kind="good", key="7", receiver=ada.account.id, address=address, facts=good, channel=WEBHOOK),
        )

    await hooks.database.write(post)
    await hooks.rounds()
    assert ["good"] == hooks.receiver.types


async def test_slow_servers_of_one_user_do_not_hold_up_others(hooks: Hooks) -> None:
    """Of the webhooks of one user three are posted to at a time; those of others are posted to meanwhile."""
    ada, ben, _ = await people(hooks.database)
    async with receiving(Receiver()) as slow:
        slow.answers = ["hang"] * 5
        hooks.receiver.port, quick = slow.port, hooks.receiver.port
        slows = [await hooks.made(ada) for _ in range(5)]
        hooks.receiver.port = quick
        made = await hooks.made(ben)
        for one in slows:
            await hooks.database.write(webhooks.test, ada.token, one.webhook.id)
        await hooks.database.write(webhooks.test, ben.token, made.webhook.id)
        await hooks.deliverer.round()
        while not hooks.receiver.posts or len(slow.posts) < 3:
            await asyncio.sleep(0.01)
        assert (1, 3) == (len(hooks.receiver.posts), len(slow.posts))
        await hooks.deliverer.posts.close()


async def test_the_name_of_a_hidden_lot_is_not_posted(hooks: Hooks) -> None:
    """A lot that is hidden before its creation was posted stays unnamed; that it is hidden is posted, without the reason."""
    ada, _, cyd = await people(hooks.database)
    await hooks.database.write(roles_of_users.set_role, "cyd", Role.MANAGER, "")
    await hooks.made(cyd, scope=Scope.HOUSE)
    gid = await sells(hooks.database, ada, name="Stolen clock")
    await hooks.database.write(moderation.hide, cyd.token, gid, "It is stolen, says Eve.")
    await hooks.rounds(2)
    assert ["auction.hidden"] == hooks.receiver.types
    assert "tolen" not in str(hooks.receiver.bodies)


async def test_too_much_that_waits_switches_a_webhook_off(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook whose server is slower than the sale does not fill the database."""
    monkeypatch.setattr(hooking, "WAITING_MAX", 2)
    ada, ben, cyd = await people(hooks.database)
    gid = await sells(hooks.database, ada)
    await hooks.made(ada, "bid.placed")
    await bid(hooks.database, *(one.bids(gid, f"{price}000") for price in (1, 2) for one in (ben, cyd)))
    await bid(hooks.database, ben.bids(gid, "5000"))
    await hooks.hooker.round()
    [found] = await hooks.database.read(webhooks.own, ada.token)
    assert Off.FULL is found.off
    await hooks.deliver()
    assert [] == hooks.receiver.posts


async def test_webhooks_are_ones_own(hooks: Hooks) -> None:
    """Nobody sees, changes, tests or deletes the webhook of another; what waits for a deleted one is not posted."""
    ada, ben, _ = await people(hooks.database)
    made = await hooks.made(ada)
    number = made.webhook.id
    for use_case in (webhooks.delete, webhooks.test, partial(webhooks.rotate, key=hooks.key)):
        with pytest.raises(UnknownWebhook):
            await hooks.database.write(use_case, ben.token, number)
    with pytest.raises(UnknownWebhook):
        await hooks.database.write(webhooks.change, ben.token, number, WebhookChange(on=False))
    with pytest.raises(UnknownWebhook):
        await hooks.database.read(webhooks.deliveries, ben.token, number, 10)
    assert [] == await hooks.database.read(webhooks.own, ben.token)
    await hooks.database.write(webhooks.test, ada.token, number)
    await hooks.database.write(webhooks.test, ada.token, number)
    assert 1 == len(await hooks.words(ada, made))
    await hooks.database.write(webhooks.delete, ada.token, number)
    await hooks.deliver()
    assert [] == hooks.receiver.posts


async def test_a_user_has_few_webhooks(hooks: Hooks) -> None:
    """The eleventh webhook is refused."""
    ada = await person(hooks.database)
    for _ in range(10):
        await hooks.made(ada)
    with pytest.raises(TooManyWebhooks):
        await hooks.made(ada)
