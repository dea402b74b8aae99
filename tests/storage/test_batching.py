"""Questions that wait share transactions, and no answer is older than its question."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest
from sqlalchemy import select

from saleroom.accounts.service.accounts import register
from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.storage.batching import InFlight, SharedRead
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import HangUp


class Census:
    """Answers how many users there are, whatever the question, and notes the questions of each transaction."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, tx: Transaction, asked: Sequence[str]) -> list[int | Exception]:
        self.batches.append(list(asked))
        if "bug" in asked:
            raise ZeroDivisionError
        count = len(tx.execute(select(users.c.id)).all())
        return [UnknownAuction() if question == "refused" else count for question in asked]


async def test_waiting_questions_share_a_transaction(database: Database) -> None:
    """A lone question is asked at once; those that arrive meanwhile go together, each once."""
    census = Census()
    shared = SharedRead(database, census)
    first = shared.ask("a")
    while not census.batches:
        await asyncio.sleep(0)
    assert [0] * 5 == await asyncio.gather(first, *(shared.ask(question) for question in "abab"))
    assert [["a"], ["a", "b"]] == census.batches


async def test_no_answer_is_older_than_its_question(database: Database) -> None:
    """A reader that has just seen a commit sees it in every answer, even if the same question is already being answered."""
    shared = SharedRead(database, Census())
    for number in range(1, 21):
        early = [shared.ask("same") for _ in range(3)]
        await asyncio.sleep(0)
        await database.write(register, f"user{number}", "no digest")
        assert number == await shared.ask("same")
        assert {number - 1, number} >= {await answer for answer in early}


async def test_each_question_has_its_own_answer(database: Database) -> None:
    """A refusal goes to those who asked for it, and a question that breaks the transaction fails alone."""
    shared = SharedRead(database, Census())
    asked = [shared.ask(question) for question in ("fine", "refused", "bug", "fine")]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [int, UnknownAuction, ZeroDivisionError, int] == [type(answer) for answer in answers]


async def test_a_cancelled_question_does_not_cancel_others(database: Database) -> None:
    """If one question is cancelled, others that asked the same still get their answer."""
    shared = SharedRead(database, Census())
    gone, stays = (shared.ask("same") for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert 0 == await stays
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_work_in_flight_is_done_once_for_each_key() -> None:
    """All who ask meanwhile get the answer of the first; who asks afterwards has it done again."""
    done: list[str] = []

    async def work(key: str) -> str:
        await asyncio.sleep(0)
        done.append(key)
        return key.upper()

    shared = InFlight[str, str]()
    assert ["A", "B", "A"] == await asyncio.gather(*(shared.ask(key, partial(work, key)) for key in "aba"))
    assert ["a", "b"] == done
    assert "A" == await shared.ask("a", partial(work, "a"))
    assert ["a", "b", "a"] == done


async def test_a_fault_of_one_asker_is_not_that_of_others() -> None:
    """Who hangs up, or is refused for reasons of their own, leaves the work to the next; other faults reach all."""
    faults = [HangUp(), ZeroDivisionError(), None]

    async def work() -> str:
        await asyncio.sleep(0)
        if (fault := faults.pop(0)) is not None:
            raise fault
        return "answer"

    shared = InFlight[str, str](HangUp)
    found = await asyncio.gather(*(shared.ask("a", work) for _ in range(4)), return_exceptions=True)
    assert [HangUp, *[ZeroDivisionError] * 3] == [type(one) for one in found]
    assert "answer" == await shared.ask("a", work)
