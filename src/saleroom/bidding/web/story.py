"""The story of a lot on its page: remarks, questions and answers, and how much of it an open page has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from saleroom.bidding.domain.questions import QuestionStatus, QuestionView
from saleroom.bidding.domain.remarks import RemarkView

_MARK = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,19})")


class StoryMark(Struct, frozen=True):
    """How much of the story a page has. Remarks and answers are only ever added.

    `asked` is the number of the newest open question, on the seller's own page.
    """

    remarks: int = 0
    answers: int = 0
    asked: int = 0

    def __str__(self) -> str:
        return f"{self.remarks}.{self.answers}.{self.asked}"


def mark_of(remarks: Sequence[RemarkView], questions: Sequence[QuestionView], *, own: bool) -> StoryMark:
    """Return the mark of a page with these remarks and questions; `own` for the seller's page."""
    answers = sum(one.status is QuestionStatus.ANSWERED for one in questions)
    waiting = [one.number for one in questions if own and one.status is QuestionStatus.OPEN]
    return StoryMark(len(remarks), answers, max(waiting, default=0))


def read_mark(sent: str) -> StoryMark:
    """Return the mark in an address. Without one the page has nothing, and gets all."""
    found = _MARK.fullmatch(sent)
    return StoryMark() if found is None else StoryMark(*map(int, found.groups()))
