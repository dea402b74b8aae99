"""Questions to the seller of a lot: answered in public or declined, once; who has asked stays with the house."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction, refuse_if_over, refuse_unless_author
from saleroom.bidding.domain.errors import (
    OwnAuction,
    QuestionSettled,
    QuestionsFull,
    TooManyQuestions,
    UnknownQuestion,
)
from saleroom.kernel.instants import instant
from saleroom.kernel.parties import Party

UNANSWERED_MAX = 3
"""The most questions of one user on one lot that are not answered. Declined ones count, so that a pest falls silent."""
PER_LOT_MAX = 100
"""The most questions on one lot, without those declined."""
LATELY = timedelta(days=1)
LATELY_MAX = 30
"""The most questions that one user asks in the whole house within `LATELY`."""
QUESTION_CHARACTERS_MAX = 1000
ANSWER_CHARACTERS_MAX = 2000


class QuestionStatus(StrEnum):
    """The state of a question."""

    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"


class Question(Struct, frozen=True):
    """A question on a lot. `settled_at` is when it was answered, or declined if there is no `answer`."""

    number: int
    asker_id: int
    text: str
    asked_at: datetime
    answer: str | None = None
    settled_at: datetime | None = None

    @property
    def status(self) -> QuestionStatus:
        """Return what has become of it."""
        if self.settled_at is None:
            return QuestionStatus.OPEN
        return QuestionStatus.DECLINED if self.answer is None else QuestionStatus.ANSWERED


class QuestionView(Struct, frozen=True, rename="camel"):
    """A question as the API shows it. It does not name the asker: the seller could use the interest to bid the price up."""

    number: int
    text: str
    asked_at: str
    status: QuestionStatus
    answer: str | None
    answered_at: str | None
    own: bool

    @classmethod
    def of(cls, question: Question, viewer: Party | None) -> QuestionView:
        """Return the view of a question for its reader."""
        status, answered_at = question.status, None
        if status is QuestionStatus.ANSWERED and question.settled_at is not None:
            answered_at = instant(question.settled_at)
        own = viewer is not None and viewer.id == question.asker_id
        return cls(
            question.number, question.text, instant(question.asked_at), status, question.answer, answered_at, own
        )


def is_shown(question: Question, auction: Auction, viewer: Party | None) -> bool:
    """Whether a reader sees a question: answered ones everybody, others their asker, and open ones the seller."""
    if question.status is QuestionStatus.ANSWERED:
        return True
    if viewer is None:
        return False
    return viewer.id == question.asker_id or (viewer.id == auction.author.id and question.status is QuestionStatus.OPEN)


def asked_before(asker: Party, text: str, earlier: Sequence[Question]) -> Question | None:
    """Return the same question of the same user, if there is one: a form that is sent twice counts once."""
    return next((one for one in earlier if (one.asker_id, one.text) == (asker.id, text)), None)


def refuse_to_ask(auction: Auction, asker: Party, earlier: Sequence[Question], lately: int, now: datetime) -> None:
    """Raise OwnAuction, AuctionOver, TooManyQuestions or QuestionsFull if `asker` may not ask about the lot.

    `earlier` are the questions on the lot; `lately` says how many the user has asked in the house within `LATELY`.
    """
    if asker.id == auction.author.id:
        raise OwnAuction("Nobody may ask about their own auction.")
    refuse_if_over(auction, now)
    if sum(one.asker_id == asker.id and one.answer is None for one in earlier) >= UNANSWERED_MAX:
        raise TooManyQuestions(limit=UNANSWERED_MAX)
    if lately >= LATELY_MAX:
        raise TooManyQuestions(limit=LATELY_MAX)
    if sum(one.status is not QuestionStatus.DECLINED for one in earlier) >= PER_LOT_MAX:
        raise QuestionsFull(limit=PER_LOT_MAX)


def settle(auction: Auction, author: Party, question: Question | None, answer: str | None, now: datetime) -> Question:
    """Return the question with its answer, or declined for None. A repeat changes nothing.

    Raises NotAuthor, UnknownQuestion for None, QuestionSettled or AuctionOver. There is no answer after the end: it would
    look like one that the bidders knew.
    """
    refuse_unless_author(auction, author)
    if question is None:
        raise UnknownQuestion
    if question.settled_at is not None:
        if question.answer == answer:
            return question
        raise QuestionSettled
    refuse_if_over(auction, now)
    return structs.replace(question, answer=answer, settled_at=now)
