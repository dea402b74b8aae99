"""The outbox as rows, on both databases."""

from datetime import timedelta
from typing import Any

import pytest

from saleroom.outbox import places, store
from saleroom.outbox.figures import OutboxFigures
from saleroom.outbox.message import MAIL, PUSH, TRIES_MAX, WEBHOOK, WEBHOOK_PAUSES, Message, State, Word
from saleroom.storage.database import Database, Transaction
from tests.fixtures_database import FakeClock


def lot(key: str, receiver: int = 1, **more: Any) -> Message:
    """A word that shares its letter with others."""
    return Message(kind="outbid", key=key, receiver=receiver, alone=False, **more)


async def due(database: Database) -> list[list[Word]]:
    """The letters that are due."""
    return await database.read(store.due, MAIL, 10)


async def keys(database: Database) -> list[list[Any]]:
    """The facts `n` of the words of each letter that is due."""
    return [[word.facts.get("n") for word in letter] for letter in await due(database)]


async def states(database: Database) -> dict[State, int]:
    """How many words are in each state that has any."""
    return {state: count for state, count in (await database.read(store.counts)).items() if count}


async def test_a_key_is_posted_once(clocked_database: Database) -> None:
    """The second word with the same key and channel is not posted, whatever it says; another channel has its own."""
    assert await clocked_database.write(store.post, lot("one", facts={"n": 1}))
    assert not await clocked_database.write(store.post, lot("one", facts={"n": 2}))
    assert await clocked_database.write(store.post, lot("one", channel="push"))
    assert 1 == await clocked_database.write(store.post_all, [lot("one"), lot("two", facts={"n": 2})])
    assert [[1, 2]] == await keys(clocked_database)


async def test_a_word_of_a_transaction_that_fails_is_never_posted(clocked_database: Database) -> None:
    """A word goes out only if what it says has happened."""

    def fails(tx: Transaction) -> None:
        store.post(tx, lot("one"))
        raise LookupError

    with pytest.raises(LookupError):
        await clocked_database.write(fails)
    assert {} == await states(clocked_database)


async def test_many_words_are_posted_together(clocked_database: Database) -> None:
    """Any number of words is posted by a few statements, and what was posted before is left out."""
    many = [lot(str(number), receiver=number) for number in range(250)]
    assert 250 == await clocked_database.write(store.post_all, many)
    assert 0 == await clocked_database.write(store.post_all, many)


async def test_the_words_of_a_person_share_a_letter(clocked_database: Database, clock: FakeClock) -> None:
    """As soon as one word of a person is due, all their waiting words go into the letter, in order."""
    for number, after in ((1, 60), (2, 60), (3, 0)):
        await clocked_database.write(store.post, lot(str(number), facts={"n": number}, after=timedelta(seconds=after)))
    await clocked_database.write(store.post, lot("4", 2, facts={"n": 4}, after=timedelta(seconds=60)))
    assert [[1, 2, 3]] == await keys(clocked_database)
    clock.advance(seconds=60)
    assert [[1, 2, 3], [4]] == await keys(clocked_database)


async def test_words_that_stand_alone_come_first(clocked_database: Database) -> None:
    """A word about an account is a mail of its own, and waits for no other word of the same person."""
    await clocked_database.write(store.post, lot("1", facts={"n": 1}))
    for number in (2, 3):
        message = Message(kind="reset", key=str(number), receiver=1, facts={"n": number})
        await clocked_database.write(store.post, message)
    await clocked_database.write(store.post, Message(kind="x", key="4", address="a@example.org", facts={"n": 4}))
    assert [[1], [2], [4]] == sorted(await keys(clocked_database))


async def test_a_tried_letter_stays_as_it_is(clocked_database: Database, clock: FakeClock) -> None:
    """After a failed try a person's words wait, later ones too, and then the same letter is tried again before them."""
    await clocked_database.write(store.post, lot("1", facts={"n": 1}))
    [letter] = await due(clocked_database)
    assert await clocked_database.write(store.claim, letter, 1.0)
    assert State.WAITING is await clocked_database.write(store.failed, letter, "the server\r\nis full")
    await clocked_database.write(store.post, lot("2", facts={"n": 2}))
    assert [] == await keys(clocked_database)
    clock.advance(seconds=60)
    [letter] = await due(clocked_database)
    assert [(1, 1, letter[0].id, "the server\\u000d\\u000ais full")] == [
        (word.facts["n"], word.tries, word.letter, word.last_error) for word in letter
    ]
    assert await clocked_database.write(store.claim, letter, 1.0)
    await clocked_database.write(store.settle, letter, State.SENT)
    assert [[2]] == await keys(clocked_database)


async def test_two_processes_never_try_the_same_letter(clocked_database: Database) -> None:
    """Of two processes that have read a letter, one begins the try."""
    await clocked_database.write(store.post, lot("1"))
    [first], [second] = await due(clocked_database), await due(clocked_database)
    assert await clocked_database.write(store.claim, first, 1.0)
    assert not await clocked_database.write(store.claim, second, 1.0)
    assert [] == await due(clocked_database)


async def test_a_word_read_while_another_process_tries_it_is_left_alone(
    clocked_database: Database, clock: FakeClock
) -> None:
    """A word that is read after another process began its try is not tried at the same time, the last try included."""
    hook: dict[str, Any] = {"channel": WEBHOOK, "address": "7", "lasts": timedelta(days=30)}
    await clocked_database.write(store.post, Message(kind="test", key="1", receiver=1, **hook))
    [[first]] = await clocked_database.read(store.due, WEBHOOK, 10)
    tries = 0
    while await clocked_database.write(store.claim, await clocked_database.read(store.queue, first, 10), 1.0):
        tries += 1
        read_meanwhile = await clocked_database.read(store.queue, first, 10)
        assert not await clocked_database.write(store.claim, read_meanwhile, 1.0)
        assert {State.WAITING: 1} == await states(clocked_database)
        clock.advance(hours=24)
    assert (len(WEBHOOK_PAUSES) + 1, {State.GIVEN_UP: 1}) == (tries, await states(clocked_database))


async def test_a_try_that_took_too_long_leaves_the_word_to_the_next(
    clocked_database: Database, clock: FakeClock
) -> None:
    """After another process has begun the next try of a letter, what the one before it notes changes nothing."""
    await clocked_database.write(store.post, lot("1"))
    [slow] = await due(clocked_database)
    assert await clocked_database.write(store.claim, slow, 1.0)
    clock.advance(minutes=1)
    [quick] = await due(clocked_database)
    assert await clocked_database.write(store.claim, quick, 1.0)
    assert not await clocked_database.write(store.end_try, slow, State.SENT)
    await clocked_database.write(store.failed, slow, "slow", timedelta())
    await clocked_database.write(store.release, slow, "slow")
    await clocked_database.write(store.held_up, slow, "slow")
    assert [] == await due(clocked_database)
    [word] = await clocked_database.read(store.listed, [State.WAITING], 10)
    assert (2, None) == (word.tries, word.last_error)
    assert await clocked_database.write(store.end_try, quick, State.SENT)
    assert {State.SENT: 1} == await states(clocked_database)


async def test_a_letter_that_has_changed_is_not_begun(clocked_database: Database) -> None:
    """If one word of a letter is settled meanwhile, nothing of it is tried by what was read before."""
    await clocked_database.write(store.post_all, [lot("1"), lot("2")])
    [letter] = await due(clocked_database)
    await clocked_database.write(store.settle, letter[:1], State.DROPPED)
    with pytest.raises(store.LetterChanged):
        await clocked_database.write(store.claim, letter, 1.0)
    assert [0] == [word.tries for [word] in await due(clocked_database)]


async def test_a_word_is_given_up_after_the_last_try(clocked_database: Database, clock: FakeClock) -> None:
    """A word is tried as often as the bound says, then it is given up with the reason, and can be sent again."""
    await clocked_database.write(store.post, lot("1", lasts=timedelta(days=30)))
    tries = 0
    while letters := await due(clocked_database):
        [letter] = letters
        assert await clocked_database.write(store.claim, letter, 1.0)
        await clocked_database.write(store.failed, letter, "greylisted")
        tries += 1
        clock.advance(hours=1)
    assert TRIES_MAX == tries
    [given_up] = await clocked_database.read(store.listed, [State.GIVEN_UP], 10)
    assert (TRIES_MAX, "greylisted") == (given_up.tries, given_up.last_error)
    assert 1 == await clocked_database.write(store.send_again, [given_up.id])
    [[again]] = await due(clocked_database)
    assert (0, given_up.letter) == (again.tries, again.letter)
    await clocked_database.write(store.settle, [again], State.SENT)
    assert 0 == await clocked_database.write(store.send_again)


async def test_a_word_that_ends_its_process_is_not_tried_for_ever(clocked_database: Database, clock: FakeClock) -> None:
    """If the process ends in each try, the word is given up when it falls due after the last one, and says so."""
    await clocked_database.write(store.post, lot("a", lasts=timedelta(days=30)))
    for _ in range(TRIES_MAX):
        [letter] = await clocked_database.read(store.due, MAIL, 9)
        assert await clocked_database.write(store.claim, letter, 1.0)
        clock.advance(hours=1)
    [letter] = await clocked_database.read(store.due, MAIL, 9)
    assert not await clocked_database.write(store.claim, letter, 1.0)
    [given_up] = await clocked_database.read(store.listed, [State.GIVEN_UP], 9)
    assert (TRIES_MAX, store.CUT_OFF) == (given_up.tries, given_up.last_error)


async def test_words_expire_and_are_forgotten(clocked_database: Database, clock: FakeClock) -> None:
    """Where nothing is sent, nothing piles up: a word is dropped when it lasts no longer, and deleted after a month."""
    await clocked_database.write(store.post_all, [lot("1", lasts=timedelta(hours=1)), lot("2"), lot("3", 3)])
    [_, [third]] = await due(clocked_database)
    await clocked_database.write(store.claim, [third], 1.0)
    clock.advance(hours=1)
    assert 1 == await clocked_database.write(store.sweep, 100)
    assert {State.WAITING: 2, State.DROPPED: 1} == await states(clocked_database)
    clock.advance(days=3)
    assert 2 == await clocked_database.write(store.sweep, 100)
    assert {State.GIVEN_UP: 1, State.DROPPED: 2} == await states(clocked_database)
    [dropped, _] = await clocked_database.read(store.listed, [State.DROPPED], 10)
    assert store.EXPIRED == dropped.last_error
    clock.advance(days=31)
    assert 3 == await clocked_database.write(store.sweep, 100)
    assert {} == await states(clocked_database)


async def test_the_next_word_is_known(clocked_database: Database, clock: FakeClock) -> None:
    """The sender learns when the first word falls due, and that none waits."""
    assert await clocked_database.read(store.waiting_at, MAIL) is None
    await clocked_database.write(store.post, lot("1", after=timedelta(seconds=60)))
    assert 60 == await clocked_database.read(store.waiting_at, MAIL)
    clock.advance(seconds=90)
    assert 0 == await clocked_database.read(store.waiting_at, MAIL)
    [letter] = await due(clocked_database)
    await clocked_database.write(store.put_off, letter, timedelta(hours=1))
    assert 3600 == await clocked_database.read(store.waiting_at, MAIL)


async def test_a_place_is_moved_once(clocked_database: Database) -> None:
    """Of two processes that have read the same part of a log, one moves the place, and its words are the only ones."""
    assert await clocked_database.read(places.find, "log") is None
    await clocked_database.write(places.begin, "log", 5)
    await clocked_database.write(places.begin, "log", 9)
    assert await clocked_database.write(places.move, "log", 5, 7)
    assert not await clocked_database.write(places.move, "log", 5, 8)
    assert 7 == await clocked_database.read(places.find, "log")


async def test_a_word_behind_one_that_is_tried_again_is_not_late(clocked_database: Database, clock: FakeClock) -> None:
    """What waits is counted by channel; a server of somebody's that is away makes nothing late, and fails after an hour."""
    figures = OutboxFigures(clocked_database)
    hook: dict[str, Any] = {"channel": WEBHOOK, "address": "7", "lasts": timedelta(days=4)}
    for key in ("one", "two"):
        await clocked_database.write(store.post, Message(kind="test", key=key, receiver=1, **hook))
    await clocked_database.write(store.post, lot("mail", receiver=2))
    clock.advance(seconds=60)
    assert (60, 60) == ((await backlog(clocked_database))[WEBHOOK].late, (await backlog(clocked_database))[MAIL].late)
    [[first]] = await clocked_database.read(store.due, WEBHOOK, 10)
    await clocked_database.write(store.claim, [first], 1.0)
    await clocked_database.write(store.failed, [first], "away", timedelta(hours=2))
    clock.advance(minutes=90)
    assert store.Backlog(2, 5460, 0) == (await backlog(clocked_database))[WEBHOOK]
    assert store.Backlog() == (await backlog(clocked_database))[PUSH]
    assert 1 == await clocked_database.read(store.failing, WEBHOOK, clock() - timedelta(hours=1))
    assert 0 == await clocked_database.read(store.failing, WEBHOOK, clock() - timedelta(hours=2))
    await clocked_database.write(store.settle, (await due(clocked_database))[0], State.SENT)
    await clocked_database.write(store.drop_all, WEBHOOK, 1, "7", "gone")
    counted = {
        (one.name.removeprefix("saleroom_outbox_"), *sample.labels): sample.value
        for one in (*figures.counted(), *await figures.asked())
        for sample in one.samples
        if sample.value
    }
    expected = {("failed_tries", WEBHOOK): 1, ("settled", MAIL, "sent"): 1, ("settled", WEBHOOK, "dropped"): 2}
    assert expected == counted


async def backlog(database: Database) -> dict[str, store.Backlog]:
    """What waits."""
    return await database.read(store.backlog)
