"""Questions as rows: asked at once, settled at once, and seen by those who may see them."""

import asyncio
from datetime import timedelta

import pytest

from saleroom.bidding.domain.errors import AuctionOver, QuestionSettled, TooManyQuestions
from saleroom.bidding.domain.questions import QuestionView
from saleroom.bidding.service import questions
from saleroom.kernel.errors import Refusal
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, PUSH, WEBHOOK, State
from saleroom.storage.database import Database
from tests.bidding.service.people import person, sells
from tests.fixtures_database import T0, FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


async def test_words_of_a_question_go_by_what_the_house_sends(clocked_database: Database, clock: FakeClock) -> None:
    """By a channel that the house does not send by, no word of a question waits."""
    ada, bob = await person(clocked_database), await person(clocked_database)
    gid = await sells(clocked_database, ada)
    for channels, text in (((), "One"), ((MAIL,), "Two"), ((MAIL, PUSH, WEBHOOK), "Three")):
        for channel in channels:
            clocked_database.switch_on(store.SENT_BY[channel])
        before = {word.id for word in await clocked_database.read(store.listed, [*State], 10)}
        await clocked_database.write(questions.ask, bob.token, gid, text)
        words = [one for one in await clocked_database.read(store.listed, [*State], 10) if one.id not in before]
        assert {(channel, channel == WEBHOOK) for channel in channels} == {(one.channel, one.alone) for one in words}


@pytest.mark.databases("sqlite", "postgresql")
async def test_questions_at_once(open_database: OpenDatabase) -> None:
    """Of a user's questions that come at once, through several processes, three are kept, and the same one is one."""
    processes = [open_database() for _ in range(6)]
    ada, bob = await person(processes[0]), await person(processes[0])
    gid = await sells(processes[0], ada)
    texts = ("One", "One", "Two", "Three", "Four", "Five")
    asked = (process.write(questions.ask, bob.token, gid, text) for process, text in zip(processes, texts, strict=True))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    found = await processes[0].read(questions.of_lot, ada.token, gid)
    assert 3 == len({one.text for one in found}) == len(found)
    refused = [one for one in answers if isinstance(one, Refusal)]
    assert refused
    assert all(isinstance(one, TooManyQuestions) for one in refused)


@pytest.mark.databases("sqlite", "postgresql")
async def test_answers_at_once(open_database: OpenDatabase) -> None:
    """Of several answers that come at once, one counts; the others are refused."""
    processes = [open_database() for _ in range(4)]
    ada, bob = await person(processes[0]), await person(processes[0])
    gid = await sells(processes[0], ada)
    asked = await processes[0].write(questions.ask, bob.token, gid, "Does it run?")
    await asyncio.gather(
        *(process.read(questions.of_lot, ada.token, gid) for process in processes)
    )  # each has a connection now
    texts = ("Yes", "No", None, "Perhaps")
    said = (
        process.write(questions.answer, ada.token, gid, asked.number, text)
        for process, text in zip(processes, texts, strict=True)
    )
    answers = await asyncio.gather(*said, return_exceptions=True)
    [settled] = [one for one in answers if isinstance(one, QuestionView)]
    assert 3 == sum(isinstance(one, QuestionSettled) for one in answers)
    [found] = await processes[0].read(questions.of_lot, bob.token, gid)
    assert (settled.status, settled.answer) == (found.status, found.answer)


async def test_no_question_and_no_answer_after_the_end(clocked_database: Database, clock: FakeClock) -> None:
    """From the instant of the end there is neither a question nor an answer, even before the closer has closed the lot."""
    ada, bob = await person(clocked_database), await person(clocked_database)
    gid = await sells(clocked_database, ada, ends_at=T0 + timedelta(hours=1))
    clock.advance(3599)
    asked = await clocked_database.write(questions.ask, bob.token, gid, "In time?")
    clock.advance(1)
    with pytest.raises(AuctionOver):
        await clocked_database.write(questions.ask, bob.token, gid, "Late?")
    with pytest.raises(AuctionOver):
        await clocked_database.write(questions.answer, ada.token, gid, asked.number, "Late")
    assert [] == await clocked_database.read(questions.of_lot, None, gid)


async def test_thirty_questions_a_day(clocked_database: Database, clock: FakeClock) -> None:
    """A user asks thirty questions within a day, on whatever lots, and can ask again a day later."""
    ada, bob = await person(clocked_database), await person(clocked_database)
    gids = [await sells(clocked_database, ada) for _ in range(11)]
    for number in range(30):
        await clocked_database.write(questions.ask, bob.token, gids[number // 3], f"No. {number}")
    with pytest.raises(TooManyQuestions):
        await clocked_database.write(questions.ask, bob.token, gids[10], "One more")
    clock.advance(24 * 3600)
    await clocked_database.write(questions.ask, bob.token, gids[10], "One more")
