"""What staff did about a user reaches them by mail, in their language, with the reason: or the act did not happen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import roles_of_users, sanctions
from saleroom.accounts.service.account_mails import MAILS
from saleroom.storage.database import Database, Transaction
from tests.accounts.service.mailed import mails
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock
from tests.notices.equipment import Postman
from tests.outbox.mail_server import Post

pytestmark = pytest.mark.databases("sqlite")

KINDS = {kind.name: kind for kind in MAILS}


async def test_each_act_is_a_mail_with_its_reason(
    clocked_database: Database, clock: FakeClock, port: int, post: Post
) -> None:
    """Who is warned, suspended, banned, let in again or approved reads why, until when, and what is left to them."""
    database, postman = clocked_database, Postman(clocked_database, port, post, KINDS)
    bob = (await postman.known("bob")).account.username
    await database.write(sanctions.impose, bob, Sanction.WARNING, "Be <b>polite</b>.")
    clock.advance(1)
    await database.write(sanctions.impose, bob, Sanction.SUSPENSION, "Not paid.", timedelta(days=1))
    await database.write(sanctions.pardon, bob, "He has paid.")
    clock.advance(1)
    await database.write(sanctions.impose, bob, Sanction.BAN, "Again.")
    await database.write(sanctions.pardon, bob, "Once more.")
    await database.write(roles_of_users.set_seller, bob, approved=True)
    await database.write(roles_of_users.set_seller, bob, approved=False)
    for _ in range(6):
        await postman.rounds()
    expected = [
        ("A warning from Müller & Söhne", "Be <b>polite</b>."),
        ("You are suspended at Müller & Söhne", "Not paid."),
        ("You can bid at Müller & Söhne again", "He has paid."),
        ("You are banned at Müller & Söhne", "It has no end."),
        ("You can bid at Müller & Söhne again", "lifted the ban"),
        ("You are an approved seller at Müller & Söhne", "/sell"),
    ]
    assert [subject for subject, _ in expected] == [mail["Subject"] for mail in post.mails]
    for number, (_, text) in enumerate(expected):
        assert text in " ".join(postman.text(number).split())
    assert "<b>" not in postman.html(0)
    assert "Until then you cannot bid" in " ".join(postman.text(1).split())


async def test_they_are_in_the_language_of_the_user(clocked_database: Database, port: int, post: Post) -> None:
    """A user who reads German is written to in German."""
    postman = Postman(clocked_database, port, post, KINDS)
    eva = (await postman.known("eva", "de")).account.username
    await clocked_database.write(sanctions.impose, eva, Sanction.BAN, "Why", timedelta(days=1))
    await postman.rounds()
    assert "Sie sind bei Müller & Söhne ausgeschlossen" == post.mails[0]["Subject"]
    assert "Das endet am" in postman.text()


async def test_word_and_act_are_one(database: Database) -> None:
    """An act that is undone before its end sends nothing; without a verified address there is nobody to write to."""
    bob = await person(database)
    await database.write(sanctions.impose, bob.account.username, Sanction.WARNING, "Why")
    assert [] == await mails(database)

    def fails(tx: Transaction) -> None:
        sanctions.impose(tx, bob.account.username, Sanction.BAN, "Why")
        raise RuntimeError("cut off")

    await database.write(Postman._verified, bob.account.id, "bob@example.org", "en")
    with pytest.raises(RuntimeError, match="cut off"):
        await database.write(fails)
    assert [] == await mails(database)
    await database.write(sanctions.impose, bob.account.username, Sanction.BAN, "Why")
    assert [("sanction", "bob@example.org")] == await mails(database)
