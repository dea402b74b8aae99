"""Words to people: from what happens to a lot to the mail that says so, over a real mail server, on both databases."""

from datetime import timedelta
from email.message import EmailMessage

import pytest
from sqlalchemy import update

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service.account_mails import MAILS
from saleroom.accounts.storage import accounts
from saleroom.bidding.service import auctions, moderation, questions, watching
from saleroom.bidding.service.closing import settle_due
from saleroom.notices.domain.choices import QuietHours, parse_time
from saleroom.notices.service import choosing, unsubscribing
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.outbox import store
from saleroom.outbox.message import Message, State
from saleroom.outbox.tables import outbox
from saleroom.storage.database import Transaction
from tests.bidding.service.people import bid, person, sells
from tests.fixtures_database import T0, FakeClock
from tests.notices.equipment import ORIGIN, Postman

pytestmark = pytest.mark.databases("sqlite")


async def reasons(postman: Postman, state: State = State.DROPPED) -> list[tuple[str, str | None]]:
    """The kinds of the words in a state, with the reason, the first posted first."""
    found = await postman.database.read(store.listed, [state], 100)
    return [(word.kind, word.last_error) for word in reversed(found)]


async def test_an_outbid_user_gets_one_mail_with_the_present_price(postman: Postman, clock: FakeClock) -> None:
    """Twenty times outbid within a minute is one mail, which says how the lot stands now."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"))
    for step in range(20):
        await bid(postman.database, cyd.bids(gid, f"{step + 1}00000"), ben.bids(gid, f"{step + 1}50000"))
        clock.advance(seconds=2)
        await postman.rounds()
    await bid(postman.database, cyd.bids(gid, "5000000"))
    await postman.rounds()
    assert [] == postman.post.mails
    clock.advance(seconds=60)
    await postman.rounds()
    assert [("ben@example.org", "You were outbid: Longcase clock")] == list(
        zip(postman.post.receivers, postman.post.subjects, strict=True)
    )
    text = postman.text()
    assert "The price is €5,000,000.00 now" in text
    assert f"{ORIGIN}/lots/{gid}" in text
    assert f"\r\nChoose what you get <{ORIGIN}/mine/notices>" in text
    assert [("outbid", "It is no longer so.")] * 20 == await reasons(postman)
    await postman.rounds()
    assert 1 == len(postman.post.mails)


ODD = (
    ("reset", "{"),
    ("reset", '{"link": "1"}'),
    ("reset", '{"link": 1e40}'),
    ("invitation", '{"invitation": 99999999999999999999}'),
    ("address_changed", "[]"),
    ("sanction", '{"username": {}}'),
    ("outbid", '{"price": "dear"}'),
)


async def test_a_word_that_nobody_can_read_holds_up_no_other(postman: Postman) -> None:
    """A row with other facts than the house writes, such as an import could bring, is not sent; other mails are."""
    postman.kinds = {one.name: one for one in MAILS}
    postman.__post_init__()
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))

    def post_odd(tx: Transaction) -> None:
        for number, (kind, facts) in enumerate(ODD):
            alone = kind != "outbid"
            store.post(tx, Message(kind=kind, key=f"{number}", receiver=ben.account.id, about=gid, alone=alone))
            tx.execute(update(outbox).where(outbox.c.key == f"{number}").values(facts=facts))

    await postman.database.write(post_odd)
    said = {"username": "ada", "by": "user", "at": "2026-11-21T12:00:00Z"}
    good = Message(kind="password_changed", key="good", receiver=ada.account.id, facts=said)
    await postman.database.write(store.post, good)
    for _ in ODD:
        await postman.sender.round()
    assert ["ada@example.org"] == postman.post.receivers
    *odd, fine = reversed(await postman.database.read(store.listed, [*State], 20))
    assert State.SENT is fine.state
    assert {word.state for word in odd} <= {State.DROPPED, State.GIVEN_UP}


async def test_whoever_leads_again_is_told_nothing_untrue(postman: Postman, clock: FakeClock) -> None:
    """An outbid user who has bid again and leads by then gets no mail."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await postman.rounds()
    await bid(postman.database, ben.bids(gid, "up to 1000"))
    clock.advance(seconds=61)
    await postman.rounds()
    clock.advance(seconds=61)
    await postman.rounds()
    assert ["cyd@example.org"] == postman.post.receivers
    assert [("outbid", "It is no longer so.")] == await reasons(postman)


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_end_is_told_to_all_who_took_part(postman: Postman, clock: FakeClock) -> None:
    """The winner, the seller and the others each learn how a lot ended; German readers in German."""
    ada, ben, cyd = [await postman.known(name, "de" if name == "ben" else "en") for name in ("ada", "ben", "cyd")]
    ends = T0 + timedelta(minutes=5)
    sold = await sells(postman.database, ada, ends_at=ends)
    await sells(postman.database, ada, name="Chair", ends_at=ends)
    await bid(postman.database, cyd.bids(sold, "100"), ben.bids(sold, "200"))
    clock.advance(minutes=6)
    await postman.database.write(settle_due, reopens=False)
    await postman.rounds()
    found = dict(zip(postman.post.receivers, postman.post.subjects, strict=True))
    assert {
        "ada@example.org": "News of 2 lots",
        "ben@example.org": "Sie haben gewonnen: Longcase clock",
        "cyd@example.org": "Not won: Longcase clock",
    } == found
    texts = [postman.text(number) for number in range(3)]
    by_receiver = dict(zip(postman.post.receivers, texts, strict=True))
    assert "Your lot is sold to ben for €200.00." in by_receiver["ada@example.org"]
    assert (
        "Your lot has ended without a sale." in by_receiver["ada@example.org"]
        or "ended without a sale" in (by_receiver["ada@example.org"])
    )
    assert "200,00" in by_receiver["ben@example.org"]
    assert "Somebody else has won it for €200.00." in by_receiver["cyd@example.org"]


async def test_a_watched_lot_is_announced_once(postman: Postman, clock: FakeClock) -> None:
    """Ten minutes before the end those who watch a lot are told, once, even if the process starts again."""
    ada, ben = [await postman.known(name) for name in ("ada", "ben")]
    gid = await sells(postman.database, ada, ends_at=T0 + timedelta(minutes=30))
    await postman.database.write(watching.watch, ben.token, gid)
    clock.advance(minutes=19)
    await Postman(postman.database, postman.port, postman.post).rounds()
    assert [] == postman.post.mails
    clock.advance(minutes=2)
    for _ in range(2):
        await Postman(postman.database, postman.port, postman.post).rounds()
    assert ["Ends soon: Longcase clock"] == postman.post.subjects
    assert "It ends on 21 November 2026, 13:30:00 CET." in postman.text()


def by_receiver(postman: Postman) -> dict[str, str]:
    """The subjects of the mails that were sent, by receiver; each has had one."""
    found = dict(zip(postman.post.receivers, postman.post.subjects, strict=True))
    assert len(found) == len(postman.post.mails)
    return found


def told(postman: Postman, receiver: str) -> str:
    """All that the mail to a receiver says, as one line."""
    number = postman.post.receivers.index(receiver)
    return " ".join(postman.text(number).split()) + postman.html(number)


async def test_a_voided_bid_is_told_to_all_bidders(postman: Postman, clock: FakeClock) -> None:
    """All who bid on the lot are told with the reason, and who leads again is told that in the same mail."""
    ada, ben, cyd, dee = [
        await postman.known(name, "de" if name == "cyd" else "en") for name in ("ada", "ben", "cyd", "dee")
    ]
    await postman.database.write(accounts.set_role, dee.account.id, Role.AUCTIONEER)
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "500"))
    await postman.rounds()
    clock.advance(seconds=61)
    await postman.rounds()
    assert {"ben@example.org": "You were outbid: Longcase clock"} == by_receiver(postman)
    postman.post.mails.clear()
    postman.post.receivers.clear()
    await postman.database.write(moderation.void_bid, dee.token, gid, 3, "A slip of the hand.")
    await postman.rounds()
    assert {
        "ben@example.org": "A bid is voided: Longcase clock",
        "cyd@example.org": "Ein Gebot ist ungültig: Longcase clock",
    } == by_receiver(postman)
    assert "You lead again, at €100.00." in told(postman, "ben@example.org")
    for receiver in postman.post.receivers:
        assert "A slip of the hand." in told(postman, receiver)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_hidden_lot_is_told_without_its_name(postman: Postman, clock: FakeClock) -> None:
    """Bidders and watchers learn it without name and reason, as the pages show neither; the seller learns the reason.

    Nothing is said of a price on a lot that takes no bids. Once it is shown again, all are told.
    """
    ada, ben, cyd, dee = [
        await postman.known(name, "de" if name == "cyd" else "en") for name in ("ada", "ben", "cyd", "dee")
    ]
    await postman.database.write(accounts.set_role, dee.account.id, Role.AUCTIONEER)
    gid = await sells(postman.database, ada, ends_at=T0 + timedelta(minutes=30))
    await postman.database.write(watching.watch, cyd.token, gid)
    await postman.database.write(watching.watch, ada.token, gid)
    await bid(postman.database, ben.bids(gid, "100"), dee.bids(gid, "200"))
    await postman.rounds()
    await postman.database.write(moderation.hide, dee.token, gid, "It may be stolen.")
    clock.advance(minutes=2)
    await postman.rounds()
    assert {
        "ada@example.org": "Taken down: Longcase clock",
        "ben@example.org": "A lot that the house has taken down",
        "cyd@example.org": "Ein Los, das das Haus vom Netz genommen hat",
        "dee@example.org": "A lot that the house has taken down",
    } == by_receiver(postman)
    assert "It may be stolen." in told(postman, "ada@example.org")
    for receiver in ("ben@example.org", "cyd@example.org"):
        assert [] == [word for word in ("stolen", "Longcase", "€") if word in told(postman, receiver)]
    assert [("outbid", "It is no longer so.")] == await reasons(postman)
    postman.post.mails.clear()
    postman.post.receivers.clear()
    await postman.database.write(moderation.show, dee.token, gid)
    await postman.rounds()
    names = {"ada": "Shown again", "ben": "Shown again", "cyd": "Wieder zu sehen", "dee": "Shown again"}
    assert {f"{name}@example.org": f"{said}: Longcase clock" for name, said in names.items()} == by_receiver(postman)
    assert "The price is €200.00 now" in told(postman, "ben@example.org")


async def test_a_cancelled_sale_is_told_to_all_who_follow_it(postman: Postman, clock: FakeClock) -> None:
    """The seller, bidders and watchers are told of a cancellation by the house, with its reason, which is public."""
    ada, ben, cyd, dee = [
        await postman.known(name, "de" if name == "cyd" else "en") for name in ("ada", "ben", "cyd", "dee")
    ]
    await postman.database.write(accounts.set_role, dee.account.id, Role.AUCTIONEER)
    gid = await sells(postman.database, ada)
    await postman.database.write(watching.watch, cyd.token, gid)
    await bid(postman.database, ben.bids(gid, "100"))
    await postman.database.write(moderation.cancel, dee.token, gid, "It was broken.")
    await postman.rounds()
    names = {"ada": "Cancelled", "ben": "Cancelled", "cyd": "Abgesagt"}
    assert {f"{name}@example.org": f"{said}: Longcase clock" for name, said in names.items()} == by_receiver(postman)
    for receiver in postman.post.receivers:
        assert "It was broken." in told(postman, receiver)


async def test_a_seller_hears_nothing_of_their_own_cancellation(postman: Postman, clock: FakeClock) -> None:
    """Those who watch are told; the seller is told only if the house had hidden the lot until its end."""
    ada, cyd, dee = [await postman.known(name) for name in ("ada", "cyd", "dee")]
    await postman.database.write(accounts.set_role, dee.account.id, Role.AUCTIONEER)
    gid = await sells(postman.database, ada)
    await postman.database.write(watching.watch, cyd.token, gid)
    await postman.database.write(auctions.cancel, ada.token, gid)
    await postman.rounds()
    assert {"cyd@example.org": "Cancelled: Longcase clock"} == by_receiver(postman)
    assert "The sale of this lot is cancelled." in told(postman, "cyd@example.org")
    hidden = await sells(postman.database, ada, ends_at=T0 + timedelta(minutes=5))
    await postman.database.write(moderation.hide, dee.token, hidden, "It may be stolen.")
    clock.advance(minutes=6)
    await postman.database.write(settle_due, reopens=False)
    await postman.rounds()
    assert ["ada@example.org", "Cancelled: Longcase clock"] == [postman.post.receivers[-1], postman.post.subjects[-1]]


async def mail_about(name: str, postman: Postman) -> EmailMessage:
    """The mail to ben@example.org about a cancelled lot of this name, the only one that the house sends."""
    ada, ben = [await postman.known(person) for person in ("ada", "ben")]
    gid = await sells(postman.database, ada, name=name)
    await postman.database.write(watching.watch, ben.token, gid)
    await postman.database.write(auctions.cancel, ada.token, gid)
    await postman.rounds()
    [mail] = postman.post.mails
    return mail


async def test_a_name_stays_text_in_a_mail(postman: Postman, clock: FakeClock) -> None:
    """No name makes a header, a tag or a word of the template, even one that no form would have let in."""
    mail = await mail_about("<img src=x>\r\nBcc: eve@example.org\u202e %(price)s {{ 7*7 }}", postman)
    subject = str(mail["Subject"])
    assert mail["Bcc"] is None and ["ben@example.org"] == postman.post.receivers
    assert subject.startswith("Cancelled: ") and "%(price)s {{ 7*7 }}" in subject and "\u202e" not in subject
    assert "<img" not in postman.html() and "&lt;img src=x&gt;" in postman.html()
    assert "{{ 7*7 }}" in postman.text() and "eve@example.org" not in dict(mail.items()).values()


async def test_a_name_is_no_encoded_word(postman: Postman, clock: FakeClock) -> None:
    """A name that looks like an encoded word (RFC 2047) stays text: it makes no header, no body and no hidden character."""
    name = "=?utf-8?q?x=0D=0ABcc=3A_eve=40example.org=0D=0A=0D=0APay_here?= =?utf-8?b?4oCu?="
    mail = await mail_about(name, postman)
    assert mail["Bcc"] is None and ["ben@example.org"] == postman.post.receivers
    assert f"Cancelled: {name}" == str(mail["Subject"]), "mail programs show the name as it is"


async def test_questions_are_told_to_the_seller_and_answers_to_the_asker(postman: Postman, clock: FakeClock) -> None:
    """The seller learns that somebody asks, the asker that there is an answer; neither mail has a stranger's text."""
    ada, ben = [await postman.known(name) for name in ("ada", "ben")]
    gid = await sells(postman.database, ada)
    asked = await postman.database.write(questions.ask, ben.token, gid, "Visit http://evil.example now")
    clock.advance(seconds=61)
    await postman.rounds()
    await postman.database.write(questions.answer, ada.token, gid, asked.number, "No")
    await postman.database.write(questions.answer, ada.token, gid, asked.number, "No")
    clock.advance(seconds=61)
    await postman.rounds()
    assert ["A question about your lot: Longcase clock", "Your question is answered: Longcase clock"] == (
        postman.post.subjects
    )
    assert ["ada@example.org", "ben@example.org"] == postman.post.receivers
    assert "evil" not in postman.text(0) + postman.html(0)


async def test_only_verified_addresses_get_word(postman: Postman, clock: FakeClock) -> None:
    """Nobody without a verified address costs a row, and nobody is told of what happened before they had one."""
    ada, ben = await postman.known("ada"), await person(postman.database, "ben")
    cyd = await person(postman.database, "cyd")
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await postman.rounds()
    counts = await postman.database.read(store.counts)
    assert 0 == sum(counts.values())


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_user_gets_only_what_they_want(postman: Postman, clock: FakeClock) -> None:
    """What a user has switched off, and everything after the link of a mail, is dropped."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    await postman.database.write(choosing.choose, ben.token, ChoiceChange(mail={"outbid": False}))
    await postman.database.write(unsubscribing.stop, cyd.account.id, "mail")
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await postman.rounds()
    await bid(postman.database, ben.bids(gid, "300"))
    await postman.rounds()
    await bid(postman.database, (await postman.known("dan")).bids(gid, "400"))
    clock.advance(seconds=61)
    await postman.rounds()
    clock.advance(seconds=61)
    await postman.rounds()
    assert [] == postman.post.mails
    assert [("outbid", "The user does not want it.")] * 3 == await reasons(postman)


async def test_quiet_hours_put_words_off(postman: Postman, clock: FakeClock) -> None:
    """In a user's quiet hours nothing is sent; what is still so goes out at their end."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    begins, ends = parse_time("12:30"), parse_time("14:00")
    quiet = QuietHours(begins, ends, "Europe/Berlin")  # type: ignore[arg-type]  # they are no faults
    await postman.database.write(choosing.choose, ben.token, ChoiceChange(quiet=(quiet,)))
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await postman.rounds()
    clock.advance(minutes=30)
    await postman.rounds()
    assert [] == postman.post.mails
    clock.advance(minutes=31)
    await postman.rounds()
    assert ["ben@example.org"] == postman.post.receivers


@pytest.mark.databases("sqlite", "postgresql")
async def test_what_happened_before_the_first_start_is_no_news(clocked_database: object, postman: Postman) -> None:
    """A house of an earlier version begins at the end of its log."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))

    await postman.database.write(lambda tx: tx.connection.exec_driver_sql("DELETE FROM log_places"))
    another = Postman(postman.database, postman.port, postman.post)
    await another.rounds()
    await another.rounds()
    assert 0 == sum((await postman.database.read(store.counts)).values())


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize("answer", ["450 greylisted", "drop", "550 no"])
async def test_a_mail_that_fails_is_tried_again_or_given_up(postman: Postman, clock: FakeClock, answer: str) -> None:
    """After 4xx and a lost connection the same mail comes once more with the same Message-ID; after 5xx it is given up."""
    ada, ben, cyd = [await postman.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(postman.database, ada)
    await bid(postman.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await postman.rounds()
    clock.advance(seconds=61)
    postman.post.answers = [answer]
    await postman.rounds()
    await postman.rounds()
    clock.advance(seconds=61)
    await postman.rounds()
    known = {mail["Message-ID"] for mail in postman.post.mails}
    if answer.startswith("5"):
        assert [("outbid", "the mail server refuses the mail: 550 no")] == await reasons(postman, State.GIVEN_UP)
        return
    assert (2 if answer == "drop" else 1, 1) == (len(postman.post.mails), len(known))
    assert 1 == len(await reasons(postman, State.SENT))
