"""The rules of questions to a seller: who asks, who sees them, how many there are, and how they are settled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from saleroom.bidding.domain.errors import (
    AuctionOver,
    NotAuthor,
    OwnAuction,
    QuestionSettled,
    QuestionsFull,
    TooManyQuestions,
    UnknownQuestion,
)
from saleroom.bidding.domain.questions import (
    LATELY_MAX,
    PER_LOT_MAX,
    UNANSWERED_MAX,
    Question,
    QuestionStatus,
    QuestionView,
    asked_before,
    is_shown,
    refuse_to_ask,
    settle,
)
from saleroom.kernel.errors import Refusal
from tests.bidding.domain.examples import ADA, BOB, CY, after, an_auction

END = after(hours=1)
T0_TEXT = "2026-11-21T12:00:00.000000Z"
LOT = an_auction(ends_at=END)
OPEN = Question(1, BOB.id, "Does it run?", after(0))
ANSWERED = structs.replace(OPEN, answer="It does.", settled_at=after(5))
DECLINED = structs.replace(OPEN, settled_at=after(5))


def many(question: Question, count: int, asker: int | None = None) -> list[Question]:
    """So many questions, each of somebody else unless `asker` says who."""
    return [
        structs.replace(question, number=n, text=str(n), asker_id=1000 + n if asker is None else asker)
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("asker", "earlier", "lately", "now", "refused"),
    [
        (BOB, [], 0, after(0), None),
        (BOB, [], 0, END - timedelta(microseconds=1), None),
        (BOB, [], 0, END, AuctionOver),
        (ADA, [], 0, after(0), OwnAuction),
        (BOB, many(OPEN, UNANSWERED_MAX - 1, BOB.id), 2, after(0), None),
        (BOB, many(OPEN, UNANSWERED_MAX, BOB.id), 3, after(0), TooManyQuestions),
        (BOB, many(DECLINED, UNANSWERED_MAX, BOB.id), 3, after(0), TooManyQuestions),
        (BOB, many(ANSWERED, UNANSWERED_MAX, BOB.id), 3, after(0), None),
        (BOB, many(OPEN, UNANSWERED_MAX, CY.id), 0, after(0), None),
        (BOB, [], LATELY_MAX - 1, after(0), None),
        (BOB, [], LATELY_MAX, after(0), TooManyQuestions),
        (BOB, many(OPEN, PER_LOT_MAX - 1), 0, after(0), None),
        (BOB, many(OPEN, PER_LOT_MAX), 0, after(0), QuestionsFull),
        (BOB, many(ANSWERED, PER_LOT_MAX), 0, after(0), QuestionsFull),
        (BOB, many(DECLINED, PER_LOT_MAX), 0, after(0), None),
    ],
)
def test_questions_are_bounded(asker, earlier, lately, now, refused) -> None:  # type: ignore[no-untyped-def]  # rows of a table
    """Anybody but the seller asks until the end, with bounds for a user on a lot, for a user in a day, and for a lot."""
    found: type[Refusal] | None = None
    try:
        refuse_to_ask(LOT, asker, earlier, lately, now)
    except Refusal as error:
        found = type(error)
    assert refused == found


@pytest.mark.parametrize(
    ("earlier", "lately", "limit"),
    [
        (many(OPEN, UNANSWERED_MAX, BOB.id), 0, UNANSWERED_MAX),
        ([], LATELY_MAX, LATELY_MAX),
        (many(OPEN, PER_LOT_MAX), 0, PER_LOT_MAX),
    ],
)
def test_a_refusal_names_the_limit(earlier: list[Question], lately: int, limit: int) -> None:
    """Each of the three limits is told with its number."""
    with pytest.raises((TooManyQuestions, QuestionsFull)) as refused:
        refuse_to_ask(LOT, BOB, earlier, lately, after(0))
    assert {"limit": limit} == refused.value.facts


def test_a_seller_is_told_why() -> None:
    """The refusal of an own question speaks of questions, not of bids."""
    with pytest.raises(OwnAuction, match=r"^Nobody may ask about their own auction\.$"):
        refuse_to_ask(LOT, ADA, [], 0, after(0))


def test_the_same_question_is_found_again() -> None:
    """The same text of the same user is one question, whatever has become of it; others are not."""
    for one in (OPEN, ANSWERED, DECLINED):
        assert one == asked_before(BOB, "Does it run?", [one])
    assert None is asked_before(CY, "Does it run?", [OPEN])
    assert None is asked_before(BOB, "Does it?", [OPEN])


def test_a_question_is_shown_by_its_status() -> None:
    """An answered one is for everybody, an open one for asker and seller, a declined one for its asker; no view has a name."""
    readers = (None, CY, ADA, BOB)
    assert [True] * 4 == [is_shown(ANSWERED, LOT, reader) for reader in readers]
    assert [False, False, True, True] == [is_shown(OPEN, LOT, reader) for reader in readers]
    assert [False, False, False, True] == [is_shown(DECLINED, LOT, reader) for reader in readers]
    assert [False, False, False, True] == [QuestionView.of(OPEN, reader).own for reader in readers]
    assert QuestionView(1, "Does it run?", T0_TEXT, QuestionStatus.OPEN, None, None, True) == QuestionView.of(OPEN, BOB)
    answered_at = "2026-11-21T12:00:05.000000Z"
    answered = QuestionView(1, "Does it run?", T0_TEXT, QuestionStatus.ANSWERED, "It does.", answered_at, False)
    assert answered == QuestionView.of(ANSWERED, None)
    assert None is QuestionView.of(DECLINED, BOB).answered_at
    assert {"number", "text", "asked_at", "status", "answer", "answered_at", "own"} == set(
        structs.asdict(QuestionView.of(OPEN, ADA))
    )


def test_it_is_settled_once() -> None:
    """The seller answers or declines it once; the same again changes nothing, other things are refused, and so is the end."""
    assert ANSWERED == settle(LOT, ADA, OPEN, "It does.", after(5))
    assert DECLINED == settle(LOT, ADA, OPEN, None, after(5))
    for settled in (ANSWERED, DECLINED):
        assert settled is settle(LOT, ADA, settled, settled.answer, END)
        with pytest.raises(QuestionSettled):
            settle(LOT, ADA, settled, "It does not.", after(6))
    with pytest.raises(QuestionSettled):
        settle(LOT, ADA, ANSWERED, None, after(6))
    with pytest.raises(AuctionOver):
        settle(LOT, ADA, OPEN, "Late", END)
    for question in (OPEN, None):
        with pytest.raises(NotAuthor):
            settle(LOT, BOB, question, "Mine", after(5))
    with pytest.raises(UnknownQuestion):
        settle(LOT, ADA, None, "What", after(5))
